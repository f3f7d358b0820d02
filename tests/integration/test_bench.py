"""The benchmark on miniature files, through the real API: the figures of constructed cases are exactly right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memwarden import BoundScope, Warden
from memwarden.settings import FEATURES
from memwarden.surfaces.conversation_files import (
    Conversation,
    LabelledQuestion,
    Session,
    TurnIdentity,
    read_conversations,
)
from memwarden_bench import measure, quality, report, sentences, speed
from memwarden_bench.app import app
from memwarden_bench.fresh import FreshInstall, TrialFailed
from memwarden_bench.metrics import area_under_curve
from memwarden_bench.peers import PEERS, PeerAnswer, ask_peer
from memwarden_bench.replay import (
    JudgedQuestion,
    Variant,
    needed_for,
    replay,
    sample,
    swap_names,
    timeline,
    without_gold,
)

WORDS = Variant("words", {"embedder": "none"})


def locomo_talk(name: str, subject: str) -> dict[str, Any]:
    """Two sessions of five turns; every turn has a word of its own, and every question asks for one such word."""
    made: dict[str, Any] = {"speaker_a": "Ida", "speaker_b": "Bo"}
    for number in (1, 2):
        made[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        made[f"session_{number}"] = [
            {
                "dia_id": f"D{number}:{turn}",
                "speaker": ("Ida", "Bo")[turn % 2],
                "text": f"The {subject}{number}{turn} is here.",
            }
            for turn in range(1, 6)
        ]
    questions = [
        {"question": f"Where is the {subject}{number}{turn}?", "evidence": [f"D{number}:{turn}"], "category": 4}
        for number in (1, 2)
        for turn in (1, 3)
    ]
    joined = {"question": f"Compare {subject}12 and {subject}24", "evidence": ["D1:2 D2:04"], "category": 1}
    wrong = {"question": f"Where is the {subject}15?", "evidence": ["D1:5"], "category": 5}
    lost = {"question": "What else?", "evidence": ["D"], "category": 3}
    return {"sample_id": name, "conversation": made, "qa": [*questions, joined, wrong, lost]}


def realmem_talk() -> dict[str, Any]:
    """Three sessions; the question of the third is answered by the first only."""

    def session(name: str, *turns: Mapping[str, Any]) -> dict[str, Any]:
        memories = (
            [{"content": "The boat", "source_content_snapshot": "My boat is called Petrel."}] if name == "s1" else []
        )
        return {
            "session_uuid": name,
            "current_time": f"2026-01-0{name[1]} (Monday)",
            "dialogue_turns": list(turns),
            "extracted_memory": memories,
        }

    def turn(speaker: str, content: str, **more: Any) -> dict[str, Any]:
        return {"speaker": speaker, "content": content, "is_query": False, **more}

    gold = {"memory_session_uuids": ["s1", "s3"], "memory_used": [{"session_uuid": "s1", "content": "The boat"}]}
    return {
        "_metadata": {"person_name": "Ana_Ruiz"},
        "dialogues": [
            session("s1", turn("User", "My boat is called Petrel."), turn("Assistant", "Lovely, like the seabird.")),
            session("s2", turn("User", "I planted garlic and leeks."), turn("Assistant", "They like full sun.")),
            session(
                "s3",
                turn("User", "What is my boat called?", is_query=True),
                turn("Assistant", "Petrel, the boat is called Petrel.", **gold),
                turn("User", "Tell me more.", is_query=True),
            ),
        ],
    }


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    file = tmp_path / "small_locomo.json"
    file.write_text(json.dumps([locomo_talk("one", "canoe"), locomo_talk("two", "kettle")]))
    return file


@pytest.fixture
def realmem(tmp_path: Path) -> Path:
    file = tmp_path / "small_realmem.json"
    file.write_text(json.dumps(realmem_talk()))
    return file


def test_a_conversation_whose_questions_name_their_turns_is_recalled_whole(locomo: Path) -> None:
    (figures,) = measure.run_variant(measure.read_sources([locomo]), WORDS)
    assert (figures.conversations, figures.sessions, figures.turns, figures.questions) == (2, 4, 20, 12)
    assert figures.turn["R@10"] == (1.0, 1.0, 1.0, 10)
    assert figures.turn["all@5"].mean == 1.0
    assert figures.session["R@5"] == (1.0, 1.0, 1.0, 10)
    assert {name: table["turn R@10"].questions for name, table in figures.categories.items()} == {
        "adversarial": 2,
        "multi-hop": 2,
        "single-hop": 8,
    }


def test_what_is_not_in_the_figures_is_counted(locomo: Path) -> None:
    (figures,) = measure.run_variant(measure.read_sources([locomo]), WORDS)
    assert figures.excluded == {
        "adversarial questions (apart, not in the headline figures)": 2,
        "evidence ids that name no turn": 2,
        "questions left without evidence": 2,
    }


def test_questions_are_put_to_another_conversation_too(locomo: Path) -> None:
    (figures,) = measure.run_variant(measure.read_sources([locomo]), WORDS)
    found = figures.abstention["asked in another conversation, its partners named"]
    assert found.questions == 10
    assert found.auc > 0.9


def test_what_confidence_and_scores_said_is_held_against_what_came_true(locomo: Path) -> None:
    """Of twenty questions half are another conversation's; what was kept back is judged too."""
    (figures,) = measure.run_variant(measure.read_sources([locomo]), WORDS)
    told, scored = figures.reliability["confidence of context"], figures.reliability["scores of items, query"]
    assert told.cases == 20
    assert sum(row.true * row.cases for row in told.bins if row.cases) == pytest.approx(10)
    assert scored.cases >= 20
    assert {*figures.reliability} >= {"confidence of query", "scores of items, context"}
    line = report.list_bins(told)
    assert line.count("→") == len([row for row in told.bins if row.cases])


