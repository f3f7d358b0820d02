"""Ranks the places of a namespace for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from memwarden.recall.evidence.answer import AnswerEvidence, judge_answer, kind_of
from memwarden.recall.evidence.item import judge_items, raise_days
from memwarden.recall.evidence.weights import load_weights
from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.recall.rank.adjustments import AdjustedScores, Case, adjust
from memwarden.recall.rank.combine import (
    RELATION_WEIGHT,
    Combination,
    Part,
    Spread,
    add_talk,
    combine,
    measure_closeness,
    measure_spread,
)
from memwarden.recall.rank.dates import on_day
from memwarden.records import Feature as Explained

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

Weights = tuple[tuple[str, float], ...]
NOTHING: Final = np.zeros(0, np.float32)


@dataclass(frozen=True)
class Ranking:
    """The scores of a view's places for a question.

    Attributes:
        scores: the chance that a place bears on the question, 0..1, one a place, in the order of ranking.
        confidence: the chance that the answer is in the store, 0..1.
        subject: the chance that the store knows the subject of the question, 0..1.
        parts: each signal's name, values and weight.
        adjusted: what moved places after the signals were summed.
        passages: for each place the number of its best passage within its text; empty where each has one.
    """

    scores: Floats
    confidence: float = 0.0
    subject: float = 0.0
    parts: tuple[Part, ...] = ()
    adjusted: AdjustedScores = field(default_factory=lambda: AdjustedScores(NOTHING))
    passages: Sequence[int] | Ints = ()

    @cached_property
    def weights(self) -> Weights:
        """Name and weight of each signal."""
        return tuple((part.name, part.weight) for part in self.parts)

    def values(self, place: int) -> tuple[float, ...]:
        """Return the value of each signal for a place."""
        return tuple([part.values.item(place) for part in self.parts])

    def passage_of(self, place: int) -> int:
        """Return the number of a place's best passage for the question."""
        return int(self.passages[place]) if len(self.passages) else 0

    def moves_of(self, place: int) -> tuple[str, ...]:
        """Return the names of the adjustments that moved a place."""
        return self.adjusted.moves_of(place)


def explain_features(weights: Weights, values: Sequence[float]) -> tuple[Explained, ...]:
    """Return each signal's value and weight, the largest contribution first."""
    parts = [Explained(name, value, weight) for (name, weight), value in zip(weights, values, strict=True)]
    return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))


def rank(
    question: Question,
    view: NamespaceView,
    allowed: Mask,
    *,
    model: str | None = None,
    relation_weight: float = RELATION_WEIGHT,
    left_out: frozenset[str] = frozenset(),
    among: int | None = None,
    spread: Mapping[str, Spread] | None = None,
    planned: Mask | None = None,
) -> Ranking:
    """Score every place of a view.

    Args:
        allowed: places that may be in the answer. The others only lend context.
        model: name of the embedder. relation_weight: weight of relations between memories.
        left_out: names of signals that do not count.
        among: number of allowed places in the whole namespace, if the view is only a part of it.
        spread: of the signals over the whole namespace, if the view is only a part of it.
        planned: places of what will be true later. None without any.
    """
    rows = max(int(np.count_nonzero(allowed)), among or 0)
    if not allowed.any() or question.small_talk:
        return Ranking(np.zeros(view.size, np.float32))
    combined = _combine(question, view, allowed, left_out, spread)
    kind = kind_of(question, combined, model)
    evidence = _judge(question, view, combined, allowed, rows, kind)
    if question.talk is not None:
        talk = _combine(question.talk, view, allowed, left_out)
        of_talk = _judge(question.talk, view, talk, allowed, rows, kind_of(question.talk, talk, model))
        combined = add_talk(combined, talk)
        evidence = max(evidence, of_talk, key=lambda each: each.subject)
    weights = load_weights()[kind]
    case = Case(question, view, allowed, combined, relation_weight, weights.later, evidence.answer, planned)
    adjusted = adjust(case, combined.total)
    scores = judge_items(weights.item, adjusted.total, evidence.logit, allowed)
    if question.of_days:
        scores = raise_days(scores, on_day(question, view) > 0, evidence.answer)
    return Ranking(
        scores,
        evidence.answer,
        evidence.subject,
        combined.parts,
        adjusted,
        _best_passages(view, combined),
    )


def _combine(
    question: Question,
    view: NamespaceView,
    allowed: Mask,
    left_out: frozenset[str],
    spread: Mapping[str, Spread] | None = None,
) -> Combination:
    closeness = measure_closeness(question, view, allowed)
    return combine(question, view, closeness, spread or measure_spread(closeness, view), left_out)


def _judge(
    question: Question, view: NamespaceView, combined: Combination, allowed: Mask, rows: int, kind: str
) -> AnswerEvidence:
    """Return the chances about a question, by its words where most texts lack vectors."""
    pending = None if view.lacking is None else allowed & view.lacking
    few = pending is not None and 2 * np.count_nonzero(pending) > np.count_nonzero(allowed)
    return judge_answer(question, view, combined, allowed, rows, "words" if few else kind)


def _best_passages(view: NamespaceView, combined: Combination) -> Sequence[int] | Ints:
    passages = view.passages
    if passages.single:
        return ()
    return passages.best_at(combined.passage_total) - passages.first
