"""Saved state that goals get without a model, with the default embedder: no worse than what is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from measure_overseer import measure_goals

# Least right of all loaded, and least loaded of all wanted: .03 below the rules before common recall (.74, .88).
MIN_PRECISION, MIN_RECALL = 0.71, 0.85


def test_goals_get_the_state_that_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMWARDEN_EMBEDDER", raising=False)
    stores = json.loads(Path(__file__).with_name("overseer_told.json").read_text("utf-8"))
    counts = measure_goals(stores, "auto", misses=False)
    assert counts.wanted == 33
    assert counts.right / counts.found >= MIN_PRECISION
    assert counts.right / counts.wanted >= MIN_RECALL
