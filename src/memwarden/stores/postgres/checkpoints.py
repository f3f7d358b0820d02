"""Checkpoints in the database. No row of the namespace is locked, so they wait for no batch and no batch for them."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any, ClassVar, Protocol, TypeVar

from psycopg import Connection
from uuid_utils import uuid7

from memwarden.records import Namespace
from memwarden.stores.postgres.sql.rows import Values, stored, told
from memwarden.stores.postgres.sql.transaction import TransactionKind, begin, here
from memwarden.stores.postgres.writing.write import gather_statistics
from memwarden.stores.shared.checkpoints import (
    PAGE,
    CheckpointRead,
    CheckpointSearch,
    Key,
    Outline,
    PendingWrite,
    SavedCheckpoint,
    Value,
    json_text,
    metadata_text,
    unneeded,
)
from memwarden.stores.shared.sql_values import check_text

T = TypeVar("T")
Question = tuple[str, Sequence[Any]]

_HERE = "tenant = %s AND namespace = %s"
_KEY = f"{_HERE} AND thread_id = %s AND checkpoint_ns = %s AND checkpoint_id = %s"
_NEWEST_FIRST = "ORDER BY checkpoint_id DESC, thread_id DESC, checkpoint_ns DESC"
_FIND = """
    SELECT thread_id, checkpoint_ns, checkpoint_id, parent_id, agent, kind, data, channels, versions, small,
        metadata::text, run_id
    FROM memwarden.checkpoints {which}
"""
_FIND_VALUES = """
    SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id, b.channel, b.version, b.kind, b.data
    FROM (SELECT * FROM memwarden.checkpoints {which}) c
    CROSS JOIN unnest(c.channels, c.versions) AS link (channel, version)
    JOIN memwarden.checkpoint_blobs b ON b.tenant = c.tenant AND b.namespace = c.namespace
        AND b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns
        AND b.channel = link.channel AND b.version = link.version
"""
_FIND_WRITES = """
    SELECT w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path, w.idx, w.channel, w.kind, w.data
    FROM (SELECT * FROM memwarden.checkpoints {which}) c
    JOIN memwarden.checkpoint_writes w ON w.tenant = c.tenant AND w.namespace = c.namespace
        AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id
    ORDER BY w.task_path, w.task_id, w.idx
"""
_OUTLINES = f"""
    SELECT checkpoint_ns, checkpoint_id, parent_id, metadata::text, small || channels FROM memwarden.checkpoints
    WHERE {_HERE} AND thread_id = %s ORDER BY checkpoint_ns, checkpoint_id
"""
_OF_RUNS = f"""
    SELECT thread_id, checkpoint_ns, checkpoint_id FROM memwarden.checkpoints
    WHERE {_HERE} AND run_id = ANY(%s::text[])
"""
_PUT = """
    WITH touched AS (
        INSERT INTO memwarden.checkpoint_threads AS t (tenant, namespace, thread_id, id) VALUES (%s, %s, %s, %s)
        ON CONFLICT (tenant, namespace, thread_id) DO UPDATE SET updated_at = excluded.updated_at
            WHERE excluded.updated_at > t.updated_at + interval '1 second'
    )
    INSERT INTO memwarden.checkpoints (tenant, namespace, thread_id, checkpoint_ns, checkpoint_id, parent_id, agent,
        run_id, channels, versions, small, metadata, kind, data, shown)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s::text[], %s::text[], %s::text[], %s, %s, %s, %s)
    ON CONFLICT (tenant, namespace, thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET
        parent_id = excluded.parent_id, agent = excluded.agent, run_id = excluded.run_id,
        channels = excluded.channels, versions = excluded.versions, small = excluded.small,
        metadata = excluded.metadata, kind = excluded.kind, data = excluded.data, shown = excluded.shown
"""
_PUT_VALUE = """
    INSERT INTO memwarden.checkpoint_blobs (tenant, namespace, thread_id, checkpoint_ns, channel, version, kind, data,
        shown)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, namespace, thread_id, checkpoint_ns, channel, version) DO UPDATE SET
        kind = excluded.kind, data = excluded.data, shown = excluded.shown
