"""What the SQLite store does beyond the contract: who filters, who waits for whom, what other processes see."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from memwarden.errors import StoreUnavailable
from memwarden.filters import parse
from memwarden.records import Put, WriteMode
from memwarden.stores.sqlite import SqliteStore
from memwarden.stores.sqlite.file import connect, make_file
from memwarden.testing.examples import FILTERS, NAMESPACE, ORDERS, OTHER_USER, SIGNALS, START, VARIED, a_batch, a_put


class Watched(SqliteStore):
    """Counts the rows that SQLite hands over and notes the statements and the threads that read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.rows = 0
        self.statements: list[str] = []
        self.threads: set[int] = set()

    def _connect(self, *, reading: bool) -> sqlite3.Connection:
        db = super()._connect(reading=reading)
        if reading:
            db.row_factory = self._count
        db.set_trace_callback(self.statements.append)
        return db

    def _count(self, cursor: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        self.rows += 1
        self.threads.add(threading.get_ident())
        return row


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Watched]:
    store = Watched(tmp_path / "memory.db")
    await store.open()
    yield store
    await store.close()


async def test_sqlite_filters_and_limits_itself(store: Watched) -> None:
    """B6.1: as many rows come out of SQLite as the caller gets."""
    await store.apply(a_batch(*(Put(item, SIGNALS) for item in VARIED)))
    others = [a_put(f"x{i}", namespace=OTHER_USER) for i in range(50)]
    await store.apply(a_batch(*others, namespace=OTHER_USER))
    for filters, expected in FILTERS:
        store.rows = 0
        assert len(await store.find(NAMESPACE, parse(filters))) == len(expected) == store.rows, filters
        store.rows = 0
        assert await store.count(NAMESPACE, parse(filters)) == len(expected)
        assert store.rows == 1
    for order_by, descending, _ in ORDERS:
        store.rows = 0
        assert len(await store.find(NAMESPACE, order_by=order_by, descending=descending, limit=2)) == 2 == store.rows


