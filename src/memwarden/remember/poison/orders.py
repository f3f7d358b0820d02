"""Orders to an assistant in plain words: which slots of a language's words have to stand together, and how close.

The words are data: ``words.toml``. A rule holds if all its slots are found within one short stretch of folded text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from itertools import pairwise

from memwarden.remember.poison.hidden import fold


class Reach(Enum):
    """Where the slots of a rule have to stand together: in a sentence, in it or the next, in a passage."""

    SENTENCE = 1
    NEXT = 2
    PASSAGE = 3


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of order: its slots, how near together, and whether it counts by itself or only beside another kind."""

    kind: str
    slots: tuple[str, ...]
    alone: bool = True
    reach: Reach = Reach.NEXT


# The slot that is the rarest stands first: it decides whether the others are looked for.
RULES = (
    Rule("override", ("whole",)),
    Rule("override", ("before", "ignore", "rules"), reach=Reach.SENTENCE),
    Rule("standing", ("advise", "from_now")),
    Rule("standing", ("advise", "asked")),
    Rule("standing", ("from_now", "say", "listener")),
    Rule("standing", ("asked_you", "say", "lasting"), reach=Reach.PASSAGE),
    Rule("standing", ("asked_you", "say", "quiet"), reach=Reach.PASSAGE),
    Rule("memory", ("user", "grant", "risk")),
    Rule("standing", ("user", "quiet", "lasting", "act"), reach=Reach.PASSAGE),
    Rule("standing", ("user", "claim", "lasting", "act"), reach=Reach.PASSAGE),
    Rule("memory", ("keep",)),
    Rule("exfiltration", ("private", "send", "to")),
    Rule("exfiltration", ("private", "send", "hide")),
    Rule("exfiltration", ("private", "filled_in"), reach=Reach.PASSAGE),
    Rule("reveal", ("prompt", "reveal")),
    Rule("freed", ("freed",)),
    Rule("address", ("ai", "advise", "obey")),
    Rule("address", ("ai", "quiet", "lasting"), reach=Reach.PASSAGE),
    Rule("address", ("ai", "quiet", "claim"), reach=Reach.PASSAGE),
    Rule("address", ("ai", "quiet", "act"), reach=Reach.PASSAGE),
    Rule("address", ("ai", "claim", "act", "lasting"), reach=Reach.PASSAGE),
    Rule("address", ("ai", "act", "lasting"), reach=Reach.PASSAGE),
    Rule("address", ("call",)),
    Rule("address", ("vocative", "act")),
    Rule("address", ("ai", "say", "obey"), alone=False),
    Rule("override", ("ai", "ignore"), alone=False),
    Rule("secrecy", ("hide",), alone=False),
    Rule("standing", ("asked", "say"), alone=False),
    Rule("standing", ("from_now", "say"), alone=False),
    Rule("exfiltration", ("private", "send"), alone=False),
)
# In characters: the longest sentence that is looked at in one piece (an order takes up about 100), the length of a
# passage (twice that), and how far apart two findings may lie that count only together.
_REACH = 160
_WIDE = 320
_TOGETHER = 300

_SENTENCE = re.compile(r"[^.!?\u3002\u061f\u0964\n]+(?:[.!?](?=\w)[^.!?\u3002\u061f\u0964\n]+)*")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")


def find(folded: str) -> Iterator[tuple[str, str]]:
    """Each kind of order in the folded text, with the words that show it."""
    weak: list[tuple[int, str, str]] = []
    sentences = _sentences(folded)
    stretches = {
        Reach.SENTENCE: sentences,
        Reach.NEXT: [*sentences, *_pairs(sentences)],
        Reach.PASSAGE: _passages(folded),
    }
    for language, slots in _languages():
        if not (_could_be(language, folded) and _speaks(slots, folded)):
            continue
        seen: dict[str, bool] = {}
        for rule in RULES:
            if not _possible(rule, slots, folded, seen):
                continue
            for at, part in stretches[rule.reach]:
                if all(slots[slot].search(part) for slot in rule.slots):
                    if rule.alone:
                        yield rule.kind, part
                        break
                    weak.append((at, rule.kind, part))
    yield from _in_company(weak)


def _in_company(weak: list[tuple[int, str, str]]) -> Iterator[tuple[str, str]]:
    weak.sort()
    for place, (at, kind, part) in enumerate(weak):
        for later, other, _ in weak[place + 1 :]:
            if later - at > _TOGETHER:
                break
            if other != kind:
                yield kind, part
                yield other, part
                return


def _possible(rule: Rule, slots: dict[str, re.Pattern[str]], folded: str, seen: dict[str, bool]) -> bool:
    for slot in rule.slots:
        if slot not in slots:
            return False
        if slot not in seen:
            seen[slot] = slots[slot].search(folded) is not None
        if not seen[slot]:
            return False
    return True


def _passages(folded: str) -> list[tuple[int, str]]:
    step = _WIDE // 2
    return [(at, folded[at : at + _WIDE]) for at in range(0, max(1, len(folded) - step), step)]


def _sentences(folded: str) -> list[tuple[int, str]]:
    """The sentences, with the place where each begins; a long one in pieces that overlap."""
    return [
        (match.start() + begin, match.group()[begin : begin + _REACH].replace("\n", " "))
        for match in _SENTENCE.finditer(folded)
        if match.group().strip()
        for begin in range(0, max(1, len(match.group()) - _REACH // 2), _REACH // 2)
    ]


def _pairs(sentences: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Each short sentence with the one behind it."""
    return [
        (at, f"{part} {after}") for (at, part), (_, after) in pairwise(sentences) if len(part) + len(after) <= _REACH
    ]


_SCRIPTS = {
    "ru": re.compile("[\u0400-\u04ff]{3}"),
    "zh": _CJK,
    "ja": re.compile("[\u3040-\u30ff]"),
    "ar": re.compile("[\u0600-\u06ff]{3}"),
    "ko": re.compile("[\uac00-\ud7af]{2}"),
    "hi": re.compile("[\u0900-\u097f]{2}"),
}
_LATIN = re.compile("[a-z]{3}")


def _could_be(language: str, folded: str) -> bool:
    return _SCRIPTS.get(language, _LATIN).search(folded) is not None


def _speaks(slots: dict[str, re.Pattern[str]], folded: str) -> bool:
    """Whether the text has one of the words that every text of the language has; most others are left out by this."""
    return "common" not in slots or slots["common"].search(folded) is not None


@cache
def _languages() -> tuple[tuple[str, dict[str, re.Pattern[str]]], ...]:
    source = tomllib.loads(resources.files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))
    everywhere = {name: _compiled(name, parts) for name, parts in source.pop("everywhere").items()}
    return tuple(
        (
            language,
            everywhere | {name: _compiled(name, parts) for name, parts in slots.items()},
        )
        for language, slots in source.items()
    )


def _compiled(name: str, parts: list[str] | str) -> re.Pattern[str]:
    if name == "common":
        return re.compile(rf"\b(?:{'|'.join(fold(str(parts)).split())})\b")
    return re.compile(fold("|".join(parts)))
