"""Items and operational events in the database. A write is its own transaction and locks no namespace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar, Protocol, TypeVar

from psycopg import Connection

from memwarden.clock import microseconds
from memwarden.errors import InvalidInput
from memwarden.observability.records import EventFilter, OpCount, OpEvent
from memwarden.records import Namespace
from memwarden.stores.postgres.rows import Values, array, arrays, decode_text, encode_text
from memwarden.stores.postgres.transaction import TransactionKind, begin, scope_values
from memwarden.stores.postgres.write import NEW_NAMESPACE, insert
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
    DropItem,
    ItemChange,
    ItemHit,
    ItemPlace,
    ItemSearch,
    PutItem,
    StoredItem,
    answer_search,
)

_HERE = "tenant = %s AND namespace = %s"


T = TypeVar("T")

_NAMES = "path, key, value, created_at, updated_at, ttl, expires_at"
_ITEM = {
    "path": "text",
    "key": "text",
    "value": "text",
    "created_at": "int8",
    "updated_at": "int8",
    "ttl": "float8",
    "expires_at": "int8",
}
_VECTOR = {"path": "text", "key": "text", "field": "text", "vector": "bytea"}
_THESE = "(path, key) IN (SELECT u.path, u.key FROM unnest(%b::text[], %b::text[]) AS u (path, key))"
_VECTOR_BATCH = 2_000
# An entry of an index takes a third of a page of 8 kB at most.
MAX_PLACE_BYTES = 2_600
# So that whoever iterates over all namespaces, as a backup does, finds these items.
_NEW_SPACE = NEW_NAMESPACE.decode()
_PUT = insert(
    "items",
    _ITEM,
    "ON CONFLICT (tenant, namespace, path, key) DO UPDATE SET value = excluded.value, "
    "updated_at = excluded.updated_at, ttl = excluded.ttl, expires_at = excluded.expires_at",
).decode()
_PUT_VECTORS = insert("item_vectors", _VECTOR).decode()
# Several places of a change are joined: Citus fails at a pair of columns IN a subquery, except in a SELECT.
_PLACES = "unnest(%b::text[], %b::text[]) AS u (path, key)"
_AT_PLACES = "t.tenant = %s AND t.namespace = %s AND t.path = u.path AND t.key = u.key"
_DROP = f"DELETE FROM memwarden.items AS t USING {_PLACES} WHERE {_AT_PLACES} RETURNING 1"
_DROP_VECTORS = f"DELETE FROM memwarden.item_vectors AS t USING {_PLACES} WHERE {_AT_PLACES}"
_DROP_VECTORS_OF_ONE = f"DELETE FROM memwarden.item_vectors WHERE path = %s AND key = %s AND {_HERE}"
# Not the vectors of an item that another process has written there since.
_DROP_ORPHANS = (
    f"{_DROP_VECTORS} AND NOT EXISTS (SELECT FROM memwarden.items i "
    "WHERE (i.tenant, i.namespace, i.path, i.key) = (t.tenant, t.namespace, t.path, t.key))"
)
# In the same order in every transaction, so that no two transactions deadlock.
_LOCK = f"SELECT 1 FROM memwarden.items WHERE {_HERE} AND {_THESE} ORDER BY path, key FOR UPDATE"
_REFRESH = (
    f"UPDATE memwarden.items AS t SET expires_at = %s::int8 + round(ttl * 60000000)::int8 FROM {_PLACES} "
    f"WHERE {_AT_PLACES} AND ttl IS NOT NULL"
)
_SWEEP = (
    f"WITH ended AS (DELETE FROM memwarden.items WHERE {_HERE} AND expires_at < %s::int8 RETURNING path, key), "
    f"gone AS (DELETE FROM memwarden.item_vectors v USING ended e WHERE v.tenant = %s AND v.namespace = %s "
    "AND v.path = e.path AND v.key = e.key) SELECT count(*) FROM ended"
)


class _InThread(Protocol):
    def __call__(self, work: Callable[[Connection[Any]], T]) -> Awaitable[T]: ...


class PostgresItems:
    """Items of an open :class:`memwarden.stores.postgres.PostgresStore`.

    Args:
        in_thread: runs work over a connection of the store, again when it breaks. seconds: time limit of a statement.
    """

    durable: ClassVar[bool] = True

    def __init__(self, in_thread: _InThread, seconds: float) -> None:
        self._in_thread = in_thread
        self._seconds = seconds

    async def get(
        self, namespace: Namespace, places: Sequence[ItemPlace], *, alive_at: int | None = None
    ) -> dict[ItemPlace, StoredItem]:
        only, bound = _alive(alive_at)
        these, named = _these(places)
        sql = f"SELECT {_NAMES} FROM memwarden.items WHERE {_HERE} AND {these}{only}"
        values = (*scope_values(namespace), *named, *bound)

        def work(db: Connection[Any]) -> dict[ItemPlace, StoredItem]:
            with db.pipeline():
                begin(db, namespace, self._seconds, TransactionKind.READ)
                asked = db.execute(sql.encode(), values, binary=True)
                db.execute(b"COMMIT")
            return {(item.path, item.key): item for item in map(_item, asked.fetchall())}

        return await self._in_thread(work)

    async def vectors(
        self, namespace: Namespace, places: Sequence[ItemPlace]
    ) -> dict[ItemPlace, tuple[tuple[str, bytes], ...]]:
        these, named = _these(places)
        sql = f"SELECT path, key, field, vector FROM memwarden.item_vectors WHERE {_HERE} AND {these}"

        def work(db: Connection[Any]) -> dict[ItemPlace, list[tuple[str, bytes]]]:
            with db.pipeline():
                begin(db, namespace, self._seconds, TransactionKind.READ)
                asked = db.execute(sql.encode(), (*scope_values(namespace), *named), binary=True)
                db.execute(b"COMMIT")
            found: dict[ItemPlace, list[tuple[str, bytes]]] = {}
            for path, key, field, vector in asked.fetchall():
                place = (decode_text(path), decode_text(key))
                found.setdefault(place, []).append((decode_text(field), bytes(vector)))
            return found

        return {place: tuple(sorted(vectors)) for place, vectors in (await self._in_thread(work)).items()}

    async def search(self, namespace: Namespace, search: ItemSearch) -> list[ItemHit]:
        def work(db: Connection[Any]) -> list[ItemHit]:
            # A search by meaning reads its vectors over a cursor, which a pipeline has not.
            with db.pipeline() if search.rank is None else nullcontext():
                begin(db, namespace, self._seconds, TransactionKind.READ)
                found = answer_search(_PostgresItemsView(db, namespace), search)
                db.execute(b"COMMIT")
            return found

        return await self._in_thread(work)

    async def paths(self, namespace: Namespace, under: str | None, *, alive_at: int | None = None) -> list[str]:
        within, bound = _within(namespace, under, alive_at)

        def work(db: Connection[Any]) -> list[str]:
            with db.pipeline():
                begin(db, namespace, self._seconds, TransactionKind.READ)
                asked = db.execute(f"SELECT DISTINCT path FROM memwarden.items WHERE {within}".encode(), bound)
                db.execute(b"COMMIT")
            return [decode_text(path) for (path,) in asked.fetchall()]

        return await self._in_thread(work)

    async def keys(self, namespace: Namespace, path: str, begins: str = "") -> list[str]:
        within = f"{_HERE} AND path = %s AND key >= %s AND starts_with(key, %s)"
        sql = f"SELECT key FROM memwarden.items WHERE {within} ORDER BY key"
        bound = (*scope_values(namespace), _text(path), _text(begins), _text(begins))

        def work(db: Connection[Any]) -> list[str]:
            with db.pipeline():
                begin(db, namespace, self._seconds, TransactionKind.READ)
                asked = db.execute(sql.encode(), bound)
                db.execute(b"COMMIT")
            return [decode_text(key) for (key,) in asked.fetchall()]

        return await self._in_thread(work)

    async def write(self, namespace: Namespace, changes: Sequence[ItemChange]) -> int:
        for change in changes:
            _check_place(namespace, change.item[:2] if isinstance(change, PutItem) else (change.path, change.key))
        puts = sorted((change for change in changes if isinstance(change, PutItem)), key=lambda item: item.item[:2])
        drops = [(change.path, change.key) for change in changes if isinstance(change, DropItem)]
        statements = _statements(scope_values(namespace), puts, drops)
        answers = await self._transaction(namespace, statements)
        return sum(len(rows) for (sql, _), rows in zip(statements, answers, strict=True) if sql == _DROP)

    async def refresh(
        self, namespace: Namespace, places: Sequence[ItemPlace], at: int, *, alive_at: int | None = None
    ) -> None:
        only, bound = _alive(alive_at)
        if places:
            values = (at, *_columns(sorted(places)), *scope_values(namespace), *bound)
            await self._transaction(namespace, [(_REFRESH + only, values)])

    async def sweep(self, namespace: Namespace, at: int) -> int:
        names = scope_values(namespace)
        (rows,) = await self._transaction(namespace, [(_SWEEP, (*names, at, *names))])
        return int(rows[0][0])

    async def _transaction(
        self, namespace: Namespace, statements: Sequence[tuple[str, Sequence[Any]]]
    ) -> list[list[Values]]:
        def work(db: Connection[Any]) -> list[list[Values]]:
            with db.pipeline():
                begin(db, namespace, self._seconds)
                asked = [db.execute(sql.encode(), values) for sql, values in statements]
                db.execute(b"COMMIT")
            return [item.fetchall() if item.description else [] for item in asked]

        return await self._in_thread(work) if statements else []


class _PostgresItemsView:
    """The items as a read transaction sees them. Identities are places, as they stand in the database."""

    def __init__(self, db: Connection[Any], namespace: Namespace) -> None:
        self._db = db
        self._namespace = namespace

    def newest(self, search: ItemSearch, most: int | None) -> Iterable[ItemPlace]:
        return [(path, key) for path, key in self._in_order("path, key", search, most)]

    def page(self, search: ItemSearch, most: int) -> Sequence[StoredItem]:
        return [_item(row) for row in self._in_order(_NAMES, search, most)]

    def _in_order(self, columns: str, search: ItemSearch, most: int | None) -> list[Values]:
        within, bound = _within(self._namespace, search.path, search.alive_at)
        within += "".join(f" AND ({' OR '.join(['strpos(value, %s) > 0'] * len(some))})" for some in search.needles)
        bound = (*bound, *(_text(needle) for some in search.needles for needle in some))
        page, values = ("", ()) if most is None else (" LIMIT %s::int8 OFFSET %s::int8", (most, search.offset))
        sql = f"SELECT {columns} FROM memwarden.items WHERE {within} ORDER BY updated_at DESC, path, key{page}"
        return self._ask(sql, (*bound, *values))

    def read(self, identities: Sequence[ItemPlace]) -> Mapping[ItemPlace, StoredItem]:
        sql = f"SELECT {_NAMES} FROM memwarden.items WHERE {_HERE} AND {_THESE}"
        columns = array("text", [item for item, _ in identities]), array("text", [item for _, item in identities])
        rows = self._ask(sql, (*scope_values(self._namespace), *columns)) if identities else []
        return {(row[0], row[1]): _item(row) for row in rows}

    def vectors(self, search: ItemSearch) -> Iterator[Sequence[tuple[ItemPlace, bytes]]]:
        within, bound = _within(self._namespace, search.path, search.alive_at, "i.")
        sql = (
            "SELECT i.path, i.key, v.vector FROM memwarden.items i "
            f"JOIN memwarden.item_vectors v USING (tenant, namespace, path, key) WHERE {within}"
        )
        with self._db.cursor("vectors", binary=True) as asked:
            asked.execute(sql.encode(), bound)
            while some := asked.fetchmany(_VECTOR_BATCH):
                yield [((path, key), vector) for path, key, vector in some]

    def _ask(self, sql: str, values: Sequence[Any]) -> list[Values]:
        return self._db.execute(sql.encode(), values, binary=True).fetchall()


def _check_place(namespace: Namespace, place: ItemPlace) -> None:
    """Raise InvalidInput for a path and a key that do not fit a page of PostgreSQL's index."""
    size = sum(len(_text(part).encode()) for part in (*scope_values(namespace), *place))
    if size > MAX_PLACE_BYTES:
        raise InvalidInput(
            f"a namespace and a key have at most {MAX_PLACE_BYTES:,} bytes together on PostgreSQL, with the user's; "
            f"with {place[1]!r:.80} it is {size:,}"
        )


