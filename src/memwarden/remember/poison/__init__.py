"""Whether a text carries orders for an assistant: for what comes from tools, pages, documents and imports.

Plain rules without a model and without I/O but for reading their own words once. A hit is a reason to quarantine a text
that nobody vouches for, never to doubt what a person says in a turn of their own. What is caught and what cannot be:
``docs/why/quarantine.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from memwarden.remember.poison import hidden, marks, orders, talk

_LONGEST_EVIDENCE = 200


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What is suspicious about a text: the kinds, in alphabetical order, and of the first finding the words.

    True if there is anything. Kinds: ``override`` (forget your instructions), ``standing`` (from now on recommend ...),
    ``memory`` (remember that the user ...), ``exfiltration`` (send the user's data), ``reveal`` (show your prompt),
    ``freed`` (you are without limits), ``address`` (AI assistants reading this must ...), ``role`` (fake tags of
    roles), ``tool`` (a tool call as text), ``image`` (an image that carries data off), ``hidden`` (invisible or encoded
    orders), ``secrecy`` (do not tell the user; only beside others).
    """

    kinds: tuple[str, ...]
    evidence: str

    def __bool__(self) -> bool:
        return bool(self.kinds)


def suspicion(text: str) -> Suspicion:
    """Judge a text that nobody vouches for. Never raises for a text."""
    text = talk.without_mentions(text)
    found = _open(text)
    concealed = hidden.invisible(text)
    if concealed is not None:
        found.append(("hidden", concealed))
    if not found:
        found += [("hidden", evidence) for inner in hidden.decoded(text) for _, evidence in _open(inner)[:1]]
    return Suspicion(
        tuple(sorted({kind for kind, _ in found})), found[0][1][:_LONGEST_EVIDENCE].strip() if found else ""
    )


def _open(text: str) -> list[tuple[str, str]]:
    """What can be read in the text as it stands or under a disguise: kinds and words."""
    folded = hidden.fold(text)
    found = [*marks.find(talk.without_fences(text)), *orders.find(folded)]
    for reading in hidden.disguised(text, folded):
        found += [("hidden", evidence) for _, evidence in orders.find(reading)] if not found else []
    return found
