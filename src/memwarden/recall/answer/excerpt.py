"""Cuts a text to the part that answers a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

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


def cut_around_best(whole: Sequence[TermedSentence], weigh: Callable[[Sequence[str]], float], limit: int) -> str:
    """Return at most ``limit`` characters of a longer text as a single line, around the weightiest sentence.

    ``weigh`` tells how much the terms of a sentence say about the question; when all weigh nothing, the beginning is
    taken. What was left out shows as an ellipsis.
    """
    texts = [sentence.text for sentence in whole]
    weights = [weigh(sentence.terms) for sentence in whole]
    best = weights.index(max(weights))
    first, last = _widen(texts, weights, best, limit - 4)
    body = " ".join(texts[first : last + 1])
    before = f"{ELLIPSIS} " if first else ""
    after = f" {ELLIPSIS}" if last < len(texts) - 1 else ""
    if len(before) + len(body) + len(after) <= limit:
        return f"{before}{body}{after}"
    return f"{before}{body[: limit - len(before) - 2].rstrip()} {ELLIPSIS}"


def _widen(sentences: list[str], weights: list[float], best: int, limit: int) -> tuple[int, int]:
    """Take in neighbours, the weightier side first, as long as they fit."""
    first = last = best
    length = len(sentences[best])
    while True:
        sides = [side for side in (first - 1, last + 1) if 0 <= side < len(sentences)]
        fitting = [side for side in sides if length + 1 + len(sentences[side]) <= limit]
        if not fitting:
            return first, last
        side = max(fitting, key=lambda number: (weights[number], number))  # on a tie: read on
        length += 1 + len(sentences[side])
        first, last = min(first, side), max(last, side)


def normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()
