"""Adjustments of the combined score: a table of rules, each with its condition and its effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.recall.rank.combine import Combination
from memwarden.recall.rank.currency import choose_compared, find_pairs, judge_pairs, raise_by_pairs
from memwarden.recall.rank.dates import on_day
from memwarden.recall.rank.followers import raise_followers
from memwarden.recall.rank.neighbours import lend_by_relations
from memwarden.text.dates.calendar import day_number
from memwarden.text.question_words import says_before

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Lowers what was not said on a day that alone is asked for below everything else.
OFF_DAY: Final = 50.0
# Lowers what will be true later. Two texts about the same thing differ by up to 1.3 in small stores.
NOT_YET: Final = 2.0


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what its adjustments see.

    Attributes:
        allowed: places that may be in the answer. relation_weight: weight of relations between memories.
        weights: of the signals of a pair of texts, see :mod:`memwarden.recall.rank.currency`; empty without a fit.
        answer: the chance that the answer is in the store, 0..1.
        planned: places of what will be true later. None without any.
    """

    question: Question
    view: NamespaceView
    allowed: Mask
    combined: Combination
    relation_weight: float
    weights: Mapping[str, float]
    answer: float = 0.0
    planned: Mask | None = None


class Adjustment(NamedTuple):
    """A rule that changes scores.

    Attributes:
        name: shown in ``why``. applies: its condition. apply: returns the changed scores of all places.
    """

    name: str
    applies: Callable[[Case], bool]
    apply: Callable[[Case, Floats], Floats]


@dataclass(frozen=True, slots=True)
class AdjustedScores:
    """Scores after all adjustments. steps: name of each that was applied, and which places it moved."""

    total: Floats
    steps: tuple[tuple[str, Mask], ...] = ()

    def moves_of(self, place: int) -> tuple[str, ...]:
        """Return the names of the adjustments that moved a place."""
        return tuple(name for name, moved in self.steps if moved[place])


def has_relations(case: Case) -> bool:
    """Whether memories of the namespace are related, and relations count."""
    return case.view.related is not None and case.relation_weight > 0


def raise_related(case: Case, total: Floats) -> Floats:
    """Bring memories nearer to better memories that they are related to."""
    return total + np.float32(case.relation_weight) * lend_by_relations(case.view, total, case.allowed)


def asks_for_days(case: Case) -> bool:
    """Whether the question asks for days and nothing else."""
    return case.question.of_days


def keep_days(case: Case, total: Floats) -> Floats:
    """Lower what was neither said on an asked day nor names one."""
    return total - np.where(on_day(case.question, case.view) > 0, np.float32(0), np.float32(OFF_DAY))


def asks_what_holds(case: Case) -> bool:
    """Whether the message asks for what holds, now or on some days, and not for what held before."""
    return knows_pairs(case) and (bool(case.question.asked_days) or not case.question.asks_past)


def asks_what_held(case: Case) -> bool:
    """Whether the message asks for what held before."""
    return knows_pairs(case) and not case.question.asked_days and case.question.asks_past


def knows_pairs(case: Case) -> bool:
    """Whether pairs of texts can be judged. Chats of people without an assistant tell events, which replace nothing."""
    view = case.view
    among_people = len(view.speakers) > 1 and (view.by_model is None or not view.by_model.any())
    return bool(case.weights) and not among_people


def raise_newer(case: Case, total: Floats) -> Floats:
    """Raise newer texts close to the best ones, up to these, as far as the store surely holds the answer."""
    return raise_followers(case.view, total, case.allowed, case.answer)


def put_newer_above(case: Case, total: Floats) -> Floats:
    """Raise a newer text above an older one by the chance that it states the newer value of the same.

    Of days that are asked about, the value is the last that was stated by their end.
    """
    times = case.view.since
    if case.question.asked_days:
        end = max(day_number(span.last) for span in case.question.asked_days)
        times = np.where(case.view.said_day <= end, times, -times)
    if case.planned is not None and not case.question.asked_days:
        times = np.where(case.planned, times.min() - 1, times)
    return _raise_later(case, total, times)


def has_plans(case: Case) -> bool:
    """Whether some memories will be true later than what is asked for."""
    return case.planned is not None and not case.question.asked_days


def lower_planned(case: Case, total: Floats) -> Floats:
    """Lower what will be true later below what is as good and holds now."""
    return total if case.planned is None else total - np.where(case.planned, np.float32(NOT_YET), np.float32(0))


def put_older_above(case: Case, total: Floats) -> Floats:
    """Raise an older text above a newer one by the chance that it states an older value of the same.

    A text with a word of the question that the older one lacks stays, unless the question says "before" or the like:
    "What did the allergy clinic find?" asks for an event.
    """
    times = -case.view.since
    if says_before(case.question.text):
        return _raise_later(case, total, times)
    held = case.combined.closeness.words.held.sum(axis=0)
    return _raise_later(case, total, times, lambda passed, passing: held[passing] >= held[passed])


def _raise_later(
    case: Case, total: Floats, times: Ints, may_pass: Callable[[Ints, Ints], Mask] | None = None
) -> Floats:
    """Raise what comes later by ``times`` above what it replaces.

    may_pass: returns for the passed and the passing places of pairs which of the pairs count; None for all.
    """
    compared = choose_compared(total, case.allowed)
    pairs = find_pairs(case.question, case.view, case.combined, compared, times)
    if pairs is None:
        return total
    chances = judge_pairs(case.question, case.view, pairs, case.weights)
    if may_pass is not None:
        chances = np.where(may_pass(pairs.passed, pairs.passing), chances, np.float32(0))
    return raise_by_pairs(total, pairs, chances, times)


# In the order in which they are applied. docs/why/recall.md states the gain of each.
ADJUSTMENTS: Final = (
    Adjustment("related", has_relations, raise_related),
    Adjustment("newer says the same", asks_what_holds, put_newer_above),
    Adjustment("older says the same", asks_what_held, put_older_above),
    Adjustment("newer and close", knows_pairs, raise_newer),
    Adjustment("not yet", has_plans, lower_planned),
    Adjustment("not on an asked day", asks_for_days, keep_days),
)


def adjust(case: Case, total: Floats) -> AdjustedScores:
    """Apply the adjustments to the scores."""
    steps = list[tuple[str, Mask]]()
    for adjustment in ADJUSTMENTS:
        if adjustment.applies(case):
            changed = adjustment.apply(case, total)
            steps.append((adjustment.name, np.asarray(changed != total)))
            total = changed
    return AdjustedScores(total, tuple(steps))
