"""Cuts a text to the part that answers a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from memwarden.text.passages import read_passages
from memwarden.text.sentences import split_sentences

ELLIPSIS = "…"


class TermedSentence(NamedTuple):
    """A sentence as a single line, and its terms."""

    text: str
    terms: Sequence[str]


def one_line(text: str) -> str:
    """Return the text with every run of white space as a single space."""
    return " ".join(text.split())


def split_with_terms(text: str, terms: Callable[[str], Iterable[str]]) -> tuple[TermedSentence, ...]:
    """Split a text into sentences and lines. terms: returns the terms of a text."""
    return tuple(TermedSentence(part, tuple(dict.fromkeys(terms(part)))) for part in split_sentences(text))


def split_to_passages(text: str, terms: Callable[[str], Iterable[str]]) -> tuple[TermedSentence, ...]:
    """Split a text into passages. terms: returns the terms of a text."""
    return tuple(TermedSentence(one_line(part), tuple(dict.fromkeys(terms(part)))) for part in read_passages(text))


def choose_passage(passages: Sequence[TermedSentence], weigh: Callable[[Sequence[str]], float]) -> str:
    """Return the weightiest passage, the first of equals. An ellipsis marks omitted text.

    weigh: returns how much the terms of a passage say about the question.
    """
    if len(passages) == 1:
        return passages[0].text
    weights = [weigh(passage.terms) for passage in passages]
    best = weights.index(max(weights))
    before = f"{ELLIPSIS} " if best else ""
    after = f" {ELLIPSIS}" if best < len(passages) - 1 else ""
    return f"{before}{passages[best].text}{after}"


def normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()