async def test_values_are_bound_and_not_written_into_the_statement(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    await store.open()
    quote = "x' OR '1'='1"
    await store.apply(a_batch(a_put("a", role=quote, tags=(quote,)), a_put("b")))
    assert [item.id for item in await store.find(NAMESPACE, parse({"role": quote}))] == ["a"]
    assert [item.id for item in await store.find(NAMESPACE, parse({"tags": quote}))] == ["a"]
    await store.close()


async def test_batches_that_wait_together_share_a_commit(store: Watched) -> None:
    await store.apply(a_batch(a_put("first")))
    store.statements.clear()
    await asyncio.gather(*(store.apply(a_batch(a_put(f"m{i}"))) for i in range(100)))
    # How many wait for a commit depends on how long it takes: on a busy machine with a fast disk it was 7.
    assert sum(statement == "COMMIT" for statement in store.statements) <= 20
    assert sum(statement.startswith("SAVEPOINT") for statement in store.statements) == 100


async def test_a_cancelled_caller_is_no_error_of_the_loop(store: Watched) -> None:
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    writes = [asyncio.create_task(store.apply(a_batch(a_put(f"m{i}")))) for i in range(10)]
    await asyncio.sleep(0)
    for write in writes:
        write.cancel()
    await asyncio.gather(*writes, return_exceptions=True)
    await store.apply(a_batch(a_put("last")))
    await asyncio.sleep(0)
    assert errors == []
    assert await store.count(NAMESPACE) == 11  # cancelling takes nothing out of the queue


async def test_a_long_read_leaves_the_event_loop(store: Watched) -> None:
    """It begins on the loop, is stopped after some milliseconds and starts again in a thread."""
    puts = [a_put(f"m{i}", importance=i % 97 / 97, created_at=START + timedelta(seconds=i)) for i in range(20_000)]
    await store.apply(a_batch(*puts))
    here = {threading.get_ident()}
    store.threads.clear()
    await store.find(NAMESPACE, limit=3)
    await store.get(NAMESPACE, ["m1", "m2"])
    await store.head(NAMESPACE)
    assert store.threads == here
    store.threads.clear()
    found = await store.find(NAMESPACE, parse({"tags": [f"none{i}" for i in range(50)]}), order_by="importance")
    assert found == []
    await store.count(NAMESPACE, parse({"tags": [f"none{i}" for i in range(50)]}))
    assert here.isdisjoint(store.threads)
    await store.scan(NAMESPACE)
    assert here.isdisjoint(store.threads)


async def test_the_loop_runs_on_while_a_write_waits_for_another_process(store: Watched, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    write = asyncio.create_task(store.apply(a_batch(a_put("a"))))
    started = time.monotonic()
    for _ in range(20):
        await asyncio.sleep(0.005)
        assert await store.count(NAMESPACE) == 0
    assert not write.done()
    other.execute("ROLLBACK")
    other.close()
    assert (await write).rev == 1
    assert time.monotonic() - started < 10


async def test_another_process_is_seen_in_the_next_answer(store: Watched, tmp_path: Path) -> None:
    script = """
import asyncio, sys
from memwarden.records import Remove, WriteMode
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.examples import NAMESPACE, a_batch, a_put

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    for line in sys.stdin:
        seen = (await store.head(NAMESPACE)).rev
        await store.apply(a_batch(a_put(f"theirs{line.strip()}")))
        print(seen, flush=True)
    await store.close()
asyncio.run(main())
"""
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "error", "-c", script, str(tmp_path / "memory.db"), stdin=pipe, stdout=pipe
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for number in range(10):
        mine = await store.apply(a_batch(a_put(f"mine{number}")))
        child.stdin.write(f"{number}\n".encode())
        seen = await asyncio.wait_for(child.stdout.readline(), 300)
        assert int(seen) == mine.rev  # it saw my write
        scan = await store.scan(NAMESPACE, since=mine.rev)
        assert [row.id for row in scan.rows] == [f"theirs{number}"]  # I see its write
        assert scan.head == await store.head(NAMESPACE)
    child.stdin.close()
    assert await child.wait() == 0


async def test_rows_are_numbered_within_their_namespace(store: Watched, tmp_path: Path) -> None:
    for space in (NAMESPACE, OTHER_USER):
        await store.apply(a_batch(a_put("a", namespace=space), a_put("b", namespace=space), namespace=space))
    db = sqlite3.connect(tmp_path / "memory.db")
    rows = [row for (row,) in db.execute("SELECT row FROM memories ORDER BY row")]
    assert rows == [1 << 32 | 1, 1 << 32 | 2, 2 << 32 | 1, 2 << 32 | 2]
    db.close()


async def test_a_failed_batch_uses_up_no_number(store: Watched) -> None:
    await store.apply(a_batch(a_put("a")))
    with pytest.raises(Exception, match="to update"):
        await store.apply(a_batch(a_put("b"), a_put("zz", WriteMode.UPDATE)))
    await store.apply(a_batch(a_put("c")))
    assert [row.n for row in (await store.scan(NAMESPACE)).rows] == [1, 2]


@pytest.mark.parametrize("bad", [{"token_cost": 2**70}, {"text": None}, {"name": object()}, {"payload": 5}])
async def test_values_that_sqlite_cannot_hold_spare_other_batches(store: Watched, bad: dict[str, Any]) -> None:
    broken = a_batch(a_put("broken", **bad))
    answers = await asyncio.gather(
        store.apply(a_batch(a_put("a"))), store.apply(broken), store.apply(a_batch(a_put("b"))), return_exceptions=True
    )
    assert [type(answer).__name__ for answer in answers] == ["Receipt", "InvalidInput", "Receipt"]


async def test_questions_are_answered_by_an_index(store: Watched, tmp_path: Path) -> None:
    """No question of the hot path walks through the memories of other threads or namespaces."""
    await store.apply(a_batch(a_put("a", thread_id="t1")))
    store.statements.clear()
    await store.find(NAMESPACE, parse({"thread_id": "t1"}), order_by="written", limit=10)
    await store.find(NAMESPACE, limit=10)
    await store.get(NAMESPACE, ["a"])
    await store.scan(NAMESPACE, since=1)
    await store.scan(NAMESPACE)
    await store.journal(NAMESPACE, memory_id="a")
    await store.versions(NAMESPACE, [("a", 1)])
    await store.relations(NAMESPACE, ["a"])
    await store.thread(NAMESPACE, "t1")
    db = sqlite3.connect(tmp_path / "memory.db")
    asked = [statement for statement in store.statements if statement.startswith("SELECT")]
    assert len(asked) >= 7
    for sql in asked:
        steps = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert not [step for step in steps if step.startswith("SCAN") and "CONSTANT" not in step], (sql, steps)
        sorted_find = "LIMIT 10" in sql and any("TEMP B-TREE" in step for step in steps)
        assert not sorted_find, (sql, steps)
    db.close()


async def test_close_lets_go_of_threads_and_log(store: Watched, tmp_path: Path) -> None:
    await store.close()
    # The event loop starts threads of its own, and other tests leave theirs. The store names its threads.
    before = set(threading.enumerate())
    await store.open()
    await store.apply(a_batch(a_put("a")))
    await store.get(NAMESPACE, ["a"])
    own = {thread for thread in set(threading.enumerate()) - before if thread.name.startswith("memwarden")}
    assert "memwarden-writer" in {thread.name for thread in own}
    await store.close()
    assert not own & set(threading.enumerate())
    assert _names(tmp_path) == ["memory.db"]
    await store.open()
    (memory,) = await store.get(NAMESPACE, ["a"])
    assert memory == replace(memory, version=1)


def _names(folder: Path) -> list[str]:
    return [item.name for item in folder.iterdir()]


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_is_deleted_while_open_is_not_made_anew(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "s.db"
    async with opened_store(path) as store:
        await store.apply(a_batch(a_put("a")))
        delete(path, replaced)
        for call in (lambda: store.apply(a_batch(a_put("b"))), lambda: store.find(NAMESPACE)):
            with pytest.raises(StoreUnavailable, match="deleted or replaced while it was open"):
                await call()
        with pytest.raises(StoreUnavailable):
            await store.record([])
    assert [file.read_bytes() for file in files_of(path)] == [b""] * replaced


async def test_a_file_that_may_not_be_looked_at_is_not_called_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.db"
    stat = Path.stat

    def refuse(self: Path, **given: Any) -> os.stat_result:
        if self == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return stat(self, **given)

    async with opened_store(path) as store:
        await store.apply(a_batch(a_put("a")))
        with monkeypatch.context() as patched:
            patched.setattr(Path, "stat", refuse)
            with pytest.raises(StoreUnavailable, match="cannot be looked at: Permission denied"):
                await store.find(NAMESPACE)
        assert len(await store.find(NAMESPACE)) == 1


def files_of(path: Path) -> list[Path]:
    return list(path.parent.glob(f"{path.name}*"))


def delete(path: Path, replaced: bool) -> None:
    for file in files_of(path):
        file.unlink()
    if replaced:
        path.write_bytes(b"")


@asynccontextmanager
async def opened_store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def test_readers_keep_few_pages(tmp_path: Path) -> None:
    """Each connection fills its cache as the file grows; together they decide how far a server's memory grows."""
    path = tmp_path / "memory.db"
    make_file(path)
    with closing(connect(path, 1.0, reading=True)) as reader, closing(connect(path, 1.0)) as other:
        assert [db.execute("PRAGMA cache_size").fetchone()[0] for db in (reader, other)] == [-2_000, -2_000]