"""
_PUT_WRITE = """
    INSERT INTO memwarden.checkpoint_writes (tenant, namespace, thread_id, checkpoint_ns, checkpoint_id, task_id, idx,
        task_path, channel, kind, data)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (tenant, namespace, thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE SET
        task_path = excluded.task_path, channel = excluded.channel, kind = excluded.kind, data = excluded.data
        WHERE checkpoint_writes.idx < 0
"""
_TOUCH_COPY = f"""
    INSERT INTO memwarden.checkpoint_threads (tenant, namespace, thread_id, id)
    SELECT tenant, namespace, %s, %s::uuid FROM memwarden.checkpoint_threads WHERE {_HERE} AND thread_id = %s
    ON CONFLICT (tenant, namespace, thread_id) DO UPDATE SET updated_at = excluded.updated_at
"""
_DELETE_VALUES = f"""
    DELETE FROM memwarden.checkpoint_blobs WHERE {_HERE} AND thread_id = %s
    AND (checkpoint_ns, channel, version) IN (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[]))
"""
_FORGET_THREAD = f"""
    DELETE FROM memwarden.checkpoint_threads t WHERE {_HERE} AND thread_id = %s AND NOT EXISTS (
        SELECT FROM memwarden.checkpoints c
        WHERE c.tenant = t.tenant AND c.namespace = t.namespace AND c.thread_id = t.thread_id)
