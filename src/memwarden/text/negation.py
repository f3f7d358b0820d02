"""Negation in a text."""

from __future__ import annotations

from memwarden.text.lexicon import pattern_of


def denies(text: str) -> bool:
    """Whether a text denies something."""
    return pattern_of("negation").search(text.replace("’", "'")) is not None
