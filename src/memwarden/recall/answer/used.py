"""Judges which texts of a prompt an answer used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from memwarden.text.small_talk import content_terms

# A short fact has three words of its own, of which an answer needs a single word ("no peanuts").
MIN_OWN_SHARE: Final = 1 / 3


# Limit of the text judged: the beginning of the answer, the end of the talk in the prompt.
MAX_CHARACTERS: Final = 8_000


def judge_texts(texts: Iterable[str], said: Sequence[str], answer: str) -> list[tuple[bool, float]]:
    """Return whether an answer used each text of its prompt, and which share of the text's own words it repeats.

    A text's own words are its content words that nobody said in the prompt. The answer used it when it repeats two
    adjacent words of it, at least a single own word among them, or a third of its own words.
    """
    # A word that somebody said in the prompt may come from there, and proves nothing.
    known = set(content_terms("\n".join(said)[-MAX_CHARACTERS:]))
    answered = content_terms(answer[:MAX_CHARACTERS])
    words, pairs = set(answered), _pairs(answered)
    return [_judge_text(content_terms(text), known, words, pairs) for text in texts]


_Pairs = set[tuple[str, str]]


def _judge_text(held: list[str], known: set[str], words: set[str], pairs: _Pairs) -> tuple[bool, float]:
    own = set(held) - known
    if not own:
        return False, 0.0
    share = len(own & words) / len(own)
    follows = any(own.intersection(pair) for pair in _pairs(held) & pairs)
    return follows or share >= MIN_OWN_SHARE, share


def _pairs(terms: list[str]) -> _Pairs:
    return {(item, other) for item, other in pairwise(terms) if item != other}
