"""Operational events in the file, written in transactions of their own after waiting batches.

Their connection does not wait for the disk (``synchronous = NORMAL``): a loss of power may take the latest events, but
no acknowledged batch, which its own commit syncs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from memwarden.observability.records import EventFilter, OpCount, OpEvent
from memwarden.records import Namespace
from memwarden.stores.shared.event_list import check_limit, check_span
from memwarden.stores.shared.event_rows import COLUMNS, Values, check_events, count_of, event_of, row_of, where_sql

BUSY_SECONDS = 1.0
"""Maximum wait for another process; after it the events are dropped."""
_HERE = "tenant = ? AND namespace = ?"
_INSERT = (
    f"INSERT OR IGNORE INTO events (tenant, namespace, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join('?' * (len(COLUMNS) + 2))})"
)
_TOO_OLD = f"DELETE FROM events WHERE {_HERE} AND ts < ?"
_TOO_MANY = (
    f"DELETE FROM events WHERE {_HERE} AND (ts, id) <= "
    f"(SELECT ts, id FROM events WHERE {_HERE} ORDER BY ts DESC, id DESC LIMIT 1 OFFSET ?)"
)


class EventWriter:
    """Writes events over a connection of its own, made at first use. Not thread-safe."""

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._db: sqlite3.Connection | None = None

    def record(self, rows: Sequence[Values]) -> None:
        """Write rows that :func:`encode_events` made."""
        self._whole(lambda db: db.executemany(_INSERT, rows))

    def prune(self, namespace: Namespace, before: int, most: int) -> int:
        """Remove events older than a time, and all but the newest ``most``; return how many."""
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


def encode_events(events: Sequence[OpEvent]) -> list[Values]:
    """Return the rows of events. Raises InvalidInput for text that is not valid Unicode."""
    check_events(events)
    return [(event.namespace.tenant, event.namespace.path, *row_of(event)) for event in events]


def read_events(
    db: sqlite3.Connection, namespace: Namespace, where: EventFilter, limit: int, descending: bool
) -> list[OpEvent]:
    """See :meth:`memwarden.stores.protocol.Store.events`."""
    conditions, values = where_sql(where, "?")
    order = "DESC" if descending else "ASC"
    sql = f"SELECT {', '.join(COLUMNS)} FROM events WHERE {_HERE}{conditions} ORDER BY ts {order}, id {order} LIMIT ?"
    rows = db.execute(sql, (namespace.tenant, namespace.path, *values, check_limit(limit))).fetchall()
    return [event_of(namespace, row) for row in rows]


def count_events(db: sqlite3.Connection, namespace: Namespace, where: EventFilter, seconds: int) -> list[OpCount]:
    """See :meth:`memwarden.stores.protocol.Store.event_counts`."""
    span = check_span(seconds) * 1_000_000
    conditions, values = where_sql(where, "?")
    # SQLite's remainder of a time before 1970 is negative.
    begin = f"ts - ((ts % {span}) + {span}) % {span}"
    sql = (
        f"SELECT {begin} AS at, node, op, status, sum(count) FROM events WHERE {_HERE}{conditions} "
        "GROUP BY at, node, op, status ORDER BY at, node, op, status"
    )
    return [count_of(row) for row in db.execute(sql, (namespace.tenant, namespace.path, *values)).fetchall()]
