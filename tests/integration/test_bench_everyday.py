"""What ``bench everyday`` counts, on a small history that is made here and on texts that are judged by hand."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memwarden.errors import InvalidInput
from memwarden.surfaces.conversation_files import Session, TurnIdentity
from memwarden_bench import everyday
from memwarden_bench.app import app
from memwarden_bench.everyday import (
    HistoryMessage,
    HistoryQuestion,
    LastTurns,
    PlainBm25,
    ShownText,
    judge,
    pack_messages,
    read_history,
    replay_history,
)
from memwarden_bench.first_hour import measure_first_hour, read_first_hour

PAGE = Path(__file__).parents[2] / "docs/howto/measure-everyday-memory.md"
SAID = (
    ("2026-01-05", "The spare key hangs behind the blue barrel."),
    ("2026-01-05", "My sister Wanda paints lighthouses for a living."),
    ("2026-02-10", "I take the tram to the harbour office every morning."),
    ("2026-03-15", "I moved the spare key, it is in the flower pot now."),
)
KEY = {"q": "Where is the spare key now?", "type": "current", "answer_keys": [["flower pot"]], "evidence": ["m3"]}
PAINTS = {
    "q": "What does my sister Wanda paint?",
    "type": "detail",
    "answer_keys": [["lighthouses"]],
    "evidence": ["m1"],
}
EARLY = {"q": "Where does the spare key hang?", "type": "past", "answer_keys": [["barrel"]], "evidence": ["m0"]}
WORLD = {"q": "How many moons does Jupiter have?", "type": "world"}


def made_history(*questions: dict[str, Any], asked_at: str = "2026-04-01T09:00:00Z", **more: Any) -> dict[str, Any]:
    threads = [
        {
            "id": f"t{number}",
            "messages": [{"id": f"m{number}", "role": "user", "content": text, "created_at": f"{day}T10:00:00+01:00"}],
        }
        for number, (day, text) in enumerate(SAID)
    ]
    asked = [{"id": f"q{number}", "asked_at": asked_at, **question} for number, question in enumerate(questions)]
    return {"id": "harbour", "language": "en", "threads": threads, "questions": asked, **more}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    early = {**EARLY, "asked_at": "2026-01-20T09:00:00Z"}
    file = tmp_path / "harbour.json"
    file.write_text(json.dumps(made_history({**KEY, "stale": ["m0"]}, PAINTS, early, WORLD)))
    return file


def question(**labels: Any) -> HistoryQuestion:
    made = made_history({"q": "Where?", "type": "current", "evidence": ["m3"], **labels})
    return read_history(made, "here").questions[0]


def shown(*messages: str, text: str = "") -> ShownText:
    return ShownText([frozenset({message}) for message in messages], text, 10, text)


# --- judging


@pytest.mark.parametrize(
    ("messages", "stale", "right"),
    [(("m3", "m0"), False, True), (("m0", "m3"), True, False), (("m0",), True, False), (("m1", "m2"), False, True)],
    ids=["below the current message", "above the current message", "alone", "not there"],
)
def test_what_is_outdated_must_stand_below_what_holds(messages: tuple[str, ...], stale: bool, right: bool) -> None:
    found = judge(question(stale=["m0"], answer_keys=[["pot"]]), shown(*messages, text="In the flower POT."))
    assert (found.answer, found.stale, found.right) == (True, stale, right)


def test_every_part_of_an_answer_has_to_stand_in_the_text() -> None:
    keys = [["pot", "vase"], ["kitchen"]]
    assert judge(question(answer_keys=keys), shown("m1", text="the vase in the kitchen")).answer
    assert not judge(question(answer_keys=keys), shown("m3", text="the flower pot")).answer


def test_without_words_of_an_answer_the_messages_decide() -> None:
    assert judge(question(), shown("m1", "m3")).answer
    assert not judge(question(also=["m2"]), shown("m1", "m2")).answer


def test_evidence_and_useful_items_are_counted() -> None:
    found = judge(question(evidence=["m0", "m3"], also=["m2"]), shown("m3", "m1", "m1"))
    assert (found.evidence, found.useful, found.items, found.stale, found.refused) == (0.5, 1, 3, None, False)
    assert judge(question(evidence=["m0", "m3"], also=["m2"]), shown("m2")).evidence == 1.0
    assert judge(question(), shown()).refused


# --- reading


def test_a_question_is_asked_before_the_thread_that_begins_after_it() -> None:
    made = read_history(made_history(EARLY, asked_at="2026-02-01T00:00:00Z"), "here")
    order = [event.id for event in replay_history(made)]
    assert order == ["t0", "t1", "q0", "t2", "t3"]


def test_labels_that_name_nothing_are_left_out_and_counted() -> None:
    lost = {"q": "Who?", "type": "detail", "evidence": ["m77"]}
    made = read_history(made_history({**KEY, "evidence": ["m3", "m99"], "also": ["m98"]}, lost, WORLD), "here")
    assert [item.q for item in made.questions] == [KEY["q"], WORLD["q"]]
    assert made.questions[0].evidence == ("m3",)
    assert made.excluded == {"labels that name no message": 3, "questions without evidence": 1}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"threads": []}, r"length >= 1 - at `\$.threads`"),
        (
            {"questions": [{"id": "q0", "q": "Why?", "type": "past"}]},
            r"required field `asked_at` - at `\$.questions\[0\]`",
        ),
        ({"questions": [{**KEY, "id": "q0", "asked_at": "2026-04-01T09:00:00"}]}, "timezone"),
    ],
)
def test_a_broken_history_is_told_with_its_place(broken: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_history(made_history(**broken), "here")


def test_an_id_of_two_messages_is_refused() -> None:
    made = made_history(KEY)
    made["threads"][1]["messages"][0]["id"] = "m0"
    with pytest.raises(InvalidInput, match="the id 'm0' belongs to two messages"):
        read_history(made, "here")


# --- peers


def session(*texts: str) -> Session:
    return Session("t", None, tuple({"id": f"m{place}", "content": text} for place, text in enumerate(texts)))


def test_plain_bm25_ranks_rare_words_first_and_reads_scripts_without_spaces() -> None:
    peer = PlainBm25()
    peer.add(
        session("the key and the door", "the key of the boat", "the boat", "新しい仕事を始めました", "猫を飼っています")
    )
    assert [turn.id for turn in peer.rank("the key boat", 2)] == ["m1", "m2"]
    assert [turn.id for turn in peer.rank("仕事は？", 5)] == ["m3"]
    assert peer.rank("giraffe", 5) == []


def test_plain_bm25_by_hand() -> None:
    """Two turns of two and four words: the idf of a word that one of two turns holds is log 2."""
    peer = PlainBm25()
    peer.add(session("red boat", "red boat red house"))
    peer.settle()
    first = 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3))
    second = 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3))
    assert second > first
    assert [turn.id for turn in peer.rank("red", 5)] == ["m1", "m0"]


def test_last_turns_come_newest_first() -> None:
    peer = LastTurns()
    peer.add(session("a", "b", "c"))
    assert peer.rank("anything", 2) == [TurnIdentity("t", "m2"), TurnIdentity("t", "m1")]


def test_whole_messages_are_taken_until_the_first_that_does_not_fit() -> None:
    thread = read_history(made_history(KEY), "here").threads[0]
    first = thread.messages[0]
    long = HistoryMessage("long", "user", "x" * 400, first.created_at)
    found = pack_messages([first, long, first], 60)
    assert ([*map(set, found.messages)], found.tokens) == ([{"m0"}], 22)


# --- the command


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["everyday", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_counts_what_a_person_gets_back(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")
    markdown, plot = tmp_path / "out.md", tmp_path / "out.png"
    words = (
        str(history),
        "--no-peers",
        "--json",
        "--show",
        "current",
        "--markdown",
        str(markdown),
        "--plot",
        str(plot),
    )
    printed = json.loads(run(*words))
    found = {(row["way"], row["by"], row["group"]): row["figures"] for row in printed["rows"]}
    everything = found["memwarden, context", "all", "all"]
    assert (everything["questions"], everything["right"]["questions"]) == (4, 3)
    assert (everything["right"]["mean"], everything["stale"], everything["off_topic"]) == (1.0, 0.0, 1.0)
    assert (everything["unknown"], everything["auc"]) == (None, 1.0)
    assert found["memwarden, query", "type", "past"]["answer"] == 1.0
    assert found["last turns", "type", "world"]["refused"] == 0.0
    assert {name for name, _, _ in found} == {
        *("memwarden, context", "memwarden, query", "memwarden, query, 20 items in 512 tokens"),
        *("BM25, plain", "last turns"),
    }
    assert printed["reliability"]["confidence of context"]["cases"] == 4
    (text,) = printed["shown"]
    assert (text["question"]["q"], text["right"]) == (KEY["q"], True)
    assert "flower pot" in text["block"]
    page = markdown.read_text("utf-8")
    assert "## What the block showed\n\n### harbour q0, current: Where is the spare key now?" in page
    assert "## Excluded\n\nNothing." in page
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_question_asked_early_does_not_see_what_came_later(history: Path) -> None:
    asked = json.loads(history.read_text())
    asked["questions"] = [{**KEY, "id": "q0", "asked_at": "2026-01-20T09:00:00Z"}]
    history.write_text(json.dumps(asked))
    printed = json.loads(run(str(history), "--no-peers", "--json"))
    assert {row["figures"]["answer"] for row in printed["rows"]} == {0.0}


def test_installed_peers_get_the_same_questions(history: Path) -> None:
    printed = json.loads(run(str(history), "--json"))
    rankings, systems = everyday.list_peers()
    ways = [row["way"] for row in printed["rows"] if row["by"] == "all"]
    assert ways[5:] == [*rankings, *(kind.name for kind in systems)]
    assert {row["figures"]["questions"] for row in printed["rows"] if row["by"] == "all"} == {4}
    found = {row["way"]: row["figures"]["right"]["mean"] for row in printed["rows"] if row["group"] == "detail"}
    assert {found[name] for name in ways[5:]} == {1.0}


def test_what_is_left_out_is_printed(history: Path) -> None:
    asked = json.loads(history.read_text())
    asked["questions"][0]["also"] = ["nobody"]
    asked["threads"][0]["messages"].append(
        {"id": "empty", "role": "user", "content": " ", "created_at": "2026-01-05T11:00:00Z"}
    )
    history.write_text(json.dumps(asked))
    printed = run(str(history), "--no-peers")
    assert "| labels that name no message | 1 |" in printed
    assert re.search(r"\| messages not stored: [^|]+ \| 1 \|", printed)


def test_the_first_hour_is_recognised_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")
    file = tmp_path / "small.json"
    store = {
        "said": ["I work as a baker."],
        "ask": [["What is my job?", "BAKER"], ["What is my job?", "pilot"]],
        "never": ["How many moons does Jupiter have?"],
    }
    file.write_text(json.dumps({"alone": store, "several": [store, store]}))
    rows = json.loads(run(str(file), "--json"))["first_hour"]
    found = {(row["part"], row["write"], row["read"]): row for row in rows}
    assert len(found) == 8
    assert (found["several", "observe", "query"]["answered"], found["several", "observe", "query"]["asked"]) == (2, 4)
    assert (found["alone", "remember", "context"]["something"], found["alone", "remember", "context"]["never"]) == (
        0,
        1,
    )
    assert found["alone", "observe", "context"]["missed"] == ["What is my job?"]


def test_small_stores_that_are_none_are_told_with_their_place() -> None:
    with pytest.raises(InvalidInput, match=r"'here' holds no small stores: .*`\$\[\.\.\.\]"):
        read_first_hour({"alone": {"said": "text", "ask": []}}, "here")
    assert measure_first_hour({}) == []


def test_the_page_that_documents_the_layouts_is_measured_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "auto")
    history, small = re.findall(r"```json\n(.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for name, text in (("history.json", history), ("small.json", small)):
        (tmp_path / name).write_text(text, "utf-8")
    printed = json.loads(run(str(tmp_path / "history.json"), str(tmp_path / "small.json"), "--no-peers", "--json"))
    found = {(row["way"], row["by"]): row["figures"] for row in printed["rows"] if row["by"] == "all"}
    assert found["memwarden, context", "all"]["right"]["mean"] == 1.0
    assert printed["excluded"] == {}
    assert all(row["answered"] == row["asked"] and not row["something"] for row in printed["first_hour"])


def test_figures_of_nothing_are_no_figures() -> None:
    found = everyday.figures([])
    assert found.questions == 0
    assert all(math.isnan(value) for value in (found.answer, found.refused, found.useful_of_100, found.auc))
