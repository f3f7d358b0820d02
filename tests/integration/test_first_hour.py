"""What newcomers try in their first hour: verbs of other libraries, short ids, past answers, a fresh start."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.errors import Conflict, InvalidInput
from memwarden.surfaces.cli.main import run

MEMWARDEN = Path(sys.executable).with_name("memwarden")


def cli(*words: str, code: int = 0) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'a.db'}"


def test_a_reset_takes_the_users_name_and_everything_comes_back(warden: Warden) -> None:
    me, other = warden.scope(user="ana", thread="t1", run="r1"), warden.scope(user="bob")
    me.observe("I keep bees on the roof.")
    kept = me.remember("Ana sells honey in May.").results[0].id
    me.state.save("hives", 3)
    other.remember("Bob plays chess on Sundays.")
    with pytest.raises(InvalidInput, match=r"forget 3 memories of the user 'ana'.*confirm='ana'"):
        me.reset()
    with pytest.raises(InvalidInput, match="confirm"):
        me.reset(confirm="bob")
    assert len(me.find()) == 3
    assert len(me.reset(confirm="ana", filters={"channel": "turn"}).results) == 1
    assert len(me.reset(confirm="ana").results) == 2
    assert me.find() == []
    assert me.state.list_keys() == []
    assert me.reset(confirm="ana").results == ()
    assert len(other.find()) == 1
    me.restore(str(kept))
    assert me.get(str(kept)).text == "Ana sells honey in May."


def test_a_reset_of_an_agent_forgets_what_it_may_read(warden: Warden) -> None:
    me, planner = warden.scope(user="ana"), warden.scope(user="ana", agent="stylist")
    me.remember("The order of candles is due.", category="tasks")
    hidden = {memory.id for memory in me.find()} - {memory.id for memory in planner.find()}
    planner.reset(confirm="ana")
    assert {memory.id for memory in me.find()} == hidden


def test_users_are_listed_by_tenant(warden: Warden) -> None:
    assert warden.users() == []
    for name in ("bob", "ana"):
        warden.scope(user=name).remember(f"{name} keeps bees.")
    warden.scope(user="eve", tenant="other").remember("Eve keeps bees.")
    warden.tiers.project("p1").add_decision("Bees stay.")
    assert (warden.users(), warden.users(tenant="other")) == (["ana", "bob"], ["eve"])


def test_agents_and_runs_are_filtered_by(warden: Warden) -> None:
    warden.scope(user="ana", run="r1", thread="a").observe("The harvest of the bees begins in June.")
    warden.scope(user="ana", run="r2", thread="b").observe("The harvest of the bees ended in August.")
    warden.scope(user="ana", agent="planner", thread="c").observe("The harvest of the bees was planned.")
    me = warden.scope(user="ana")
    found = me.query("When was the harvest of the bees?", filters={"run_id": "r1"}, threshold=0)
    assert [item.memory.text for item in found.items] == ["The harvest of the bees begins in June."]
    assert [memory.run_id for memory in me.find({"run_id": ["r1", "r2"]})] == ["r2", "r1"]
    assert [memory.text for memory in me.find({"agent_id": "planner"})] == ["The harvest of the bees was planned."]


def test_a_text_is_a_message_of_the_user(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    me.observe("I am allergic to hazelnuts.")
    (turn,) = me.find()
    assert (turn.role, turn.text) == ("user", "I am allergic to hazelnuts.")
    other = warden.scope(user="ana", thread="u")
    asked = "Which nuts am I allergic to, hazelnuts?"
    assert (
        other.context(asked, threshold=0).text == other.context([{"role": "user", "content": asked}], threshold=0).text
    )
    assert "hazelnuts" in other.context(asked, threshold=0).text


@pytest.mark.parametrize(
    ("name", "leads_to"),
    [("add", "observe"), ("search", "query"), ("get_all", "find"), ("delete", "forget"), ("delete_all", "reset")],
)
def test_verbs_of_other_libraries_lead_to_ours(name: str, leads_to: str) -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        for where in (warden, warden.scope(user="ana")):
            with pytest.raises(AttributeError, match=rf"has no '{name}'.*{leads_to}"):
                getattr(where, name)("I like tea")
            assert not hasattr(where, "nonsense")
        with pytest.raises(AttributeError, match=r"scope\(user=\.\.\.\)"):
            warden.remember("I like tea")  # type: ignore[attr-defined]


def test_verbs_of_other_libraries_lead_to_ours_when_awaited() -> None:
    async def ask() -> None:
        async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
            with pytest.raises(AttributeError, match="query"):
                warden.scope(user="ana").search("tea")  # type: ignore[attr-defined]

    asyncio.run(ask())


def test_errors_of_blocking_calls_name_blocking_classes() -> None:
    with Warden.open("memory://", config={"embedder": "none"}) as warden:
        me: Any = warden.scope(user="ana")
        calls: list[tuple[Any, str]] = [
            (lambda: me.observe(), r"BoundScope\.observe\(\)"),
            (lambda: me.query("x", nope=1), r"BoundScope\.query\(\)"),
            (lambda: me.turn(), r"BoundScope\.turn\(\)"),
            (lambda: me.state.save(), r"State\.save\(\)"),
            (lambda: me.review.pending(1, 2), r"Review\.pending\(\)"),
            (lambda: warden.scope(userr="x"), r"Warden\.scope\(\)"),  # type: ignore[call-arg]
        ]
        for call, named in calls:
            with pytest.raises(TypeError, match=rf"^{named}"):
                call()


def test_short_ids_name_memories_and_ambiguous_ones_say_what_they_mean(db: str) -> None:
    with Warden.open(db, config={"embedder": "none"}) as warden:
        me = warden.scope(user="default")
        ids = [str(me.remember(f"Hive {name} is painted.").results[0].id) for name in ("north", "south", "east")]
    short = ids[1][-8:]
    assert "Hive south is painted." in cli("get", short, "--db", db)
    said = cli("get", ids[0][:3], "--db", db, code=2)
    assert "short for 3 memories" in said
    assert all(item in said for item in ids)
    cli("forget", short, "--db", db)
    assert "Hive south" not in cli("find", "--db", db)
    assert "Hive south" in cli("history", short, "--db", db)
    cli("restore", ids[1][-10:], "--db", db)
    cli("pin", ids[2][-8:], "--db", db)
    cli("edit", ids[2][-8:], "--importance", "0.75", "--db", db)
    assert "0.75, pinned" in cli("get", ids[2], "--db", db)
    assert "no memory" in cli("get", "zzzz", "--db", db, code=3)


def test_times_and_the_past_on_the_command_line(db: str) -> None:
    cli("add", "Ana works at the museum.", "--created-at", "2026-01-05", "--valid-from", "2026-01-01", "--db", db)
    cli("add", "Ana works at the library.", "--valid-from", "2026-06-01", "--db", db)
    cli("add", "Ana house-sits for Tomas.", "--expires-at", "2999-01-01", "--metadata", "page=7", "--db", db)
    assert "museum" in cli("query", "Where does Ana work?", "--as-of", "2026-02-01", "--threshold", "0", "--db", db)
    assert "library" not in cli("find", "--as-of", "2026-02-01", "--db", db)
    assert "library" not in cli("find", "--as-of", "1", "--db", db)
    (memory,) = json.loads(cli("find", "--filter", "metadata.page=7", "--db", db, "--json"))
    assert memory["valid_to"].startswith("2999-01-01")
    assert "expires_at" in cli("add", "Ana is away.", "--expires-at", "2001-01-01", "--db", db, code=2)


def test_users_and_reset_on_the_command_line(db: str) -> None:
    cli("add", "Ana keeps bees.", "--user", "ana", "--db", db)
    cli("add", "Bob keeps goats.", "--user", "bob", "--db", db)
    assert json.loads(cli("users", "--json", "--db", db)) == [
        {"user": "ana", "memories": 1},
        {"user": "bob", "memories": 1},
    ]
    assert "would forget 1 memories of the user 'ana'" in cli("reset", "--user", "ana", "--db", db, code=2)
    assert "Forgotten: 1 memories of the user 'ana'" in cli("reset", "--user", "ana", "--confirm", "ana", "--db", db)
    assert "No memory fits." in cli("find", "--user", "ana", "--db", db)
    assert "goats" in cli("find", "--user", "bob", "--db", db)


def test_a_store_that_was_never_named_says_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("MEMWARDEN_DB", raising=False)
    monkeypatch.chdir(tmp_path)
    said = cli("find", code=3)
    assert "when no store is named" in said
    assert "memwarden.db" in said
    added = cli("add", "Ana keeps bees.")
    assert "memwarden.db" in added, "the first write without --db says where"
    assert "memwarden.db" not in cli("add", "Bob keeps goats.")
    assert "memwarden.db" not in cli("find")


def test_a_reader_that_has_enough_is_no_failure(db: str) -> None:
    cli("add", "Ana keeps bees.", "--db", db)
    command = f"set -o pipefail; {MEMWARDEN} find --json --db {db} | head -c 20"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_store_without_leaks_is_a_single_line(db: str) -> None:
    cli("add", "Ana keeps bees.", "--db", db)
    said = cli("doctor", "--leaks", "--db", db)
    assert len(said.strip().splitlines()) == 1
    assert "no leaks" in said


def test_a_merged_memory_is_not_restored_by_its_short_id(db: str) -> None:
    with Warden.open(db, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana works as a nurse.")
        me.remember("Ana works as a nurse.")
        merged = [entry.memory_id for entry in me.journal.history() if entry.event == "MERGE"]
        with pytest.raises(Conflict):
            me.restore(merged[-1])


def test_the_demo_is_read_in_a_minute_unless_all_of_it_is_asked_for(db: str) -> None:
    short = cli("demo", "--db", db)
    assert len(short.splitlines()) < 100
    for part in ("What is the code of the key box", "4417", "right (", "nothing relevant"):
        assert part in short
    assert "Why each is in" not in short
    full = cli("demo", "--full", "--db", db)
    assert len(full.splitlines()) > 2 * len(short.splitlines())
    assert "Why each is in" in full


async def test_after_a_reset_no_answer_repeats_the_words_that_went(url: str) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.remember("My locker holds a red violin.")
        assert "violin" in (await me.query("What is in the locker?", threshold=0.0)).text
        await me.reset(confirm="ana")
        answer = await me.query("What is in the locker?", threshold=0.0)
        assert "violin" not in answer.text
        assert "holds no longer" in answer.text
        assert "violin" not in str(answer.delta)
