"""Chances of single items."""

from __future__ import annotations

import numpy as np
import pytest

from memwarden.recall.evidence.item import judge_items
from memwarden.recall.evidence.weights import load_weights

WEIGHTS = {"constant": -2.0, "answer": 0.5, "below": 0.3}
TOTAL = np.array([1.0, 3.0, 2.0, 9.0], np.float32)
ALLOWED = np.array([True, True, True, False])


def test_chances_keep_the_order_of_the_scores() -> None:
    chances = judge_items(WEIGHTS, TOTAL, 1.0, ALLOWED)
    assert chances[1] > chances[2] > chances[0] > 0


def test_a_place_that_may_not_answer_lowers_no_other() -> None:
    chances = judge_items(WEIGHTS, TOTAL, 0.0, ALLOWED)
    assert chances[1] == pytest.approx(1 / (1 + np.exp(2.0)))


def test_a_likelier_answer_raises_every_item() -> None:
    assert (judge_items(WEIGHTS, TOTAL, 2.0, ALLOWED) > judge_items(WEIGHTS, TOTAL, 1.0, ALLOWED))[:3].all()


@pytest.mark.parametrize("answer", [-1e9, 1e9])
def test_chances_stay_between_0_and_1(answer: float) -> None:
    chances = judge_items(WEIGHTS, TOTAL * 1e6, answer, ALLOWED)
    assert ((chances >= 0) & (chances <= 1)).all()


@pytest.mark.parametrize("kind", sorted(load_weights()))
def test_fitted_weights_prefer_surer_answers_and_better_items(kind: str) -> None:
    item = load_weights()[kind].item
    assert item["answer"] > 0
    assert item["below"] > 0
