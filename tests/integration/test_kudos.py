"""Design A's worked example (A8), as the script that users run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "kudos.py"


def test_the_second_goal_gets_the_saved_list_and_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), f"sqlite:///{tmp_path / 'kudos.db'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    first, second = done.stdout.split("Saved now: ['favorite_routes', 'kudos_givers']")
    assert "[Relevant Memory]" not in first
    assert first.count("--- The agent receives (0 saved values):") == 1
    assert (
        "--- The agent receives (1 saved values):\n"
        "Who from my kudos list was active recently?\n\n"
        "[Relevant Memory]\n"
        '{\n  "kudos_givers": [\n    "athlete_123",\n    "athlete_456"\n  ]\n}\n'
    ) in second
    assert "river loop" not in second
