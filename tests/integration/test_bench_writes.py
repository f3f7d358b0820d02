"""``memwarden bench writes``: every sort of call is made and measured, and the page says so."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from memwarden_bench.app import app
from memwarden_bench.sentences import facts


def test_every_sort_of_write_is_measured(tmp_path: Path) -> None:
    page = tmp_path / "report.md"
    options = ["--size", "30", "--rounds", "6", "--batch", "5", "--folder", str(tmp_path), "--markdown", str(page)]
    result = CliRunner().invoke(app, ["writes", *options, "--json"])
    assert result.exit_code == 0, result.output
    (size,) = json.loads(result.stdout)["sizes"]
    calls = size["calls"]
    assert set(calls) == {"observed", "created", "merged", "superseded"}
    assert sum(call["calls"] for call in calls.values()) == 4 * 6
    assert all(0 < call["p50_ms"] <= call["p95_ms"] and call["syncs"] > 0 for call in calls.values())
    assert (calls["observed"]["edges"], calls["merged"]["edges"]) == (0, 0)
    assert calls["superseded"]["edges"] >= 1
    assert size["sync_p50_ms"] > 0
    assert size["batch_ms"] > 0
    assert "## 30 memories" in page.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [page], "the stores are taken away"


def test_facts_are_about_different_things() -> None:
    made = facts(2_000)
    assert len({item.text for item in made}) == 2_000
    assert all(
        item.text.split(" costs ")[0] == item.changed.split(" costs ")[0] and item.changed != item.text for item in made
    )
    assert facts(5) == made[:5]
