"""Ranking metrics: plain functions of a ranking (best first, no repetitions) and the gold ids."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Id = TypeVar("Id", bound=Hashable)

RESAMPLES = 1_000


class Estimate(NamedTuple):
    """A mean over questions with its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float
    questions: int


def distinct(ids: Iterable[Id]) -> list[Id]:
    """Return the ids in order, without repetitions."""
    return list(dict.fromkeys(ids))


class ReliabilityBin(NamedTuple):
    """Cases with a figure from ``low`` to below ``high``: its mean, and the share that came true."""

    low: float
    high: float
    cases: int
    said: float
    true: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """How far a figure that claims to be a chance can be relied on.

    Attributes:
        mean_gap: mean distance of figure and share over the bins, by their cases.
        largest_gap: the largest such distance of a bin with :data:`MIN_BIN_CASES` cases; NaN without such a bin.
    """

    bins: Sequence[ReliabilityBin]
    cases: int
    mean_gap: float
    largest_gap: float


Cases = dict[str, list[tuple[float, bool]]]
"""Of each figure: what it said, and whether it came true."""

BINS = 10
MIN_BIN_CASES = 100


def reliability(cases: Sequence[tuple[float, bool]]) -> Reliability:
    """Compare a figure with what came true, in ten bins of equal width."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for said, true in cases:
        bins[min(int(said * BINS), BINS - 1)].append((said, true))
    rows = [
        ReliabilityBin(
            place / BINS,
            (place + 1) / BINS,
            len(found),
            mean([said for said, _ in found]),
            mean([float(true) for _, true in found]),
        )
        for place, found in enumerate(bins)
    ]
    gaps = [(abs(row.said - row.true), row.cases) for row in rows if row.cases]
    large = [gap for gap, count in gaps if count >= MIN_BIN_CASES]
    mean_gap = math.fsum(gap * count for gap, count in gaps) / len(cases) if cases else math.nan
    return Reliability(rows, len(cases), mean_gap, max(large, default=math.nan))


def recall_at(k: int, ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Return the share of the gold ids among the first k."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold))


def hit_at(k: int, ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Return 1 if any gold id is among the first k, else 0."""
    return float(bool(set(ranked[:k]) & set(gold)))


def all_at(k: int, ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Return 1 if every gold id is among the first k, else 0."""
    return float(set(gold) <= set(ranked[:k]))


def reciprocal_rank(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Return 1 / rank of the best gold id, 0 without any. Its mean is the MRR."""
    return next((1 / rank for rank, item in enumerate(ranked, start=1) if item in gold), 0.0)


def ndcg_at(k: int, ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """Return the discounted gain of the first k as a share of the ideal order's gain."""
    gain = sum(1 / math.log2(rank + 1) for rank, item in enumerate(ranked[:k], start=1) if item in gold)
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(set(gold))) + 1))
    return gain / best


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def percentile(values: Sequence[float], share: float) -> float:
    """Return the interpolated value that ``share`` of the values do not exceed; NaN of nothing."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean with a bootstrap 95 % interval, always with the same seed."""
    if not values:
        return Estimate(math.nan, math.nan, math.nan, 0)
    import numpy as np

    measured = np.asarray(values, dtype=np.float64)
    means: list[float] = measured[_draws(len(measured))].mean(axis=1).tolist()
    return Estimate(mean(values), percentile(means, 0.025), percentile(means, 0.975), len(values))


@lru_cache(maxsize=4)
def _draws(count: int) -> npt.NDArray[np.int64]:
    import numpy as np

    return np.random.default_rng(0).integers(0, count, (RESAMPLES, count))


def area_under_curve(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return how often a positive exceeds a negative, ties counting half (AUC)."""
    if not positive or not negative:
        return math.nan
    below = sorted(negative)
    wins = sum((bisect_left(below, value) + bisect_right(below, value)) / 2 for value in positive)
    return wins / (len(positive) * len(negative))
