"""MemwardenStore around its semantics: restarts, processes, other users, event loops and threads, sweepers."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp
from langgraph_ways import CONFIG, Letters

from memwarden import AsyncWarden, Warden
from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.surfaces.integrations.langchain import MemwardenByteStore
from memwarden.surfaces.integrations.langgraph import MemwardenStore

CHILD = Path(__file__).parents[1] / "faults" / "items_child.py"


@pytest.fixture
def url(items_url: str) -> str:
    return items_url


@pytest.fixture
def warden(url: str) -> Iterator[Warden]:
    with Warden.open(url, config=CONFIG) as warden:
        yield warden


@pytest.fixture(params=["sqlite", "postgres"])
def kept_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that outlives its process."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'store.db'}"


# Restarts and processes.


def test_items_outlive_a_restart(kept_url: str) -> None:
    index = {"embed": Letters(), "fields": ["text"]}
    with Warden.open(kept_url, config=CONFIG) as warden:
        store = MemwardenStore(warden, index=index)
        store.put(("a", "b"), "k", {"text": "zebra"}, ttl=5)
        store.put(("a", "c"), "gone", {"text": "dog"})
        store.delete(("a", "c"), "gone")
        before = store.get(("a", "b"), "k")
    with Warden.open(kept_url, config=CONFIG) as warden:
        store = MemwardenStore(warden, index=index)
        assert store.get(("a", "b"), "k") == before
        assert store.search(("a",), query="zebra")[0].score == pytest.approx(1.0, abs=1e-5)
        assert store.list_namespaces() == [("a", "b")]


def test_items_of_a_store_in_memory_outlive_a_close_of_the_same_store() -> None:
    async def run() -> None:
        warden = AsyncWarden.open("memory://", config=CONFIG)
        async with warden:
            await MemwardenStore(warden).aput(("a",), "k", {"n": 1})
        with pytest.raises(StoreUnavailable):
            await MemwardenStore(warden).aget(("a",), "k")
        async with warden:
            found = await MemwardenStore(warden).aget(("a",), "k")
            assert found is not None
            assert found.value == {"n": 1}

    asyncio.run(run())


def test_two_processes_write_at_once(kept_url: str) -> None:
    with Warden.open(kept_url, config=CONFIG) as warden:
        children = [
            subprocess.Popen([sys.executable, CHILD, kept_url, name, "3", "5"], stderr=subprocess.PIPE, text=True)
            for name in ("p", "q")
        ]
        for child in children:
            _, told = child.communicate(timeout=600)
            assert child.returncode == 0, told
        index = {"embed": lambda texts: [[1.0, 2.0] for _ in texts]}
        store = MemwardenStore(warden, index=index)
        for name in ("p", "q"):
            assert {item.key for item in store.search(("own", name))} == {f"{writer}-4" for writer in range(3)}
        shared = store.search(("shared",), query="any", limit=100)
        assert {(item.key, item.value["number"]) for item in shared} == {(str(n), n) for n in range(5)}
        assert all(item.score == pytest.approx(1.0) for item in shared)  # every item has its vectors, once


def test_another_store_sees_what_one_writes(kept_url: str) -> None:
    with Warden.open(kept_url, config=CONFIG) as item, Warden.open(kept_url, config=CONFIG) as other:
        MemwardenStore(item).put(("a",), "k", {"n": 1})
        found = MemwardenStore(other).get(("a",), "k")
        assert found is not None
        MemwardenStore(other).delete(("a",), "k")
        assert MemwardenStore(item).get(("a",), "k") is None


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_a_backup_holds_the_items(engine: str, new_database: Callable[[], str], tmp_path: Path) -> None:
    urls = [new_database() if engine == "postgres" else f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db")]
    index: Any = {"embed": Letters(), "fields": ["text"]}
    async with AsyncWarden.open(urls[0], config=CONFIG) as warden:
        await MemwardenStore(warden.scope(user="no-memories"), index=index).aput(("a",), "k", {"text": "zebra"})
        before = await MemwardenStore(warden.scope(user="no-memories")).aget(("a",), "k")
        await warden.store.back_up(tmp_path / "backup")  # type: ignore[attr-defined]
    other = AsyncWarden.open(urls[1], config=CONFIG)
    await other.store.restore(tmp_path / "backup")  # type: ignore[attr-defined]
    async with other:
        store = MemwardenStore(other.scope(user="no-memories"), index=index)
        assert await store.aget(("a",), "k") == before
        assert (await store.asearch(("a",), query="zebra"))[0].score == pytest.approx(1.0, abs=1e-5)


def test_json_files_keep_no_items(tmp_path: Path) -> None:
    with Warden.open(f"json:///{tmp_path / 'store'}", config=CONFIG) as warden:
        with pytest.raises(InvalidInput, match="keeps no items"):
            MemwardenStore(warden)
        with pytest.raises(InvalidInput, match="keeps no items"):
            MemwardenByteStore(warden)


# Whose items they are.


def test_a_warden_stands_for_its_default_user(warden: Warden) -> None:
    MemwardenStore(warden).put(("a",), "k", {"n": 1})
    scoped = MemwardenStore(warden.scope(user="default", tenant="default", agent=None, thread="t"))
    assert scoped.get(("a",), "k") is not None
    assert MemwardenStore(warden.scope(user="ana")).search(()) == []
    with pytest.raises(InvalidInput, match="scope"):
        MemwardenStore("sqlite:///file.db")  # type: ignore[arg-type]


@pytest.mark.parametrize("other", [{"user": "bob"}, {"user": "ana", "tenant": "other"}], ids=["user", "tenant"])
def test_nothing_of_another_is_reached_by_any_path(warden: Warden, other: dict[str, str]) -> None:
    index, ttl = {"embed": Letters(), "fields": ["text"]}, {"default_ttl": 1e-6}
    mine = MemwardenStore(warden.scope(user="ana"), index=index, ttl=ttl)  # type: ignore[arg-type]
    theirs = MemwardenStore(warden.scope(**other), index=index, ttl=ttl)  # type: ignore[arg-type]
    mine.put(("shared", "name"), "key", {"text": "secret zebra", "n": 1})
    before = mine.search((), refresh_ttl=False)
    assert theirs.get(("shared", "name"), "key") is None
    for question in ({}, {"query": "secret zebra"}, {"filter": {"n": 1}}, {"query": "zebra", "filter": {"n": 1}}):
        assert theirs.search((), **question) == []
        assert theirs.search(("shared",), **question) == []
    assert theirs.list_namespaces() == theirs.list_namespaces(prefix=("shared",), max_depth=1) == []
    assert theirs.batch([GetOp(("shared", "name"), "key"), SearchOp(()), ListNamespacesOp()]) == [None, [], []]
    theirs.delete(("shared", "name"), "key")
    theirs.batch([PutOp(("shared", "name"), "key", None)])
    assert theirs.sweep_ttl() == 0
    theirs.put(("shared", "name"), "key", {"text": "theirs"})
    theirs.delete(("shared", "name"), "key")
    assert mine.search((), refresh_ttl=False) == before


def test_labels_do_not_lead_out_of_a_namespace(warden: Warden) -> None:
    MemwardenStore(warden.scope(user="ana")).put(("a",), "k", {"n": 1})
    bob = MemwardenStore(warden.scope(user="bob"))
    for label in ("..", "user/ana", "*", "%", "' OR 1=1 --", "default:user/ana"):
        labels = (label,) if "." not in label else (label.replace(".", "/"),)
        assert bob.search(labels) == bob.list_namespaces(prefix=labels) == []
        assert bob.get(labels, "k") is None


def test_memories_and_items_do_not_meet(warden: Warden) -> None:
    me = warden.scope(user="ana", thread="t")
    store = MemwardenStore(me)
    store.put(("notes",), "k", {"text": "I am allergic to peanuts."})
    assert me.query("What am I allergic to?").items == ()
    assert me.find() == []
    assert me.journal.history() == []
    me.observe([{"role": "user", "content": "I live in Lisbon."}])
    assert len(store.search(())) == 1
    assert len(me.find()) == 1


def test_the_database_keeps_items_of_namespaces_apart(postgres_url: str) -> None:
    with Warden.open(postgres_url, config=CONFIG) as warden:
        for user in ("ana", "bob"):
            index = {"embed": Letters()}
            MemwardenStore(warden.scope(user=user), index=index).put(("a",), "k", {"of": user})
    with psycopg.connect(postgres_url) as db:
        db.execute("SET LOCAL ROLE memwarden_app")
        for table in ("items", "item_vectors"):
            assert db.execute(f"SELECT count(*) FROM memwarden.{table}".encode()).fetchone() == (0,)
        db.execute("SELECT set_config('memwarden.tenant', 'default', true)")
        db.execute("SELECT set_config('memwarden.namespace', 'user/ana', true)")
        for table in ("items", "item_vectors"):
            seen = db.execute(f"SELECT namespace FROM memwarden.{table}".encode()).fetchall()
            assert seen == [("user/ana",)]
            other = db.execute(f"DELETE FROM memwarden.{table} WHERE namespace = 'user/bob'".encode())
            assert other.rowcount == 0


# Event loops and threads.


async def test_a_blocking_warden_is_awaited_on_any_loop(url: str) -> None:
    with Warden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden.scope(user="ana"))
        await asyncio.gather(*(store.aput(("a",), str(number), {"n": number}) for number in range(50)))
        assert len(await store.asearch(("a",), limit=100)) == 50
        assert await asyncio.to_thread(lambda: asyncio.run(store.aget(("a",), "7"))) == store.get(("a",), "7")
        assert await store.alist_namespaces() == [("a",)]
        assert await store.asweep_ttl() == 0


async def test_an_async_warden_blocks_other_threads_only(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden.scope(user="ana"), ttl={"default_ttl": 60})
        for call in (
            lambda: store.put(("a",), "k", {}),
            lambda: store.get(("a",), "k"),
            lambda: store.delete(("a",), "k"),
            lambda: store.search(("a",)),
            lambda: store.list_namespaces(prefix=("a",)),
            lambda: store.batch([PutOp(("a",), "k", {})]),
        ):
            with pytest.raises(asyncio.InvalidStateError, match="await"):
                call()
        await asyncio.to_thread(store.put, ("a",), "k", {"n": 1})
        found = await asyncio.to_thread(store.get, ("a",), "k")
        assert found == await store.aget(("a",), "k")
        assert await asyncio.to_thread(lambda: asyncio.run(store.aget(("a",), "k"))) == found
        assert await store.sweep_ttl() == 0
        assert await store.setup() is None


def test_a_blocking_call_before_any_loop_says_what_to_do() -> None:
    store = MemwardenStore(AsyncWarden.open("memory://", config=CONFIG))
    with pytest.raises(asyncio.InvalidStateError, match="Warden"):
        store.get(("a",), "k")


def test_a_store_follows_its_async_warden_to_another_loop() -> None:
    warden = AsyncWarden.open("memory://", config=CONFIG)
    store = MemwardenStore(warden)

    async def run(number: int) -> int:
        async with warden:
            await store.aput(("a",), str(number), {})
            return len(await store.asearch(("a",)))

    assert [asyncio.run(run(number)) for number in range(3)] == [1, 2, 3]


def test_threads_write_at_once(warden: Warden) -> None:
    store = MemwardenStore(warden)

    def write(name: int) -> None:
        for number in range(10):
            store.put(("a", str(name)), str(number), {"n": number})
            store.put(("shared",), "k", {"n": number, "by": name})

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for item in threads:
        item.join()
    assert len(store.search(("a",), limit=100)) == 40
    shared = store.get(("shared",), "k")
    assert shared is not None
    assert shared.value["n"] == 9


async def test_calls_at_once_keep_their_order(url: str) -> None:
    async def slow(texts: Any) -> list[list[float]]:
        await asyncio.sleep(0.01)
        return [[float(len(text)), 1.0] for text in texts]

    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden, index={"embed": slow, "fields": ["text"]})
        for _ in range(3):
            await asyncio.gather(
                *(store.aput(("a",), "k", {"text": "x" * number}) for number in range(20)),
                store.adelete(("a",), "other"),
                store.aput(("a",), "gone", {"text": "y"}),
                store.adelete(("a",), "gone"),
                store.aput(("a",), "other", {"text": "z"}),
            )
            found = {item.key: item.value["text"] for item in await store.asearch(("a",))}
            assert found == {"k": "x" * 19, "other": "z"}


async def test_many_calls_at_once(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden)
        calls: list[Any] = []
        for number in range(200):
            where, key = ("test", str(number % 2)), f"key{number % 50}"
            calls += [store.aput(where, key, {"n": number}), store.aget(where, key), store.asearch(("test",))]
            calls += [store.alist_namespaces(max_depth=1 + number % 2), store.adelete(where, key)]
        assert len(await asyncio.gather(*calls)) == 1_000
        assert await store.asearch(()) == []


async def test_the_fault_of_one_call_is_not_that_of_its_neighbours(url: str) -> None:
    def picky(texts: Any) -> list[list[float]]:
        if "bad" in texts:
            raise RuntimeError("no vector for this")
        return [[1.0] for _ in texts]

    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden, index={"embed": picky, "fields": ["text"]})
        results = await asyncio.gather(
            store.aput(("a",), "1", {"text": "good"}),
            store.aput(("a",), "2", {"text": "bad"}),
            store.asearch(("a",), filter={"n": {"$like": 1}}),
            store.aput(("a",), "3", {"text": "fine"}),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), RuntimeError, *[type(results[2])], type(None)]
        assert isinstance(results[2], ValueError)
        assert {item.key for item in await store.asearch(("a",))} == {"1", "3"}


async def test_a_caller_that_leaves_harms_nobody(url: str) -> None:
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden)
        leaving = asyncio.create_task(store.aput(("a",), "1", {}))
        staying = asyncio.create_task(store.aput(("a",), "2", {}))
        await asyncio.sleep(0)
        leaving.cancel()
        await staying
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await store.aget(("a",), "2") is not None


async def test_an_async_embedding_is_awaited_on_the_callers_loop(url: str) -> None:
    loops: list[Any] = []

    async def embed(texts: Any) -> list[list[float]]:
        loops.append(asyncio.get_running_loop())
        return [[1.0] for _ in texts]

    with Warden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden, index={"embed": embed})
        await store.aput(("a",), "k", {})
        assert (await store.asearch(("a",), query="x"))[0].score == 1.0
        with pytest.raises(ValueError, match="async function"):
            store.put(("a",), "k", {})
    assert set(loops) == {asyncio.get_running_loop()}


async def test_a_closed_warden_says_so(url: str) -> None:
    warden = Warden.open(url, config=CONFIG)
    store = MemwardenStore(warden)
    store.put(("a",), "k", {})
    warden.close()
    with pytest.raises(StoreUnavailable):
        store.get(("a",), "k")
    with pytest.raises(StoreUnavailable):
        await store.aput(("a",), "k", {})


# The warden's own embedder.


def test_the_wardens_embedder_is_used_unless_another_is_given(url: str) -> None:
    with Warden.open(url, config={}) as warden:
        store = MemwardenStore(warden, index={"fields": ["text"]})
        store.put(("a",), "food", {"text": "I love pizza and pasta"})
        store.put(("a",), "work", {"text": "The meeting with the bank is on Monday"})
        found = store.search(("a",), query="Italian food")
        assert found[0].key == "food"
        scores = [item.score for item in found]
        assert scores[0] is not None
        assert scores[1] is not None
        assert 1 >= scores[0] > scores[1] >= -1


# Sweepers.


async def all_gone(store: MemwardenStore) -> None:
    for _ in range(1_000):
        if not await store.alist_namespaces():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("nothing was swept for ten seconds")


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_sweeper_thread_removes_what_expired(warden: Warden) -> None:
    ttl: Any = {"default_ttl": 0.05 / 60, "sweep_interval_minutes": 0.05 / 60}
    store = MemwardenStore(warden, ttl=ttl)
    future = store.start_ttl_sweeper()
    assert isinstance(future, Future)
    assert store.start_ttl_sweeper() is future
    store.put(("a",), "k", {})
    wait_until(lambda: store.list_namespaces() == [])
    assert not future.done()
    assert store.stop_ttl_sweeper(timeout=100) is True
    assert future.done()
    assert store.stop_ttl_sweeper() is True
    store.put(("a",), "k", {})
    time.sleep(0.15)
    assert store.list_namespaces() == [("a",)]
    again = store.start_ttl_sweeper(sweep_interval_minutes=0.01 / 60)
    wait_until(lambda: store.list_namespaces() == [])
    assert again.cancel()
    assert store.stop_ttl_sweeper(timeout=100)


def test_without_lifetimes_nothing_is_swept(warden: Warden) -> None:
    store = MemwardenStore(warden)
    assert store.start_ttl_sweeper().result(timeout=0) is None
    assert store.stop_ttl_sweeper() is True


def test_a_sweeper_ends_with_its_store_and_with_its_warden(url: str) -> None:
    ttl: Any = {"default_ttl": 1, "sweep_interval_minutes": 0.01 / 60}
    with Warden.open(url, config=CONFIG) as warden:
        left = MemwardenStore(warden, ttl=ttl)
        future = left.start_ttl_sweeper()
        del left
        gc.collect()
        future.result(timeout=100)
        kept = MemwardenStore(warden, ttl=ttl)
        other = kept.start_ttl_sweeper()
    other.result(timeout=100)


async def test_a_sweeper_task_ends_with_its_warden(url: str) -> None:
    ttl: Any = {"default_ttl": 1, "sweep_interval_minutes": 0.01 / 60}
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden, ttl=ttl)
        task = await store.astart_ttl_sweeper()
        await asyncio.sleep(0.05)
        assert not task.done()
    await asyncio.wait_for(task, 100)


async def test_a_sweeper_task_removes_what_expired(url: str) -> None:
    ttl: Any = {"default_ttl": 0.05 / 60, "sweep_interval_minutes": 0.05 / 60}
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        store = MemwardenStore(warden, ttl=ttl)
        task = await store.start_ttl_sweeper()
        assert isinstance(task, asyncio.Task)
        assert await store.astart_ttl_sweeper() is task
        await store.aput(("a",), "k", {})
        await all_gone(store)
        assert await store.stop_ttl_sweeper(timeout=100) is True
        assert task.done()
        assert await store.astop_ttl_sweeper() is True
        await (await MemwardenStore(warden).start_ttl_sweeper())


async def test_a_sweep_that_fails_is_told_and_tried_again(url: str, caplog: pytest.LogCaptureFixture) -> None:
    ttl: Any = {"default_ttl": 0.01 / 60, "sweep_interval_minutes": 0.02 / 60}
    warden = AsyncWarden.open(url, config=CONFIG)
    store = MemwardenStore(warden, ttl=ttl)
    task = await store.astart_ttl_sweeper()
    await asyncio.to_thread(wait_until, lambda: "not removed" in caplog.text)
    async with warden:
        await store.aput(("a",), "k", {})
        await all_gone(store)
        assert not task.done()
        assert await store.astop_ttl_sweeper()
