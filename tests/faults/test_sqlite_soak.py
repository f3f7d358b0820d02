"""The long runs: ``make soak``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.state_machine import store_machine

_SOAK = Path(__file__).parents[2] / "bench/scripts/soak_sqlite.py"


@pytest.mark.soak
def test_kills_for_five_minutes() -> None:
    done = subprocess.run([sys.executable, str(_SOAK), "--minutes", "5"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no damage" in done.stdout


@pytest.mark.soak
def test_two_thousand_random_histories() -> None:
    run_state_machine_as_test(
        store_machine(lambda folder: SqliteStore(folder / "memory.db")),
        settings=settings(
            max_examples=2000,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            phases=[Phase.generate],
        ),
    )
