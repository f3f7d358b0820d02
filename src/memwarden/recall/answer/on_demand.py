"""Decides from a turn's block whether to offer the model a search of its own."""

from __future__ import annotations

from memwarden.recall.thresholds import DEFAULT_THRESHOLD
from memwarden.text.flags import content_terms

MIN_WORDS = 8
"""A message of fewer words that say something leans on the talk before it, which is in the prompt: "in markdown?"."""


def is_unsure(confidence: float, relevant: bool, message: str) -> bool:
    """Whether a search may find for a message what its block does not hold.

    So it is when nothing relevant was put in although the store reaches the bar of a query: a block is put in unasked
    and therefore asks for more. Below that bar a search finds nothing either.
    """
    if relevant or confidence < DEFAULT_THRESHOLD:
        return False
    return len(set(content_terms(message))) >= MIN_WORDS
