"""The gates of upkeep on the conversations that lie where ``MEMWARDEN_DATA`` says; without them nothing is measured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memwarden_bench.upkeep.duplicates import measure_duplicates
from memwarden_bench.upkeep.year import measure_year, read_lives

DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*.json"))
HISTORY = DATA / "everyday" / "sisters.json"
SETTINGS = {"embedder": "wordllama"}

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not REALMEM, reason="the conversations are not part of the project; set MEMWARDEN_DATA"),
]


def test_paraphrases_of_realmem_are_merged_and_near_misses_are_not() -> None:
    report = measure_duplicates(REALMEM, 762, SETTINGS, {})
    assert [gate for gate in report.gates if not gate.met] == []


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("file", [HISTORY, *REALMEM[:1]], ids=lambda file: file.parent.name)
def test_a_year_of_upkeep_loses_nothing_and_tells_all(file: Path, store: str, request: pytest.FixtureRequest) -> None:
    server = str(request.getfixturevalue("postgres_server")) if store == "postgres" else None
    report = measure_year(read_lives([file]), server, SETTINGS, {})
    answers = [gate for gate in report.gates if gate.what.startswith("right: ")]
    assert [gate for gate in report.gates if not gate.met and gate not in answers] == []
    # Of one person's questions a single more or less is chance; `memwarden bench upkeep year` asks those of all.
    for way, kept in report.kept.ways.items():
        assert kept.right >= report.without.ways[way].right - 1.5 / kept.questions
