"""Importance by use: the usual share, the shift of a memory, and the importance that a caller gave."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden.observability.records import MemoryUse
from memwarden.records import Event, JournalEntry
from memwarden.testing.examples import NAMESPACE, START, a_memory
from memwarden.upkeep.importance import find_given, find_shift, is_move, usual_share


def a_use(used: int, unused: int, wrong: int = 0) -> MemoryUse:
    return MemoryUse("m", None, used, unused, wrong, START)


def test_the_usual_share_counts_a_wrong_memory_five_times() -> None:
    assert usual_share([]) == 0
    assert usual_share([a_use(0, 0)]) == 0
    assert usual_share([a_use(3, 1), a_use(1, 3)]) == 0.5
    assert usual_share([a_use(5, 0), a_use(0, 0, wrong=1)]) == 0.5


@pytest.mark.parametrize(
    ("use", "usual", "shift"),
    [
        (a_use(0, 0), 0.5, 0.0),
        (a_use(5, 5), 0.5, 0.0),  # as often as usual
        (a_use(5, 0), 0.5, 0.1),  # the whole way up, 5 judgements of 5 + 5: half of .2
        (a_use(0, 5), 0.5, -0.1),
        (a_use(15, 0), 0.5, 0.15),  # 15 of 15 + 5
        (a_use(10, 0), 0.0, 0.2 * 10 / 15),
        (a_use(0, 10), 0.0, 0.0),  # nothing was ever of use, and nothing is worse
        (a_use(0, 0, wrong=1), 0.0, -0.1),  # counts as 5 judgements
        (a_use(10, 0), 1.0, 0.0),
    ],
)
def test_a_shift_grows_with_the_lead_and_with_the_evidence(use: MemoryUse, usual: float, shift: float) -> None:
    assert find_shift(use, usual) == pytest.approx(shift)


def test_no_shift_is_above_a_level() -> None:
    assert all(abs(find_shift(a_use(used, 40 - used), 0.3)) < 0.2 for used in range(41))


def an_entry(step: int, **meta: Any) -> JournalEntry:
    return JournalEntry(step, NAMESPACE, Event.UPDATE, "m", 1, 1, None, None, START, "semantic", step, meta or None)


def a_move(step: int, given: float, importance: float) -> JournalEntry:
    return an_entry(step, rule="use", given=given, set=importance)


def test_only_a_move_by_use_is_a_move() -> None:
    assert is_move(a_move(1, 0.5, 0.6))
    assert not is_move(an_entry(1, rule="same"))
    assert not is_move(an_entry(1))


def test_without_a_move_the_importance_was_given() -> None:
    assert find_given(a_memory("m", importance=0.7), []) == 0.7
    assert find_given(a_memory("m", importance=0.7), [an_entry(1)]) == 0.7


def test_the_newest_move_names_the_importance_that_was_given() -> None:
    entries = [a_move(8, 0.5, 0.62), a_move(4, 0.5, 0.55), an_entry(1)]
    assert find_given(a_memory("m", importance=0.62), entries) == 0.5


def test_an_importance_set_after_a_move_is_given() -> None:
    assert find_given(a_memory("m", importance=0.9), [an_entry(9), a_move(8, 0.5, 0.62)]) == 0.9


def test_a_move_that_was_undone_is_not_repeated() -> None:
    entries = [an_entry(9, undoes=8), a_move(8, 0.5, 0.62)]
    assert find_given(a_memory("m", importance=0.5), entries) is None
    assert find_given(a_memory("m", importance=0.62), [an_entry(9, undoes=3), a_move(8, 0.5, 0.62)]) == 0.5
