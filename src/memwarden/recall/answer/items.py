"""Makes answer items of candidates: the words and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from memwarden.recall.answer import frame
from memwarden.recall.answer.excerpt import MAX_BULLET_CHARACTERS, cut_around_best
from memwarden.recall.answer.memory_cache import CachedMemory
from memwarden.recall.answer.select import Candidate
from memwarden.recall.question import Question, QuestionWords
from memwarden.recall.rank.score import Ranking, Weights, explain_features
from memwarden.records import RecallItem, Why

Found = Mapping[int, CachedMemory]
"""The candidates' memories by place."""

Shown = Callable[[Question, CachedMemory], str]
"""Makes the text of an item."""


def make_item(
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
        explain=partial(
            _why, question.wording, weights, ranking.values(candidate.place), _note(candidate), memory.text
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
        features=explain_features(weights, values),
        note=note,
    )


def show_whole(question: Question, held: CachedMemory) -> str:
    """Return a bullet with the whole text."""
    return held.bullet_start + frame.frame_memory(held.memory, held.whole)


def show_excerpt(question: Question, held: CachedMemory) -> str:
    """Return a single-line bullet, cut to the part that matches."""
    return held.bullet_start + plain_excerpt(question, held)


def plain_excerpt(question: Question, held: CachedMemory, characters: int = MAX_BULLET_CHARACTERS) -> str:
    """Return the part that matches as a single line of at most ``characters``."""
    short = len(held.line) <= characters
    words = held.line if short else cut_around_best(held.sentences, question.weigh, characters)
    return frame.frame_memory(held.memory, words)


def widen_item(question: Question, held: Mapping[str, CachedMemory], item: RecallItem, times: int) -> RecallItem:
    """Return the item with ``times`` an excerpt's length; itself if no more is to show.

    held: the memories that may be shown longer, by id.
    """
    entry = held.get(item.id)
    if entry is None or len(entry.line) <= len(item.text):
        return item
    return replace(item, text=plain_excerpt(question, entry, times * MAX_BULLET_CHARACTERS))
