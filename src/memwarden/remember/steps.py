"""How something is done, as numbered steps (B12): read from a text that lists them, kept only when that is asked for.

Plain rules, no I/O. A person asks with words like "Remember how to …:" or "Here is how we …:" at the beginning of a
sentence, with at least two steps after them; a list without such words is a list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from memwarden.errors import InvalidInput
from memwarden.records import Channel
from memwarden.remember.draft import Draft

CATEGORY: Final = "procedural"
"""The only category that steps are stored in: agents that may not read it never see them (B5)."""
LEAST_STEPS = 2
"""So many steps make a way of doing something that is taken from a talk; who states one may state a single step."""
MOST_STEPS = 20
MOST_CHARACTERS = 280
"""A step is at most this long, as every statement (B9)."""

_UNSORTED = "activity"
_NUMBER = r"(?:step\s+)?\d{1,2}\s*[.):]\s+"
_LISTED = re.compile(rf"^\s*(?:{_NUMBER}|[-*•]\s+)(?P<step>\S.*?)\s*$", re.IGNORECASE)
_INLINE = re.compile(r"(?:^|(?<=\s))(?P<number>\d{1,2})[.)]\s+")
_ORDER = re.compile(
    r"^(?:and\s+)?(?:first|firstly|second|secondly|third|thirdly|then|next|after that|afterwards|finally|lastly|last)\b"
    r",?\s+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_SUBJECT = re.compile(r"^(?:you|we|i)(?:\s+(?:have to|need to|should|must|can|always))?\s+(?=[a-z])", re.IGNORECASE)
_ASKED: Final = re.compile(
    r"(?:^|(?<=[.!?:\n])\s*)(?:so,?\s+|ok(?:ay)?,?\s+|please,?\s+)*(?:"
    r"(?:(?:remember|note|save|write down|keep in mind)|(?:here(?:\s+is|'s|’s)|this\s+is))\s+how\s+(?:to|i|we|you)"
    r"|(?:(?:bitte\s+)?merke?\s+dir|so\s+geht\s+es),?\s+(?P<de>wie)"
    r"|(?:recuerda|as[ií]\s+es)\s+(?P<es>c[oó]mo)"
    r"|(?:retiens|rappelle-toi|voici)\s+(?P<fr>comment)"
    r")\b(?P<what>[^:\n?]*?)(?P<end>[:\n?]|[.!](?=\s)|$)",
    re.IGNORECASE,
)
"""How a person asks for steps to be kept: English, German, Spanish, French."""
_PAST: Final = re.compile(
    r"(?:\w+ed|did|was|were|am|are|went|made|got|had|felt|spent|spoke|wrote|took)\b", re.IGNORECASE
)
"""How something was done, or is, tells no way of doing it."""


def taught(text: str) -> str | None:
    """Return the steps that a message asks to remember, numbered, under what they are for; None when it asks for none.

    The words that ask stand at the beginning of a sentence that is no question, and the steps come after them.
    """
    found = list(_ASKED.finditer(text))
    if not found:
        return None
    for asked, end_at in zip(found, [*(one.start() for one in found[1:]), len(text)], strict=True):
        what, end = " ".join(asked["what"].split()).strip(" ,."), asked["end"]
        if end == "?" or not what or _PAST.match(what):
            continue
        steps = _steps(text[asked.end() : end_at])
        if len(steps) >= LEAST_STEPS and _fit(steps):
            how = asked["de"] or asked["es"] or asked["fr"] or "how to"
            return f"{how.capitalize()} {what}:\n{_numbered(steps)}"
    return None


def stated(draft: Draft) -> Draft:
    """Return a draft of the channel ``procedural`` as it is stored: numbered steps, in their one category.

    A first line before the steps stays above them. Drafts of other channels are returned as they are. Raises
    InvalidInput for a text that lists no steps, and for another category.
    """
    if draft.channel != Channel.PROCEDURAL:
        return draft
    if draft.category not in (CATEGORY, _UNSORTED):
        raise InvalidInput(f"steps are stored in the category {CATEGORY!r}, not {draft.category!r}")
    return replace(draft, text=as_steps(draft.text), category=CATEGORY)


def corrected(changes: dict[str, Any]) -> dict[str, Any]:
    """Return what is changed of a procedure, its text as it is stored. Raises InvalidInput as :func:`stated` does."""
    if changes.get("category", CATEGORY) != CATEGORY:
        raise InvalidInput(f"steps are stored in the category {CATEGORY!r}, not {changes['category']!r}")
    return {**changes, "text": as_steps(changes["text"])} if "text" in changes else changes


def as_steps(text: str) -> str:
    """Return a text that lists steps with its steps numbered from 1. Raises InvalidInput for one that lists none."""
    steps = _steps(text)
    if not steps or not _fit(steps):
        raise InvalidInput(
            f"a procedure is 1..{MOST_STEPS} steps of at most {MOST_CHARACTERS} characters, one a line or numbered, "
            f"like '1. Stop the queue.\\n2. Run the migration.', not {text!r:.80}"
        )
    head = text.strip().split("\n", 1)[0].strip()
    titled = "\n" in text.strip() and not _LISTED.match(head) and not _INLINE.match(head)
    return f"{head}\n{_numbered(steps)}" if titled else _numbered(steps)


def _steps(text: str) -> list[str]:
    """The steps of a text: its list, else the numbers in its running words, else its sentences in a stated order."""
    return _of_lines(text) or _of_numbers(text) or _of_order(text)


def _of_lines(text: str) -> list[str]:
    """The first list of a text; a line that is none ends it."""
    found: list[str] = []
    for line in text.splitlines():
        listed = _LISTED.match(line)
        if listed is not None and len(_INLINE.findall(line)) < LEAST_STEPS:
            found.append(listed["step"])
        elif found and line.strip():
            break
    return found


def _of_numbers(text: str) -> list[str]:
    marks = list(_INLINE.finditer(text))
    if not marks or [int(one["number"]) for one in marks] != list(range(1, len(marks) + 1)):
        return []
    ends = [*(one.start() for one in marks[1:]), len(text)]
    return [text[mark.end() : end].split("\n")[0].strip() for mark, end in zip(marks, ends, strict=True)]


def _of_order(text: str) -> list[str]:
    found: list[str] = []
    for sentence in _SENTENCE.split(text.strip()):
        said = _ORDER.sub("", sentence.strip())
        if said != sentence.strip():
            found.append(said)
        elif found:
            break
    return found if len(found) >= LEAST_STEPS else []


def _fit(steps: Sequence[str]) -> bool:
    fits = (one.strip() and len(one) <= MOST_CHARACTERS and not one.rstrip().endswith("?") for one in steps)
    return len(steps) <= MOST_STEPS and all(fits)


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {_imperative(step)}" for number, step in enumerate(steps, 1))


def _imperative(step: str) -> str:
    """A step without "you", "we" or "I" before its verb, with a capital and an end."""
    bare = _SUBJECT.sub("", " ".join(step.split())).rstrip(" ,;")
    bare = bare[:1].upper() + bare[1:]
    return bare if bare.endswith((".", "!", "。", ")", ":")) else f"{bare}."
