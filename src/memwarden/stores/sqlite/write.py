"""Writes a batch to the file: reads the stored state, decides in Python, writes in bulk.

A batch is cut into chunks whose changes do not depend on each other (:mod:`memwarden.stores.shared.decide`), so that
each table is written with a single ``executemany``; :mod:`memwarden.stores.shared.decide` decides each change.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from memwarden.clock import microseconds
from memwarden.clock import moment as from_microseconds
from memwarden.errors import Conflict, InvalidInput
from memwarden.records import (
    Batch,
    BatchChange,
    ChangeResult,
    Fill,
    Link,
    MemoryState,
    Namespace,
    Put,
    Receipt,
    Remove,
    Unlink,
)
from memwarden.stores.shared.decide import (
    ChangePlan,
    EdgeKey,
    Steps,
    StoredEdge,
    StoredMemory,
    check_all,
    check_kinds,
    check_mark,
    cut_chunks,
    edge_key,
    ids_of,
    join_source_key,
)
from memwarden.stores.shared.sql_values import meta_text, signal_values
from memwarden.stores.sqlite.rows import CONTENT, FIRST_EPOCH, MAY_LEAVE, SqliteRow, encode_put

_MAX_IDS = 500

_CONTENT_NAMES = ", ".join(CONTENT)
_INSERT_MEMORY = (
    f"INSERT INTO memories (row, ns, rev, version, state, purge_at, id, source_key, {_CONTENT_NAMES}) "
    f"VALUES (?, ?, ?, 1, ?, ?, ?, ?, {', '.join('?' * len(CONTENT))})"
)
_UPDATE_MEMORY = (
    f"UPDATE memories SET rev = ?, version = ?, state = '{MemoryState.ACTIVE}', purge_at = NULL, "
    f"{', '.join(f'{name} = ?' for name in CONTENT)} WHERE row = ?"
)
_ARCHIVE = (
    f"INSERT INTO versions (row, version, {_CONTENT_NAMES}) SELECT row, version, {_CONTENT_NAMES} FROM memories "
    "WHERE row = ?"
)
_DROP_VERSIONS = f"DELETE FROM versions WHERE row = ? AND version < ? AND {MAY_LEAVE}"
_PURGE_MEMORY = (
    f"UPDATE memories SET rev = ?, state = '{MemoryState.PURGED}', purge_at = NULL, accessed_at = NULL, "
    f"{', '.join(f'{name} = ?' for name in CONTENT)} WHERE row = ?"
)
_TOUCH = (
    "UPDATE memories SET accessed_at = max(coalesce(accessed_at, ?1), ?1) "
    "WHERE ns = (SELECT no FROM namespaces WHERE tenant = ?2 AND path = ?3) AND id = ?4"
)
_MOVE_MEMORY = "UPDATE memories SET rev = ?, state = ?, purge_at = ? WHERE row = ?"
_INSERT_SIGNALS = (
    "INSERT INTO signals (flags, terms, vector, days, pieces, statements, passages, row) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_UPDATE_SIGNALS = (
    "UPDATE signals SET flags = ?, terms = ?, vector = ?, days = ?, pieces = ?, statements = ?, passages = ? "
    "WHERE row = ?"
)
_FILL_SIGNALS = (
    "UPDATE signals SET flags = ?, terms = ?, vector = ?, days = ?, pieces = ?, statements = ?, passages = ? "
    "WHERE row = (SELECT row FROM memories "
    "WHERE ns = (SELECT no FROM namespaces WHERE tenant = ? AND path = ?) AND id = ? AND version = ?)"
)
_WRITE_EDGE = (
    "INSERT INTO relations (ns, from_id, to_id, type, strength, live, rev, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (ns, from_id, to_id, type) DO UPDATE SET strength = excluded.strength, live = excluded.live, "
    "rev = excluded.rev"
)
_INSERT_JOURNAL = (
    "INSERT INTO journal (ns, at, actor, seq, event, memory_id, old_version, new_version, thread_id, channel, step, "
    "meta) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_RECEIPT = "INSERT INTO receipts (ns, key, fingerprint, rev, applied, at) VALUES (?, ?, ?, ?, ?, ?)"
_STATED = "SELECT 1 FROM journal WHERE ns = ? AND seq > ? AND channel <> 'turn' LIMIT 1"
_MOVE_SEEN = (
    "INSERT INTO threads (ns, thread_id, seen) VALUES (?, ?, ?) "
    "ON CONFLICT (ns, thread_id) DO UPDATE SET seen = max(coalesce(seen, 0), excluded.seen)"
)
_MOVE_EXTRACTED = (
    "INSERT INTO threads (ns, thread_id, extracted) VALUES (?, ?, ?) "
    "ON CONFLICT (ns, thread_id) DO UPDATE SET extracted = excluded.extracted"
)

_Chunk = Sequence[tuple[int, BatchChange]]


class _NamespaceCounters(NamedTuple):
    no: int
    rev: int
    rows: int


class _EncodedBatch(NamedTuple):
    """A batch encoded and cut into chunks, ready to be written."""

    batch: Batch
    at: int
    puts: dict[int, SqliteRow]
    chunks: list[list[tuple[int, BatchChange]]]


def prepare(batch: Batch) -> Callable[[sqlite3.Connection], Receipt]:
    """Encode a batch outside any lock. Return the function that writes it. Raises InvalidInput."""
    at = _moment(batch.at)
    check_kinds(batch.changes)
    puts = {
        place: encode_put(item, batch.namespace) for place, item in enumerate(batch.changes) if isinstance(item, Put)
    }
    for change in batch.changes:
        meta_text(change.meta)
        if isinstance(change, Remove | Put) and change.purge_at is not None:
            _moment(change.purge_at)
    chunks = list(cut_chunks(batch.changes, lambda put: join_source_key(put.memory.thread_id, put.source_key)))
    ready = _EncodedBatch(batch, at, puts, chunks)
    return lambda db: _write(db, ready)


def _moment(moment: datetime) -> int:
    try:
        return microseconds(moment)
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"the time of a change is an aware datetime, not {moment!r}") from error


def fill_signals(db: sqlite3.Connection, namespace: Namespace, fills: Sequence[Fill]) -> None:
    """See :meth:`memwarden.stores.protocol.Store.fill`."""
    name = (namespace.tenant, namespace.path)
    db.executemany(_FILL_SIGNALS, [(*signal_values(fill.signals), *name, fill.id, fill.version) for fill in fills])


def touch_memories(db: sqlite3.Connection, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
    """See :meth:`memwarden.stores.protocol.Store.touch`."""
    moment = microseconds(at)
    db.executemany(_TOUCH, [(moment, namespace.tenant, namespace.path, memory_id) for memory_id in ids])


def read_accesses(db: sqlite3.Connection, namespace: Namespace, ids: Sequence[str]) -> dict[str, datetime]:
    """See :meth:`memwarden.stores.protocol.Store.accesses`."""
    found: dict[str, datetime] = {}
    for some in _batches(ids):
        sql = (
            "SELECT id, accessed_at FROM memories WHERE ns = (SELECT no FROM namespaces WHERE tenant = ? AND path = ?) "
            f"AND accessed_at IS NOT NULL AND id IN ({_marks(some)})"
        )
        rows = db.execute(sql, (namespace.tenant, namespace.path, *some))
        found.update((memory_id, from_microseconds(at)) for memory_id, at in rows)
    return found


def bind_model(db: sqlite3.Connection, model: str, instead_of: str | None = None) -> str:
    """Bind the file to an embedding model unless it is bound to another than ``instead_of``. Return the bound model."""
    db.execute("INSERT OR IGNORE INTO meta (key, value) VALUES ('model', ?)", (model,))
    move = "UPDATE meta SET value = ? WHERE key = 'model' AND value = ?"
    if instead_of is not None and db.execute(move, (model, instead_of)).rowcount:
        db.execute("UPDATE namespaces SET epoch = epoch + 1")
    (bound,) = db.execute("SELECT value FROM meta WHERE key = 'model'").fetchone()
    return str(bound)


def _write(db: sqlite3.Connection, ready: _EncodedBatch) -> Receipt:
    batch = ready.batch
    space = _space(db, batch.namespace)
    if batch.key is not None and (earlier := _earlier(db, space, batch)) is not None:
        return earlier
    if batch.extracted is not None:
        check_mark(batch.extracted, _read_extraction_mark(db, space.no, batch.extracted.thread_id))
    if batch.decided_on_all:
        check_all(batch, db.execute(_STATED, (space.no, batch.decided_at or 0)).fetchone() is not None)
    rev, rows = space.rev, space.rows
    steps = Steps()
    applied: list[ChangeResult] = []
    for chunk in ready.chunks:
        plan: ChangePlan[SqliteRow] = ChangePlan(batch, steps, head=space.rev, rev=rev, rows=rows, encoded=ready.puts)
        applied += plan.decide(
            chunk,
            _read_memories(db, space.no, chunk),
            _first_ids(db, space.no, chunk, ready.puts),
            _edges(db, space.no, chunk),
        )
        _write_plan(db, space.no, batch.actor, ready.at, plan)
        rev, rows = plan.rev, plan.rows
    db.execute("UPDATE namespaces SET rev = ?, rows = ? WHERE no = ?", (rev, rows, space.no))
    for item in batch.seen:
        db.execute(_MOVE_SEEN, (space.no, item.thread_id, item.rev))
    if batch.extracted is not None:
        db.execute(_MOVE_EXTRACTED, (space.no, batch.extracted.thread_id, batch.extracted.rev))
    if batch.key is not None:
        db.execute(_INSERT_RECEIPT, (space.no, batch.key, batch.fingerprint, rev, json.dumps(applied), ready.at))
    return Receipt(rev, tuple(applied))


def _read_extraction_mark(db: sqlite3.Connection, ns: int, thread: str) -> int:
    sql = "SELECT coalesce(max(extracted), 0) FROM threads WHERE ns = ? AND thread_id = ?"
    return int(db.execute(sql, (ns, thread)).fetchone()[0])


def _write_plan(db: sqlite3.Connection, ns: int, actor: str | None, at: int, plan: ChangePlan[SqliteRow]) -> None:
    inserted = [
        (
            ns << 32 | item.n,
            ns,
            item.rev,
            *_birth(item.put.put),
            item.put.put.memory.id,
            item.put.source_key,
            *item.put.content,
        )
        for item in plan.created
    ]
    moved = [
        (item.rev, item.state, None if item.purge_at is None else microseconds(item.purge_at), item.row)
        for item in plan.moved
    ]
    dropped = [
        (item.row, item.version - item.put.put.keep_versions)
        for item in plan.rewritten
        if item.put.put.keep_versions is not None
    ]
    for sql, rows in (
        (_INSERT_MEMORY, inserted),
        (_INSERT_SIGNALS, [(*(item.put.signals or ()), ns << 32 | item.n) for item in plan.created]),
        (_ARCHIVE, [(item.row,) for item in plan.rewritten]),  # before the update, which overwrites what is archived
        (_UPDATE_MEMORY, [(item.rev, item.version, *item.put.content, item.row) for item in plan.rewritten]),
        (_DROP_VERSIONS, dropped),
        (_UPDATE_SIGNALS, [(*item.put.signals, item.row) for item in plan.rewritten if item.put.signals is not None]),
        (_MOVE_MEMORY, moved),
        (_PURGE_MEMORY, [(item.rev, *item.put.content, item.row) for item in plan.purged]),
        (_UPDATE_SIGNALS, [(*(item.put.signals or ()), item.row) for item in plan.purged]),
        ("DELETE FROM versions WHERE row = ?", [(item.row,) for item in plan.purged]),
        (_WRITE_EDGE, [(ns, *edge.key, edge.strength, int(edge.live), edge.rev, at) for edge in plan.edges]),
        (_INSERT_JOURNAL, [(ns, at, actor, *entry[:-1], meta_text(entry.meta)) for entry in plan.entries]),
    ):
        if rows:
            db.executemany(sql, rows)


def _birth(put: Put) -> tuple[str, int | None]:
    apart = put.state != MemoryState.ACTIVE
    return str(put.state), microseconds(put.purge_at) if apart and put.purge_at is not None else None


def _space(db: sqlite3.Connection, namespace: Namespace) -> _NamespaceCounters:
    name = (namespace.tenant, namespace.path)
    found = db.execute("SELECT no, rev, rows FROM namespaces WHERE tenant = ? AND path = ?", name).fetchone()
    if found is not None:
        return _NamespaceCounters(*found)
    sql = f"INSERT INTO namespaces (tenant, path, rev, epoch, rows) VALUES (?, ?, 0, {FIRST_EPOCH}, 0)"
    cursor = db.execute(sql, name)
    return _NamespaceCounters(cursor.lastrowid or 0, 0, 0)


def _earlier(db: sqlite3.Connection, space: _NamespaceCounters, batch: Batch) -> Receipt | None:
    sql = "SELECT fingerprint, rev, applied FROM receipts WHERE ns = ? AND key = ?"
    found = db.execute(sql, (space.no, batch.key)).fetchone()
    if found is None:
        return None
    fingerprint, rev, applied = found
    if fingerprint != batch.fingerprint:
        raise Conflict(f"the key {batch.key!r} was used for another call in {batch.namespace}")
    return Receipt(rev, tuple(ChangeResult(*load) for load in json.loads(applied)), replayed=True)


def _read_memories(db: sqlite3.Connection, ns: int, chunk: _Chunk) -> dict[str, StoredMemory]:
    ids = list(dict.fromkeys(chain.from_iterable(ids_of(change) for _, change in chunk)))
    rows = _look_up(db, "id, row, rev, version, state, channel, thread_id", "id", ns, ids)
    return {row[0]: StoredMemory(*row[1:]) for row in rows}


def _first_ids(db: sqlite3.Connection, ns: int, chunk: _Chunk, puts: dict[int, SqliteRow]) -> dict[int, str]:
    keys = {
        puts[place].source_key: place for place, change in chunk if isinstance(change, Put) and puts[place].source_key
    }
    # The index over source keys is partial. It is used only where the condition says so too.
    rows = _look_up(db, "source_key, id", "source_key IS NOT NULL AND source_key", ns, [key for key in keys if key])
    return {keys[key]: identity for key, identity in rows}


def _edges(db: sqlite3.Connection, ns: int, chunk: _Chunk) -> dict[EdgeKey, StoredEdge]:
    wanted = {edge_key(change) for _, change in chunk if isinstance(change, Link | Unlink)}
    starts = list({item.from_id for item in wanted})
    edges: dict[EdgeKey, StoredEdge] = {}
    for some in _batches(starts):
        sql = f"SELECT from_id, to_id, type, strength, live FROM relations WHERE ns = ? AND from_id IN ({_marks(some)})"
        for *key, strength, live in db.execute(sql, (ns, *some)):
            edges[EdgeKey(*key)] = StoredEdge(strength, live == 1)
    return edges


def _look_up(db: sqlite3.Connection, columns: str, by: str, ns: int, values: Sequence[str]) -> list[Any]:
    rows: list[Any] = []
    for some in _batches(values):
        sql = f"SELECT {columns} FROM memories WHERE ns = ? AND {by} IN ({_marks(some)})"
        rows += db.execute(sql, (ns, *some)).fetchall()
    return rows


def _batches(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _MAX_IDS] for start in range(0, len(values), _MAX_IDS))


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


Write = Callable[[sqlite3.Connection], Any]

_MAX_GROUP_CHANGES = 5_000

# Errors of sqlite3 for a value that it cannot bind, and for None where a value must be.
_CALLERS_FAULT = (
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.DataError,
    sqlite3.IntegrityError,
    OverflowError,
    UnicodeError,
)


class WriteJob(NamedTuple):
    """A write whose caller waits for the answer.

    prepare: the part that needs no lock. Returns the part that does. size: number of changes.
    """

    prepare: Callable[[], Write]
    size: int
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]


class WriterErrand(NamedTuple):
    """Work that runs after the waiting batches, over a connection of its own."""

    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]


class WriterThread:
    """The thread that owns the write connection.

    It writes all waiting jobs in a transaction with a savepoint for each, so that a failing job spares the others, and
    resolves the answers after the commit. A job whose caller was cancelled is written all the same.
    """

    def __init__(self, db: sqlite3.Connection, explain: Callable[[sqlite3.Error], Exception]) -> None:
        self._db = db
        self._explain = explain
        self._jobs: SimpleQueue[WriteJob | WriterErrand | None] = SimpleQueue()
        self._errands: list[WriterErrand] = []
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="memwarden-writer", daemon=True)
        self._thread.start()

    def submit(self, prepare: Callable[[], Write], size: int) -> asyncio.Future[Any]:
        """Queue a write for the running event loop and return its answer."""
        loop = asyncio.get_running_loop()
        job = WriteJob(prepare, size, loop, loop.create_future())
        self._jobs.put(job)
        return job.answer

    def submit_errand(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Queue work to run after the waiting batches, outside their transaction."""
        loop = asyncio.get_running_loop()
        errand = WriterErrand(work, loop, loop.create_future())
        self._jobs.put(errand)
        return errand.answer

    def close(self, before: Callable[[], None] | None = None) -> None:
        """Write waiting jobs, end the thread, call ``before``, and close the connection."""
        self._jobs.put(None)
        self._thread.join()
        if before is not None:
            before()
        self._db.close()

    def acknowledge(self, job: WriteJob, answer: Any) -> None:
        """Resolve a job's answer from this thread. A closed event loop is ignored."""
        _hand_over(job.loop, job.answer, answer)

    def _run(self) -> None:
        while not self._closing:
            jobs = self._next_jobs()
            try:
                self._write(jobs)
            except Exception as error:  # whatever it was, nobody must wait for ever
                for job in jobs:
                    self.acknowledge(job, error)
            errands, self._errands = self._errands, []
            for errand in errands:
                self._do(errand)

    def _do(self, errand: WriterErrand) -> None:
        try:
            answer = errand.work()
        except sqlite3.Error as error:
            answer = self._explain(error)
        except Exception as error:  # whatever it was, nobody must wait for ever
            answer = error
        _hand_over(errand.loop, errand.answer, answer)

    def _next_jobs(self) -> list[WriteJob]:
        jobs: list[WriteJob] = []
        size = 0
        with suppress(Empty):
            while size < _MAX_GROUP_CHANGES:
                job = self._jobs.get(block=not (jobs or self._errands))
                if job is None:
                    self._closing = True
                    break
                if isinstance(job, WriterErrand):
                    self._errands.append(job)
                    continue
                jobs.append(job)
                size += job.size
        return jobs

    def _write(self, jobs: list[WriteJob]) -> None:
        ready: list[tuple[WriteJob, Write]] = []
        for job in jobs:
            try:
                ready.append((job, job.prepare()))
            except Exception as error:
                self.acknowledge(job, error)
        # Encoding came first, so that the write lock is held for SQL alone.
        if ready:
            self._commit(ready)

    def _commit(self, ready: list[tuple[WriteJob, Write]]) -> None:
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            self._refuse(ready, error)
            return
        try:
            answers = [(job, self._in_savepoint(write)) for job, write in ready]
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            if len(ready) == 1:
                self._refuse(ready, error)
            for item in ready if len(ready) > 1 else ():  # perhaps a single job is too big for the disk
                self._commit([item])
            return
        for job, answer in answers:
            self.acknowledge(job, answer)

    def _in_savepoint(self, write: Write) -> Any:
        self._db.execute("SAVEPOINT batch")
        try:
            answer = write(self._db)
        except Exception as error:
            if isinstance(error, sqlite3.Error) and not isinstance(error, _CALLERS_FAULT):
                raise  # the disk's, not the batch's
            answer = _answer(error)
            self._db.execute("ROLLBACK TO batch")
        self._db.execute("RELEASE batch")
        return answer

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # SQLite itself has rolled back after some errors
            self._db.execute("ROLLBACK")

    def _refuse(self, ready: list[tuple[WriteJob, Write]], error: sqlite3.Error) -> None:
        for job, _ in ready:
            self.acknowledge(job, self._explain(error))


def _answer(error: Exception) -> Exception:
    if not isinstance(error, _CALLERS_FAULT):
        return error
    fault = InvalidInput(f"the batch holds a value that cannot be stored: {error}")
    fault.__cause__ = error
    return fault


def _hand_over(loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], answer: Any) -> None:
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_settle, future, answer)


def _settle(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():  # the caller was cancelled
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
