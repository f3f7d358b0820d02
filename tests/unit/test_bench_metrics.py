"""The metrics, against figures worked out by hand."""

from __future__ import annotations

import math

import pytest

from memwarden_bench import metrics

RANKED = ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("k", "gold", "recall", "hit", "every"),
    [
        (1, ["a"], 1.0, 1.0, 1.0),
        (2, ["b", "d"], 0.5, 1.0, 0.0),
        (4, ["b", "d"], 1.0, 1.0, 1.0),
        (1, ["b", "d"], 0.0, 0.0, 0.0),
        (20, ["f", "x", "y"], 1 / 3, 1.0, 0.0),
        (20, ["x"], 0.0, 0.0, 0.0),
        (3, ["a", "a"], 1.0, 1.0, 1.0),
    ],
)
def test_recall_hit_and_all(k: int, gold: list[str], recall: float, hit: float, every: float) -> None:
    assert metrics.recall_at(k, RANKED, gold) == pytest.approx(recall)
    assert metrics.hit_at(k, RANKED, gold) == hit
    assert metrics.all_at(k, RANKED, gold) == every


@pytest.mark.parametrize(("gold", "expected"), [(["a"], 1), (["d", "c"], 1 / 3), (["x"], 0)])
def test_reciprocal_rank(gold: list[str], expected: float) -> None:
    assert metrics.reciprocal_rank(RANKED, gold) == pytest.approx(expected)


def test_ndcg() -> None:
    assert metrics.ndcg_at(10, RANKED, ["a", "b"]) == pytest.approx(1.0)
    assert metrics.ndcg_at(10, RANKED, ["b"]) == pytest.approx(1 / math.log2(3))
    # Ranks 2 and 4 gain 0.6309 + 0.4307; the best order, ranks 1 and 2, would gain 1 + 0.6309.
    assert metrics.ndcg_at(10, RANKED, ["b", "d"]) == pytest.approx((0.63093 + 0.43068) / 1.63093, abs=1e-4)
    assert metrics.ndcg_at(3, RANKED, ["d"]) == 0
    # With more gold ids than places, a ranking full of gold is perfect.
    assert metrics.ndcg_at(2, RANKED, ["a", "b", "c"]) == pytest.approx(1.0)


def test_nothing_found() -> None:
    assert metrics.recall_at(10, [], ["a"]) == 0
    assert metrics.ndcg_at(10, [], ["a"]) == 0
    assert metrics.reciprocal_rank([], ["a"]) == 0


def test_sessions_are_turns_mapped_and_repetitions_dropped() -> None:
    assert metrics.distinct(["s2", "s1", "s2", "s3", "s1"]) == ["s2", "s1", "s3"]


def test_percentile_interpolates() -> None:
    assert metrics.percentile([4, 1, 3, 2], 0.5) == 2.5
    assert metrics.percentile([1, 2, 3, 4, 5], 0.95) == pytest.approx(4.8)
    assert metrics.percentile([7], 0.95) == 7
    assert math.isnan(metrics.percentile([], 0.5))


def test_estimate() -> None:
    found = metrics.estimate([1.0] * 50 + [0.0] * 50)
    assert (found.mean, found.questions) == (0.5, 100)
    # The standard error of a share of one half over 100 questions is 0.05; 1.96 of them to either side.
    assert found.low == pytest.approx(0.402, abs=0.02)
    assert found.high == pytest.approx(0.598, abs=0.02)
    assert metrics.estimate([1.0] * 50 + [0.0] * 50) == found
    assert metrics.estimate([0.25, 0.25]) == (0.25, 0.25, 0.25, 2)
    assert metrics.estimate([]).questions == 0


def test_area_under_curve() -> None:
    assert metrics.area_under_curve([3, 4], [1, 2]) == 1
    assert metrics.area_under_curve([1, 3], [2]) == 0.5
    assert metrics.area_under_curve([1], [1]) == 0.5
    assert math.isnan(metrics.area_under_curve([], [1]))


def test_reliability_by_hand() -> None:
    """Ninety-nine cases at .05 of which none, a hundred at .5 of which seventy, and a case at 1.0 that came true."""
    cases = [(0.05, False)] * 99 + [(0.5, True)] * 70 + [(0.5, False)] * 30 + [(1.0, True)]
    found = metrics.reliability(cases)
    assert [row.cases for row in found.bins] == [99, 0, 0, 0, 0, 100, 0, 0, 0, 1]
    assert (found.bins[5].said, found.bins[5].true) == (0.5, 0.7)
    assert found.mean_gap == pytest.approx((99 * 0.05 + 100 * 0.2) / 200)
    assert found.largest_gap == pytest.approx(0.2)
    assert math.isnan(metrics.reliability([]).mean_gap)
    assert math.isnan(metrics.reliability(cases[:5]).largest_gap)
