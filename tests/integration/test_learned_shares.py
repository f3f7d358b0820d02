"""A small form of the shipped simulation of learned shares, on seeds that nothing was chosen on."""

from __future__ import annotations

import pytest

from memwarden_bench.shares import mean_gain, measure_shares, simulate


@pytest.mark.soak
def test_learned_shares_make_more_of_a_budget_of_use() -> None:
    rows = measure_shares(range(100, 104), 45, lambda _: None)
    assert mean_gain(rows) >= 0.05, rows
    for row in rows:
        assert min(row.split.values()) >= 0.099, row  # in whole tokens


@pytest.mark.soak
def test_learned_shares_cost_nothing_where_the_usual_split_suits() -> None:
    assert mean_gain([simulate(seed, 45, even=True) for seed in range(100, 103)]) > -0.02
