"""The store in a SQLite file."""

from __future__ import annotations

import asyncio
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from memwarden.clock import microseconds
from memwarden.concurrency.loop import LastingThreadPool
from memwarden.errors import InvalidInput, MemwardenError, StoreUnavailable
from memwarden.filters import Where
from memwarden.observability.records import DAY_SECONDS, EVERYTHING, EventFilter, OpCount, OpEvent
from memwarden.records import (
    Batch,
    Channel,
    Edge,
    Fill,
    Head,
    IndexRow,
    JournalEntry,
    Memory,
    MemoryState,
    Namespace,
    Promises,
    Receipt,
    Relation,
    Scan,
    ThreadMarks,
)
from memwarden.stores.shared.checkpoints import HealthFinding, RepairReport
from memwarden.stores.shared.raw_files import OpenFiles
from memwarden.stores.shared.sql_values import JOURNAL_COLUMNS
from memwarden.stores.sqlite import file, pages
from memwarden.stores.sqlite import items as event_rows
from memwarden.stores.sqlite.checkpoints import SqliteCheckpoints
from memwarden.stores.sqlite.items import SqliteItems
from memwarden.stores.sqlite.rows import (
    CONTENT,
    FIRST_EPOCH,
    INDEX_COLUMNS,
    condition_sql,
    decode_any_state,
    decode_change,
    decode_index_row,
    decode_memory,
    decode_relation,
    order_sql,
)
from memwarden.stores.sqlite.write import (
    Write,
    WriterThread,
    bind_model,
    fill_signals,
    prepare,
    read_accesses,
    touch_memories,
)
from memwarden.stores.transfer.backup import Manifest, Tick, ignore_tick, run_in_thread
from memwarden.stores.transfer.erasure import COPIED_FILES, ErasedPart, Holdings
from memwarden.stores.transfer.move import NamespaceExtras
from memwarden.stores.transfer.pages import PAGE, About, Page, Tally

T = TypeVar("T")
Read = Callable[[sqlite3.Connection], T]

_INLINE_SECONDS = 0.002  # a read on the event loop may hold it up for this long, then it moves to a thread
_STEPS_BETWEEN_LOOKS = 1_000
_INLINE_ROWS = 500
_MAX_IDS = 500
# Python's message for a number too large to bind. A number too large to read back has another message.
_UNBINDABLE = "too large to convert to SQLite"

_NS = "(SELECT no FROM namespaces WHERE tenant = ? AND path = ?)"
_CONTENT = f"id, version, {', '.join(CONTENT)}"
_ANY_CONTENT = f"{_CONTENT}, state, purge_at"
_HEAD = "SELECT rev, epoch FROM namespaces WHERE tenant = ? AND path = ?"
_ALL_ROWS = (
    f"SELECT {INDEX_COLUMNS} FROM memories m JOIN signals s ON s.row = m.row "
    f"WHERE m.row > {_NS} << 32 AND m.row < ({_NS} + 1) << 32 ORDER BY m.row"
)
_SOME_ROWS = (
    f"SELECT {INDEX_COLUMNS} FROM memories m JOIN signals s ON s.row = m.row "
    f"WHERE m.ns = {_NS} AND m.state = 'active' AND m.id IN "
)
_CHANGED_ROWS = (
    f"SELECT {INDEX_COLUMNS} FROM memories m JOIN signals s ON s.row = m.row "
    f"WHERE m.ns = {_NS} AND m.rev > ? ORDER BY m.row"
)
_THREAD = (
    f"SELECT (SELECT seen FROM threads WHERE ns = {_NS} AND thread_id = ?), "
    f"(SELECT min(seq) FROM journal WHERE ns = {_NS} AND thread_id = ?), "
    f"coalesce((SELECT seq FROM journal WHERE ns = {_NS} AND thread_id = ? AND channel = 'turn' AND event = 'ADD' "
    "ORDER BY seq DESC LIMIT 1 OFFSET ?), 0), "
    f"coalesce((SELECT extracted FROM threads WHERE ns = {_NS} AND thread_id = ?), 0)"
)
_CHANGED_EDGES = f"SELECT from_id, to_id, type, strength, live FROM relations WHERE ns = {_NS} AND rev > ?"