def _statements(
    names: tuple[str, str], puts: Sequence[PutItem], drops: Sequence[ItemPlace]
) -> list[tuple[str, Sequence[Any]]]:
    """Return the statements that write items. An item is locked before its vectors, so they always match."""
    places = [(put.item.path, put.item.key) for put in puts]
    vectors = [(put.item.path, put.item.key, *vector) for put in puts for vector in put.vectors]
    statements: list[tuple[str, Sequence[Any]]] = []
    if len(puts) + len(drops) > 1:
        statements.append((_LOCK, (*names, *_columns([*places, *drops]))))
    if puts:
        statements.append((_NEW_SPACE, names))
        statements.append((_PUT, (*arrays(_ITEM, [tuple(map(_text, put.item)) for put in puts]), *names)))
        if len(places) == 1:  # named plainly, as :func:`_these` does
            statements.append((_DROP_VECTORS_OF_ONE, (*map(_text, places[0]), *names)))
        else:
            statements.append((_DROP_VECTORS, (*_columns(places), *names)))
    if vectors:
        statements.append((_PUT_VECTORS, (*arrays(_VECTOR, [tuple(map(_text, vector)) for vector in vectors]), *names)))
    if drops:
        statements.append((_DROP, (*_columns(drops), *names)))
        statements.append((_DROP_ORPHANS, (*_columns(drops), *names)))
    return statements


