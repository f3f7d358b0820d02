"""The store in a PostgreSQL database."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from psycopg import Connection, Error, OperationalError

from memwarden.concurrency.loop import LastingThreadPool
from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.filters import Where
from memwarden.observability.records import DAY_SECONDS, EVERYTHING, EventFilter, OpCount, OpEvent
from memwarden.records import (
    Batch,
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
from memwarden.stores.postgres import items as event_rows
from memwarden.stores.postgres import pages, search
from memwarden.stores.postgres.checkpoints import PostgresCheckpoints
from memwarden.stores.postgres.citus import read_shares
from memwarden.stores.postgres.connections import Connections, read_url
from memwarden.stores.postgres.counts import PostgresCounts
from memwarden.stores.postgres.health import probe_row_security
from memwarden.stores.postgres.items import PostgresItems
from memwarden.stores.postgres.read import Reader, touch_memories
from memwarden.stores.postgres.replicas import Replicas
from memwarden.stores.postgres.schema import make_ready
from memwarden.stores.postgres.search import Searcher
from memwarden.stores.postgres.transaction import explain
from memwarden.stores.postgres.write import fill_signals
from memwarden.stores.postgres.write_queue import GroupWriter, WriteQueues
from memwarden.stores.shared.checkpoints import HealthFinding, NodeShare, PathProbe, RepairReport
from memwarden.stores.shared.search import (
    ChangesSince,
    NamespaceStatus,
    OpenRows,
    PackedColumns,
    RestingRows,
    SearchLegs,
    SearchRows,
    Surroundings,
)
from memwarden.stores.transfer.backup import Manifest, Tick, ignore_tick, run_in_thread
from memwarden.stores.transfer.erasure import ErasedPart, Holdings
from memwarden.stores.transfer.move import NamespaceExtras
from memwarden.stores.transfer.pages import PAGE, About, Page, Tally

T = TypeVar("T")

_FOR_CHECKPOINTS = 4  # threads, as many as write batches by default


class PostgresStore:
    """Memories in a PostgreSQL database, for any number of processes on any number of machines.

    Args:
        url: ``postgresql://login:password@host:port/database``, with libpq's options after ``?``. The schema
            ``memwarden`` and the role ``memwarden_app`` are created if missing, where the login may do so. The option
            ``replicas=db-2,db-3:5433`` names streaming replicas that may answer reads.
        connections: how many connections this object opens at most, half of them for writing. At least 2. Writing
            checkpoints takes up to four more.
        connect_seconds: how long a call waits for a connection, also while the server is being restarted.
        statement_seconds: time limit of a statement.
        tick: called from a thread while an upgrade makes terms anew, with the namespaces done and there.
    """

    promises: ClassVar[Promises] = Promises(durable=True, shared=True, rows_enforced=True)

    def __init__(
        self,
        url: str,
        *,
        connections: int = 8,
        connect_seconds: float = 10.0,
        statement_seconds: float = 30.0,
        tick: Tick = ignore_tick,
    ) -> None:
        self._url = url
        self._tick = tick
        self._size = max(2, connections)
        self._connect_seconds = connect_seconds
        self._seconds = statement_seconds
        self._lock = threading.Lock()
        self._state: _PostgresHandles | None = None
        self.place = Connections(url, connect_seconds).place
        self._replicas = Replicas(url, read_url(url).replicas, statement_seconds)
        self.checkpoints = PostgresCheckpoints(self._for_checkpoints, self._later, statement_seconds)
        self.items = PostgresItems(self._in_thread, statement_seconds)
        self.counts = PostgresCounts(lambda work: self._in_thread(work, _never), statement_seconds)

    async def open(self) -> None:
        await asyncio.to_thread(self._do_open)

    async def close(self) -> None:
        state, self._state = self._state, None
        if state is not None and state.pid == os.getpid():
            await asyncio.to_thread(state.finish)

    async def identity(self, model: str, instead_of: str | None = None) -> str:
        return await self._read(lambda reader: reader.identity(model, instead_of))

    async def apply(self, batch: Batch) -> Receipt:
        return await asyncio.wrap_future(self._ready().queues.submit(batch))

    async def fill(self, namespace: Namespace, fills: Sequence[Fill]) -> None:
        if fills:
            await self._in_thread(lambda db: fill_signals(db, namespace, fills, self._seconds), _always)

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        if ids:
            await self._in_thread(lambda db: touch_memories(db, namespace, ids, at, self._seconds), _always)

    async def accesses(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, datetime]:
        return await self._read(lambda reader: reader.accesses(namespace, ids))

    async def index_rows(self, namespace: Namespace, ids: Sequence[str]) -> list[IndexRow]:
        return await self._read(lambda reader: reader.index_rows(namespace, ids))

    async def head(self, namespace: Namespace) -> Head:
        return await self._read(lambda reader: reader.head(namespace))

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        return await self._read(lambda reader: reader.get(namespace, ids, removed))

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
        most = _checked_limit(limit)
        return await self._read_much(
            namespace, lambda reader: reader.find(namespace, where, most, order_by, descending, state)
        )

    async def count(self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE) -> int:
        return await self._read_much(namespace, lambda reader: reader.count(namespace, where, state))

    async def find_ids(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> list[str]:
        return await self._read_much(namespace, lambda reader: reader.find_ids(namespace, where, state))

    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        if since > 0:  # few rows, mostly none
            return await self._read(lambda reader: reader.scan(namespace, since))
        return await self._read_much(namespace, lambda reader: reader.scan(namespace, since))

    async def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
        return await self._read_much(namespace, lambda reader: reader.versions(namespace, wanted))

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
        most = _checked_limit(limit)
        return await self._read_much(
            namespace,
            lambda reader: reader.journal(namespace, since, memory_id, thread_id, step, turns, descending, most),
        )

    async def revision_at(self, namespace: Namespace, moment: datetime) -> int:
        return await self._read(lambda reader: reader.revision_at(namespace, moment))

    async def relations(self, namespace: Namespace, ids: Sequence[str]) -> list[Relation]:
        return await self._read(lambda reader: reader.relations(namespace, ids))

    async def thread(self, namespace: Namespace, thread_id: str, *, turns: int = 20) -> ThreadMarks:
        return await self._read(lambda reader: reader.thread(namespace, thread_id, turns))

    async def record(self, events: Sequence[OpEvent]) -> None:
        await self._in_thread(
            lambda db: event_rows.write_events(db, event_rows.encode_events(events), self._seconds), _never
        )

    async def events(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, limit: int = 100, descending: bool = True
    ) -> list[OpEvent]:
        return await self._in_thread(
            lambda db: event_rows.read_events(db, namespace, where, limit, descending, self._seconds)
        )

    async def event_counts(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, seconds: int = DAY_SECONDS
    ) -> list[OpCount]:
        return await self._in_thread(lambda db: event_rows.count_events(db, namespace, where, seconds, self._seconds))

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        return await self._in_thread(
            lambda db: event_rows.prune_events(db, namespace, before, most, self._seconds), _never
        )

    async def namespaces(self) -> list[Namespace]:
        return await self._read(lambda reader: reader.namespaces())

    async def about(self) -> About:
        return await self._in_thread(lambda db: pages.about(db, self._seconds))

    async def spread(self) -> list[NodeShare]:
        return await self._in_thread(lambda db: read_shares(db, self._seconds))

    async def tally(self, namespace: Namespace) -> Tally:
        return await self._read_anywhere(namespace, lambda db: pages.tally(db, namespace, self._seconds))

    async def dump_page(self, namespace: Namespace, since: int = 0, *, limit: int = PAGE) -> Page:
        return await self._read_anywhere(namespace, lambda db: pages.dump(db, namespace, since, limit, self._seconds))

    async def load_page(self, page: Page) -> None:
        taken = pages.IncomingPage(page)
        await self._in_thread(lambda db: taken.write(db, self._seconds), taken.may_repeat)

    async def holdings(self, namespace: Namespace) -> Holdings:
        return await self._in_thread(lambda db: pages.count_holdings(db, namespace, self._seconds))

    async def erase(self, namespace: Namespace) -> Holdings:
        if not await self.drop_search(namespace):
            raise StoreUnavailable(f"search indexes of {namespace} are being made; erase it when they are ready")
        return await self._in_thread(lambda db: pages.erase(db, namespace))

    async def erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        if not await self.drop_search(namespace):
            raise StoreUnavailable(f"search indexes of {namespace} are being made; erase it when they are ready")
        await self._in_thread(lambda db: pages.erase_part(db, namespace, part))

    async def reclaim(self) -> list[str]:
        left = await self._at_length(pages.rewrite)
        return [
            *left,
            "archived WAL and base backups hold what was written: let them expire, or delete them and take a new one",
            "replicas remove it when they have replayed the erasure; look at theirs, and at dumps of the database",
            "statement logs and pg_stat_statements may hold values, where they are switched on",
        ]

    def files(self) -> list[Path]:
        return []

    async def back_up(self, target: Path, tick: Tick = ignore_tick) -> Manifest:
        """Copy the store into a file (:class:`memwarden.stores.transfer.backup.BackupStore`). It need not be open."""
        from memwarden.stores.postgres import backup  # seldom used, so not loaded with every store

        connections = Connections(self._url, self._connect_seconds)
        return await run_in_thread(lambda tell: backup.back_up(connections, target, tell), tick)

    async def restore(self, path: Path, tick: Tick = ignore_tick) -> Manifest:
        """Make this store of a backup (:class:`memwarden.stores.transfer.backup.BackupStore`). It must not be there
        yet."""
        from memwarden.stores.postgres import backup

        connections = Connections(self._url, self._connect_seconds)
        return await run_in_thread(lambda tell: backup.restore(path, connections, tell), tick)

    async def examine(self) -> list[HealthFinding]:
        """Look through the whole store (:class:`memwarden.stores.shared.checkpoints.HealthCheck`). It need not be
        open."""
        from memwarden.stores.postgres import health

        connections = Connections(self._url, self._connect_seconds)
        return await asyncio.to_thread(health.examine, connections)

    async def beside(self) -> list[NamespaceExtras]:
        """Count items and checkpoints, as the owner (:class:`memwarden.stores.transfer.move.StoreWithExtras`)."""
        from memwarden.stores.postgres import health

        return await asyncio.to_thread(health.count_extras, Connections(self._url, self._connect_seconds))

    async def repair(self, copy: Path | None = None) -> RepairReport:
        """Mend the store (:class:`memwarden.stores.shared.checkpoints.HealthCheck`). It need not be open."""
        from memwarden.stores.postgres import health

        connections = Connections(self._url, self._connect_seconds)
        return await asyncio.to_thread(health.repair, connections, copy)

    async def standing(self, namespace: Namespace) -> NamespaceStatus:
        return await self._search(lambda searcher: searcher.standing(namespace))

    async def make_search(self, namespace: Namespace, dimensions: int | None) -> bool:
        return await self._at_length(
            lambda db: search.make_indexes(db, namespace, dimensions, self._seconds, self.place)
        )

    async def hold_search(self, model: str) -> None:
        await self._at_length(lambda db: search.hold_indexes(db, model))

    async def release_search(self, model: str | None = None) -> None:
        await self._at_length(lambda db: search.release_indexes(db, model))

    async def drop_search(self, namespace: Namespace) -> bool:
        return await self._at_length(lambda db: search.drop_indexes(db, namespace, self._seconds))

    async def digest(self, namespace: Namespace) -> tuple[int, bytes] | None:
        return await self._search(lambda searcher: searcher.digest(namespace))

    async def save_digest(self, namespace: Namespace, rev: int, body: bytes) -> None:
        await self._search(lambda searcher: searcher.save_digest(namespace, rev, body))

    async def outline(self, namespace: Namespace) -> tuple[Head, PackedColumns]:
        return await self._search_much(namespace, lambda searcher: searcher.outline(namespace))

    async def look(self, namespace: Namespace, legs: SearchLegs) -> SearchRows:
        # The best plan for a narrow filter or a moment of the past depends on its values.
        keep = not legs.filtered and legs.open.known is None
        if legs.vector is None or not legs.near:
            return await self._search_much(namespace, lambda searcher: searcher.look(namespace, legs, keep=keep))
        # It takes the server as long as the other legs.
        near, others = replace(legs, words="", newest=0, times=(), always=(), filtered=0), replace(legs, near=0)
        nearest, found = await asyncio.gather(
            self._search_much(namespace, lambda searcher: searcher.look(namespace, near, keep=keep)),
            self._search_much(namespace, lambda searcher: searcher.look(namespace, others, keep=keep)),
        )
        if nearest.head.epoch != found.head.epoch:  # erased in between: numbers of rows mean other rows
            return await self._search_much(namespace, lambda searcher: searcher.look(namespace, legs))
        return found._replace(near=nearest.near)

    async def surround(
        self, namespace: Namespace, numbers: Sequence[int], seeds: Sequence[tuple[str, int, int]], open_: OpenRows
    ) -> Surroundings:
        wanted = (namespace, numbers, seeds, open_)
        rows, resting = await asyncio.gather(
            self._search_much(namespace, lambda searcher: searcher.surround(*wanted)),
            self._search_much(namespace, lambda searcher: searcher.resting_around(*wanted)),
        )
        return Surroundings(rows, resting)

    async def resting(self, namespace: Namespace, numbers: Sequence[int], open_: OpenRows) -> RestingRows:
        return await self._search_much(namespace, lambda searcher: searcher.resting(namespace, numbers, open_))

    async def lacking(
        self, namespace: Namespace, after: int, limit: int, statements: bytes | None
    ) -> list[tuple[int, str]]:
        return await self._search(lambda searcher: searcher.lacking(namespace, after, limit, statements))

    async def stating(
        self, namespace: Namespace, after: int, limit: int, open_: OpenRows
    ) -> list[tuple[int, int, bytes]]:
        return await self._search_much(namespace, lambda searcher: searcher.stating(namespace, after, limit, open_))

    async def changes_since(self, namespace: Namespace, rev: int, limit: int) -> ChangesSince:
        return await self._search_much(namespace, lambda searcher: searcher.changes_since(namespace, rev, limit))

    async def numbers(
        self, namespace: Namespace, open_: OpenRows, limit: int, *, order_by: str, descending: bool
    ) -> list[int]:
        return await self._search_much(
            namespace, lambda searcher: searcher.numbers(namespace, open_, limit, order_by, descending)
        )

    async def rows_by_number(self, namespace: Namespace, numbers: Sequence[int]) -> list[IndexRow]:
        return await self._search_much(namespace, lambda searcher: searcher.rows(namespace, numbers))

    async def probe_row_security(self, own: Namespace, victim: Namespace) -> list[PathProbe]:
        """Try to reach another namespace's rows from below memwarden (:mod:`memwarden.stores.postgres.health`)."""
        return await asyncio.to_thread(probe_row_security, self.connections, self._seconds, own, victim)

    @property
    def connections(self) -> Connections:
        """The connections that reads and writes go over. Raises StoreUnavailable before the store is open."""
        return self._ready().connections

    async def _read_anywhere(self, namespace: Namespace, work: Callable[[Connection[Any]], T]) -> T:
        """Run a read on a replica that holds all that the primary does of the namespace, else on the primary.

        For reads of more than a few rows, because the primary is asked for its revision first.
        """
        state = self._ready()
        if not state.replicas:
            return await self._in_thread(work)

        def run() -> T:
            position = state.connections.run(lambda db: state.replicas.read_position(db, namespace), _always)
            found = state.replicas.attempt(namespace, position, work)
            return found[0] if found else state.connections.run(work, _always)

        return await _execute(run, state.threads)

    def _do_open(self) -> None:
        with self._lock:
            if self._state is not None:
                return
            connections = Connections(self._url, self._connect_seconds)
            try:
                with connections.borrow() as db:
                    make_ready(db, self.place, self._tick)
            except Error as error:
                connections.close()
                raise explain(error, self.place) from None
            except BaseException:
                connections.close()
                raise
            self._state = _PostgresHandles(connections, self._replicas, self._size, self._seconds)

    def _ready(self) -> _PostgresHandles:
        state = self._state
        if state is None:
            raise StoreUnavailable(f"the store at {self.place} is not open; call open() first")
        if state.pid != os.getpid():
            raise StoreUnavailable(f"the store at {self.place} was opened before a fork; open a store in each process")
        return state

    async def _for_checkpoints(self, work: Callable[[Connection[Any]], T], *, writing: bool) -> T:
        """Run work for checkpoints. Writes have threads of their own, so reads and batches do not wait for them."""
        state = self._ready()
        return await self._in_thread(work, threads=state.checkpoints if writing else state.threads)

    def _later(self, work: Callable[[Connection[Any]], None]) -> None:
        """Run work in the background. Its failure loses nothing."""
        state = self._ready()
        state.checkpoints.submit(state.connections.run, work, lambda error: False)

    async def _read(self, ask: Callable[[Reader], T]) -> T:
        return await self._in_thread(lambda connection: ask(Reader(connection, self._seconds)))

    async def _read_much(self, namespace: Namespace, ask: Callable[[Reader], T]) -> T:
        return await self._read_anywhere(namespace, lambda connection: ask(Reader(connection, self._seconds)))

    async def _search(self, ask: Callable[[Searcher], T]) -> T:
        return await self._in_thread(lambda connection: ask(Searcher(connection, self._seconds)))

    async def _search_much(self, namespace: Namespace, ask: Callable[[Searcher], T]) -> T:
        return await self._read_anywhere(namespace, lambda connection: ask(Searcher(connection, self._seconds)))

    async def _at_length(self, work: Callable[[Connection[Any]], T]) -> T:
        """Run long work on a connection of its own. Cancelling the caller stops it at the server."""
        errand = _Errand(self._ready().connections, work)
        running = asyncio.get_running_loop().create_task(asyncio.to_thread(errand.run))
        try:
            return await asyncio.shield(running)
        except Error as error:
            raise explain(error, self.place) from None
        except asyncio.CancelledError:
            await asyncio.to_thread(errand.stop)
            await asyncio.wait([running])
            running.exception()  # retrieved, since asyncio reports unretrieved exceptions
            raise

    async def _in_thread(
        self,
        work: Callable[[Connection[Any]], T],
        may_repeat: Callable[[Error], bool] = lambda error: True,
        threads: ThreadPoolExecutor | None = None,
    ) -> T:
        """Run work in a thread. Repeat it on another connection after a loss, if ``may_repeat``."""
        state = self._ready()
        return await _execute(lambda: state.connections.run(work, may_repeat), threads or state.threads)


