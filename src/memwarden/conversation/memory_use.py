"""Judges by rules whether an answer used a memory of its prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from memwarden.records import RecallItem
from memwarden.text.flags import content_terms

# A short fact has three words of its own, of which an answer needs a single word ("no peanuts").
MIN_OWN_SHARE: Final = 1 / 3
# Limit of the text judged: the beginning of the answer, the end of the talk in the prompt.
MAX_CHARACTERS: Final = 8_000


class UseJudgement(NamedTuple):
    """The verdict on a memory. share: of its own words, those that the answer repeats; 0..1."""

    item: RecallItem
    used: bool
    share: float


def judge_uses(items: Iterable[RecallItem], said: Sequence[str], answer: str) -> list[UseJudgement]:
    """Judge each memory of a prompt.

    A memory's own words are its content words that nobody said in the prompt. The answer used it when it repeats two
    adjacent words of it, at least a single own word among them, or a third of its own words.

    said: the talk in the prompt, ending with the message to answer.
    """
    # A word that somebody said in the prompt may come from there, and proves nothing.
    known = set(content_terms("\n".join(said)[-MAX_CHARACTERS:]))
    answered = content_terms(answer[:MAX_CHARACTERS])
    words, pairs = set(answered), _pairs(answered)
    return [_judge_item(item, content_terms(item.text), known, words, pairs) for item in items]


Pairs = set[tuple[str, str]]


def _judge_item(item: RecallItem, held: list[str], known: set[str], words: set[str], pairs: Pairs) -> UseJudgement:
    own = set(held) - known
    if not own:
        return UseJudgement(item, False, 0.0)
    share = len(own & words) / len(own)
    follows = any(own.intersection(pair) for pair in _pairs(held) & pairs)
    return UseJudgement(item, follows or share >= MIN_OWN_SHARE, share)


def _pairs(terms: list[str]) -> Pairs:
    return {(item, other) for item, other in pairwise(terms) if item != other}
