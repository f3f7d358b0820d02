"""One history, three engines: recall gives the same answers and so the same figures, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memwarden import Warden
from memwarden_bench import quality
from memwarden_bench.measure import read_sources
from memwarden_bench.replay import Answer, Replay, replay

DEMO = Path(__file__).parents[2] / "src/memwarden/surfaces/cli/demo"


@pytest.fixture(scope="module")
def reference() -> Replay:
    return played("memory://")


def played(url: str, files: Sequence[Path] = ()) -> Replay:
    """Replay the first conversation of files. Without files it is the demo's."""
    read = read_sources(files) if files else read_sources([DEMO / "history.json"], questions=DEMO / "questions.json")
    source = read[0]
    with Warden.open(url, config={}) as warden:
        return replay(source.conversations[0], warden)


def untimed(answers: tuple[Answer, ...]) -> list[Answer]:
    return [replace(answer, seconds=0.0) for answer in answers]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_every_engine_gives_the_same_answers(engine: str, reference: Replay, postgres_url: str, tmp_path: Path) -> None:
    mine = played(postgres_url if engine == "postgres" else f"sqlite:///{tmp_path / 'demo.db'}")
    assert untimed(mine.answers) == untimed(reference.answers)
    assert (mine.turns, mine.refused) == (reference.turns, reference.refused)
    assert quality.turn_table(mine.answers) == quality.turn_table(reference.answers)
    assert quality.session_table(mine.answers) == quality.session_table(reference.answers)
    assert any(answer.turns for answer in mine.answers)
