"""Adjustments of the combined score: a table of rules, each with its condition and its effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.recall.rank.combine import Closeness
from memwarden.recall.rank.dates import on_day
from memwarden.recall.rank.neighbours import lend_by_relations
from memwarden.text.question_words import asks_question

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Places among which a newer text may pass an older one.
MAX_COMPARED: Final = 5
# Least cosine, by the multilingual model, of two texts that say the same thing. At 0.4 none of 750 unrelated pairs is.
MIN_SAME: Final = 0.4
# The same by another model, whose vectors lie nearer to each other.
MIN_SAME_FIRST: Final = 0.6
# Largest difference of score at which both texts are among the best for the question.
MAX_GAP: Final = 1.3
# Difference of score between a newer text and the older text that it passes.
STEP: Final = 1e-3
# Lowers what was not said on a day that alone is asked for below everything else.
OFF_DAY: Final = 50.0


@dataclass(frozen=True, slots=True)
class Case:
    """A question with what its adjustments see.

    Attributes:
        allowed: places that may be in the answer. relation_weight: weight of relations between memories.
    """

    question: Question
    view: NamespaceView
    allowed: Mask
    closeness: Closeness
    relation_weight: float


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
    """Whether the message asks for something, and not for what held before."""
    reading = case.question.reading
    return _asks(case) and (reading is None or reading.when != "past")


def asks_what_held(case: Case) -> bool:
    """Whether the message asks for what held before."""
    return _asks(case) and case.question.asks_past


def _asks(case: Case) -> bool:
    """Whether the message asks a question, of no day in particular."""
    return asks_question(case.question.text) and not case.question.asked_days


def put_newer_above(case: Case, total: Floats) -> Floats:
    """Raise a newer text just above an older one, if both say the same thing and are among the best."""
    return _raise_later(case, total, case.view.created_at)


def put_older_above(case: Case, total: Floats) -> Floats:
    """Raise an older text just above a newer one, if both say the same thing and are among the best."""
    return _raise_later(case, total, -case.view.created_at)


def _raise_later(case: Case, total: Floats, times: Ints) -> Floats:
    """Raise each of the best places above those that come before it by ``times`` and say the same thing."""
    places = best_places(total, case.allowed)
    gaps = _allowed_gaps(case, places)
    said, raised = times[places], total.copy()
    for before, after in zip(*np.nonzero((gaps > 0) & (said[:, None] < said[None])), strict=True):
        gap = float(total[places[before]] - total[places[after]])
        if 0 < gap <= gaps[before, after] and _may_replace(case.view, places[before], places[after]):
            above = total[places[before]] + np.float32(STEP * (1 + int(np.count_nonzero(said < said[after]))))
            raised[places[after]] = max(raised[places[after]], above)
    return raised


def _allowed_gaps(case: Case, places: list[int]) -> Floats:
    """Return by which difference of score a place may pass another, 0 where they do not say the same thing."""
    view = case.view
    gaps = np.zeros((len(places), len(places)), np.float32)
    second = case.closeness.kind in ("both", "multilingual")
    vectors = view.passages.second if second else view.passages.vectors
    if vectors is not None and case.closeness.kind != "words":
        chosen = vectors[view.passages.starts[places]]
        gaps[chosen @ chosen.T >= (MIN_SAME if second else MIN_SAME_FIRST)] = MAX_GAP
    return gaps


def _may_replace(view: NamespaceView, older: int, newer: int) -> bool:
    """Whether a text states something of the same subject as an older one, in another talk."""
    if view.asks_question[newer] or view.from_person[newer] == 0:
        return False
    if 0 <= view.session[older] == view.session[newer]:
        return False
    subjects = [_subjects_of(view, place) for place in (older, newer)]
    return not all(subjects) or not subjects[0].isdisjoint(subjects[1])


def _subjects_of(view: NamespaceView, place: int) -> set[str]:
    """Return the keys of whom a text makes statements; empty if unknown."""
    if view.statements is None:
        return set()
    return {key for stated in view.statements.stated(place) for key in stated.subject.split("+") if key}


def best_places(total: Floats, allowed: Mask, most: int = MAX_COMPARED) -> list[int]:
    """Return the best allowed places, best first."""
    places = np.flatnonzero(allowed)
    if len(places) > most:
        places = places[np.argpartition(-total[places], most - 1)[:most]]
    best: list[int] = places[np.argsort(-total[places], kind="stable")].tolist()
    return best


# In the order in which they are applied. docs/why/recall.md states the gain of each.
ADJUSTMENTS: Final = (
    Adjustment("related", has_relations, raise_related),
    Adjustment("newer says the same", asks_what_holds, put_newer_above),
    Adjustment("older says the same", asks_what_held, put_older_above),
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