def test_where_labels_name_sessions_one_of_them_answers(realmem: Path) -> None:
    """Their turns only say where in a session something was written."""
    (source,) = measure.read_sources([realmem])
    (conversation,) = source.conversations
    question = conversation.questions[0]
    assert needed_for(question, "RealMem") == [{*question.gold_sessions}]
    assert needed_for(question, "LoCoMo") == [{turn} for turn in question.gold_turns]
    (figures,) = measure.run_variant([source], WORDS)
    told = figures.reliability["confidence of context"]
    assert told.cases == len(conversation.questions)
    assert sum(row.true * row.cases for row in told.bins if row.cases) == pytest.approx(told.cases)


def test_a_foreign_question_names_the_partners_of_the_store(locomo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's name alone would tell that there is no answer."""
    talk = {**locomo_talk("three", "violin")}
    talk["conversation"] |= {"speaker_a": "Wim", "speaker_b": "Zoe"}
    for session in ("session_1", "session_2"):
        for turn in talk["conversation"][session]:
            turn["speaker"] = {"Ida": "Wim", "Bo": "Zoe"}[turn["speaker"]]
    talk["qa"] = [{"question": "What did Wim's boat teach Zoe in May?", "evidence": ["D1:1"], "category": 4}]
    locomo.write_text(json.dumps([locomo_talk("one", "canoe"), talk]))
    asked: list[str] = []
    query = BoundScope.query

    def noted(self: BoundScope, text: str, *positional: Any, **named: Any) -> Any:
        asked.append(text)
        return query(self, text, *positional, **named)

    monkeypatch.setattr(BoundScope, "query", noted)
    (figures,) = measure.run_variant(measure.read_sources([locomo]), WORDS)
    assert "What did Ida's boat teach Bo in May?" in asked
    assert figures.gate["of those with a date"].questions == 1
    assert figures.gate["of those without"].questions == 5
    known = LabelledQuestion("Does Anna Lee know Annabel?", (), (), "c", 0)
    assert swap_names(known, ("Anna Lee", "Bo"), ("Ida May", "Zoe")).text == "Does Ida May know Annabel?"
    assert swap_names(known, (), ("Ida",)) == known


def test_gold_turns_in_a_block_are_counted_beside_a_peer(locomo: Path) -> None:
    sources = measure.read_sources([locomo])
    (figures,) = measure.run_variant(sources, WORDS)
    (peer,) = measure.run_peer(sources, "SQLite FTS5 (porter)")
    for blocks in (figures.blocks, peer.blocks):
        assert list(blocks) == [
            *("turns, 500 tokens", "sessions, 500 tokens", "turns, 1,000 tokens", "sessions, 1,000 tokens")
        ]
        assert {found.questions for found in blocks.values()} == {10}
    assert figures.blocks["turns, 500 tokens"].mean > 0.8
    assert peer.blocks["turns, 500 tokens"].mean == 1.0


def test_a_block_without_the_gold_turn_counts_for_nothing() -> None:
    asked = LabelledQuestion("Who?", (TurnIdentity("t", "1"),), ("t",), "c", 0)
    there, elsewhere = (TurnIdentity("t", "1"),), (TurnIdentity("u", "1"),)
    answers = [
        PeerAnswer(asked, there, 0.0, {500: there, 1_000: there}),
        PeerAnswer(asked, there, 0.0, {500: elsewhere, 1_000: there}),
    ]
    found = quality.block_table(answers)
    assert (found["turns, 500 tokens"].mean, found["sessions, 500 tokens"].mean) == (0.5, 0.5)
    assert found["turns, 1,000 tokens"].mean == 1.0


def test_a_question_sees_only_the_sessions_before_it(realmem: Path) -> None:
    (conversation,) = read_conversations(realmem)
    order = [event.text if isinstance(event, LabelledQuestion) else event.thread for event in timeline(conversation)]
    assert order == ["s1", "s2", "What is my boat called?", "s3"]
    with Warden.open("memory://", config=WORDS.config) as warden:
        played = replay(conversation, warden)
        (answer,) = played.answers
        assert {turn.thread for turn in answer.turns} <= {"s1", "s2"}
        assert answer.turns[0] == TurnIdentity("s1", "s1:1")
        assert played.turns == 7
        assert "s3" in {memory.thread_id for memory in warden.scope(user=conversation.name).find()}


def test_realmem_figures(realmem: Path) -> None:
    (figures,) = measure.run_variant(measure.read_sources([realmem]), WORDS, left_out=5)
    assert figures.session["R@5"] == (1.0, 1.0, 1.0, 1)
    assert figures.turn["MRR"] == (1.0, 1.0, 1.0, 1)
    assert figures.abstention["its sessions were left out"].questions == 1
    assert figures.excluded == {
        "gold sessions that are not before the question's own": 1,
        "questions left without evidence": 1,
    }


def test_gold_sessions_left_out_are_not_in_the_store(realmem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (conversation,) = read_conversations(realmem)
    seen: list[str] = []
    opened = Warden.scope

    def scope(self: Warden, **who: Any) -> Any:
        seen.append(who.get("thread"))  # type: ignore[arg-type]
        return opened(self, **who)

    monkeypatch.setattr(Warden, "scope", scope)
    judged = without_gold(conversation, conversation.questions, WORDS.config, lambda what: None)
    assert len(judged) == 1
    assert seen == ["s2", None]


def test_files_of_one_layout_get_a_row_together(locomo: Path, realmem: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.json"
    second.write_text(json.dumps([locomo_talk("three", "violin")]))
    rows = measure.run_variant(measure.read_sources([locomo, realmem, second], limit=2), WORDS)
    assert [row.label for row in rows] == ["small_locomo.json", "small_realmem.json", "second.json", "all LoCoMo"]
    assert [row.questions for row in rows] == [4, 1, 2, 6]


@pytest.mark.parametrize("name", list(PEERS))
def test_peers_answer_the_same_questions(name: str, locomo: Path, realmem: Path) -> None:
    if "alone" not in name:
        (figures,) = measure.run_peer(measure.read_sources([locomo]), name)
        assert figures.turn["R@10"] == (1.0, 1.0, 1.0, 10)
    (conversation,) = read_conversations(realmem)
    (answer,) = ask_peer(PEERS[name](), conversation)
    assert answer.turns[0] == TurnIdentity("s1", "s1:1")
    assert {turn.thread for turn in answer.turns} <= {"s1", "s2"}


@pytest.mark.parametrize("name", list(PEERS))
def test_peers_without_turns_or_words(name: str) -> None:
    peer = PEERS[name]()
    peer.settle()
    assert peer.rank("anything", 5) == []
    peer.add(Session("t", None, ({"role": "user", "content": "hello world", "id": "1"},)))
    peer.settle()
    assert peer.rank('"?!', 5) in ([], [TurnIdentity("t", "1")])


def test_abstention_by_hand() -> None:
    answerable = [
        JudgedQuestion(True, 0.9),
        JudgedQuestion(True, 0.8),
        JudgedQuestion(True, 0.7),
        JudgedQuestion(False, 0.2),
    ]
    unanswerable = [
        JudgedQuestion(False, 0.1),
        JudgedQuestion(False, 0.15),
        JudgedQuestion(False, 0.1),
        JudgedQuestion(True, 0.75),
    ]
    found = quality.abstain(answerable, unanswerable)
    assert (found.precision, found.recall, found.kept) == (0.75, 0.75, 0.75)
    assert found.auc == area_under_curve([0.9, 0.8, 0.7, 0.2], [0.1, 0.15, 0.1, 0.75]) == 14 / 16


def test_a_derived_memory_takes_a_rank_for_each_turn_that_it_rests_on() -> None:
    with Warden.open("memory://", config=WORDS.config) as warden:
        me = warden.scope(user="u", thread="t")
        me.remember("Ida owns a canoe and a kayak", sources=["a", "b"])
        found = me.query("Does Ida own a canoe?", top_k=5, threshold=0.0)
    from memwarden_bench.replay import turns_of

    assert turns_of(me, found.items) == (TurnIdentity("t", "a"), TurnIdentity("t", "b"))


def test_a_deeper_ranking_begins_like_a_short_one(locomo: Path) -> None:
    (conversation, _) = read_conversations(locomo)
    with Warden.open("memory://", config=WORDS.config) as warden:
        replay(replace(conversation, questions=()), warden)
        me = warden.scope(user=conversation.name)
        deep = me.query("Where is the canoe12?", top_k=200, threshold=0.0, budget_tokens=None)
        short = me.query("Where is the canoe12?", top_k=3, threshold=0.0, budget_tokens=None)
    assert [item.id for item in deep.items[:3]] == [item.id for item in short.items]


def test_sample_is_evenly_spread() -> None:
    questions = [LabelledQuestion(str(number), (), ("t",), "c", 0) for number in range(10)]
    assert [item.text for item in sample(questions, 3)] == ["0", "3", "6"]
    assert sample(questions, 0) == questions


# --- the command


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_quality_command_prints_json_and_writes_markdown_and_a_picture(locomo: Path, tmp_path: Path) -> None:
    markdown, plot = tmp_path / "out.md", tmp_path / "out.png"
    printed = json.loads(
        run("quality", str(locomo), "--embedder", "none", "--json", "--markdown", str(markdown), "--plot", str(plot))
    )
    (figures,) = printed["runs"]["none"]
    assert figures["turn"]["R@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "questions": 10}
    assert {peer["name"] for peer in printed["peers"]} == set(PEERS)
    assert printed["circumstances"]["file small_locomo.json"].startswith("sha256 ")
    text = markdown.read_text(encoding="utf-8")
    assert "| small_locomo.json | memwarden, none | 10 | 1.000 (1.000–1.000) |" in text
    assert str(tmp_path) not in text
    assert "| small_locomo.json | questions left without evidence | 2 |" in text
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_quality_command_runs_every_variant(locomo: Path) -> None:
    printed = json.loads(run("quality", str(locomo), "--ablate", "--no-peers", "--limit", "2", "--json"))
    assert set(printed["runs"]) == {"words", "wordllama", *(f"without {name}" for name in FEATURES)}
    assert printed["peers"] == []


def test_quality_command_takes_questions_of_its_own_file(tmp_path: Path) -> None:
    talk, asked = tmp_path / "talk.json", tmp_path / "asked.json"
    talk.write_text(json.dumps([{"role": "user", "content": "My boat is called Petrel.", "id": "a"}]))
    asked.write_text(json.dumps([{"question": "What is my boat called?", "expect": ["a"]}]))
    printed = run("quality", str(talk), "--questions", str(asked), "--embedder", "none", "--no-peers")
    assert "| talk.json | memwarden, none | 1 | 1.000 (1.000–1.000) |" in printed


def test_quality_command_needs_questions(tmp_path: Path) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([{"role": "user", "content": "Hello"}]))
    result = CliRunner().invoke(app, ["quality", str(talk)])
    assert result.exit_code != 0
    assert "hold no questions" in str(result.exception)


@pytest.mark.soak
def test_speed_command_on_a_tiny_namespace(tmp_path: Path, locomo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "STARTS", 1)
    asked = ("speed", "--embedder", "none", "--no-peers", "--size", "45", "--queries", "7", "--data", str(locomo))
    printed = run(*asked, "--json")
    (size,) = json.loads(printed)["sizes"]
    assert size["rows"] == 45
    assert all(value is not None and value > 0 for value in size.values())
    again = json.loads(printed)
    rows = speed.SizeFigures(**again["sizes"][0])
    made = speed.SpeedReport({}, "none", "x", 1.0, 2.0, [rows], FreshInstall(3, 4.0, 5.0))
    assert "| 45 |" in report.speed_markdown(made)
    report.speed_plot(made, tmp_path / "speed.png")
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_a_trial_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(TrialFailed, match=r"embedder is auto, .* not 'nonsense'"):
        speed.measure_size(1, "nonsense", data=None, folder=tmp_path, queries=7, tick=lambda what: None)


def test_made_up_chats_are_repeatable_and_their_vocabulary_grows() -> None:
    assert list(sentences.turns(50)) == list(sentences.turns(50))
    assert len({message["id"] for message in sentences.turns(50)}) == 50
    sizes = [
        len({word for message in sentences.turns(rows) for word in message["content"].split()}) for rows in (200, 2_000)
    ]
    assert sizes[1] > 1.5 * sizes[0]
    assert [len(messages) for _, messages in sentences.threads(sentences.turns(45))] == [20, 20, 5]


def test_varied_messages_never_repeat() -> None:
    talk = Conversation("a", "b", (), (Session("t", None, ({"role": "user", "content": "hi", "id": "1"},)),))
    made = list(sentences.vary(talk.sessions[0].messages, 30))
    assert made[0]["content"] == "hi"
    assert len(made) == len({message["id"] for message in made}) == 30
    assert all(message["content"].startswith("hi ") for message in made[1:])
