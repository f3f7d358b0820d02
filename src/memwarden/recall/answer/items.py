"""From a candidate to the item of an answer: its words and why it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memwarden.recall.answer.excerpt import BULLET_CHARACTERS, around_best
from memwarden.recall.answer.memory_cache import HeldMemory
from memwarden.recall.answer.select import Candidate
from memwarden.recall.question import Question, Wording
from memwarden.recall.rank.score import Ranking, Weights, explained
from memwarden.records import Item, Why

Found = Mapping[int, HeldMemory]
"""The candidates' memories by place."""

Shown = Callable[[Question, HeldMemory], str]
"""Makes the text of an item."""


def item(question: Question, ranking: Ranking, weights: Weights, shown: Shown, found: Found, one: Candidate) -> Item:
    """Return the item of a candidate."""
    held = found[one.place]
    memory = held.memory
    return Item(
        id=memory.id,
        text=shown(question, held),
        category=memory.category,
        channel=memory.channel,
        kind=memory.kind,
        score=one.score,
        sources=memory.sources,
        created_at=memory.created_at,
        why=Why.late(partial(_why, question.wording, weights, ranking.values(one.place), _note(one), memory.text)),
        memory=memory,
    )


def _note(one: Candidate) -> str:
    if one.always:
        return "always offered: its category has context 'all'"
    return f"related to {one.beside}" if one.beside else ""


def _why(wording: Wording, weights: Weights, values: Sequence[float], note: str, text: str) -> Why:
    return Why(
        words=wording.matched(text),
        features=explained(weights, values),
        note=note,
    )


def whole(question: Question, held: HeldMemory) -> str:
    """A bullet with the whole text."""
    return held.said + held.whole


def excerpt(question: Question, held: HeldMemory) -> str:
    """A bullet of one line, cut to the part that matches."""
    return held.said + plain_excerpt(question, held)


def plain_excerpt(question: Question, held: HeldMemory, characters: int = BULLET_CHARACTERS) -> str:
    """The part that matches, as one line of at most so many characters."""
    if len(held.line) <= characters:
        return held.line
    return around_best(held.sentences, question.weigh, characters)


def wider(question: Question, held: Mapping[str, HeldMemory], item: Item, times: int) -> Item:
    """The item with so many times as much of its text as an excerpt has; itself where there is no more to show.

    held: the memories that may be shown longer, by id.
    """
    one = held.get(item.id)
    if one is None or len(one.line) <= len(item.text):
        return item
    return replace(item, text=plain_excerpt(question, one, times * BULLET_CHARACTERS))
