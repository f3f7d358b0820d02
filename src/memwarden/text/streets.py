"""Names of streets with the number of a house, which are no names of people."""

from __future__ import annotations

from memwarden.text.lexicon import pattern_of
from memwarden.text.sentences import SentenceSpan


def find_streets(text: str) -> list[SentenceSpan]:
    """Return the streets that a text names, with their number where it follows or precedes: "31 Fern Street"."""
    return [SentenceSpan(*hit.span(), hit[0]) for hit in pattern_of("streets").finditer(text)]


def find_houses(text: str) -> list[SentenceSpan]:
    """Return the streets that a text names with the number of a house."""
    if not any(map(str.isdigit, text)):
        return []
    return [each for each in find_streets(text) if any(map(str.isdigit, each.text))]
