"""The example scripts run, and do what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memwarden import Warden

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / script, *words],
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_coding_agent(tmp_path: Path) -> None:
    """Its three tiers do their part: the task is gone, the project has learned, the person was asked."""
    url = f"sqlite:///{tmp_path / 'agent.db'}"
    lines = run("coding_agent.py", url).splitlines()
    assert lines[:5] == [
        "look: Run the test first, to see what fails.",
        "fix: total() divides by the number of prices, which is a mean. Return the sum.",
        "check: The test passes. Done.",
        "? Add global preference: 'Run the test before a change.' (category: tools)? yes",
        "left of the task: 0; known of the project: 3",
    ]
    assert "- [decision] Prices are whole cents; total() never divides." in lines
    with Warden.open(url) as warden:
        project = warden.tiers.project("shop")
        assert [item.kind for item in project.list_all()] == ["reasoning", "failure", "decision"]
        assert project.list_all()[0].source == "task/fix-total/fix"
        assert warden.tiers.task("fix-total").list_all() == []
        assert warden.tiers.project("garden").count() == 0


def test_staying_true() -> None:
    lines = run("staying_true.py").splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["created", "merged", "superseded"]
    assert "now: Ines' favourite colour is now bottle green." in lines
    assert "as of 1 December 2025: Ines' favourite colour is burnt orange." in lines
    assert "history: ['ADD', 'MERGE', 'SUPERSEDE']" in lines
    assert [line.partition(":")[0] for line in lines[6:8]] == ["created", "quarantined"]
    assert lines[-1] == "preferred name: None"
