"""Checkpoints in the database, written without locking a row of the namespace."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Any, ClassVar, Protocol, TypeVar

from psycopg import Connection
from uuid_utils import uuid7

from memwarden.records import Namespace
from memwarden.stores.postgres.rows import Values, decode_text, encode_text
from memwarden.stores.postgres.transaction import TransactionKind, begin, scope_values
from memwarden.stores.postgres.write import gather_statistics
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
    json_text,
    metadata_text,
)
from memwarden.stores.shared.decide import check_text

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
    JOIN memwarden.checkpoint_blobs b ON b.tenant = %s AND b.namespace = %s
        AND b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns
        AND b.channel = link.channel AND b.version = link.version
"""
_FIND_WRITES = """
    SELECT w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path, w.idx, w.channel, w.kind, w.data
    FROM (SELECT * FROM memwarden.checkpoints {which}) c
    JOIN memwarden.checkpoint_writes w ON w.tenant = %s AND w.namespace = %s
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
            WHERE excluded.updated_at - t.updated_at > interval '1 second'
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
    DELETE FROM memwarden.checkpoint_blobs b
    USING unnest(%s::text[], %s::text[], %s::text[]) AS u (ns, channel, version)
    WHERE {_HERE} AND thread_id = %s AND checkpoint_ns = u.ns AND b.channel = u.channel AND b.version = u.version
"""
_FORGET_THREAD = f"""
    DELETE FROM memwarden.checkpoint_threads t WHERE {_HERE} AND thread_id = %s AND NOT EXISTS (
        SELECT FROM memwarden.checkpoints c
        WHERE c.tenant = t.tenant AND c.namespace = t.namespace AND c.thread_id = t.thread_id)
"""
# For each table the columns of its key after the thread, and the others.
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
# Written statements after which the server is asked to refresh its statistics.
_STATISTICS_INTERVAL = 500
_TABLES = (*_COPIED, "checkpoint_threads")
_ESCAPED = re.compile(r"\\u000[01]")


class ThreadRunner(Protocol):
    """The store's function that runs work over a connection in a thread."""

    def __call__(self, work: Callable[[Connection[Any]], T], *, writing: bool) -> Awaitable[T]: ...


Later = Callable[[Callable[[Connection[Any]], None]], None]


