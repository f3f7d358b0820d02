"""Candidates of an answer: their order, and what is left out of it."""

from __future__ import annotations

import pytest

from memwarden.recall.answer.select import Candidate, Selection


def selection() -> Selection:
    return Selection([Candidate(9, 0.0, always=True)], [Candidate(1, 0.9), Candidate(2, 0.5), Candidate(3, 0.1)], [])


def places(chosen: Selection) -> list[int]:
    return [item.place for item in chosen.ranked]


def test_forgotten_places_are_dropped_without_a_gate() -> None:
    chosen = selection()
    chosen.keep({2, 3})
    assert (places(chosen), chosen.always, chosen.left_out) == ([2, 3], [], [])


@pytest.mark.parametrize(("least", "kept"), [(0.0, [1]), (0.9, [1]), (0.91, [1, 2]), (1.4, [1, 2]), (9.0, [1, 2, 3])])
def test_candidates_stay_until_their_scores_add_up(least: float, kept: list[int]) -> None:
    chosen = selection()
    chosen.leave_unlikely(least)
    assert places(chosen) == kept
    assert [(item.place, gate) for item, gate in chosen.left_out] == [
        (place, "unlikely") for place in (1, 2, 3) if place not in kept
    ]


def test_of_no_candidates_none_are_left_out() -> None:
    chosen = Selection([], [], [])
    chosen.leave_unlikely(0.0)
    assert (chosen.ranked, chosen.left_out) == ([], [])


def test_a_repetition_is_left_out_and_lends_its_score() -> None:
    chosen = selection()
    chosen.fold({1: "echo"}, {3: 0.9})
    assert places(chosen) == [3, 2]
    assert chosen.ranked[0].score == 0.9
    assert [(item.place, gate) for item, gate in chosen.left_out] == [(1, "echo")]


def test_a_new_order_keeps_the_scores_in_their_ranks() -> None:
    chosen = selection()
    chosen.reorder([0.0, 2.0, 1.0])
    assert places(chosen) == [2, 3, 1]
    assert [item.score for item in chosen.ranked] == [0.9, 0.5, 0.1]


@pytest.mark.parametrize("judged", [[1.0], [1.0, float("nan"), 2.0], [float("inf"), 0.0, 0.0]])
def test_an_order_needs_a_finite_number_for_each(judged: list[float]) -> None:
    chosen = selection()
    with pytest.raises(ValueError, match="expected 3 finite numbers"):
        chosen.reorder(judged)
    assert places(chosen) == [1, 2, 3]
