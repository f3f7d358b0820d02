"""From a candidate to the item of an answer: its words and why it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memwarden.recall.answer.excerpt import BULLET_CHARACTERS, around_best
from memwarden.recall.answer.memory_cache import CachedMemory
from memwarden.recall.answer.select import Candidate
from memwarden.recall.question import Question, QuestionWords
from memwarden.recall.rank.score import Ranking, Weights, explained
from memwarden.records import RecallItem, Why

Found = Mapping[int, CachedMemory]
"""The candidates' memories by place."""

Shown = Callable[[Question, CachedMemory], str]
"""Makes the text of an item."""


def item(
    question: Question, ranking: Ranking, weights: Weights, shown: Shown, found: Found, candidate: Candidate
) -> RecallItem:
    """Return the item of a candidate."""
    held = found[candidate.place]
    memory = held.memory
    return RecallItem(
        id=memory.id,
        text=shown(question, held),
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=candidate.score,
        sources=memory.sources,
        created_at=memory.created_at,
        why=Why.late(
            partial(_why, question.wording, weights, ranking.values(candidate.place), _note(candidate), memory.text)
        ),
        memory=memory,
    )


def _note(candidate: Candidate) -> str:
    if candidate.always:
        return "always offered: its category has context 'all'"
    return f"related to {candidate.beside}" if candidate.beside else ""


def _why(wording: QuestionWords, weights: Weights, values: Sequence[float], note: str, text: str) -> Why:
    return Why(
        words=wording.matched(text),
        features=explained(weights, values),
        note=note,
    )


def whole(question: Question, held: CachedMemory) -> str:
    """A bullet with the whole text."""
    return held.said + held.whole


def excerpt(question: Question, held: CachedMemory) -> str:
    """A bullet of one line, cut to the part that matches."""
    return held.said + plain_excerpt(question, held)


def plain_excerpt(question: Question, held: CachedMemory, characters: int = BULLET_CHARACTERS) -> str:
    """The part that matches, as one line of at most so many characters."""
    if len(held.line) <= characters:
        return held.line
    return around_best(held.sentences, question.weigh, characters)


def wider(question: Question, held: Mapping[str, CachedMemory], item: RecallItem, times: int) -> RecallItem:
    """The item with so many times as much of its text as an excerpt has; itself where there is no more to show.

    held: the memories that may be shown longer, by id.
    """
    entry = held.get(item.id)
    if entry is None or len(entry.line) <= len(item.text):
        return item
    return replace(item, text=plain_excerpt(question, entry, times * BULLET_CHARACTERS))
