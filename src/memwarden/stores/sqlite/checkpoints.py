"""Checkpoints in the SQLite file, written by the writer thread in its group commits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

from uuid_utils import uuid7

from memwarden.clock import microseconds, now
from memwarden.records import Namespace
from memwarden.stores.shared.checkpoints import (
    PAGE,
    ChannelValue,
    CheckpointKey,
    CheckpointOutline,
    CheckpointRead,
    CheckpointSearch,
    PendingWrite,
    SavedCheckpoint,
    find_unneeded,
    matches_metadata,
    metadata_text,
)
from memwarden.stores.sqlite.rows import FIRST_EPOCH

T = TypeVar("T")
Write = Callable[[sqlite3.Connection, int], None]
Links = tuple[tuple[str, str], ...]

_KEY = "ns = ? AND thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?"
_NEWEST_FIRST = "ORDER BY checkpoint_id DESC, thread_id DESC, checkpoint_ns DESC"
_SORTED = _NEWEST_FIRST.replace("checkpoint_id DESC", "+checkpoint_id DESC")
_GET = (
    "SELECT checkpoint_id, parent_id, agent, kind, data, links, small, metadata, run_id FROM checkpoints "
    "WHERE ns = ? AND thread_id = ? AND checkpoint_ns = ?"
)
_PLACE = "ns = ? AND thread_id = ? AND checkpoint_ns = ? AND channel = ? AND version = ?"
_VALUE = f"SELECT kind, data FROM checkpoint_blobs WHERE {_PLACE}"
_PLACES = "SELECT checkpoint_ns, channel, version FROM checkpoint_blobs WHERE ns = ? AND thread_id = ?"
_LINKS = "SELECT checkpoint_ns, links FROM checkpoints WHERE ns = ? AND thread_id = ?"
_WRITES = (
    "SELECT task_id, task_path, idx, channel, kind, data FROM checkpoint_writes "
    f"WHERE {_KEY} ORDER BY task_path, task_id, idx"
)
_PUT = (
    "INSERT OR REPLACE INTO checkpoints (ns, thread_id, checkpoint_ns, checkpoint_id, parent_id, agent, run_id, links, "
    "small, metadata, kind, data, shown) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_PUT_VALUE = (
    "INSERT OR REPLACE INTO checkpoint_blobs (ns, thread_id, checkpoint_ns, channel, version, kind, data, shown) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_TOUCH = (
    "INSERT INTO checkpoint_threads (ns, thread_id, id, created_at, updated_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (ns, thread_id) DO UPDATE SET updated_at = excluded.updated_at "
    "WHERE excluded.updated_at > checkpoint_threads.updated_at + 1000000"
)  # exact to a second: the steps of a run do not each rewrite a row and its place in the index
_PUT_WRITE = (
    "INSERT INTO checkpoint_writes (ns, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, "
    "kind, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET task_path = excluded.task_path, "
    "channel = excluded.channel, kind = excluded.kind, data = excluded.data WHERE idx < 0"
)
_COPIED = {
    "checkpoints": "checkpoint_ns, checkpoint_id, parent_id, agent, run_id, links, small, metadata, kind, data, shown",
    "checkpoint_blobs": "checkpoint_ns, channel, version, kind, data, shown",
    "checkpoint_writes": "checkpoint_ns, checkpoint_id, task_id, idx, task_path, channel, kind, data",
}
_TABLES = (*_COPIED, "checkpoint_threads")


class SqliteReader(Protocol):
    """The store's read function; ``rows`` estimates how many rows are read."""

    async def __call__(self, read: Callable[[sqlite3.Connection], T], rows: int = 0) -> T: ...


# The store's write function: runs a callback on the writer thread.
Writing = Callable[[Callable[[sqlite3.Connection], None]], Awaitable[Any]]


