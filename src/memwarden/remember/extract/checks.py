"""What every derived item has to be (B9): self-contained, in the third person, without pronouns, neutral, short."""

from __future__ import annotations

import re
from typing import Final

from memwarden.recall.query_analysis import is_english
from memwarden.remember.extract.records import MOST_CHARACTERS
from memwarden.remember.extract.rules.english import PRONOUNS

_SPACE: Final = re.compile(r"\s+")
_ENDS: Final = re.compile(r"[.!?](?=\s|$)")
_ABBREVIATED: Final = re.compile(r"\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|vs|etc|[ap]\.m|e\.g|i\.e)\.$")
_PRONOUN: Final = re.compile(rf"(?<![\w'.&-])(?:{PRONOUNS})(?![\w&-]|\.\w)(?!')", re.IGNORECASE)
_RELATIVE: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next) (?:night|week|weekend|month|year|summer|winter|spring|"
    r"fall|autumn)|"
    r"(?:days?|weeks?|months?|years?) ago)\b",
    re.IGNORECASE,
)
LOUD: Final = re.compile(
    r"!|\b(?:so+ much fun|omg|lol|haha|wow|yay|ugh|damn|hell|shit|fuck\w*|stupid|freaking|freakin|super|awesome)\b",
    re.IGNORECASE,
)
_OPENS: Final = re.compile(r"(?<!\w)'(?=\w)")
_CLOSES: Final = re.compile(r"(?<=[\w.!?])(?<!s)'(?!\w)|(?<=s)'(?=[\s,]|$)")


def tidied(text: str) -> str:
    """A statement with single spaces, a capital at its beginning and one full stop at its end."""
    text = _balanced(_SPACE.sub(" ", text)).strip(" \t,;:-–—.!?")
    text = re.sub(r"\s+([,.;:])", r"\1", re.sub(r",(?:\s*,)+", ",", text))
    text = re.sub(r"[,.!?;:]+([\"']?)$", r"\1", text)
    return text[:1].upper() + text[1:] + "." if text else ""


def _balanced(text: str) -> str:
    """A text without quotation marks that open nothing or close nothing."""
    if text.count('"') % 2:
        text = text.replace('"', "")
    opened, closed = len(_OPENS.findall(text)), len(_CLOSES.findall(text))
    return text if opened == closed else _CLOSES.sub("", _OPENS.sub("", text))


def faults(text: str) -> tuple[str, ...]:
    """Why a statement may not be stored; empty if it may.

    English is checked as B9 says. Of other languages only length and emptiness are known.
    """
    found = []
    if not any(map(str.isalnum, text)):
        found.append("empty after normalization")
    if len(text) > MOST_CHARACTERS:
        found.append(f"longer than {MOST_CHARACTERS} characters")
    if not is_english(text):
        return tuple(found)
    if hit := _PRONOUN.search(text):
        found.append(f"not self-contained: {hit[0]!r}")
    if hit := _RELATIVE.search(text):
        found.append(f"a day that is told from another one: {hit[0]!r}")
    if _sentence_count(text) > 2:
        found.append("more than two sentences")
    if "?" in text:
        found.append("a question")
    if hit := LOUD.search(text):
        found.append(f"not neutral: {hit[0]!r}")
    return tuple(found)


def trimmed(text: str) -> str | None:
    """A statement cut to its length at the end of a clause; None if that leaves less than half of what may stand."""
    if len(text) <= MOST_CHARACTERS:
        return text
    head = text[: MOST_CHARACTERS - 1]
    cut = max(head.rfind(sign) for sign in (", but ", ", so ", ", which ", ", because ", "; ", ". "))
    return tidied(head[:cut]) if cut >= MOST_CHARACTERS // 2 else None


def _sentence_count(text: str) -> int:
    return sum(1 for hit in _ENDS.finditer(text) if not _ABBREVIATED.search(text[: hit.end()])) or 1
