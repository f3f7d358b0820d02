"""The judgement on labelled pairs: those that lie where ``MEMWARDEN_DATA`` says are measured, else nothing is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memwarden_bench.same_fact import measure, read_pairs

DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
PAIRS = DATA / "same_fact_dev.json"


@pytest.mark.skipif(not PAIRS.is_file(), reason="the labelled pairs are not part of the project; set MEMWARDEN_DATA")
def test_the_given_pairs() -> None:
    found = measure(read_pairs(PAIRS), {})
    assert found.total.wrong_merges == 0
    # Without a model only equal words merge, and only explicit updates end; what ends has to be right.
    assert found.total.updates_recognised >= 0.35
    assert found.total.supersede_precision >= 0.98
    assert found.milliseconds_a_pair <= 10  # a gross slip alone: machines are noisy, speed is measured in the benchmark