def _item(row: Values) -> StoredItem:
    return StoredItem._make(map(decode_text, row))


def _these(places: Sequence[ItemPlace]) -> tuple[str, Sequence[Any]]:
    """Return the condition for places and its values.

    A single place, the usual, is named plainly: without statistics a join reads the whole namespace.
    """
    if len(places) == 1:
        return "path = %s AND key = %s", tuple(map(_text, places[0]))
    return _THESE, _columns(places)


def _columns(places: Sequence[ItemPlace]) -> tuple[list[Any], list[Any]]:
    return array("text", [_text(path) for path, _ in places]), array("text", [_text(key) for _, key in places])


def _text(value: Any) -> Any:
    """Return a text in its stored form, other values unchanged. Raises InvalidInput for invalid Unicode."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(f"text that no store can hold (half of a character pair): {error}") from None
    return encode_text(value)


def _within(namespace: Namespace, path: str | None, alive_at: int | None, of: str = "") -> tuple[str, Values]:
    """Return the condition for items under a path, a range of the index, and its values."""
    only, bound = _alive(alive_at, of)
    names = scope_values(namespace)
    only = f"{of}tenant = %s AND {of}namespace = %s{only}"
    if path is None:
        return only, (*names, *bound)
    text = _text(path)
    range_ = f" AND {of}path >= %s AND {of}path < %s AND ({of}path = %s OR {of}path >= %s)"
    return only + range_, (*names, *bound, text, f"{text}/", text, f"{text}.")  # "/" is the character after "."


def _alive(at: int | None, of: str = "") -> tuple[str, tuple[int, ...]]:
    return ("", ()) if at is None else (f" AND ({of}expires_at IS NULL OR {of}expires_at > %s::int8)", (at,))


# Not from :func:`insert`: events may come of namespaces without a row, and Citus takes values.
_INSERT = (
    f"INSERT INTO memwarden.events (tenant, namespace, {', '.join(COLUMNS)}) VALUES {{rows}} ON CONFLICT DO NOTHING"
)
_ROW = f"(%s, %s{', %s' * len(COLUMNS)})"
_EVENT_BATCH = 500  # events per statement, with 17 values each
_AT_EASE = b"SET LOCAL synchronous_commit = off"
_TOO_OLD = f"DELETE FROM memwarden.events WHERE {_HERE} AND ts < %s::int8".encode()
_TOO_MANY = (
    "DELETE FROM memwarden.events AS e USING "
    f"(SELECT ts, id FROM memwarden.events WHERE {_HERE} ORDER BY ts DESC, id DESC LIMIT 1 OFFSET %s::int8) AS last "
    "WHERE e.tenant = %s AND e.namespace = %s AND (e.ts, e.id) <= (last.ts, last.id)"
).encode()

Rows = list[tuple[Namespace, list[EventValues]]]


def encode_events(events: Sequence[OpEvent]) -> Rows:
    """Return the rows of events by namespace. Raises InvalidInput for text that is not valid Unicode."""
    check_events(events)
    rows = [(event.namespace, tuple(map(encode_text, row_of(event)))) for event in events]
    rows.sort(key=itemgetter(0))
    return [(namespace, [row for _, row in some]) for namespace, some in groupby(rows, itemgetter(0))]


def write_events(db: Connection[Any], rows: Rows, seconds: float) -> None:
    """Write rows, a transaction per namespace: row security allows no transaction across namespaces."""
    for namespace, some in rows:
        with db.pipeline():
            begin(db, namespace, seconds)
            db.execute(_AT_EASE)
            for batch in (some[first : first + _EVENT_BATCH] for first in range(0, len(some), _EVENT_BATCH)):
                values = [value for row in batch for value in (*scope_values(namespace), *row)]
                db.execute(_INSERT.format(rows=", ".join([_ROW] * len(batch))).encode(), values)
            db.execute(b"COMMIT")


def prune_events(db: Connection[Any], namespace: Namespace, before: datetime, most: int, seconds: float) -> int:
    """See :meth:`memwarden.stores.protocol.Store.prune_events`."""
    name, keep = scope_values(namespace), check_limit(most)
    with db.pipeline():
        begin(db, namespace, seconds)
        db.execute(_AT_EASE)
        old = db.execute(_TOO_OLD, (*name, microseconds(before)))
        many = db.execute(_TOO_MANY, (*name, keep, *name))
        db.execute(b"COMMIT")
    return old.rowcount + many.rowcount


def read_events(
    db: Connection[Any], namespace: Namespace, where: EventFilter, limit: int, descending: bool, seconds: float
) -> list[OpEvent]:
    """See :meth:`memwarden.stores.protocol.Store.events`."""
    conditions, values = where_sql(where, "%s")
    order = "DESC" if descending else "ASC"
    sql = f"SELECT {', '.join(COLUMNS)} FROM memwarden.events WHERE {_HERE}{conditions} "
    sql += f"ORDER BY ts {order}, id {order} LIMIT %s::int8"
    rows = _ask(db, namespace, sql, [*map(encode_text, values), check_limit(limit)], seconds)
    return [event_of(namespace, [decode_text(item) for item in row]) for row in rows]


def count_events(
    db: Connection[Any], namespace: Namespace, where: EventFilter, span_seconds: int, seconds: float
) -> list[OpCount]:
    """See :meth:`memwarden.stores.protocol.Store.event_counts`."""
    span = check_span(span_seconds) * 1_000_000
    conditions, values = where_sql(where, "%s")
    start = f"ts - mod(mod(ts, {span}) + {span}, {span})"  # the remainder of a time before 1970 is negative
    sql = (
        f"SELECT {start} AS at, node, op, status, sum(count)::int8 FROM memwarden.events WHERE {_HERE}{conditions} "
        "GROUP BY 1, node, op, status ORDER BY 1, node, op, status"
    )
    return [
        count_of([decode_text(item) for item in row])
        for row in _ask(db, namespace, sql, [*map(encode_text, values)], seconds)
    ]


def _ask(db: Connection[Any], namespace: Namespace, sql: str, values: list[Any], seconds: float) -> list[EventValues]:
    with db.pipeline():
        begin(db, namespace, seconds, TransactionKind.READ)
        asked = db.execute(sql.encode(), [*scope_values(namespace), *values], binary=True)
        db.execute(b"COMMIT")
    return asked.fetchall()
