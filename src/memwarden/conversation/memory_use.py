"""Was a memory that stood in the prompt used in the answer? Judged by rules, from words alone (F22)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from memwarden.records import RecallItem
from memwarden.text.flags import content_terms

MIN_OWN_SHARE: Final = 1 / 3
"""A short fact has three words of its own, of which an answer needs one ("no peanuts")."""
MAX_CHARACTERS: Final = 8_000
"""So many characters are looked at: of the answer from its beginning, of the talk in the prompt from its end."""


class UseJudgement(NamedTuple):
    """What was judged of a memory. share: of its own words, those that the answer repeats; 0..1."""

    item: RecallItem
    used: bool
    share: float


def judge_uses(items: Iterable[RecallItem], said: Sequence[str], answer: str) -> list[UseJudgement]:
    """Judge each memory of a prompt.

    Its own words are those that say something and that nobody said in the prompt. It was used when the answer repeats
    two words that follow each other in it, one of which is its own, or a third of its own words.

    said: the talk in the prompt, the message that was answered last.
    """
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
