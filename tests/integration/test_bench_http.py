"""``memwarden bench http``: every load is put on a running server, and the page says what it took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memwarden_bench.app import app


@pytest.mark.soak
def test_every_load_is_measured(tmp_path: Path) -> None:
    page = tmp_path / "report.md"
    options = ["--memories", "40", "--seconds", "0.3", "--embedder", "wordllama", "--markdown", str(page), "--json"]
    result = CliRunner().invoke(app, ["http", *options])
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)["figures"]
    sorts = [(item["sort"], item["clients"]) for item in figures]
    closed = [(sort, clients) for sort in ("query", "observe", "echo") for clients in (1, 8, 32)]
    assert sorts == [*closed, ("query, 40 a second", 8)]
    assert all(item["failed"] == 0 and 0 < item["p50_ms"] <= item["p95_ms"] <= item["p99_ms"] for item in figures)
    assert figures[-1]["calls"] == 12
    assert "| query | 32 |" in page.read_text("utf-8")
