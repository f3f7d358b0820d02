"""Operational events (B14): what is told of reads, writes, skips and failures, to whom, and what it may cost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from memwarden import AsyncWarden, Warden, clock
from memwarden import settings as config
from memwarden.api.blocking import BoundScope
from memwarden.errors import InvalidInput, MemwardenError, ModelUnavailable, NotFound, StoreError
from memwarden.models import json_answers
from memwarden.observability import event_queue
from memwarden.observability.records import OpEvent
from memwarden.records import Namespace
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.url import store_at
from memwarden.testing import get_runtime
from memwarden.testing.event_tests import an_event
from memwarden.testing.examples import NAMESPACE, a_batch, a_put
from memwarden.testing.scripted import ScriptedModel

WORDS_ONLY = {"embedder": "none"}
# Only what is read with the default model is quoted.
QUOTES = {"embedder": "auto"}
ANA = Namespace("default", "user/ana")
Line = tuple[str, str, str, str]


def lines(me: BoundScope, **wanted: Any) -> list[Line]:
    """What was told of, oldest first: node, op, status and reason."""
    return [
        (event.node, event.op, event.status, event.reason) for event in me.journal.events(descending=False, **wanted)
    ]


# What is told


def test_writes_searches_and_skips_are_told(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t1")
    said = [
        {"role": "user", "content": "I live in Berlin.", "id": "m1"},
        {"role": "assistant", "content": "Good to know.", "id": "m2"},
        {"role": "system", "content": "You are kind.", "id": "m3"},
    ]
    me.observe(said)
    me.observe(said[:2])
    me.remember(["Ana lives in Berlin.", "Hello!"])
    home = me.find({"channel": "semantic"})[0]
    me.query("Where does Ana live?")
    me.query("How do the rings of Saturn stay in place?")
    me.context([{"role": "user", "content": "How do the rings of Saturn stay in place?"}])
    assert lines(me) == [
        ("hotpath", "create", "ok", "turns"),
        ("hotpath", "classify", "skipped", "rejected"),
        ("hotpath", "create", "skipped", "already_stored"),
        ("hotpath", "create", "ok", ""),
        ("hotpath", "classify", "skipped", "rejected"),
        ("hotpath", "search", "ok", "listed"),
        ("hotpath", "search", "ok", ""),
        ("hotpath", "search", "skipped", "nothing_relevant"),
        ("context", "search", "skipped", "nothing_relevant"),
    ]
    told = me.journal.events(descending=False)
    assert [item.count for item in told] == [2, 1, 2, 1, 1, 1, 1, 1, 1]
    assert told[0].rev == 2
    assert (told[3].memory_id, told[3].category, told[3].rev) == (home.id, "activity", 3)
    assert told[6].memory_id in {item.id for item in me.find()}
    assert 0.1 < (told[6].sim or 0) <= 1
    assert (told[7].memory_id, told[7].category) == (None, None)
    assert 0 <= (told[7].sim or 0) < 0.5
    assert all(item.user_id == "ana" and item.thread_id == "t1" and item.ms and item.ms > 0 for item in told)


def test_what_changed_and_when_leads_to_the_journal(warden: Warden) -> None:
    me = warden.scope(user="ana")
    me.remember("Ana lives in Berlin.", created_at="2026-05-01")
    me.remember("Ana lives in Berlin", created_at="2026-05-01")
    me.remember("Ana lives in Lisbon now.", created_at="2026-06-01")
    first = me.find({"valid_to": {"$ne": None}})[0].id
    me.journal.undo(me.journal.history(descending=True, limit=1)[0].seq)
    me.forget(first)
    me.restore(first)
    me.pin(first)
    of_first = [
        (event.op, event.reason, event.status) for event in me.journal.events(memory_id=first, descending=False)
    ]
    assert of_first[:3] == [("create", "", "ok"), ("merge", "", "ok"), ("update", "superseded", "ok")]
    assert of_first[-3:] == [("delete", "", "ok"), ("restore", "", "ok"), ("update", "", "ok")]
    assert ("restore", "undo", "ok") in of_first
    entries = {item.seq: item for item in me.journal.history(limit=1000)}
    for event in me.journal.events():
        assert event.rev is None or abs((event.ts - entries[event.rev].at).total_seconds()) < 60


def test_calls_that_are_refused_are_told(warden: Warden) -> None:
    me = warden.scope(user="ana")
    calls: list[Any] = [
        lambda: me.journal.undo(7), lambda: me.query("x", categories=["nonsense"]),
        lambda: me.remember("x", importance=7), lambda: me.update("nobody", importance=0.1),
        lambda: me.consent.decide("nobody", True),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(MemwardenError):
            call()
    assert lines(me, status="error") == [
        ("hotpath", "restore", "error", "NotFound"),
        ("hotpath", "search", "error", "InvalidInput"),
        ("hotpath", "create", "error", "InvalidInput"),
        ("hotpath", "update", "error", "NotFound"),
        ("hotpath", "update", "error", "NotFound"),
    ]


def test_looking_through_is_episodic(url: str) -> None:
    with Warden.open(url, QUOTES) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.observe({"role": "user", "content": "My daughter Mia is allergic to peanuts.", "id": "m9"})
        me.extract_pending()
        me.extract_pending()
        told = lines(me, node="episodic")
    assert ("episodic", "create", "ok", "") in told
    assert told[-2:] == [("episodic", "classify", "ok", ""), ("episodic", "classify", "skipped", "nothing_new")]


def test_items_of_a_backend_are_told_with_nobody(warden: Warden) -> None:
    from memwarden.tiers.backend import ContextItem

    items = warden.backend("user/ana")
    items.add(ContextItem("one", "note", payload={"text": "Water the plants."}))
    items.delete("one")
    told = warden.scope(user="ana").journal.events(descending=False)
    assert [(item.op, item.memory_id, item.category, item.user_id, item.ms) for item in told] == [
        ("create", "one", "activity", None, None), ("delete", "one", "activity", None, None),
    ]  # fmt: skip


# Models that fail


def relations_asked(model: ScriptedModel) -> list[Line]:
    """What is told when a statement of the check band is judged by a model."""
    with Warden.open("memory://", config={}, chat_model=model) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana drinks tea in the morning.")
        result = me.remember("In the mornings Ana likes a cup of tea.")
        assert result.results[0].id is not None
        assert model.asked, "no pair came into the check band"
        return lines(me, op="model")


class Slow(ScriptedModel):
    def complete(self, system: str, prompt: str, **given: Any) -> str:
        super().complete(system, prompt, **given)
        time.sleep(0.3)
        return "{}"


def test_a_chat_model_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "chat_model_unavailable": ScriptedModel(ModelUnavailable("down")),
        "chat_model_garbage": ScriptedModel("no json", "again none"),
        "chat_model_broken": ScriptedModel(KeyError("x")),
    }
    for reason, model in told.items():
        assert relations_asked(model) == [("hotpath", "model", "error", reason)]
    monkeypatch.setattr(json_answers, "TIME_LIMIT_SECONDS", 0.05)
    assert relations_asked(Slow("{}")) == [("hotpath", "model", "error", "chat_model_late")]


def test_extraction_without_its_model_is_told() -> None:
    with Warden.open("memory://", config=QUOTES, chat_model=ScriptedModel("none", "again none")) as warden:
        me = warden.scope(user="ana")
        me.observe({"role": "user", "content": "My daughter Mia is allergic to peanuts.", "id": "m9"})
        me.extract_pending()
        assert ("episodic", "model", "error", "chat_model_garbage") in lines(me)
        assert ("episodic", "classify", "ok", "") in lines(me)  # by the rules


@pytest.mark.parametrize("model", [None, ScriptedModel("none", "again none")])
def test_what_observe_looks_through_by_itself_is_episodic(model: ScriptedModel | None) -> None:
    settings = {**QUOTES, "extraction": "every_turn"}
    with Warden.open("memory://", config=settings, chat_model=model) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.observe({"role": "user", "content": "My daughter Mia is allergic to peanuts.", "id": "m9"})
        me.extract_pending()  # waits for a look beside the call
        told = [line[:3] for line in lines(me)]
        assert told[0] == ("hotpath", "create", "ok")
        assert ("episodic", "create", "ok") in told
        assert (("episodic", "model", "error") in told) == (model is not None)
        assert {event.thread_id for event in me.journal.events()} == {"t1"}


class BrokenReranker:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "reason"), [(ModelUnavailable("down"), "reranker_unavailable"), (KeyError("x"), "reranker_broken")]
)
def test_a_reranker_that_fails_is_told(error: Exception, reason: str) -> None:
    with Warden.open("memory://", config=WORDS_ONLY, reranker=BrokenReranker(error)) as warden:
        me = warden.scope(user="ana")
        me.remember(["Ana keeps bees on the roof.", "Ana keeps bees in the garden."])
        assert me.query("Where does Ana keep bees?")
        assert lines(me)[-2:] == [("hotpath", "model", "error", reason), ("hotpath", "search", "ok", "")]


class DownEmbedder:
    """Stands for an endpoint that cannot be reached."""

    name, dimensions, english_only, ready = "down", 4, False, True

    def embed(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        raise ModelUnavailable("the endpoint is down")


def test_an_embedder_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwarden.models.choice.make_embedder", lambda settings, bound, **_: DownEmbedder())
    with Warden.open("memory://", config={}) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana keeps bees on the roof.")
        me.remember("Ana once wrote. " * 400)  # long enough for a thread
        assert me.query("Where does Ana keep bees?")
        assert [line for line in lines(me) if line[1] == "model"] == [
            ("hotpath", "model", "error", "embedder_unavailable")
        ] * 3


# To whom


def test_events_hold_no_content(warden: Warden) -> None:
    secret = "zqxwv"
    me = warden.scope(user="ana", thread="t1", actor="ann")
    me.observe([{"role": r, "content": f"{secret} is here", "name": secret} for r in ("user", "system")], key=secret)
    me.remember(f"Ana likes {secret}.", tags=[secret], summary=secret, source=secret, context=secret)
    item = me.find({"channel": "semantic"})[0]
    me.update(item.id, text=f"Ana loves {secret}.")
    me.consent.propose({"city": secret.title()})
    me.query(f"Who likes {secret}?", filters={"tags": [secret]})
    me.context([{"role": "user", "content": f"Who likes {secret}?"}])
    for call in (lambda: me.get(secret), lambda: me.update(secret, text="x"), lambda: me.query(secret, [secret])):
        with pytest.raises(MemwardenError):
            call()
    told = me.journal.events(limit=1000)
    assert len(told) > 8
    assert secret not in repr(told).lower()


def test_other_users_and_tenants_are_not_told(warden: Warden) -> None:
    warden.scope(user="ana").remember("Ana lives in Berlin.")
    for other in (warden.scope(user="tom"), warden.scope(user="ana", tenant="other")):
        other.query("Where does Ana live?")
        assert [(event.op, event.memory_id) for event in other.journal.events()] == [("search", None)]
        assert [(event_count.op, event_count.count) for event_count in other.journal.event_counts()] == [("search", 1)]


def test_an_agent_is_told_what_it_may_read_and_its_own_calls(warden: Warden) -> None:
    me, planner = warden.scope(user="ana"), warden.scope(user="ana", agent="planner")
    me.remember("Ana fears dogs.", category="preferences")
    me.remember("The shop opens in May.", category="tasks")
    moved = me.remember("The shop closes in June.", category="tasks").results[0].id
    assert moved is not None
    plan = me.find({"category": "tasks"}, order_by="written", descending=False)[0].id
    me.update(moved, category="preferences")
    me.query("What does Ana fear?")
    me.query("What is the boiling point of tungsten?")
    planner.query("When does the shop open?")
    planner.query("What is the boiling point of tungsten?")
    told = planner.journal.events(descending=False)
    assert {item.memory_id for item in told} == {plan, None}
    assert {item.category for item in told} <= {"tasks", None}
    nameless = [(item.op, item.status, item.agent_id) for item in told if item.memory_id is None]
    assert nameless == [("search", "skipped", "planner")]
    assert planner.journal.events(memory_id=moved) == []
    assert planner.journal.event_counts(memory_id=moved) == []
    counts = Counter(
        {(event_count.op, event_count.status): event_count.count for event_count in planner.journal.event_counts()}
    )
    assert counts == Counter((event.op, event.status) for event in planner.journal.events())
    assert len(planner.journal.events(limit=1)) == 1
    for _ in range(30):
        me.update(moved, importance=0.4)
    assert [event.memory_id for event in planner.journal.events(limit=2)] == [item.memory_id for item in told[::-1]][:2]


def test_words_that_are_none_are_refused(warden: Warden) -> None:
    me = warden.scope(user="ana")
    for wrong in ({"op": "sing"}, {"node": ""}, {"status": 7}, {"since": "soon"}, {"limit": 0}, {"memory_id": ""}):
        with pytest.raises(InvalidInput):
            me.journal.events(**wrong)
    for seconds in (0, 2**40, True):
        with pytest.raises(InvalidInput):
            me.journal.event_counts(seconds=seconds)


# When, how long, how many


def test_they_are_written_by_themselves_and_seen_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "FLUSH_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url, config=WORDS_ONLY) as item, Warden.open(url, config=WORDS_ONLY) as two:
        item.scope(user="ana").query("Where does Ana live?")
        until = time.monotonic() + 300
        while not (found := two.scope(user="ana").journal.events()) and time.monotonic() < until:
            time.sleep(0.02)
        assert [item.reason for item in found] == ["nothing_relevant"]


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url, config=WORDS_ONLY) as warden:
        warden.scope(user="ana").query("Where does Ana live?")
    with Warden.open(url, config=WORDS_ONLY) as warden:
        assert len(warden.scope(user="ana").journal.events()) == 1


def test_they_can_be_switched_off(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Warden.open(f"sqlite:///{path}", config={**WORDS_ONLY, "events": "off"}) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana lives in Berlin.")
        me.query("Where does Ana live?")
        assert me.journal.events() == []
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM events").fetchone() == (0,)


async def test_the_old_are_not_told_and_removed(url: str) -> None:
    settings = config.settings_from({**WORDS_ONLY, "events_days": 3, "events_rows": 5})
    now = clock.now()
    async with AsyncWarden(store_at(url), settings) as warden:
        me = warden.scope(user="ana")
        aged = [an_event(n, namespace=ANA, ts=now - timedelta(days=n)) for n in range(8)]
        await warden.store.record(aged)
        assert [event.id for event in await me.journal.events(since="2020-01-01")] == [f"e{n:06}" for n in range(3)]
        assert sum(event_count.count for event_count in await me.journal.event_counts()) == 3
        await me.query("Where does Ana live?")
        await me.journal.events()  # writes, and removes what is too old
        assert len(await warden.store.events(ANA)) == 4
        for _ in range(4):
            await me.query("Where does Ana live?")
        await get_runtime(warden).events.flush()
        assert await warden.store.prune_events(ANA, before=now - timedelta(days=3), most=5) == 3


async def test_many_are_pruned_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "PRUNE_EVERY", 20)
    settings = config.settings_from({**WORDS_ONLY, "events_rows": 10})
    async with AsyncWarden(MemoryStore(), settings) as warden:
        me = warden.scope(user="ana")
        for _ in range(50):
            await me.query("Where does Ana live?")
            await get_runtime(warden).events.flush()
            assert len(await warden.store.events(ANA, limit=1000)) <= 10 + 20


# What may not fail for them


class Failing(MemoryStore):
    """A store that cannot write events just now."""

    fails: Exception | None = None

    async def record(self, events: Sequence[OpEvent]) -> None:
        if self.fails is not None:
            raise self.fails
        await super().record(events)


@pytest.mark.parametrize("error", [StoreError("no room"), RuntimeError("a fault")])
async def test_what_cannot_be_written_is_counted_and_told(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    store = Failing()
    async with AsyncWarden(store, config.settings_from(WORDS_ONLY)) as warden:
        me = warden.scope(user="ana")
        store.fails = error
        for _ in range(3):
            await me.query("Where does Ana live?")
        assert await me.journal.events() == []
        assert "3 operational events are lost" in caplog.text
        store.fails = None
        await me.query("Where does Ana live?")
        told = [(event.node, event.op, event.status, event.count) for event in await me.journal.events()]
        assert sorted(told) == [("hotpath", "search", "skipped", 1), ("worker", "drop", "error", 3)]
        assert len(await me.journal.events()) == 2  # told once


async def test_a_full_queue_loses_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "MAX_WAITING", 5)
    async with AsyncWarden.open("memory://", config=WORDS_ONLY) as warden:
        me, tom = warden.scope(user="ana"), warden.scope(user="tom")
        for _ in range(8):
            await me.query("Where does Ana live?")
        await tom.query("Where does Tom live?")
        dropped = await me.journal.events(op="drop")
        assert [(item.count, item.reason) for item in dropped] == [(3, "lost")]
        assert [(event.op, event.count) for event in await tom.journal.events()] == [("drop", 1)]


async def test_who_stops_waiting_for_events_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncWarden.open("memory://", config=WORDS_ONLY) as warden:
        me = warden.scope(user="ana")
        for text in ("Ana lives in Berlin.", "Tom has a van."):
            await me.remember(text)
        store, wait = warden.store, asyncio.Event()
        record = store.record

        async def slow(events: Sequence[OpEvent]) -> None:
            await wait.wait()
            await record(events)

        monkeypatch.setattr(store, "record", slow)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(me.journal.events(), 0.05)
        wait.set()
        assert [event.op for event in await me.journal.events()].count("create") == 2
        assert not await me.journal.events(op="drop")


async def test_what_closing_breaks_off_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "CLOSE_SECONDS", 0.05)
    async with AsyncWarden(Hanging(), config.settings_from(WORDS_ONLY)) as warden:
        await warden.scope(user="ana").query("Where does Ana live?")
    assert get_runtime(warden).events.lost == {ANA: 1}


class Hanging(MemoryStore):
    async def record(self, events: Sequence[OpEvent]) -> None:
        await asyncio.sleep(3600)


async def test_a_store_that_hangs_holds_up_neither_calls_nor_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_queue, "FLUSH_SECONDS", 0.01)
    monkeypatch.setattr(event_queue, "CLOSE_SECONDS", 0.05)
    async with asyncio.timeout(100), AsyncWarden(Hanging(), config.settings_from(WORDS_ONLY)) as warden:
        me = warden.scope(user="ana")
        for _ in range(3):
            await me.remember("Ana lives in Berlin.")
            await asyncio.sleep(0.03)
        assert await me.query("Where does Ana live?")


async def test_writes_go_on_without_the_table(tmp_path: Path) -> None:
    """Nothing of events is in the transaction of a batch."""
    path = tmp_path / "m.db"
    async with AsyncWarden.open(f"sqlite:///{path}", config=WORDS_ONLY) as warden:
        with closing(sqlite3.connect(path)) as db:
            db.execute("DROP TABLE events")
        me = warden.scope(user="ana")
        await me.remember("Ana lives in Berlin.")
        await get_runtime(warden).events.flush()
        assert await me.query("Where does Ana live?")
        await me.remember("Ana keeps bees.")
        assert len(await me.find()) == 2


async def test_a_file_locked_by_others_loses_events_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memwarden.stores.sqlite.items.BUSY_SECONDS", 0.05)
    store = SqliteStore(tmp_path / "m.db")
    await store.open()
    await store.record([an_event(1)])
    with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            await store.record([an_event(2)])
        assert len(await store.events(NAMESPACE)) == 1
        other.execute("ROLLBACK")
    await store.record([an_event(3)])
    await store.apply(a_batch(a_put("a")))
    assert [event.id for event in await store.events(NAMESPACE)] == ["e000003", "e000001"]
    await store.close()


async def test_acknowledged_writes_are_synced_and_events_need_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[sqlite3.Connection, str]] = []

    connect = sqlite3.connect

    def watched(*given: Any, **named: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*given, **named)
        db.set_trace_callback(lambda sql: written.append((db, sql)))
        return db

    monkeypatch.setattr(sqlite3, "connect", watched)
    store = SqliteStore(tmp_path / "m.db")
    await store.open()
    await store.record([an_event(1)])
    await store.apply(a_batch(a_put("a")))
    levels: dict[str, set[int]] = {"events": set(), "journal": set()}
    for db, sql in [*written]:
        for table in levels:
            if f"INTO {table} " in " ".join(sql.split()):
                levels[table] |= set(*db.execute("PRAGMA synchronous"))
    assert levels == {"events": {1}, "journal": {2}}
    await store.close()


async def test_they_wait_for_no_namespaces_row(postgres_url: str) -> None:
    """The lock under which batches are numbered (4.10) is not theirs."""
    store = store_at(postgres_url)
    await store.open()
    await store.apply(a_batch(a_put("a")))
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT set_config('memwarden.tenant', 'test', true)")
        other.execute("SELECT set_config('memwarden.namespace', 'user/ann', true)")
        assert other.execute("SELECT rev FROM memwarden.namespaces FOR UPDATE").fetchone() == (1,)
        async with asyncio.timeout(100):
            await store.record([an_event(1)])
            assert len(await store.events(NAMESPACE)) == 1
            assert await store.prune_events(NAMESPACE, before=an_event(2).ts, most=9) == 1
        other.rollback()
    await store.close()


KILLED = """
import sys
from memwarden import Warden
warden = Warden.open(sys.argv[1], config={"embedder": "none"})
me = warden.scope(user="ana")
for _ in range(5):
    me.query("Where does Ana live?")
