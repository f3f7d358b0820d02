"""Names of streets with the number of a house, which are no names of people."""

from __future__ import annotations

from memwarden.text.language import language_of
from memwarden.text.lexicon import languages, pattern_of
from memwarden.text.sentences import SentenceSpan


def find_streets(text: str, language: str | None = None) -> list[SentenceSpan]:
    """Return the streets that a text names, with their number where it follows or precedes: "31 Fern Street".

    language: that of the text, which is read from it by default. "During 2025" ends like a street in German.
    """
    code = language or language_of(text)
    if code not in languages():
        return []
    return [SentenceSpan(*hit.span(), hit[0]) for hit in pattern_of("streets", code).finditer(text)]


def find_houses(text: str, language: str | None = None) -> list[SentenceSpan]:
    """Return the streets that a text names with the number of a house."""
    if not any(map(str.isdigit, text)):
        return []
    return [each for each in find_streets(text, language) if any(map(str.isdigit, each.text))]
