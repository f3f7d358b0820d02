"""Items in the SQLite file, written by the writer thread in its group commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar, Protocol, TypeVar

from memwarden.observability.records import EventFilter, OpCount, OpEvent
from memwarden.records import Namespace
from memwarden.stores.shared.event_list import (
    COLUMNS,
    EventValues,
    check_events,
    check_limit,
    check_span,
    count_of,
    event_of,
    row_of,
    where_sql,
)
from memwarden.stores.shared.items import (
    CHUNK,
    DropItem,
    ItemChange,
    ItemHit,
    ItemPlace,
    ItemSearch,
    PutItem,
    StoredItem,
    answer_search,
)
from memwarden.stores.sqlite.rows import FIRST_EPOCH

T = TypeVar("T")
Write = Callable[[sqlite3.Connection], Any]

_HERE = "ns = (SELECT no FROM namespaces WHERE tenant = ? AND path = ?)"
_AT = f"{_HERE} AND path = ? AND key = ?"
_NAMES = "path, key, value, created_at, updated_at, ttl, expires_at"
_VECTOR_BATCH = 2_000
_NEW_SPACE = (
    f"INSERT INTO namespaces (tenant, path, rev, epoch, rows) SELECT ?1, ?2, 0, {FIRST_EPOCH}, 0 "
    "WHERE NOT EXISTS (SELECT 1 FROM namespaces WHERE tenant = ?1 AND path = ?2)"
)
_PUT = (
    f"INSERT INTO items (ns, {_NAMES}) SELECT no, ?, ?, ?, ?, ?, ?, ? FROM namespaces WHERE tenant = ? AND path = ? "
    "ON CONFLICT (ns, path, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, "
    "ttl = excluded.ttl, expires_at = excluded.expires_at"
)
_DROP = f"DELETE FROM items WHERE {_AT}"
_DROP_VECTORS = f"DELETE FROM item_vectors WHERE row = (SELECT row FROM items WHERE {_AT})"
_GET_VECTORS = f"SELECT field, vector FROM item_vectors WHERE row = (SELECT row FROM items WHERE {_AT})"
_PUT_VECTOR = f"INSERT INTO item_vectors (row, field, vector) SELECT row, ?, ? FROM items WHERE {_AT}"
_REFRESH = f"UPDATE items SET expires_at = ? + CAST(round(ttl * 60000000) AS INTEGER) WHERE {_AT} AND ttl IS NOT NULL"
_ENDED = f"{_HERE} AND expires_at < ?"


class _ItemsReader(Protocol):
    def __call__(self, read: Callable[[sqlite3.Connection], T], rows: int = 0) -> Awaitable[T]: ...


class SqliteItems:
    """Items of an open :class:`memwarden.stores.sqlite.SqliteStore`.

    Args:
        read: runs a query on a connection of the store, in a thread for many ``rows``. write: runs a write in a commit.
        slow: a number of rows that counts as many.
    """

    durable: ClassVar[bool] = True

    def __init__(
        self, read: _ItemsReader, write: Callable[[Callable[[], Write], int], Awaitable[Any]], slow: int
    ) -> None:
        self._read = read
        self._write = write
        self._slow = slow

    async def get(
        self, namespace: Namespace, places: Sequence[ItemPlace], *, alive_at: int | None = None
    ) -> dict[ItemPlace, StoredItem]:
        only, bound = _alive(alive_at)
        sql = f"SELECT {_NAMES} FROM items WHERE {_AT}{only}"
        names = (namespace.tenant, namespace.path)

        def read(db: sqlite3.Connection) -> dict[ItemPlace, StoredItem]:
            rows = (db.execute(sql, (*names, *place, *bound)).fetchone() for place in places)
            return {(row[0], row[1]): StoredItem._make(row) for row in rows if row is not None}

        return await self._read(partial(_in_snapshot, read) if len(places) > 1 else read, rows=len(places))

    async def vectors(
        self, namespace: Namespace, places: Sequence[ItemPlace]
    ) -> dict[ItemPlace, tuple[tuple[str, bytes], ...]]:
        names = (namespace.tenant, namespace.path)

        def read(db: sqlite3.Connection) -> dict[ItemPlace, tuple[tuple[str, bytes], ...]]:
            found = {place: tuple(sorted(db.execute(_GET_VECTORS, (*names, *place)))) for place in places}
            return {place: vectors for place, vectors in found.items() if vectors}

        return await self._read(partial(_in_snapshot, read), rows=len(places))

    async def search(self, namespace: Namespace, search: ItemSearch) -> list[ItemHit]:
        looks_through = search.matches is not None or search.rank is not None
        read = partial(_in_snapshot, lambda db: answer_search(_SqliteItemsView(db, namespace), search))
        return await self._read(read, rows=self._slow if looks_through else search.limit)

    async def paths(self, namespace: Namespace, under: str | None, *, alive_at: int | None = None) -> list[str]:
        within, bound = _within(namespace, under, alive_at)
        sql = f"SELECT DISTINCT path FROM items WHERE {within}"
        return await self._read(lambda db: [str(path) for (path,) in db.execute(sql, bound).fetchall()])

    async def keys(self, namespace: Namespace, path: str, begins: str = "") -> list[str]:
        sql = f"SELECT key FROM items WHERE {_HERE} AND path = ? AND key >= ? ORDER BY key"
        bound = (namespace.tenant, namespace.path, path, begins)

        def read(db: sqlite3.Connection) -> list[str]:
            return list(takewhile(lambda key: key.startswith(begins), (key for (key,) in db.execute(sql, bound))))

        return await self._read(read)

    async def write(self, namespace: Namespace, changes: Sequence[ItemChange]) -> int:
        if not changes:
            return 0
        return int(await self._write(lambda: partial(_change, namespace=namespace, changes=changes), len(changes)))

    async def refresh(
        self, namespace: Namespace, places: Sequence[ItemPlace], at: int, *, alive_at: int | None = None
    ) -> None:
        only, bound = _alive(alive_at)
        rows = [(at, namespace.tenant, namespace.path, *place, *bound) for place in places]
        if rows:
            await self._write(lambda: lambda db: db.executemany(_REFRESH + only, rows), len(rows))

    async def sweep(self, namespace: Namespace, at: int) -> int:
        bound = (namespace.tenant, namespace.path, at)

        def sweep(db: sqlite3.Connection) -> int:
            db.execute(f"DELETE FROM item_vectors WHERE row IN (SELECT row FROM items WHERE {_ENDED})", bound)
            return db.execute(f"DELETE FROM items WHERE {_ENDED}", bound).rowcount

        return int(await self._write(lambda: sweep, 1))


class _SqliteItemsView:
    """The items as a read transaction sees them. Identities are rows."""

    def __init__(self, db: sqlite3.Connection, namespace: Namespace) -> None:
        self._db = db
        self._namespace = namespace

    def newest(self, search: ItemSearch, most: int | None) -> Iterable[int]:
        return [row for (row,) in self._in_order("row", search, most)]

    def page(self, search: ItemSearch, most: int) -> Sequence[StoredItem]:
        return [StoredItem._make(row) for row in self._in_order(_NAMES, search, most)]

    def _in_order(self, columns: str, search: ItemSearch, most: int | None) -> list[Any]:
        within, bound = _within(self._namespace, search.path, search.alive_at)
        within += "".join(f" AND ({' OR '.join(['instr(value, ?)'] * len(some))})" for some in search.needles)
        bound = (*bound, *(needle for some in search.needles for needle in some))
        page, values = ("", ()) if most is None else (" LIMIT ? OFFSET ?", (most, search.offset))
        sql = f"SELECT {columns} FROM items WHERE {within} ORDER BY updated_at DESC, path, key{page}"
        return self._db.execute(sql, (*bound, *values)).fetchall()

    def read(self, identities: Sequence[int]) -> Mapping[int, StoredItem]:
        found: dict[int, StoredItem] = {}
        for start in range(0, len(identities), CHUNK):
            some = identities[start : start + CHUNK]
            sql = f"SELECT row, {_NAMES} FROM items WHERE row IN ({', '.join('?' * len(some))})"
            found.update((row[0], StoredItem._make(row[1:])) for row in self._db.execute(sql, some))
        return found

    def vectors(self, search: ItemSearch) -> Iterator[Sequence[tuple[int, bytes]]]:
        within, bound = _within(self._namespace, search.path, search.alive_at)
        sql = f"SELECT v.row, v.vector FROM item_vectors v WHERE v.row IN (SELECT row FROM items WHERE {within})"
        asked = self._db.execute(sql, bound)
        while some := asked.fetchmany(_VECTOR_BATCH):
            yield some


def _change(db: sqlite3.Connection, namespace: Namespace, changes: Sequence[ItemChange]) -> int:
    """Write items; return how many were removed."""
    names = (namespace.tenant, namespace.path)
    puts = [change for change in changes if isinstance(change, PutItem)]
    drops = [(*names, change.path, change.key) for change in changes if isinstance(change, DropItem)]
    places = [(*names, put.item.path, put.item.key) for put in puts]
    db.execute(_NEW_SPACE, names)
    db.executemany(_DROP_VECTORS, [*drops, *places])
    removed = db.executemany(_DROP, drops).rowcount if drops else 0
    db.executemany(_PUT, [(*put.item, *names) for put in puts])
    vectors = [(*vector, *place) for item, place in zip(puts, places, strict=True) for vector in item.vectors]
    db.executemany(_PUT_VECTOR, vectors)
    return removed


def _within(namespace: Namespace, path: str | None, alive_at: int | None) -> tuple[str, tuple[Any, ...]]:
    """Return the condition for items under a path, a range of the index, and its values."""
    only, bound = _alive(alive_at)
    names = (namespace.tenant, namespace.path)
    if path is None:
        return _HERE + only, (*names, *bound)
    longer, end = f"{path}.", f"{path}/"  # "/" is the character after "."
    return f"{_HERE} AND path >= ? AND path < ? AND (path = ? OR path >= ?){only}", (
        *names, path, end, path, longer, *bound,
    )  # fmt: skip


def _alive(at: int | None) -> tuple[str, tuple[int, ...]]:
    return ("", ()) if at is None else (" AND (expires_at IS NULL OR expires_at > ?)", (at,))


def _in_snapshot(read: Callable[[sqlite3.Connection], T], db: sqlite3.Connection) -> T:
    db.execute("BEGIN")
    try:
        return read(db)
    finally:
        db.execute("ROLLBACK")  # nothing was written; this ends the snapshot


# Maximum wait for another process. After it the events are dropped.
BUSY_SECONDS = 1.0
_EVENTS_HERE = "tenant = ? AND namespace = ?"
_INSERT = (
    f"INSERT OR IGNORE INTO events (tenant, namespace, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)
_TOO_OLD = f"DELETE FROM events WHERE {_EVENTS_HERE} AND ts < ?"
_TOO_MANY = (
    f"DELETE FROM events WHERE {_EVENTS_HERE} AND (ts, id) <= "
    f"(SELECT ts, id FROM events WHERE {_EVENTS_HERE} ORDER BY ts DESC, id DESC LIMIT 1 OFFSET ?)"
)


class EventWriter:
    """Writes events over a connection of its own, made at first use. Not thread-safe."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._db: sqlite3.Connection | None = None

    def record(self, rows: Sequence[EventValues]) -> None:
        """Write rows that :func:`encode_events` made."""
        self._whole(lambda db: db.executemany(_INSERT, rows))

    def prune(self, namespace: Namespace, before: int, most: int) -> int:
        """Remove events older than a time, and all but the newest ``most``. Return how many."""
        name = (namespace.tenant, namespace.path)

        def remove(db: sqlite3.Connection) -> int:
            old = db.execute(_TOO_OLD, (*name, before)).rowcount
            return old + db.execute(_TOO_MANY, (*name, *name, most)).rowcount

        return int(self._whole(remove))

    def close(self) -> None:
        if self._db is not None:
            self._db.close()

    def _whole(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Run work in a transaction."""
        if self._db is None:
            self._db = self._connect()
            self._db.execute("PRAGMA synchronous = NORMAL")
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            answer = work(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return answer


def encode_events(events: Sequence[OpEvent]) -> list[EventValues]:
    """Return the rows of events. Raises InvalidInput for text that is not valid Unicode."""
    check_events(events)
    return [(event.namespace.tenant, event.namespace.path, *row_of(event)) for event in events]


def read_events(
    db: sqlite3.Connection, namespace: Namespace, where: EventFilter, limit: int, descending: bool
) -> list[OpEvent]:
    """See :meth:`memwarden.stores.protocol.Store.events`."""
    conditions, values = where_sql(where, "?")
    order = "DESC" if descending else "ASC"
    sql = f"SELECT {', '.join(COLUMNS)} FROM events WHERE {_EVENTS_HERE}{conditions} "
    sql += f"ORDER BY ts {order}, id {order} LIMIT ?"
    rows = db.execute(sql, (namespace.tenant, namespace.path, *values, check_limit(limit))).fetchall()
    return [event_of(namespace, row) for row in rows]


def count_events(db: sqlite3.Connection, namespace: Namespace, where: EventFilter, seconds: int) -> list[OpCount]:
    """See :meth:`memwarden.stores.protocol.Store.event_counts`."""
    span = check_span(seconds) * 1_000_000
    conditions, values = where_sql(where, "?")
    # SQLite's remainder of a time before 1970 is negative.
    begin = f"ts - ((ts % {span}) + {span}) % {span}"
    sql = (
        f"SELECT {begin} AS at, node, op, status, sum(count) FROM events WHERE {_EVENTS_HERE}{conditions} "
        "GROUP BY at, node, op, status ORDER BY at, node, op, status"
    )
    return [count_of(row) for row in db.execute(sql, (namespace.tenant, namespace.path, *values)).fetchall()]