class SqliteStore:
    """Memories in a SQLite file, for any number of processes on the same machine.

    Args:
        path: the file. It and its folder are created if missing.
        busy_seconds: how long a write waits for another process before it raises StoreUnavailable.
        tick: called from a thread while an upgrade makes terms anew, with how many memories are done and how many
            there are.
    """

    promises: ClassVar[Promises] = Promises(durable=True, shared=True, rows_enforced=False)

    def __init__(self, path: str | os.PathLike[str], *, busy_seconds: float = 30.0, tick: Tick = ignore_tick) -> None:
        self.path = Path(path)
        self._tick = tick
        self._busy_seconds = busy_seconds
        self._lock = threading.Lock()
        self._state: _SqliteHandles | None = None
        self.checkpoints = SqliteCheckpoints(self._read, lambda write: self._ready().writer.submit(lambda: write, 1))
        self.items = SqliteItems(self._read, self._submit, _INLINE_ROWS + 1)

    @property
    def place(self) -> str:
        return f"sqlite:///{self.path.absolute()}"

    async def open(self) -> None:
        await asyncio.to_thread(self._do_open)

    async def close(self) -> None:
        state, self._state = self._state, None
        if state is not None and state.pid == os.getpid():
            state.reader.close()  # here, on the thread that reads from it
            await asyncio.to_thread(state.finish)

    async def identity(self, model: str, instead_of: str | None = None) -> str:
        bound = await self._read(lambda db: db.execute("SELECT value FROM meta WHERE key = 'model'").fetchone())
        if bound is not None and instead_of is None:
            return str(bound[0])
        bind = partial(bind_model, model=model, instead_of=instead_of)
        return str(await self._ready().writer.submit(lambda: bind, 1))

    async def apply(self, batch: Batch) -> Receipt:
        receipt: Receipt = await self._ready().writer.submit(partial(prepare, batch), len(batch.changes) + 1)
        return receipt

    async def fill(self, namespace: Namespace, fills: Sequence[Fill]) -> None:
        if fills:
            fill = partial(fill_signals, namespace=namespace, fills=fills)
            await self._ready().writer.submit(lambda: fill, len(fills))

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        if ids and not self._ready().read_only:
            touch = partial(touch_memories, namespace=namespace, ids=ids, at=at)
            await self._ready().writer.submit(lambda: touch, len(ids))

    async def accesses(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, datetime]:
        return await self._read(partial(read_accesses, namespace=namespace, ids=ids), rows=len(ids))

    async def index_rows(self, namespace: Namespace, ids: Sequence[str]) -> list[IndexRow]:
        return await self._read(partial(_rows, namespace=namespace, ids=ids), rows=len(ids))

    async def head(self, namespace: Namespace) -> Head:
        return await self._read(partial(_head, namespace=namespace))

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        return await self._read(partial(_get, namespace=namespace, ids=ids, removed=removed), rows=len(ids))

    async def find(
        self,
        namespace: Namespace,
        where: Where = (),
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
        state: MemoryState = MemoryState.ACTIVE,
    ) -> list[Memory]:
        conditions, values = condition_sql(where)
        order = f"ORDER BY {order_sql(order_by, descending)} LIMIT ?"
        columns, decoded = (
            (_CONTENT, decode_memory) if state == MemoryState.ACTIVE else (_ANY_CONTENT, decode_any_state)
        )
        sql = f"SELECT {columns} FROM memories WHERE ns = {_NS} AND state = '{MemoryState(state)}'{conditions} {order}"
        bound = (namespace.tenant, namespace.path, *values, _checked_limit(limit))
        return await self._read(
            lambda db: [decoded(namespace, row) for row in db.execute(sql, bound).fetchall()], rows=limit
        )

    async def count(self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE) -> int:
        conditions, values = condition_sql(where)
        sql = f"SELECT count(*) FROM memories WHERE ns = {_NS} AND state = '{MemoryState(state)}'{conditions}"
        bound = (namespace.tenant, namespace.path, *values)
        return await self._read(lambda db: int(db.execute(sql, bound).fetchone()[0]))

    async def find_ids(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> list[str]:
        conditions, values = condition_sql(where)
        sql = f"SELECT id FROM memories WHERE ns = {_NS} AND state = '{MemoryState(state)}'{conditions} ORDER BY row"
        bound = (namespace.tenant, namespace.path, *values)
        return await self._read(lambda db: [row[0] for row in db.execute(sql, bound)], rows=_INLINE_ROWS + 1)

    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        # From the start it is the whole namespace, which is seldom small: straight to a thread.
        rows = _INLINE_ROWS + 1 if since == 0 else 0
        return await self._read(partial(_scan, namespace=namespace, since=since), rows=rows)

    async def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
        return await self._read(partial(_versions, namespace=namespace, wanted=wanted), rows=len(wanted))

    async def journal(
        self,
        namespace: Namespace,
        *,
        since: int = 0,
        memory_id: str | None = None,
        thread_id: str | None = None,
        step: int | None = None,
        turns: bool = True,
        descending: bool = False,
        limit: int = 1000,
    ) -> list[JournalEntry]:
        conditions = [
            ("memory_id = ?", memory_id),
            ("thread_id = ?", thread_id),
            ("step = ? AND seq >= ?", step),
            ("channel <> ?", None if turns else Channel.TURN.value),
        ]
        only = "".join(f" AND {text}" for text, value in conditions if value is not None)
        bound = [value for text, value in conditions if value is not None for _ in range(text.count("?"))]
        order = "DESC" if descending else "ASC"
        sql = f"SELECT {JOURNAL_COLUMNS} FROM journal WHERE ns = {_NS} AND seq > ?{only} ORDER BY seq {order} LIMIT ?"
        values = (namespace.tenant, namespace.path, since, *bound, _checked_limit(limit))
        return await self._read(
            lambda db: [decode_change(namespace, row) for row in db.execute(sql, values).fetchall()]
        )

    async def revision_at(self, namespace: Namespace, moment: datetime) -> int:
        sql = f"SELECT coalesce(max(seq), 0) FROM journal WHERE ns = {_NS} AND at <= ?"
        bound = (namespace.tenant, namespace.path, microseconds(moment))
        return await self._read(lambda db: int(db.execute(sql, bound).fetchone()[0]))

    async def relations(self, namespace: Namespace, ids: Sequence[str]) -> list[Relation]:
        return await self._read(partial(_relations, namespace=namespace, ids=ids))

    async def thread(self, namespace: Namespace, thread_id: str, *, turns: int = 20) -> ThreadMarks:
        bound = (namespace.tenant, namespace.path, thread_id)
        return await self._read(
            lambda db: ThreadMarks._make(db.execute(_THREAD, (*bound * 3, turns - 1, *bound)).fetchone())
        )

    async def record(self, events: Sequence[OpEvent]) -> None:
        state = self._ready()
        if state.read_only:  # events are extra: who may only read leaves none
            return
        await state.writer.submit_errand(lambda: state.events.record(event_rows.encode_events(events)))

    async def events(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, limit: int = 100, descending: bool = True
    ) -> list[OpEvent]:
        read = partial(event_rows.read_events, namespace=namespace, where=where, limit=limit, descending=descending)
        return await self._read(read, rows=limit)

    async def event_counts(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, seconds: int = DAY_SECONDS
    ) -> list[OpCount]:
        return await self._read(partial(event_rows.count_events, namespace=namespace, where=where, seconds=seconds))

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        state, keep = self._ready(), _checked_limit(most)
        prune = partial(state.events.prune, namespace, microseconds(before), keep)
        return int(await state.writer.submit_errand(prune))

    async def namespaces(self) -> list[Namespace]:
        sql = "SELECT tenant, path FROM namespaces WHERE rev > 0 ORDER BY tenant, path"
        return await self._read(lambda db: [Namespace(*row) for row in db.execute(sql).fetchall()])

    async def about(self) -> About:
        return await self._read(pages.about)

    async def tally(self, namespace: Namespace) -> Tally:
        return await self._read(partial(pages.tally, namespace=namespace))

    async def dump_page(self, namespace: Namespace, since: int = 0, *, limit: int = PAGE) -> Page:
        dump = partial(pages.dump, namespace=namespace, since=since, limit=limit)
        return await self._read(dump, rows=_INLINE_ROWS + 1)

    async def load_page(self, page: Page) -> None:
        await self._ready().writer.submit(partial(pages.prepare, page), len(page.changes) + 1)

    async def holdings(self, namespace: Namespace) -> Holdings:
        return await self._read(partial(pages.count_holdings, namespace=namespace))

    async def erase(self, namespace: Namespace) -> Holdings:
        held: Holdings = await self._ready().writer.submit(lambda: partial(pages.erase, namespace=namespace), 1)
        return held

    async def erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        await self._ready().writer.submit(lambda: partial(pages.erase_part, namespace=namespace, part=part), 1)

    async def reclaim(self) -> list[str]:
        await self._ready().writer.submit_errand(self._rewrite)
        from memwarden.stores.sqlite import backup

        copies = [
            f"delete {item}: upgrading made it, and it holds the store as it was"
            for item in await asyncio.to_thread(backup.list_copies, self.path)
        ]
        return [*copies, *COPIED_FILES]

    def files(self) -> list[Path]:
        return [self.path, self.path.with_name(f"{self.path.name}-wal")]

    async def beside(self) -> list[NamespaceExtras]:
        """Count items and checkpoints (:class:`memwarden.stores.transfer.move.StoreWithExtras`)."""
        return await self._read(pages.count_extras, rows=_INLINE_ROWS + 1)

    async def back_up(self, target: Path, tick: Tick = ignore_tick) -> Manifest:
        """Copy the store into a file (:class:`memwarden.stores.transfer.backup.BackupStore`). It need not be open."""
        from memwarden.stores.sqlite import backup  # seldom used, so not loaded with every store

        return await run_in_thread(lambda tell: backup.back_up(self.path, target, tell), tick)

    async def restore(self, path: Path, tick: Tick = ignore_tick) -> Manifest:
        """Make this store of a backup (:class:`memwarden.stores.transfer.backup.BackupStore`). It must not be there
        yet."""
        from memwarden.stores.sqlite import backup

        return await run_in_thread(lambda tell: backup.restore(path, self.path, tell), tick)

    async def examine(self) -> list[HealthFinding]:
        """Look through the whole file (:class:`memwarden.stores.shared.checkpoints.HealthCheck`). The store need not be
        open."""
        from memwarden.stores.sqlite import health

        return await asyncio.to_thread(health.examine, self.path)

    async def repair(self, copy: Path | None = None) -> RepairReport:
        """Mend the file (:class:`memwarden.stores.shared.checkpoints.HealthCheck`). The store need not be open."""
        from memwarden.stores.sqlite import health

        return await asyncio.to_thread(health.repair, self.path, copy)

    def _connect(self, *, reading: bool) -> sqlite3.Connection:
        """Open a connection. Tests override it to observe statements and answers."""
        cache_kb = file.CACHE_KB if reading else file.WRITER_CACHE_KB
        return file.connect(self.path, self._busy_seconds, reading=reading, cache_kb=cache_kb)

    def _rewrite(self) -> None:
        db = self._connect(reading=False)
        try:
            pages.rewrite(db, self.path)
        finally:
            db.close()

    def _start_writer(self, db: sqlite3.Connection) -> WriterThread:
        return WriterThread(db, partial(file.explain, path=self.path))

    def _do_open(self) -> None:
        with self._lock, OpenFiles() as opened:
            if self._state is not None:
                return
            try:
                file.check_path(self.path)
                read_only = file.is_read_only(self.path)
                unlogged = read_only and not file.log_of(self.path).exists()
                if not read_only:
                    file.make_file(self.path)
                    file.refuse_shared_upgrade(self.path, self._busy_seconds)
                db = self._connect(reading=False)
                try:
                    if read_only:
                        file.check_readable(db, self.path)
                    else:
                        file.make_ready(db, self.path, self._busy_seconds, copies=_upgrade_copies, tick=self._tick)
                    reader = self._connect(reading=True)
                except BaseException:
                    db.close()
                    raise
            except sqlite3.Error as error:
                raise file.explain(error, self.path) from error
            except (UnicodeDecodeError, ValueError, TypeError, OverflowError) as error:
                raise file.damage_error(self.path, error) from error
            event_writer = event_rows.EventWriter(partial(file.connect, self.path, event_rows.BUSY_SECONDS))
            self._state = _SqliteHandles(
                self._start_writer(db), event_writer, reader, partial(self._connect, reading=True),
                file.identity_of(self.path), read_only, unlogged, opened.stay(),
            )  # fmt: skip

    def _ready(self) -> _SqliteHandles:
        state = self._state
        if state is None:
            raise StoreUnavailable(f"the store {self.path} is not open; call open() first")
        if state.pid != os.getpid():
            raise StoreUnavailable(f"the store {self.path} was opened before a fork; open a store in each process")
        if file.identity_of(self.path) != state.identity:  # what is written now would be gone with the open file
            raise StoreUnavailable(
                f"{self.path} was deleted or replaced while it was open; close the store, open it again"
            )
        if state.unlogged and file.log_of(self.path).exists():
            raise StoreUnavailable(
                f"another process has opened {self.path} to write, which this user may only read; close the store, "
                "open it again"
            )
        return state

    def _submit(self, prepare: Callable[[], Write], size: int) -> asyncio.Future[Any]:
        return self._ready().writer.submit(prepare, size)

    async def _read(self, read: Read[T], rows: int = 0) -> T:
        """Run a query on the event loop if it is quick, else in a thread with its own connection."""
        state = self._ready()
        try:
            if rows <= _INLINE_ROWS:
                with suppress(_ReadTimeout):
                    return state.read_now(read)
            return await asyncio.get_running_loop().run_in_executor(state.threads, state.read_in_thread, read)
        except sqlite3.Error as error:
            raise file.explain(error, self.path) from error
        except UnicodeEncodeError as error:
            raise InvalidInput(f"text that no file can hold (half of a character pair): {error}") from error
        except (ValueError, TypeError, IndexError, OverflowError) as error:
            if isinstance(error, MemwardenError):
                raise
            if isinstance(error, OverflowError) and _UNBINDABLE in str(error):
                raise InvalidInput("a number that is larger than any that a store counts to") from error
            # What was read cannot have been written: the file is damaged in a way that SQLite does not see.
            raise file.damage_error(self.path, error) from error


class _ReadTimeout(Exception):
    """A read on the event loop exceeded its time limit."""


class _SqliteHandles:
    """The resources of an open store: writers, the event loop's connection, reading threads."""

    def __init__(
        self,
        writer: WriterThread,
        events: event_rows.EventWriter,
        reader: sqlite3.Connection,
        connect: Callable[[], sqlite3.Connection],
        identity: tuple[int, int] | None,
        read_only: bool,
        unlogged: bool,
        opened: OpenFiles,
    ) -> None:
        """unlogged: it is read without looking for a log, as nobody had it open."""
        self.opened = opened
        self.pid = os.getpid()
        self.read_only = read_only
        self.unlogged = unlogged
        self.identity = identity
        self.writer = writer
        self.events = events
        self.threads = LastingThreadPool(max_workers=2, thread_name_prefix="memwarden-reader")
        self.reader = reader
        self._connect = connect
        self._idle: list[sqlite3.Connection] = []
        self._deadline = 0.0
        reader.set_progress_handler(self._is_late, _STEPS_BETWEEN_LOOKS)

    def read_now(self, read: Read[T]) -> T:
        # SQLite calls the progress handler every thousand steps, which interrupts the read after the deadline.
        self._deadline = time.perf_counter() + _INLINE_SECONDS
        try:
            return read(self.reader)
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                self._deadline = math.inf
                if self.reader.in_transaction:  # the end of a snapshot may have been interrupted as well
                    self.reader.execute("ROLLBACK")
                raise _ReadTimeout from None
            raise

    def read_in_thread(self, read: Read[T]) -> T:
        db = self._borrow()
        try:
            return read(db)
        finally:
            self._idle.append(db)

    def finish(self) -> None:
        self.threads.shutdown()
        for db in self._idle:
            db.close()
        self.writer.close(self.events.close)  # last: the last connection to close folds the log into the file
        self.opened.end()

    def _borrow(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _is_late(self) -> bool:
        return time.perf_counter() > self._deadline


def _upgrade_copies() -> file.UpgradeCopies:
    from memwarden.stores.sqlite import backup  # seldom used, so not loaded with every store

    return file.UpgradeCopies(backup.keep_copy, backup.forget_oldest)


def _head(db: sqlite3.Connection, namespace: Namespace) -> Head:
    row = db.execute(_HEAD, (namespace.tenant, namespace.path)).fetchone()
    if row is None:
        row = (0, db.execute(f"SELECT {FIRST_EPOCH}").fetchone()[0])
    return Head(*row)


def _get(db: sqlite3.Connection, namespace: Namespace, ids: Sequence[str], removed: bool) -> list[Memory]:
    found: dict[str, Memory] = {}
    columns, decoded, state = (
        (_ANY_CONTENT, decode_any_state, " AND state <> 'purged'")
        if removed
        else (_CONTENT, decode_memory, " AND state = 'active'")
    )
    for some in _batches(ids):
        marks = ", ".join("?" * len(some))
        sql = f"SELECT {columns} FROM memories WHERE ns = {_NS} AND id IN ({marks}){state}"
        rows = db.execute(sql, (namespace.tenant, namespace.path, *some)).fetchall()
        found.update((row[0], decoded(namespace, row)) for row in rows)
    return [found[item] for item in ids if item in found]


def _scan(db: sqlite3.Connection, namespace: Namespace, since: int) -> Scan:
    name = (namespace.tenant, namespace.path)
    db.execute("BEGIN")  # rows and head of the same snapshot
    try:
        head = _head(db, namespace)
        asked = db.execute(_CHANGED_ROWS, (*name, since)) if since > 0 else db.execute(_ALL_ROWS, name * 2)
        rows = list(map(decode_index_row, asked))
        edges = [Edge._make((*row[:4], row[4] == 1)) for row in db.execute(_CHANGED_EDGES, (*name, since))]
        return Scan(rows, head, edges)
    finally:
        db.execute("ROLLBACK")  # nothing was written; this ends the snapshot


def _rows(db: sqlite3.Connection, namespace: Namespace, ids: Sequence[str]) -> list[IndexRow]:
    found: list[IndexRow] = []
    for some in _batches(list(dict.fromkeys(ids))):
        marks = ", ".join("?" * len(some))
        asked = db.execute(f"{_SOME_ROWS}({marks})", (namespace.tenant, namespace.path, *some))
        found += map(decode_index_row, asked)
    return found


def _versions(db: sqlite3.Connection, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
    earlier_names = ", ".join(f"v.{name}" for name in ("version", *CONTENT))
    found: dict[tuple[str, int], Memory] = {}
    for some in _batches(list(dict.fromkeys(identity for identity, _ in wanted))):
        ids = ", ".join("?" * len(some))
        now = f"SELECT {_CONTENT} FROM memories WHERE ns = {_NS} AND state <> 'purged' AND id IN ({ids})"
        earlier = (
            f"SELECT m.id, {earlier_names} FROM memories m JOIN versions v ON v.row = m.row "
            f"WHERE m.ns = {_NS} AND m.id IN ({ids})"
        )
        asked = set(wanted)
        bound = (namespace.tenant, namespace.path, *some)
        for row in db.execute(f"{now} UNION ALL {earlier}", (*bound, *bound)):
            if (row[0], row[1]) in asked:
                found[row[0], row[1]] = decode_memory(namespace, row)
    return [found[item] for item in wanted if item in found]


def _relations(db: sqlite3.Connection, namespace: Namespace, ids: Sequence[str]) -> list[Relation]:
    found: dict[tuple[str, str, str], Relation] = {}
    for some in _batches(ids):
        marks = ", ".join("?" * len(some))
        for end in ("from_id", "to_id"):
            sql = (
                f"SELECT from_id, to_id, type, strength, created_at FROM relations WHERE ns = {_NS} AND live = 1 "
                f"AND {end} IN ({marks})"
            )
            rows = db.execute(sql, (namespace.tenant, namespace.path, *some)).fetchall()
            found.update((tuple(row[:3]), decode_relation(row)) for row in rows)
    return [found[key] for key in sorted(found)]


def _batches(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[start : start + _MAX_IDS] for start in range(0, len(values), _MAX_IDS)]


def _checked_limit(limit: Any) -> int:
    if not isinstance(limit, int) or limit < 0:
        raise InvalidInput(f"limit is a number from 0, not {limit!r}")
    return min(limit, 2**62)