me.journal.events()
me.remember("Ana lives in Berlin.")
print("said", flush=True)
sys.stdin.read()
"""


def test_a_kill_loses_the_last_second_and_no_write(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "said\n"
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    with Warden.open(url, config=WORDS_ONLY) as warden:
        me = warden.scope(user="ana")
        assert [item.text for item in me.find()] == ["Ana lives in Berlin."]
        told = Counter(
            (event.op, event.status) for event in me.journal.events(node="hotpath") if event.reason != "listed"
        )
        assert told["search", "skipped"] == 5
        assert told["create", "ok"] <= 1


async def test_moving_a_store_leaves_them_behind(tmp_path: Path) -> None:
    from memwarden.stores.transfer.move import move_namespaces

    source, target = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "b.db")
    for item in (source, target):
        await item.open()
    await source.apply(a_batch(a_put("a")))
    await source.record([an_event(1)])
    assert [item.same for item in await move_namespaces(source, target)] == [True]
    assert (len(await source.events(NAMESPACE)), await target.events(NAMESPACE)) == (1, [])
    for entry in (source, target):
        await entry.close()


# The command


def memwarden(*words: str, code: int = 0) -> str:
    from contextlib import redirect_stderr, redirect_stdout
    from io import StringIO

    from memwarden.surfaces.cli.main import run

    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        exit_code = run(words)
    assert exit_code == code, (out.getvalue(), err.getvalue())
    return out.getvalue() + err.getvalue()


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with events of ten hours and of now."""
    monkeypatch.setenv("COLUMNS", "100")
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url, config=WORDS_ONLY) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.remember("Ana lives in Berlin.")
        me.query("Where does Ana live?")
        me.query("What is the boiling point of tungsten?")
        with pytest.raises(NotFound):
            me.journal.undo(99)

    async def aged() -> None:
        store = store_at(url)
        await store.open()
        hour = clock.now().replace(minute=0, second=0, microsecond=0)
        hours = [an_event(n, namespace=ANA, op="create", count=n, ts=hour - timedelta(hours=n)) for n in range(1, 11)]
        await store.record(hours)
        await store.close()

    asyncio.run(aged())
    return url


