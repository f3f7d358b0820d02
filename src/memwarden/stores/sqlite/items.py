"""Items in the SQLite file, written by the writer thread in its group commits."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, ClassVar, Protocol, TypeVar

from memwarden.records import Namespace
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

T = TypeVar("T")
Write = Callable[[sqlite3.Connection], Any]

_HERE = "ns = (SELECT no FROM namespaces WHERE tenant = ? AND path = ?)"
_AT = f"{_HERE} AND path = ? AND key = ?"
_NAMES = "path, key, value, created_at, updated_at, ttl, expires_at"
_VECTOR_BATCH = 2_000
_NEW_SPACE = (
    "INSERT INTO namespaces (tenant, path, rev, epoch, rows) SELECT ?1, ?2, 0, 0, 0 "
    "WHERE NOT EXISTS (SELECT 1 FROM namespaces WHERE tenant = ?1 AND path = ?2)"
)
_PUT = (
    f"INSERT INTO items (ns, {_NAMES}) SELECT no, ?, ?, ?, ?, ?, ?, ? FROM namespaces WHERE tenant = ? AND path = ? "
    "ON CONFLICT (ns, path, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, "
    "ttl = excluded.ttl, expires_at = excluded.expires_at"
)
_DROP = f"DELETE FROM items WHERE {_AT}"
_DROP_VECTORS = f"DELETE FROM item_vectors WHERE row = (SELECT row FROM items WHERE {_AT})"
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

    async def write(self, namespace: Namespace, changes: Sequence[ItemChange]) -> None:
        if changes:
            await self._write(lambda: partial(_change, namespace=namespace, changes=changes), len(changes))

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
    """The items as a read transaction sees them; identities are rows."""

    def __init__(self, db: sqlite3.Connection, namespace: Namespace) -> None:
        self._db = db
        self._namespace = namespace

    def newest(self, search: ItemSearch, most: int | None) -> Iterable[int]:
        within, bound = _within(self._namespace, search.path, search.alive_at)
        page, values = ("", ()) if most is None else (" LIMIT ? OFFSET ?", (most, search.offset))
        sql = f"SELECT row FROM items WHERE {within} ORDER BY updated_at DESC, path, key{page}"
        return [row for (row,) in self._db.execute(sql, (*bound, *values)).fetchall()]

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


def _change(db: sqlite3.Connection, namespace: Namespace, changes: Sequence[ItemChange]) -> None:
    names = (namespace.tenant, namespace.path)
    puts = [change for change in changes if isinstance(change, PutItem)]
    drops = [(*names, change.path, change.key) for change in changes if isinstance(change, DropItem)]
    places = [(*names, put.item.path, put.item.key) for put in puts]
    db.execute(_NEW_SPACE, names)
    db.executemany(_DROP_VECTORS, [*drops, *places])
    db.executemany(_DROP, drops)
    db.executemany(_PUT, [(*put.item, *names) for put in puts])
    vectors = [(*vector, *place) for item, place in zip(puts, places, strict=True) for vector in item.vectors]
    db.executemany(_PUT_VECTOR, vectors)


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