class SqliteCheckpoints:
    """See :class:`memwarden.stores.shared.checkpoints.Checkpoints`."""

    durable: ClassVar[bool] = True

    def __init__(self, reading: SqliteReader, writing: Writing) -> None:
        self._reading = reading
        self._writing = writing

    async def put(self, namespace: Namespace, saved: SavedCheckpoint, values: Sequence[ChannelValue]) -> None:
        row = (
            *saved.key, saved.parent, saved.agent, saved.run, json.dumps(saved.links), json.dumps(saved.small),
            metadata_text(saved), saved.kind, saved.data, saved.shown,
        )  # fmt: skip

        def write(db: sqlite3.Connection, ns: int) -> None:
            db.execute(_PUT, (ns, *row))
            for item in values:
                value = (item.channel, item.version, item.kind, item.data, item.shown)
                db.execute(_PUT_VALUE, (ns, *saved.key[:2], *value))
            _touch(db, ns, saved.key.thread)

        await self._write(namespace, write)

    async def put_writes(self, namespace: Namespace, key: CheckpointKey, writes: Sequence[PendingWrite]) -> None:
        rows = [(*key, write.task, write.number, write.path, write.channel, write.kind, write.data) for write in writes]

        def write(db: sqlite3.Connection, ns: int) -> None:
            for row in rows:
                db.execute(_PUT_WRITE, (ns, *row))

        await self._write(namespace, write)

    async def get(
        self, namespace: Namespace, thread: str, ns: str = "", id: str | None = None
    ) -> CheckpointRead | None:
        return await self._read(namespace, None, lambda db, number: _get(db, number, thread, ns, id))

    async def find(self, namespace: Namespace, search: CheckpointSearch, limit: int = PAGE) -> list[CheckpointRead]:
        return await self._read(namespace, [], partial(_find, search=search, limit=limit), rows=limit)

    async def outlines(self, namespace: Namespace, thread: str) -> list[CheckpointOutline]:
        return await self._read(namespace, [], partial(_outlines, thread=thread))

    async def remove(self, namespace: Namespace, keys: Sequence[CheckpointKey]) -> None:
        await self._write(namespace, partial(_remove, keys=keys))

    async def delete_threads(self, namespace: Namespace, threads: Sequence[str]) -> None:
        def write(db: sqlite3.Connection, ns: int) -> None:
            for table in _TABLES:
                db.executemany(
                    f"DELETE FROM {table} WHERE ns = ? AND thread_id = ?", [(ns, thread) for thread in threads]
                )

        await self._write(namespace, write)

    async def delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        def write(db: sqlite3.Connection, ns: int) -> None:
            sql = "SELECT thread_id, checkpoint_ns, checkpoint_id FROM checkpoints WHERE ns = ? AND run_id = ?"
            _remove(db, ns, [CheckpointKey(*row) for run in runs for row in db.execute(sql, (ns, run)).fetchall()])

        await self._write(namespace, write)

    async def copy_thread(self, namespace: Namespace, source: str, target: str) -> None:
        def write(db: sqlite3.Connection, ns: int) -> None:
            for table, columns in _COPIED.items():
                rows = f"SELECT ns, ?, {columns} FROM {table} WHERE ns = ? AND thread_id = ?"
                db.execute(f"INSERT OR REPLACE INTO {table} (ns, thread_id, {columns}) {rows}", (target, ns, source))
            if db.execute("SELECT 1 FROM checkpoints WHERE ns = ? AND thread_id = ?", (ns, target)).fetchone():
                _touch(db, ns, target)

        await self._write(namespace, write)

    async def _read(
        self, namespace: Namespace, nothing: T, read: Callable[[sqlite3.Connection, int], T], rows: int = 0
    ) -> T:
        def in_snapshot(db: sqlite3.Connection) -> T:
            with _snapshot(db):
                ns = _number(db, namespace)
                return nothing if ns is None else read(db, ns)

        return await self._reading(in_snapshot, rows)

    async def _write(self, namespace: Namespace, write: Write) -> None:
        def write_numbered(db: sqlite3.Connection) -> None:
            ns = _number(db, namespace)
            if ns is None:
                name = (namespace.tenant, namespace.path)
                sql = f"INSERT INTO namespaces (tenant, path, rev, epoch, rows) VALUES (?, ?, 0, {FIRST_EPOCH}, 0)"
                ns = db.execute(sql, name).lastrowid or 0
            write(db, ns)

        await self._writing(write_numbered)


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Let all reads of the block see the same snapshot."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def _number(db: sqlite3.Connection, namespace: Namespace) -> int | None:
    name = (namespace.tenant, namespace.path)
    found = db.execute("SELECT no FROM namespaces WHERE tenant = ? AND path = ?", name).fetchone()
    return None if found is None else int(found[0])


def _touch(db: sqlite3.Connection, ns: int, thread: str) -> None:
    at = microseconds(now())
    db.execute(_TOUCH, (ns, thread, str(uuid7()), at, at))