def test_the_command_lists(db: str) -> None:
    ours = ("--db", db, "--user", "ana", "--embedder", "none")
    printed = memwarden("events", *ours, "--thread", "t1").splitlines()
    assert [line.split()[3:5] for line in printed if line.startswith("20")] == [
        ["create", "ok"], ["search", "ok"], ["search", "skipped"], ["restore", "error"],
    ]  # fmt: skip
    assert "nothing_relevant" in "".join(printed)
    told = json.loads(memwarden("events", *ours, "--op", "create", "--json", "--limit", "2"))
    assert [(item["op"], item["count"], item["rev"]) for item in told] == [("create", 1, 1), ("create", 1, None)]
    assert len(json.loads(memwarden("events", *ours, "--op", "create", "--since", "3h", "--json"))) >= 3
    assert memwarden("events", *ours, "--status", "ok", "--node", "context") == "No events.\n"
    assert memwarden("events", *ours, "--op", "sing", code=2)
    assert memwarden("events", *ours, "--since", "soon", code=2)
    assert memwarden("events", *ours, "--counts", "--every", "year", code=2)
    assert memwarden("events", "--db", f"{db}-not-there", code=3)


def test_the_command_counts(db: str) -> None:
    ours = ("--db", db, "--user", "ana", "--embedder", "none")
    hourly = json.loads(memwarden("events", *ours, "--counts", "--every", "hour", "--op", "create", "--json"))
    assert [item["count"] for item in hourly] == [*range(10, 0, -1), 1]
    printed = memwarden("events", *ours, "--counts", "--every", "hour", "--op", "create").splitlines()
    assert printed[1].split()[:4] == ["hotpath", "create", "ok", "56"]
    bars = printed[1].split()[4]
    assert len(bars) == 11
    assert bars[0] in "█@"
    assert printed[-1].startswith("One sign for each hour, ")
    narrow = memwarden("events", *ours, "--counts", "--every", "minute")
    assert max(map(len, narrow.splitlines())) <= 100
