"""``bench against`` runs the code of another checkout beside this code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memwarden.errors import InvalidInput
from memwarden_bench import sentences
from memwarden_bench.against import list_questions, measure_against
from memwarden_bench.app import app
from memwarden_bench.rounds import SeatFailed

ROOT = Path(__file__).parents[2]


@pytest.mark.soak
def test_a_checkout_beside_itself(tmp_path: Path) -> None:
    markdown = tmp_path / "out.md"
    words = ["against", str(ROOT), "--size", "45", "--embedder", "wordllama", "--rounds", "2", "--queries", "3"]
    result = CliRunner().invoke(app, [*words, "--json", "--markdown", str(markdown)])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert [(row["rows"], row["name"]) for row in printed["figures"]] == [
        (45, "turns observed a second"),
        (45, "turns observed a second of processor time"),
        (45, "hot query, ms"),
        (45, "hot query less the model's own time, ms"),
        (45, "hot query, ms of processor time"),
        (45, "hot query less the model's own, ms of processor time"),
        (45, "hot query with one busy core, 95 % under, ms"),
        (45, "hot query with one busy core, ms of processor time"),
        (45, "command `find`, ms of processor time"),
        (45, "memory after the questions, MB"),
    ]
    assert printed["model_ms"] > 0
    assert printed["embedders"] == ["wordllama", "wordllama"]
    # The same code twice: far from each other only where the wrong thing is timed.
    assert all(0.1 < row["ratio"]["median"] < 10 for row in printed["figures"])
    assert "| 45 | hot query, ms |" in markdown.read_text("utf-8")


def test_the_code_of_the_checkout_runs(tmp_path: Path) -> None:
    package = tmp_path / "src/memwarden"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the other code')")
    with pytest.raises(SeatFailed, match="the other code"):
        measure_against(tmp_path, [20], ("none", "none"), 1, 3, lambda what: None)


def test_a_folder_without_memwarden_is_told() -> None:
    with pytest.raises(InvalidInput, match="no checkout of memwarden: it has no src/memwarden"):
        measure_against(ROOT / "docs", [20], ("none", "none"), 1, 3, lambda what: None)


def test_no_question_is_asked_twice_since_its_vectors_would_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list_questions(420)
    assert len({*asked}) == len(asked) == 420
    monkeypatch.setattr(sentences, "questions", lambda amount: ["How are you?"] * amount)
    with pytest.raises(InvalidInput, match="2 different questions cannot be made"):
        list_questions(2)