class _Errand(Generic[T]):
    """Work on a connection of its own, which another thread may stop."""

    def __init__(self, connections: Connections, work: Callable[[Connection[Any]], T]) -> None:
        self._connections = connections
        self._work = work
        self._connection: Connection[Any] | None = None
        self._stopped = False

    def run(self) -> T:
        with self._connections.connect() as connection:
            self._connection = connection
            if self._stopped:
                raise OperationalError("stopped before it began")
            return self._work(connection)

    def stop(self) -> None:
        self._stopped = True
        if self._connection is not None:
            with suppress(Error):
                self._connection.cancel_safe()


class _PostgresHandles:
    """The resources of an open store: connections, write queues, reading threads."""

    def __init__(self, connections: Connections, replicas: Replicas, size: int, seconds: float) -> None:
        self.pid = os.getpid()
        self.connections = connections
        self.replicas = replicas
        self.queues = WriteQueues(GroupWriter(connections, seconds).write, size // 2)
        self.threads = LastingThreadPool(max_workers=size - size // 2, thread_name_prefix="memwarden-reader")
        self.checkpoints = LastingThreadPool(_FOR_CHECKPOINTS, thread_name_prefix="memwarden-checkpoints")

    def finish(self) -> None:
        self.checkpoints.shutdown()
        self.threads.shutdown()
        self.queues.close()
        self.connections.close()
        self.replicas.close()


async def _execute(run: Callable[[], T], threads: ThreadPoolExecutor) -> T:
    try:
        return await asyncio.get_running_loop().run_in_executor(threads, run)
    except UnicodeEncodeError as error:
        raise InvalidInput(f"text that no file can hold (half of a character pair): {error}") from error


def _always(error: Error) -> bool:
    """Return True: a read, or a write that does the same twice as once."""
    return True


def _never(error: Error) -> bool:
    """Return False: events and counts of calls are not worth a wait for the server."""
    return False


def _checked_limit(limit: Any) -> int:
    if not isinstance(limit, int) or limit < 0:
        raise InvalidInput(f"limit is a number from 0, not {limit!r}")
    return min(limit, 2**62)
