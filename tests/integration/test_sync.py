"""The blocking facade at its edges: its own loop, forks, close, and other threads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden
from memwarden.errors import StoreUnavailable, WrongThread
from memwarden.recall import default_order
from memwarden.records import Namespace
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing import run_on_loop

WORDS = {"embedder": "none"}

FORK = """
import os, sys
from memwarden import Warden
from memwarden.errors import StoreUnavailable

warden = Warden.open(sys.argv[1], config={"embedder": "none"})
me = warden.scope(user="ana")
me.remember("Bees swarm in May.")
child = os.fork()
if child == 0:
    refused = 0
    for call in (lambda: me.find(), lambda: warden.backend("user/ana").count(), lambda: me.remember("It rains.")):
        try:
            call()
        except StoreUnavailable as error:
            refused += "fork" in str(error)
    warden.close()
    with Warden.open(sys.argv[1], config={"embedder": "none"}) as own:
        found = len(own.scope(user="ana").find())
    os._exit(0 if (refused, found) == (3, 1) else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
me.remember("Honey is harvested in July.")
assert len(me.find()) == 2
warden.close()
sys.exit(status)
"""


def test_what_the_async_side_tells_is_told_here_too(warden: Warden) -> None:
    assert warden.settings.index_bytes == 1_073_741_824
    assert warden.store.promises is type(warden.store).promises
    assert warden.scope(user="ana", thread="t1").who.thread == "t1"
    assert warden.backend("user/ana").namespace == Namespace("default", "user/ana")


def test_a_blocking_call_on_its_own_loop_is_refused() -> None:
    with Warden.open("memory://", config=WORDS) as warden:
        me = warden.scope(user="ana")

        async def from_within(call: Callable[[], Any]) -> None:
            call()

        for call in (me.find, warden.close):
            with pytest.raises(WrongThread, match="AsyncWarden"):
                run_on_loop(warden, from_within(call))
        assert me.find() == []


def test_a_blocking_call_on_another_loop_only_blocks() -> None:
    async def program() -> int:
        with Warden.open("memory://", config=WORDS) as warden:
            return len(warden.scope(user="ana").find())

    assert asyncio.run(program()) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_opens_its_own(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, f"sqlite:///{tmp_path / 's.db'}"]
    subprocess.run(command, check=True, timeout=60)


def test_calls_after_close_are_refused(url: str) -> None:
    warden = Warden.open(url, config=WORDS)
    me, backend = warden.scope(user="ana"), warden.backend("user/ana")
    warden.close()
    warden.close()
    calls: list[Callable[[], Any]] = [me.find, backend.count, lambda: me.remember("Bees swarm."), lambda: me.query("?")]
    for call in calls:
        with pytest.raises(StoreUnavailable, match="open it again"):
            call()


@pytest.fixture
def threads() -> Any:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def test_close_leaves_nobody_waiting(threads: ThreadPoolExecutor) -> None:
    warden = Warden.open("memory://", config=WORDS)
    begun = threading.Event()

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def soon() -> str:
        await asyncio.sleep(0.1)
        return "answer"

    ends, waits = (threads.submit(run_on_loop, warden, work) for work in (soon(), for_ever()))
    assert begun.wait(50)
    warden.close()
    assert ends.result(100) == "answer"
    with pytest.raises(StoreUnavailable, match="closed during the call"):
        waits.result(100)


def test_many_threads_may_write_and_close_at_once(url: str, threads: ThreadPoolExecutor) -> None:
    # Without merging: a hive's later number would close the earlier, and find lists what holds.
    warden = Warden.open(url, config={**WORDS, "merging": "off"})
    me = warden.scope(user="ana")
    written: list[str] = []

    def write(writer: int) -> None:
        for number in range(10_000):
            try:
                written.append(str(me.remember(f"Hive {writer} swarmed {number} times.").results[0].id))
            except StoreUnavailable:
                return

    writers = [threads.submit(write, number) for number in range(4)]
    until = time.monotonic() + 200
    while len(written) < 20 and time.monotonic() < until:
        time.sleep(0.01)
    closers = [threads.submit(warden.close) for _ in range(3)]
    for item in (*writers, *closers):
        item.result(20)
    if url.startswith("sqlite"):  # what was acknowledged is there
        with Warden.open(url, config=WORDS) as again:
            there = {item.id for item in again.scope(user="ana").find(limit=100_000)}
            assert written
            assert set(written) <= there


def test_a_store_that_fails_to_close_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    warden = Warden.open(f"sqlite:///{tmp_path / 's.db'}", config=WORDS)
    assert set(threading.enumerate()) > before
    close = SqliteStore.close

    async def failing(store: SqliteStore) -> None:
        await close(store)
        raise StoreUnavailable("the disk is gone")

    monkeypatch.setattr(SqliteStore, "close", failing)
    with pytest.raises(StoreUnavailable, match="disk is gone"):
        warden.close()
    assert {thread.name for thread in set(threading.enumerate()) - before if thread.name == "memwarden"} == set()
    warden.close()


def test_a_hung_reranker_holds_up_nothing(monkeypatch: pytest.MonkeyPatch, threads: ThreadPoolExecutor) -> None:
    class Hung:
        asked = 0
        released = threading.Event()

        def score(self, query: str, texts: Sequence[str]) -> list[float]:
            self.asked += 1
            self.released.wait(300)
            return [float(number) for number in range(len(texts))]

    monkeypatch.setattr(default_order, "RERANK_TIMEOUT", 1.0)
    reranker = Hung()
    warden = Warden.open("memory://", config=WORDS, reranker=reranker)
    me = warden.scope(user="ana")
    me.remember([f"Ana keeps bees in hive {number}." for number in range(5)])
    try:
        first = me.query("Which hive of bees does Ana keep?")
        time.sleep(0.1)
        took = []
        for _ in range(10):
            begun = time.perf_counter()
            assert me.query("Which hive of bees does Ana keep?").items == first.items
            took.append(time.perf_counter() - begun)
        assert min(took) < 0.9  # a query that waits for the reranker takes a second
        assert reranker.asked == 1
        threads.submit(warden.close).result(100)
    finally:
        reranker.released.set()


AT_EXIT = """
import atexit, sys
from memwarden import Warden

warden = Warden.open(sys.argv[1], config={"embedder": "none"})
atexit.register(warden.close)
warden.scope(user="ana", thread="t1").observe([{"role": "user", "content": "The boat is red."}])
"""


def test_a_warden_can_be_closed_at_exit(url: str) -> None:
    ran = subprocess.run([sys.executable, "-c", AT_EXIT, url], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    if url != "memory://":
        with Warden.open(url, config=WORDS) as warden:
            assert len(warden.scope(user="ana", thread="t1").find({"channel": "turn"})) == 1
            # What happened within the last second was written by the close.
            assert warden.scope(user="ana").journal.events()
