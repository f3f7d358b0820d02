"""Operational events in the database, in transactions that lock no namespace and wait for no disk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from psycopg import Connection

from memwarden.clock import microseconds
from memwarden.observability.records import EventFilter, OpCount, OpEvent
from memwarden.records import Namespace
from memwarden.stores.postgres.sql.rows import arrays, decode_text, encode_text
from memwarden.stores.postgres.sql.transaction import TransactionKind, begin, scope_values
from memwarden.stores.postgres.writing.write import insert
from memwarden.stores.shared.event_list import (
    COLUMNS,
    Values,
    check_events,
    check_limit,
    check_span,
    count_of,
    event_of,
    row_of,
    where_sql,
)

_KINDS = {"ts": "int8", "rev": "int8", "count": "int8", "sim": "float8", "ms": "float8"}
_EVENT = {name: _KINDS.get(name, "text") for name in COLUMNS}
_INSERT = insert("events", _EVENT, "ON CONFLICT DO NOTHING")
_AT_EASE = b"SET LOCAL synchronous_commit = off"
_HERE = "tenant = %s AND namespace = %s"
_TOO_OLD = f"DELETE FROM memwarden.events WHERE {_HERE} AND ts < %s::int8".encode()
_TOO_MANY = (
    f"DELETE FROM memwarden.events WHERE {_HERE} AND (ts, id) <= "
    f"(SELECT ts, id FROM memwarden.events WHERE {_HERE} ORDER BY ts DESC, id DESC LIMIT 1 OFFSET %s::int8)"
).encode()

Rows = list[tuple[Namespace, list[Values]]]


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
            db.execute(_INSERT, (*scope_values(namespace), *arrays(_EVENT, some)))
            db.execute(b"COMMIT")


def prune_events(db: Connection[Any], namespace: Namespace, before: datetime, most: int, seconds: float) -> int:
    """See :meth:`memwarden.stores.protocol.Store.prune_events`."""
    name, keep = scope_values(namespace), check_limit(most)
    with db.pipeline():
        begin(db, namespace, seconds)
        db.execute(_AT_EASE)
        old = db.execute(_TOO_OLD, (*name, microseconds(before)))
        many = db.execute(_TOO_MANY, (*name, *name, keep))
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


def _ask(db: Connection[Any], namespace: Namespace, sql: str, values: list[Any], seconds: float) -> list[Values]:
    with db.pipeline():
        begin(db, namespace, seconds, TransactionKind.READ)
        asked = db.execute(sql.encode(), [*scope_values(namespace), *values], binary=True)
        db.execute(b"COMMIT")
    return asked.fetchall()
