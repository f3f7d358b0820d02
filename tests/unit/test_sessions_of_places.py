"""How far the messages of a place's session bear on a question."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from memwarden.recall.rank.sessions import mean_best_two


def view_of(slots: list[int], sessions: int) -> Any:
    return SimpleNamespace(slot=np.array(slots), sessions=sessions, size=len(slots))


def test_places_of_a_session_share_half_the_sum_of_its_two_best() -> None:
    total = np.array([4.0, 1.0, 3.0, -1.0, -2.0], np.float32)
    values = mean_best_two(view_of([0, 0, 0, 1, 1], 2), total)
    assert values.tolist() == [3.5, 3.5, 3.5, -1.5, -1.5]


def test_a_place_alone_counts_half_in_and_outside_of_a_session() -> None:
    total = np.array([4.0, 3.0, 3.0], np.float32)
    values = mean_best_two(view_of([0, 1, 1], 1), total)  # slot 1 is no session
    assert values.tolist() == [2.0, 1.5, 1.5]


def test_two_equal_scores_are_the_two_best() -> None:
    assert mean_best_two(view_of([0, 0], 1), np.array([2.0, 2.0], np.float32)).tolist() == [2.0, 2.0]
