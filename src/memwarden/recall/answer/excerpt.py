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


def with_terms(text: str, terms: Callable[[str], Iterable[str]]) -> TermedSentence:
    """Return a text as a single line, with its terms once each. terms: returns the terms of a text."""
    return TermedSentence(one_line(text), tuple(dict.fromkeys(terms(text))))


def split_with_terms(text: str, terms: Callable[[str], Iterable[str]]) -> tuple[TermedSentence, ...]:
    """Split a text into sentences and lines. terms: returns the terms of a text."""
    return tuple(with_terms(part, terms) for part in split_sentences(text))


def choose_passage(passages: Sequence[TermedSentence], weigh: Callable[[Sequence[str]], float]) -> int:
    """Return the number of the weightiest passage, the first of equals.

    weigh: returns how much the terms of a passage say about the question.
    """
    weights = [weigh(passage.terms) for passage in passages]
    return weights.index(max(weights))


def show_passage(passages: Sequence[str], number: int) -> str:
    """Return a passage as a single line. An ellipsis marks omitted text."""
    return mark_omitted(one_line(passages[number]), before=number > 0, after=number < len(passages) - 1)


def mark_omitted(text: str, *, before: bool, after: bool) -> str:
    """Return a text with an ellipsis on each side on which something is left out."""
    return f"{f'{ELLIPSIS} ' if before else ''}{text}{f' {ELLIPSIS}' if after else ''}"


def choose_sentences(sentences: Sequence[TermedSentence], weigh: Callable[[Sequence[str]], float], most: int) -> slice:
    """Return which neighbouring sentences to show: the weightiest one, and those around it, the weightier side first.

    most: characters of all together. The weightiest sentence is taken, however long it is.
    """
    weights = [weigh(sentence.terms) for sentence in sentences]
    first = last = weights.index(max(weights))
    left = most - len(sentences[first].text)
    while True:
        sides = [place for place in (last + 1, first - 1) if 0 <= place < len(sentences)]
        fitting = [place for place in sides if len(sentences[place].text) < left]
        if not fitting:
            return slice(first, last + 1)
        place = max(fitting, key=lambda each: weights[each])
        left -= len(sentences[place].text) + 1
        first, last = min(first, place), max(last, place)


def normalize_text(text: str) -> str:
    return " ".join(text.split()).casefold()