def _get(db: sqlite3.Connection, number: int, thread: str, ns: str, identity: str | None) -> CheckpointRead | None:
    if identity is None:
        row = db.execute(f"{_GET} ORDER BY checkpoint_id DESC LIMIT 1", (number, thread, ns)).fetchone()
    else:
        row = db.execute(f"{_GET} AND checkpoint_id = ?", (number, thread, ns, identity)).fetchone()
    if row is None:
        return None
    key = CheckpointKey(thread, ns, row[0])
    links: Links = tuple((channel, version) for channel, version in json.loads(row[5]))
    _, parent, agent, kind, data, _, small, metadata, run = row
    saved = SavedCheckpoint(key, parent, agent, kind, data, links, tuple(json.loads(small)), json.loads(metadata), run)
    values = []
    for link in links:
        found = db.execute(_VALUE, (number, thread, ns, *link)).fetchone()
        if found is not None:
            values.append(ChannelValue(*link, *found))
    writes = [PendingWrite(*item) for item in db.execute(_WRITES, (number, *key)).fetchall()]
    return CheckpointRead(saved, tuple(values), tuple(writes))


def _find(db: sqlite3.Connection, number: int, search: CheckpointSearch, limit: int) -> list[CheckpointRead]:
    keys = list(_keys(db, number, search, limit))
    found = (_get(db, number, *key) for key in keys)
    return [item for item in found if item is not None]


def _keys(db: sqlite3.Connection, number: int, search: CheckpointSearch, limit: int) -> Iterable[CheckpointKey]:
    conditions = [
        ("thread_id = ?", search.thread),
        ("checkpoint_ns = ?", search.ns),
        ("checkpoint_id = ?", search.id),
        ("checkpoint_id < ?", search.before),
        ("checkpoint_id <= ?", None if search.after is None else search.after.id),
    ]
    said = "".join(f" AND {text}" for text, value in conditions if value is not None)
    bound = [value for _, value in conditions if value is not None]
    if search.after is not None:
        said += " AND (checkpoint_id, thread_id, checkpoint_ns) < (?, ?, ?)"
        bound += [search.after.id, search.after.thread, search.after.ns]
    columns = "thread_id, checkpoint_ns, checkpoint_id, metadata"
    # For a thread with all its subgraphs SQLite has to sort: with the index of that order it would read every thread.
    order = _NEWEST_FIRST if search.thread is None or search.ns is not None else _SORTED
    sql = f"SELECT {columns} FROM checkpoints WHERE ns = ?{said} {order}"
    taken = 0
    for *key, metadata in db.execute(sql, (number, *bound)):
        if taken >= limit:
            return
        if not search.metadata or matches_metadata(json.loads(metadata), search.metadata):
            taken += 1
            yield CheckpointKey(*key)


def _outlines(db: sqlite3.Connection, number: int, thread: str) -> list[CheckpointOutline]:
    sql = (
        "SELECT checkpoint_ns, checkpoint_id, parent_id, metadata, small, links FROM checkpoints "
        "WHERE ns = ? AND thread_id = ? ORDER BY checkpoint_ns, checkpoint_id"
    )
    return [
        CheckpointOutline(
            CheckpointKey(thread, ns, identity),
            parent,
            json.loads(metadata),
            frozenset({*json.loads(small), *(channel for channel, _ in json.loads(links))}),
        )
        for ns, identity, parent, metadata, small, links in db.execute(sql, (number, thread)).fetchall()
    ]


def _remove(db: sqlite3.Connection, ns: int, keys: Sequence[CheckpointKey]) -> None:
    for table in ("checkpoints", "checkpoint_writes"):
        db.executemany(f"DELETE FROM {table} WHERE {_KEY}", [(ns, *key) for key in keys])
    for thread in dict.fromkeys(key.thread for key in keys):
        here = (ns, thread)
        there = db.execute(_PLACES, here).fetchall()
        left = db.execute(_LINKS, here).fetchall()
        gone = find_unneeded(there, ((subgraph, *link) for subgraph, links in left for link in json.loads(links)))
        db.executemany(f"DELETE FROM checkpoint_blobs WHERE {_PLACE}", [(*here, *item) for item in gone])
        if not left:
            db.execute("DELETE FROM checkpoint_threads WHERE ns = ? AND thread_id = ?", here)