class PostgresCheckpoints:
    """See :class:`memwarden.stores.shared.checkpoints.Checkpoints`.

    Args:
        in_thread: runs work over a connection. later: the same without waiting for it.
        seconds: time limit of a statement.
    """

    durable: ClassVar[bool] = True

    def __init__(self, in_thread: ThreadRunner, later: Later, seconds: float) -> None:
        self._in_thread = in_thread
        self._later = later
        self._seconds = seconds
        self._written = 0

    async def put(self, namespace: Namespace, saved: SavedCheckpoint, values: Sequence[ChannelValue]) -> None:
        names, key = scope_values(namespace), encode_text(list(saved.key))
        check_text(*saved.key, saved.parent, saved.run, *chain.from_iterable(saved.links))
        channels, versions = [encode_text([link[side] for link in saved.links]) for side in (0, 1)]
        row = (
            *names, key[0], str(uuid7()),
            *names, *key, encode_text(saved.parent), encode_text(saved.agent), encode_text(saved.run), channels,
            versions,
            encode_text(list(saved.small)), _encode_metadata(saved), saved.kind, saved.data, saved.shown,
        )  # fmt: skip
        places = [(*names, *key[:2], encode_text(value.channel), encode_text(value.version)) for value in values]
        rows = [(*place, item.kind, item.data, item.shown) for place, item in zip(places, values, strict=True)]
        await self._write(namespace, [*((_PUT_VALUE, row) for row in rows), (_PUT, row)])

    async def put_writes(self, namespace: Namespace, key: CheckpointKey, writes: Sequence[PendingWrite]) -> None:
        names = (*scope_values(namespace), *encode_text(list(key)))
        rows = [
            (
                *names,
                encode_text(write.task),
                write.number,
                encode_text(write.path),
                encode_text(write.channel),
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
        which, bound = _search_sql(namespace, search, limit)
        joined = [*bound, *scope_values(namespace)]
        questions = [(sql.format(which=which), joined) for sql in (_FIND_VALUES, _FIND_WRITES)]
        return _assemble_checkpoints(*await self._ask(namespace, (_FIND.format(which=which), bound), *questions))

    async def outlines(self, namespace: Namespace, thread: str) -> list[CheckpointOutline]:
        (rows,) = await self._ask(namespace, (_OUTLINES, (*scope_values(namespace), encode_text(thread))))
        return [
            CheckpointOutline(
                CheckpointKey(thread, decode_text(ns), decode_text(identity)),
                decode_text(parent),
                _decode_metadata(metadata),
                frozenset(decode_text(channels)),
            )
            for ns, identity, parent, metadata, channels in rows
        ]

    async def remove(self, namespace: Namespace, keys: Sequence[CheckpointKey]) -> None:
        if keys:
            await self._remove(namespace, lambda db: keys)

    async def delete_threads(self, namespace: Namespace, threads: Sequence[str]) -> None:
        bound = (*scope_values(namespace), encode_text(list(threads)))
        sql = f"DELETE FROM memwarden.{{}} WHERE {_HERE} AND thread_id = ANY(%s::text[])"
        await self._write(namespace, [(sql.format(table), bound) for table in _TABLES])

    async def delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        bound = (*scope_values(namespace), encode_text(list(runs)))
        await self._remove(
            namespace,
            lambda db: [
                CheckpointKey(*map(decode_text, row)) for row in db.execute(_OF_RUNS.encode(), bound).fetchall()
            ],
        )

    async def copy_thread(self, namespace: Namespace, source: str, target: str) -> None:
        names, old, new = scope_values(namespace), encode_text(source), encode_text(target)
        copies = [(_copy_sql(table), (new, *names, old)) for table in _COPIED]
        await self._write(namespace, [*copies, (_TOUCH_COPY, (new, str(uuid7()), *names, old))])

    async def _remove(self, namespace: Namespace, which: Callable[[Connection[Any]], Sequence[CheckpointKey]]) -> None:
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
            self._gather_statistics(len(statements))

    def _gather_statistics(self, written: int) -> None:
        self._written += written
        if self._written >= _STATISTICS_INTERVAL:
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


def _search_sql(namespace: Namespace, search: CheckpointSearch, limit: int) -> Question:
    conditions = [
        ("thread_id = %s", search.thread),
        ("checkpoint_ns = %s", search.ns),
        ("checkpoint_id = %s", search.id),
        ("checkpoint_id < %s", search.before),
    ]
    said = "".join(f" AND {text}" for text, value in conditions if value is not None)
    bound: list[Any] = [encode_text(value) for _, value in conditions if value is not None]
    if search.after is not None:
        said += " AND (checkpoint_id, thread_id, checkpoint_ns) < (%s, %s, %s)"
        bound += encode_text([search.after.id, search.after.thread, search.after.ns])
    for name, value in search.metadata.items():
        path = name.split(".")
        inside = f", metadata{' -> %s' * len(path)}" if len(path) > 1 else ""
        said += f" AND coalesce(metadata -> %s{inside}, 'null') = %s::jsonb"
        bound += [
            encode_text(name),
            *(map(encode_text, path) if inside else ()),
            json_text(_map_texts(encode_text, value), f"the value of {name!r} in the filter"),
        ]
    return f"WHERE {_HERE}{said} {_NEWEST_FIRST} LIMIT %s::int8", [*scope_values(namespace), *bound, limit]


def _assemble_checkpoints(saved: list[Values], values: list[Values], writes: list[Values]) -> list[CheckpointRead]:
    by_key: dict[Values, tuple[list[ChannelValue], list[PendingWrite]]] = {row[:3]: ([], []) for row in saved}
    for row in values:
        channel, version, kind, data = row[3:]
        by_key[row[:3]][0].append(ChannelValue(decode_text(channel), decode_text(version), kind, data))
    for row in writes:
        task, path, number, channel, kind, data = row[3:]
        by_key[row[:3]][1].append(
            PendingWrite(decode_text(task), decode_text(path), number, decode_text(channel), kind, data)
        )
    return [CheckpointRead(_decode_checkpoint(row), *map(tuple, by_key[row[:3]])) for row in saved]  # type: ignore[arg-type]  # in their order


def _decode_checkpoint(row: Values) -> SavedCheckpoint:
    *key, parent, agent, kind, data, channels, versions, small, metadata, run = row
    links = tuple(zip(decode_text(channels), decode_text(versions), strict=True))
    return SavedCheckpoint(
        CheckpointKey(*map(decode_text, key)), decode_text(parent), decode_text(agent), kind, data, links,
        tuple(decode_text(small)), _decode_metadata(metadata), decode_text(run),
    )  # fmt: skip


def _remove_all(db: Connection[Any], namespace: Namespace, keys: Sequence[CheckpointKey]) -> None:
    names = scope_values(namespace)
    with db.pipeline():
        for key in keys:
            for table in ("checkpoints", "checkpoint_writes"):
                db.execute(f"DELETE FROM memwarden.{table} WHERE {_KEY}".encode(), (*names, *encode_text(list(key))))
    for thread in dict.fromkeys(encode_text(key.thread) for key in keys):
        _remove_unneeded(db, (*names, thread))


def _remove_unneeded(db: Connection[Any], thread: tuple[str, str, str]) -> None:
    # Values are read before links: a value written in between is then seen as needed only, and not removed.
    here_ = f"WHERE {_HERE} AND thread_id = %s"
    values = f"SELECT checkpoint_ns, channel, version FROM memwarden.checkpoint_blobs {here_}"
    there = db.execute(values.encode(), thread).fetchall()
    links = f"SELECT checkpoint_ns, channels, versions FROM memwarden.checkpoints {here_}"
    left = db.execute(links.encode(), thread).fetchall()
    needed = ((ns, *link) for ns, channels, versions in left for link in zip(channels, versions, strict=True))
    gone = find_unneeded(there, needed)
    if gone:
        db.execute(_DELETE_VALUES.encode(), (*(list(column) for column in zip(*gone, strict=True)), *thread))
    db.execute(_FORGET_THREAD.encode(), thread)


def _copy_sql(table: str) -> str:
    key, others = _COPIED[table]
    columns = ", ".join((*key, *others))
    changed = ", ".join(f"{other} = excluded.{other}" for other in others)
    return (
        f"INSERT INTO memwarden.{table} (tenant, namespace, thread_id, {columns}) "
        f"SELECT tenant, namespace, %s, {columns} FROM memwarden.{table} WHERE {_HERE} AND thread_id = %s "
        f"ON CONFLICT (tenant, namespace, thread_id, {', '.join(key)}) DO UPDATE SET {changed}"
    )


def _encode_metadata(saved: SavedCheckpoint) -> str:
    text = metadata_text(saved)
    return json.dumps(_map_texts(encode_text, json.loads(text))) if _ESCAPED.search(text) else text


def _decode_metadata(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return dict(_map_texts(decode_text, found)) if "\\u0001" in text else dict(found)


def _map_texts(change: Callable[[Any], Any], value: Any) -> Any:
    """Change every text in a JSON value. The type jsonb cannot hold U+0000 either."""
    if isinstance(value, dict):
        return {change(key): _map_texts(change, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(change, item) for item in value]
    return change(value)
