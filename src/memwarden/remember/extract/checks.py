"""Checks what every derived item has to be: self-contained, in the third person, neutral, short."""

from __future__ import annotations

import re
from typing import Final

from memwarden.remember.extract.records import MAX_STATEMENT_CHARACTERS
from memwarden.remember.extract.rules.english import PRONOUNS
from memwarden.text.language import is_english
from memwarden.text.sentences import split_sentences

_SPACE: Final = re.compile(r"\s+")
_PRONOUN: Final = re.compile(rf"(?<![\w'.&-])(?:{PRONOUNS})(?![\w&-]|\.\w)(?!')", re.IGNORECASE)
# Words for days that are wrong as soon as the day is over: what is stored names calendar days.
_RELATIVE_DAY: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|(?:last|next) (?:night|week|weekend|month|year|summer|winter|spring|"
    r"fall|autumn)|"
    r"(?:days?|weeks?|months?|years?) ago)\b",
    re.IGNORECASE,
)
# A tone is not a fact: "wow, so much fun" would stand in prompts for months.
EXCITED_WORDS: Final = re.compile(
    r"!|\b(?:so+ much fun|omg|lol|haha|wow|yay|ugh|damn|hell|shit|fuck\w*|stupid|freaking|freakin|super|awesome)\b",
    re.IGNORECASE,
)
_OPENING_QUOTE: Final = re.compile(r"(?<!\w)'(?=\w)")
# Not after an s before a letter, and not inside of a word: those are apostrophes.
_CLOSING_QUOTE: Final = re.compile(r"(?<=[\w.!?])(?<!s)'(?!\w)|(?<=s)'(?=[\s,]|$)")


def tidy_sentence(text: str) -> str:
    """Return a statement with single spaces, a capital at its beginning and a full stop at its end."""
    text = _drop_odd_quotes(_SPACE.sub(" ", text)).strip(" \t,;:-–—.!?")
    text = re.sub(r"\s+([,.;:])", r"\1", re.sub(r",(?:\s*,)+", ",", text))
    text = re.sub(r"[,.!?;:]+([\"']?)$", r"\1", text)
    return text[:1].upper() + text[1:] + "." if text else ""


def _drop_odd_quotes(text: str) -> str:
    """Drop quotation marks that open nothing or close nothing."""
    if text.count('"') % 2:
        text = text.replace('"', "")
    opened, closed = len(_OPENING_QUOTE.findall(text)), len(_CLOSING_QUOTE.findall(text))
    return text if opened == closed else _CLOSING_QUOTE.sub("", _OPENING_QUOTE.sub("", text))


def find_faults(text: str) -> tuple[str, ...]:
    """Return why a statement may not be stored; empty if it may.

    English is checked in full; of other languages only length and emptiness.
    """
    found = []
    if not any(map(str.isalnum, text)):
        found.append("empty after normalization")
    if len(text) > MAX_STATEMENT_CHARACTERS:
        found.append(f"longer than {MAX_STATEMENT_CHARACTERS} characters")
    if not is_english(text):
        return tuple(found)
    if hit := _PRONOUN.search(text):
        found.append(f"not self-contained: {hit[0]!r}")
    if hit := _RELATIVE_DAY.search(text):
        found.append(f"a day that is told from another day: {hit[0]!r}")
    if _count_sentences(text) > 2:
        found.append("more than two sentences")
    if "?" in text:
        found.append("a question")
    if hit := EXCITED_WORDS.search(text):
        found.append(f"not neutral: {hit[0]!r}")
    return tuple(found)


def shorten_statement(text: str) -> str | None:
    """Cut a statement at the end of a clause; None if that leaves less than half of what may stand."""
    if len(text) <= MAX_STATEMENT_CHARACTERS:
        return text
    head = text[: MAX_STATEMENT_CHARACTERS - 1]
    cut = max(head.rfind(sign) for sign in (", but ", ", so ", ", which ", ", because ", "; ", ". "))
    return tidy_sentence(head[:cut]) if cut >= MAX_STATEMENT_CHARACTERS // 2 else None


def _count_sentences(text: str) -> int:
    return len(split_sentences(text)) or 1
