"""``bench budgets`` on miniature conversations: what a text holds is counted exactly, and what is left out is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memwarden.surfaces.conversation_files import TurnIdentity
from memwarden.text.tokenizer import estimate
from memwarden_bench import budgets, measure, peers
from memwarden_bench.app import app
from memwarden_bench.budgets import BLOCK, QUERIES, BudgetsReport, Curves, Point
from memwarden_bench.budgets_report import budgets_markdown
from memwarden_bench.metrics import Estimate
from memwarden_bench.peers import pack_turns

BUDGETS = (60, 300)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Four sittings of three turns, each turn about a thing of its own, and a question for each sitting."""
    things = ["canoe", "kettle", "lantern", "saddle", "trumpet", "anvil", "compass", "hammock", "ladder", "pulley"]
    things += ["quilt", "teapot"]
    sessions = [
        {
            "thread": f"s{number}",
            "messages": [
                {"id": thing, "role": "user", "content": f"The {thing} stands in the shed behind house {place}."}
                for place, thing in enumerate(things[3 * number : 3 * number + 3], start=3 * number)
            ],
        }
        for number in range(4)
    ]
    questions: list[dict[str, Any]] = [
        {"question": f"Where is the {thing}?", "expect": [thing]} for thing in things[::3]
    ]
    questions += [
        {"question": "And what else?", "expect": []},
        {"question": "Is it?", "expect": ["canoe"]} | {"category": "adversarial"},
    ]
    file = tmp_path / "things.json"
    file.write_text(json.dumps({"people": ["Ida"], "sessions": sessions, "questions": questions}))
    return file


def test_each_way_fills_each_budget(talk: Path) -> None:
    (curves,) = budgets.measure(measure.read_sources([talk]), "none", BUDGETS)
    assert (curves.layout, curves.questions) == ("memwarden", 4)
    ways = list(dict.fromkeys(point.way for point in curves.points))
    assert ways[:5] == [*QUERIES, BLOCK, "last turns"]
    assert all(way.startswith("best turns, ") for way in ways[5:])
    assert [(point.way, point.budget) for point in curves.points] == [
        (way, budget) for way in ways for budget in BUDGETS
    ]
    at = {(point.way, point.budget): point for point in curves.points}
    assert all(point.tokens <= point.budget for point in curves.points)
    for way in QUERIES:
        assert at[way, 60].turns == (1.0, 1.0, 1.0, 4)
        assert at[way, 60].sessions.mean == at[way, 60].words.mean == at[way, 60].filled == 1.0
    assert at["last turns", 60].turns.mean == 0.25  # the last sitting, and some before it that are not asked for
    assert at["last turns", 300].turns.mean == 1.0  # all twelve
    assert curves.excluded == {"adversarial questions": 1, "questions left without evidence": 1}


def test_whole_turns_are_taken_as_long_as_they_fit() -> None:
    turns = [
        (TurnIdentity("t", str(number)), text) for number, text in enumerate(["a" * 30, "b" * 400, "c" * 30, "d" * 30])
    ]
    found = pack_turns(turns, 26)
    assert [turn.id for turn in found.turns] == ["0", "2", "3"]
    assert found.text == "\n".join(f"- {letter * 30}" for letter in "acd")
    assert found.tokens == estimate(found.text) <= 26
    assert pack_turns(turns, 5) == ("", (), 0)
    assert pack_turns([(TurnIdentity("t", "1"), "one\ntwo")], 10).text == "- one\n  two"
    long = [(TurnIdentity("t", str(number)), "x" * 400) for number in range(peers.MAX_MISSES)]
    assert pack_turns([*long, turns[0]], 26).turns == ()


def test_a_statement_that_the_file_has_is_the_evidence(tmp_path: Path) -> None:
    def turn(speaker: str, content: str, **more: Any) -> dict[str, Any]:
        return {"speaker": speaker, "content": content, "is_query": False, **more}

    used = [{"session_uuid": "s1", "content": "Ana's boat Petrel has a mainsail."}]
    talk = [
        {
            "session_uuid": name,
            "current_time": f"2026-01-0{name[1]} (Monday)",
            "dialogue_turns": turns,
            "extracted_memory": [used[0] | {"source_content_snapshot": "My boat is called Petrel."}],
        }
        for name, turns in (
            ("s1", [turn("User", "My boat is called Petrel."), turn("Assistant", "Lovely.")]),
            ("s2", [turn("User", "What is my boat called?", is_query=True),
                    turn("Assistant", "Petrel.", memory_session_uuids=["s1"], memory_used=used)]),
        )
    ]  # fmt: skip
    file = tmp_path / "small_realmem.json"
    file.write_text(json.dumps({"dialogues": talk}))
    sources = measure.read_sources([file])
    (question,) = sources[0].conversations[0].questions
    assert question.evidence == ("Ana's boat Petrel has a mainsail.",)
    (curves,) = budgets.measure(sources, "none", (300,))
    # Of its words the question has one, two of four turns hold another, and none has the two that are left.
    assert all(point.words.mean == 0.0 for point in curves.points if point.way == QUERIES[0])
    assert all(point.turns.mean == 1.0 for point in curves.points if point.way == QUERIES[0])


def point(way: str, turns: float, tokens: float) -> Point:
    held = Estimate(turns, turns, turns, 4)
    same = Estimate(0.5, 0.5, 0.5, 4)
    return Point(way, 250, held, same, same, tokens, 1.0)


def test_where_memwarden_is_beaten_is_said() -> None:
    points = [
        point(QUERIES[0], 0.6, 240),
        point(QUERIES[2], 0.9, 240),
        point(BLOCK, 0.4, 180),
        point("last turns", 0.5, 250),
    ]
    told = budgets_markdown(BudgetsReport({}, [Curves("x", "LoCoMo", 4, points, {"a": 1})], ["note"]))
    beaten = told.partition("## Beaten")[2].partition("## Excluded")[0]
    assert beaten.count("\n| x |") == 1  # equal is not beaten
    assert "| x | turns | 250 | memwarden, block (180 tokens) | 0.400 | last turns (250 tokens) | 0.500 |" in beaten
    assert "| x | a | 1 |" in told
    assert told.endswith("note\n")


def test_the_command_prints_and_draws(talk: Path, tmp_path: Path) -> None:
    png = tmp_path / "curves.png"
    given = ["budgets", str(talk), "--embedder", "none", "--budget", "60", "--limit", "2", "--plot", str(png)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert "| memwarden, query | 1.000 (1.000–1.000) |" in done.output
    assert png.read_bytes().startswith(b"\x89PNG")
    told = json.loads(CliRunner().invoke(app, [*given[:-2], "--json"]).output)
    assert told["curves"][0]["points"][0]["way"] == QUERIES[0]


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"role": "user", "content": "Hello there, boat."}]))
    done = CliRunner().invoke(app, ["budgets", str(file)])
    assert "hold no questions" in str(done.exception)
