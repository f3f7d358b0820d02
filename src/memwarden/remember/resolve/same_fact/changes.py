"""What a statement of a change says: how things stand after it, what is no longer so, and what has ended.

"The call was moved to Friday" says that the call is on Friday. The words are those of the active sentence, as in
`signature`; the patterns are data (`changes`, `gone`, `ended` in the lists of a language).
"""

from __future__ import annotations

from dataclasses import dataclass

from memwarden.remember.resolve.same_fact.word_lists import Rewrite, WordLists


@dataclass(frozen=True, slots=True)
class ChangeReading:
    """A statement read as a change.

    after: the words of the state that it leads to, or the words as they are. changed: whether a pattern was met.
    gone, ended: words that name what is no longer so, or is over.
    """

    after: tuple[str, ...]
    changed: bool = False
    gone: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


def read_change(words: tuple[str, ...], lists: WordLists) -> ChangeReading:
    """Read the words of a statement as a change, if they tell of one."""
    told = " ".join(word for word in words if word not in lists.present)
    line = told
    for item in lists.changes:
        if item.need in line:
            line = " ".join(item.pattern.sub(f"{item.into} ", line).split())
    return ChangeReading(tuple(line.split()), line != told, _find_name(told, lists.gone), _find_name(told, lists.ended))


def _find_name(line: str, patterns: tuple[Rewrite, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        if pattern.need in line and (met := pattern.pattern.search(line)) is not None:
            return tuple(met[1].split()) if met.re.groups else ()
    return ()
