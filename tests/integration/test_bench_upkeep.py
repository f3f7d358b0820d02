"""What ``bench upkeep`` counts, on a history and on facts that are made here, and how its gates judge."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memwarden_bench.app import app
from memwarden_bench.everyday import CONTEXT, QUERY
from memwarden_bench.upkeep import load, reembed
from memwarden_bench.upkeep.gates import Gate, tell_gates

END = ", when the year is over"
LATER = ", a year later"
BEGUN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SAID = (
    "The spare key hangs behind the blue barrel.",
    "My sister Wanda paints lighthouses for a living.",
    "I take the tram to the harbour office every morning.",
    "I moved the spare key, it is in the flower pot now.",
)


def run(*words: str, embedder: str = "none") -> tuple[int, Any]:
    done = CliRunner().invoke(app, ["upkeep", *words, "--embedder", embedder, "--json"])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code, json.loads(done.stdout)


def write_history(folder: Path) -> str:
    threads = [
        {
            "id": f"t{number}",
            "messages": [
                {"id": f"{role[0]}{number}", "role": role, "content": said,
                 "created_at": (BEGUN + timedelta(days=9 * number)).isoformat()}
                for role, said in (("user", text), ("assistant", f"The weather of day {number} was fine: {text}"))
            ],
        }
        for number, text in enumerate(SAID)
    ]  # fmt: skip
    asked = (BEGUN + timedelta(days=40)).isoformat()
    question = {"id": "q0", "q": "Where is the spare key now?", "type": "current", "asked_at": asked}
    questions = [{**question, "answer_keys": [["flower pot"]], "evidence": ["u3"], "stale": ["u0"]}]
    file = folder / "harbour.json"
    file.write_text(json.dumps({"id": "harbour", "language": "en", "threads": threads, "questions": questions}))
    return str(file)


def write_dialogues(folder: Path) -> str:
    """Two sessions in the layout of RealMem, with memories and a question to the first in the second."""
    turns = [{"speaker": "User", "content": "I rented a boat house in Graz."}]
    asked = [
        {"speaker": "User", "content": "Where did I rent a boat house?", "is_query": True},
        {"speaker": "Assistant", "content": "In Graz.", "memory_session_uuids": ["s0"], "memory_used": []},
    ]
    memories = [
        {"content": f"【Living】User lives in {place} with {count} kids. User started a new job on {day}."}
        for place, count, day in (("Graz", 3, "Monday"), ("Oslo", 4, "Friday"), ("Rome", 5, "Sunday"))
    ]
    sessions = [
        {"session_uuid": f"s{number}", "current_time": f"2026-01-{10 + number} (Monday)", "dialogue_turns": said,
         "extracted_memory": memories if not number else []}
        for number, said in enumerate((turns, asked))
    ]  # fmt: skip
    file = folder / "somebody.json"
    file.write_text(json.dumps({"_metadata": {"person_name": "somebody"}, "dialogues": sessions}))
    return str(file)


@pytest.mark.soak
def test_a_year_is_lived_with_upkeep_and_without(tmp_path: Path) -> None:
    code, found = run("year", write_history(tmp_path), embedder="auto")  # quotations need it
    assert found["without"]["counts"]["facts, a year later"] > found["kept"]["counts"]["facts, a year later"]
    assert len(found["kept"]["by_month"]) == 24
    counts = found["kept"]["counts"]
    assert counts["purge"] >= counts["soft_delete"] > 0
    never = ("failed runs", "pinned or procedural lost", "changes not in the journal", "runs told wrongly")
    assert [counts[name] for name in never] == [0] * 4
    assert set(found["kept"]["ways"]) == {way + when for way in (CONTEXT, QUERY) for when in ("", END, LATER)}
    missed = [gate["what"] for gate in found["gates"] if gate["bound"] == "above"]
    assert missed == [f"right: {CONTEXT}"]  # a question that is right anyway cannot become better
    assert code == 1


@pytest.mark.soak
def test_a_year_of_realmem_counts_sessions(tmp_path: Path) -> None:
    code, found = run("year", write_dialogues(tmp_path))
    assert code == 0
    assert [way["sessions"] for way in found["kept"]["ways"].values()] == [1.0, 1.0]


def test_duplicates_are_merged_and_near_misses_are_not(tmp_path: Path) -> None:
    _, found = run("duplicates", write_dialogues(tmp_path))
    assert found["facts"] == 6
    assert sum(found["paraphrases"].values()) == 1
    assert sum(found["near_misses"].values()) >= 6
    assert (found["wrong"], found["undone"]) == ([], True)


@pytest.mark.parametrize(
    ("bound", "found", "met"),
    [("at least", 1, True), ("at most", 1, True), ("above", 1, False), ("below", 1, False), ("below", 0.9, True)],
)
def test_a_gate_says_whether_it_is_met(bound: Any, found: float, met: bool) -> None:
    gate = Gate("share", found, bound, 1)
    assert gate.met == met
    assert ("All gates are met." if met else "NOT MET: share.") in tell_gates([gate])


def test_gates_of_times_and_of_mixed_answers() -> None:
    plan = load.LoadPlan(10, 1, 1.0, 1.0, "none")
    for busy, met in (([14.0] * 20, True), ([15.0] * 20, False)):
        times = (load.SpanTimes([10.0] * 20, [1.0]), load.SpanTimes(busy, [1.0]))
        report = load.LoadReport({}, plan, *times, [1.4], 3, 2)
        assert all(gate.met for gate in report.gates) == met
        assert ("All gates are met." in load.load_markdown(report)) == met
    moved = reembed.MovePlan(30, "none", "wordllama", 20, 1)
    for old, new, mixed, code, met in (
        (1.9, 9.0, 0, -9, True),  # the new model takes five times as long whatever is moved
        (2.0, 9.0, 0, -9, False), (1.9, 10.0, 0, -9, False), (1.9, 9.0, 1, -9, False), (1.9, 9.0, 0, 0, False),
    ):  # fmt: skip
        calm, by_old, by_new, after = ([took] * 20 for took in (1.0, old, new, 5.0))
        told = reembed.MoveReport({}, moved, calm, by_old, by_new, after, mixed, 10, 1.0, (code, 0))
        assert all(gate.met for gate in told.gates) == met
        assert "| p95, ms | 1.0 |" in reembed.move_markdown(told)
        assert f"of both models, is {new:.2f} times that before" in reembed.move_markdown(told)


def test_what_cannot_be_measured_is_said(tmp_path: Path) -> None:
    for words, why in (
        (["year", write_history(tmp_path), "--server", "sqlite:///x.db"], "--server is the URL of a PostgreSQL"),
        (["duplicates", write_history(tmp_path)], "is none of RealMem's dialogues"),
        (["reembed", "--source", "minilm"], "are the same model"),
    ):
        done = CliRunner().invoke(app, ["upkeep", *words])
        assert done.exit_code != 0
        assert why in str(done.exception)


@pytest.mark.soak
def test_jobs_run_beside_questions(tmp_path: Path) -> None:
    _, found = run("load", "--turns", "300", "--rounds", "2", "--seconds", "3")
    assert found["runs"] > 0 < found["changes"]
    assert len(found["by_round"]) == 2


@pytest.mark.soak
def test_a_store_moves_under_questions_and_a_kill() -> None:
    plan = reembed.MovePlan(20_000, "none", "wordllama", 20, 3)
    report = reembed.measure_move(plan, {})
    assert report.mixed == 0
    assert report.codes == (-9, 0)
    assert 0 < report.before_kill < 20_000