"""
_COPIED = {
    "checkpoints": (
        ("checkpoint_ns", "checkpoint_id"),
        ("parent_id", "agent", "run_id", "channels", "versions", "small", "metadata", "kind", "data", "shown"),
    ),
    "checkpoint_blobs": (("checkpoint_ns", "channel", "version"), ("kind", "data", "shown")),
    "checkpoint_writes": (
        ("checkpoint_ns", "checkpoint_id", "task_id", "idx"),
        ("task_path", "channel", "kind", "data"),
    ),
}
"""Of each table the columns of the key after the thread, and the others."""
_MANY = 500
"""After so many statements that write, the server is asked whether it needs new statistics."""
_TABLES = (*_COPIED, "checkpoint_threads")
_ESCAPED = re.compile(r"\\u000[01]")


class InThread(Protocol):
    """How the store has something done over one of its connections."""

    def __call__(self, work: Callable[[Connection[Any]], T], *, writing: bool) -> Awaitable[T]: ...


Later = Callable[[Callable[[Connection[Any]], None]], None]


class PostgresCheckpoints:
    """See :class:`memwarden.stores.shared.checkpoints.Checkpoints`.

    Args:
        in_thread: does something over a connection. later: the same, with nobody waiting for it.
        seconds: how long one statement may take.
    """

    durable: ClassVar[bool] = True

    def __init__(self, in_thread: InThread, later: Later, seconds: float) -> None:
        self._in_thread = in_thread
        self._later = later
        self._seconds = seconds
        self._written = 0

    async def put(self, namespace: Namespace, saved: SavedCheckpoint, values: Sequence[Value]) -> None:
        names, key = here(namespace), stored(list(saved.key))
        check_text(*saved.key, saved.parent, saved.run, *chain.from_iterable(saved.links))
        channels, versions = [stored([link[side] for link in saved.links]) for side in (0, 1)]
        row = (
            *names, key[0], str(uuid7()),
            *names, *key, stored(saved.parent), stored(saved.agent), stored(saved.run), channels, versions,
            stored(list(saved.small)), _metadata(saved), saved.kind, saved.data, saved.shown,
        )  # fmt: skip
        places = [(*names, *key[:2], stored(value.channel), stored(value.version)) for value in values]
        rows = [(*place, item.kind, item.data, item.shown) for place, item in zip(places, values, strict=True)]
        await self._write(namespace, [*((_PUT_VALUE, row) for row in rows), (_PUT, row)])

    async def put_writes(self, namespace: Namespace, key: Key, writes: Sequence[PendingWrite]) -> None:
        names = (*here(namespace), *stored(list(key)))
        rows = [
            (
                *names,
                stored(write.task),
                write.number,
                stored(write.path),
                stored(write.channel),
                write.kind,
                write.data,
            )
            for write in writes
        ]
        await self._write(namespace, [(_PUT_WRITE, row) for row in rows])

    async def get(
        self, namespace: Namespace, thread: str, ns: str = "", id: str | None = None
    ) -> CheckpointRead | None:
        found = await self.find(namespace, CheckpointSearch(thread, ns, id), limit=1)
        return found[0] if found else None

    async def find(self, namespace: Namespace, search: CheckpointSearch, limit: int = PAGE) -> list[CheckpointRead]:
        which, bound = _which(namespace, search, limit)
        questions = [(sql.format(which=which), bound) for sql in (_FIND, _FIND_VALUES, _FIND_WRITES)]
        return _put_together(*await self._ask(namespace, *questions))

    async def outlines(self, namespace: Namespace, thread: str) -> list[Outline]:
        (rows,) = await self._ask(namespace, (_OUTLINES, (*here(namespace), stored(thread))))
        return [
            Outline(Key(thread, told(ns), told(identity)), told(parent), _mapping(metadata), frozenset(told(channels)))
            for ns, identity, parent, metadata, channels in rows
        ]

    async def remove(self, namespace: Namespace, keys: Sequence[Key]) -> None:
        if keys:
            await self._remove(namespace, lambda db: keys)

    async def delete_threads(self, namespace: Namespace, threads: Sequence[str]) -> None:
        bound = (*here(namespace), stored(list(threads)))
        sql = f"DELETE FROM memwarden.{{}} WHERE {_HERE} AND thread_id = ANY(%s::text[])"
        await self._write(namespace, [(sql.format(table), bound) for table in _TABLES])

    async def delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        bound = (*here(namespace), stored(list(runs)))
        await self._remove(
            namespace, lambda db: [Key(*map(told, row)) for row in db.execute(_OF_RUNS.encode(), bound).fetchall()]
        )

    async def copy_thread(self, namespace: Namespace, source: str, target: str) -> None:
        names, old, new = here(namespace), stored(source), stored(target)
        copies = [(_copy(table), (new, *names, old)) for table in _COPIED]
        await self._write(namespace, [*copies, (_TOUCH_COPY, (new, str(uuid7()), *names, old))])

    async def _remove(self, namespace: Namespace, which: Callable[[Connection[Any]], Sequence[Key]]) -> None:
        def remove(db: Connection[Any]) -> None:
            begin(db, namespace, self._seconds)
            _remove_all(db, namespace, which(db))
            db.execute(b"COMMIT")

        await self._in_thread(remove, writing=True)

    async def _write(self, namespace: Namespace, statements: Sequence[Question]) -> None:
        def write(db: Connection[Any]) -> None:
            with db.pipeline():
                begin(db, namespace, self._seconds)
                for sql, values in statements:
                    db.execute(sql.encode(), values)
                db.execute(b"COMMIT")

        if statements:
            await self._in_thread(write, writing=True)
            self._look_after(len(statements))

    def _look_after(self, written: int) -> None:
        self._written += written
        if self._written >= _MANY:
            self._written = 0
            self._later(lambda db: gather_statistics(db, self._seconds))

    async def _ask(self, namespace: Namespace, *questions: Question) -> list[list[Values]]:
        def ask(db: Connection[Any]) -> list[list[Values]]:
            with db.pipeline():
                begin(db, namespace, self._seconds, TransactionKind.READ)
                asked = [db.execute(sql.encode(), values, binary=True) for sql, values in questions]
                db.execute(b"COMMIT")
            return [item.fetchall() for item in asked]

        return await self._in_thread(ask, writing=False)


def _which(namespace: Namespace, search: CheckpointSearch, limit: int) -> Question:
    conditions = [
        ("thread_id = %s", search.thread),
        ("checkpoint_ns = %s", search.ns),
        ("checkpoint_id = %s", search.id),
        ("checkpoint_id < %s", search.before),
    ]
    said = "".join(f" AND {text}" for text, value in conditions if value is not None)
    bound: list[Any] = [stored(value) for _, value in conditions if value is not None]
    if search.after is not None:
        said += " AND (checkpoint_id, thread_id, checkpoint_ns) < (%s, %s, %s)"
        bound += stored([search.after.id, search.after.thread, search.after.ns])
    for name, value in search.metadata.items():
        said += " AND coalesce(metadata -> %s, 'null') = %s::jsonb"
        bound += [stored(name), json_text(_deep(stored, value), f"the value of {name!r} in the filter")]
    return f"WHERE {_HERE}{said} {_NEWEST_FIRST} LIMIT %s::int8", [*here(namespace), *bound, limit]


def _put_together(saved: list[Values], values: list[Values], writes: list[Values]) -> list[CheckpointRead]:
    by_key: dict[Values, tuple[list[Value], list[PendingWrite]]] = {row[:3]: ([], []) for row in saved}
    for row in values:
        channel, version, kind, data = row[3:]
        by_key[row[:3]][0].append(Value(told(channel), told(version), kind, data))
    for row in writes:
        task, path, number, channel, kind, data = row[3:]
        by_key[row[:3]][1].append(PendingWrite(told(task), told(path), number, told(channel), kind, data))
    return [CheckpointRead(_saved(row), *map(tuple, by_key[row[:3]])) for row in saved]  # type: ignore[arg-type]  # in their order


def _saved(row: Values) -> SavedCheckpoint:
    *key, parent, agent, kind, data, channels, versions, small, metadata, run = row
    links = tuple(zip(told(channels), told(versions), strict=True))
    return SavedCheckpoint(
        Key(*map(told, key)), told(parent), told(agent), kind, data, links, tuple(told(small)), _mapping(metadata),
        told(run),
    )  # fmt: skip


def _remove_all(db: Connection[Any], namespace: Namespace, keys: Sequence[Key]) -> None:
    names = here(namespace)
    with db.pipeline():
        for key in keys:
            for table in ("checkpoints", "checkpoint_writes"):
                db.execute(f"DELETE FROM memwarden.{table} WHERE {_KEY}".encode(), (*names, *stored(list(key))))
    for thread in dict.fromkeys(stored(key.thread) for key in keys):
        _remove_unneeded(db, (*names, thread))


def _remove_unneeded(db: Connection[Any], thread: tuple[str, str, str]) -> None:
    # What is there is read before what is needed: what is put meanwhile is then only seen as needed.
    here_ = f"WHERE {_HERE} AND thread_id = %s"
    values = f"SELECT checkpoint_ns, channel, version FROM memwarden.checkpoint_blobs {here_}"
    there = db.execute(values.encode(), thread).fetchall()
    links = f"SELECT checkpoint_ns, channels, versions FROM memwarden.checkpoints {here_}"
    left = db.execute(links.encode(), thread).fetchall()
    needed = ((ns, *link) for ns, channels, versions in left for link in zip(channels, versions, strict=True))
    gone = unneeded(there, needed)
    if gone:
        db.execute(_DELETE_VALUES.encode(), (*thread, *(list(column) for column in zip(*gone, strict=True))))
    db.execute(_FORGET_THREAD.encode(), thread)


def _copy(table: str) -> str:
    key, others = _COPIED[table]
    columns = ", ".join((*key, *others))
    changed = ", ".join(f"{other} = excluded.{other}" for other in others)
    return (
        f"INSERT INTO memwarden.{table} (tenant, namespace, thread_id, {columns}) "
        f"SELECT tenant, namespace, %s, {columns} FROM memwarden.{table} WHERE {_HERE} AND thread_id = %s "
        f"ON CONFLICT (tenant, namespace, thread_id, {', '.join(key)}) DO UPDATE SET {changed}"
    )


def _metadata(saved: SavedCheckpoint) -> str:
    text = metadata_text(saved)
    return json.dumps(_deep(stored, json.loads(text))) if _ESCAPED.search(text) else text


def _mapping(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return dict(_deep(told, found)) if "\\u0001" in text else dict(found)


def _deep(change: Callable[[Any], Any], value: Any) -> Any:
    """Change every text in a JSON value. jsonb cannot hold U+0000 either."""
    if isinstance(value, dict):
        return {change(key): _deep(change, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_deep(change, item) for item in value]
    return change(value)
