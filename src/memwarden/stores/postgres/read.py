"""Reads from the database. All queries of a call travel together and see the same snapshot."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import Any

from psycopg import Connection

from memwarden.clock import microseconds, moment
from memwarden.concurrency.collection import paused_collection
from memwarden.errors import StoreUnavailable
from memwarden.filters import Where
from memwarden.records import (
    Channel,
    Head,
    IndexRow,
    JournalEntry,
    Memory,
    MemoryState,
    Namespace,
    Relation,
    Scan,
    ThreadMarks,
    local_time,
)
from memwarden.stores.postgres.rows import (
    CONTENT,
    FIRST_EPOCH,
    INDEX_COLUMNS,
    MOVES,
    Values,
    condition_sql,
    decode_change,
    decode_edge,
    decode_index_row,
    decode_memory,
    decode_relation,
    decode_text,
    encode_text,
    order_sql,
)
from memwarden.stores.postgres.transaction import TransactionKind, begin, scope_values
from memwarden.stores.shared.sql_values import JOURNAL_COLUMNS
from memwarden.stores.transfer.backup import Tick
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import make_text_signals

_HERE = "tenant = %s AND namespace = %s"
_NAMES = ", ".join(CONTENT)
_CONTENT = f"id, version, state, purge_at, {_NAMES}"
_HEAD = f"SELECT rev, epoch + {MOVES} FROM memwarden.namespaces WHERE {_HERE}"
_MEMORIES = f"FROM memwarden.memories WHERE {_HERE}"
_PAIRS = "(id, version) IN (SELECT u.id, u.version FROM unnest(%s::text[], %s::int8[]) AS u (id, version))"
_VERSIONS = (
    f"SELECT {_CONTENT} FROM memwarden.memories WHERE {_HERE} AND state <> '{MemoryState.PURGED}' AND {_PAIRS} "
    "UNION ALL "
    f"SELECT id, version, 'active', NULL, {_NAMES} FROM memwarden.versions WHERE {_HERE} AND {_PAIRS}"
)
_EDGES = f"SELECT from_id, to_id, type, strength, live FROM memwarden.relations WHERE {_HERE}"
_RELATION = f"SELECT from_id, to_id, type, strength, created_at FROM memwarden.relations WHERE {_HERE} AND live"
_RELATIONS = f"{_RELATION} AND from_id = ANY(%s::text[]) UNION {_RELATION} AND to_id = ANY(%s::text[]) ORDER BY 1, 2, 3"
_THREAD = (
    f"SELECT (SELECT seen FROM memwarden.threads WHERE {_HERE} AND thread_id = %s), "
    f"(SELECT min(seq) FROM memwarden.journal WHERE {_HERE} AND thread_id = %s), "
    f"coalesce((SELECT seq FROM memwarden.journal WHERE {_HERE} AND thread_id = %s AND channel = 'turn' "
    "AND event = 'ADD' ORDER BY seq DESC LIMIT 1 OFFSET %s::int8), 0), "
    f"coalesce((SELECT extracted FROM memwarden.threads WHERE {_HERE} AND thread_id = %s), 0)"
)
_ROWS = (
    f"SELECT {INDEX_COLUMNS} FROM memwarden.memories m JOIN memwarden.signals s USING (tenant, namespace, n) "
    f"WHERE {_HERE}"
)
_NAMESPACES = b"SELECT tenant, namespace FROM memwarden.namespaces WHERE rev > 0"
_MODEL = b"SELECT value FROM memwarden.meta WHERE key = 'model'"
_NEW_MODEL = b"INSERT INTO memwarden.meta (key, value) VALUES ('model', %s) ON CONFLICT DO NOTHING"
_MOVE = (
    b"WITH moved AS (UPDATE memwarden.meta SET value = %s WHERE key = 'model' AND value = %s RETURNING 1) "
    b"INSERT INTO memwarden.meta AS m SELECT 'moves', '1' FROM moved "
    b"ON CONFLICT (key) DO UPDATE SET value = (m.value::int8 + 1)::text"
)

# Memories that a batch is changing are passed over: whoever waits here could make that batch wait in turn.
_TOUCH = (
    b"UPDATE memwarden.memories AS t SET accessed_at = greatest(t.accessed_at, %s::int8) "
    b"WHERE t.tenant = %s AND t.namespace = %s AND t.n IN (SELECT n FROM memwarden.memories "
    b"WHERE tenant = %s AND namespace = %s AND id = ANY(%s::text[]) FOR NO KEY UPDATE SKIP LOCKED)"
)


class Reader:
    """Queries over a connection.

    Args:
        seconds: time limit of a query.
    """

    def __init__(self, connection: Connection[Any], seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds

    def head(self, namespace: Namespace) -> Head:
        rows = self._ask(namespace, _HEAD)
        return Head(*rows[0]) if rows else Head(0, self._first_epoch(namespace))

    def _first_epoch(self, namespace: Namespace) -> int:
        """Return the epoch of a namespace that is not there."""
        return int(self._ask_all(namespace, (f"SELECT {FIRST_EPOCH} + {MOVES}", ()))[0][0][0])

    def get(self, namespace: Namespace, ids: Sequence[str], removed: bool) -> list[Memory]:
        wanted = encode_text(list(dict.fromkeys(ids)))
        state = f" AND state <> '{MemoryState.PURGED}'" if removed else _in_state(MemoryState.ACTIVE)
        rows = self._ask(namespace, f"SELECT {_CONTENT} {_MEMORIES}{state} AND id = ANY(%s::text[])", wanted)
        found = {item.id: item for item in (decode_memory(namespace, row) for row in rows)}
        return [found[item] for item in ids if item in found]

    def accesses(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, datetime]:
        sql = f"SELECT id, accessed_at {_MEMORIES} AND accessed_at IS NOT NULL AND id = ANY(%s::text[])"
        return {decode_text(row[0]): moment(row[1]) for row in self._ask(namespace, sql, encode_text(list(ids)))}

    def find(
        self, namespace: Namespace, where: Where, limit: int, order_by: str, descending: bool, state: MemoryState
    ) -> list[Memory]:
        conditions, values = condition_sql(where)
        order = f"ORDER BY {order_sql(order_by, descending)} LIMIT %s::int8"
        sql = f"SELECT {_CONTENT} {_MEMORIES}{_in_state(state)}{conditions} {order}"
        return [decode_memory(namespace, row) for row in self._ask(namespace, sql, *values, limit)]

    def count(self, namespace: Namespace, where: Where, state: MemoryState) -> int:
        conditions, values = condition_sql(where)
        sql = f"SELECT count(*) {_MEMORIES}{_in_state(state)}{conditions}"
        return int(self._ask(namespace, sql, *values)[0][0])

    def find_ids(self, namespace: Namespace, where: Where, state: MemoryState) -> list[str]:
        conditions, values = condition_sql(where)
        sql = f"SELECT id {_MEMORIES}{_in_state(state)}{conditions} ORDER BY n"
        return [decode_text(row[0]) for row in self._ask(namespace, sql, *values)]

    def scan(self, namespace: Namespace, since: int) -> Scan:
        changed, values = (" AND {}rev > %s::int8", [since]) if since > 0 else ("", [])
        tenant, path = scope_values(namespace)
        head, rows, edges = self._ask_all(
            namespace,
            (_HEAD, (tenant, path)),
            (f"{_ROWS}{changed.format('m.')}", (path, tenant, path, *values)),
            (_EDGES + changed.format(""), (tenant, path, *values)),
        )
        with paused_collection(len(rows)):
            rows.sort(key=itemgetter(0))  # the server would write a large namespace to disk to sort it
            decoded = list(map(decode_index_row, rows))
        return Scan(
            decoded,
            Head(*head[0]) if head else Head(0, self._first_epoch(namespace)),
            list(map(decode_edge, edges)),
        )

    def index_rows(self, namespace: Namespace, ids: Sequence[str]) -> list[IndexRow]:
        wanted = [encode_text(memory_id) for memory_id in ids]
        tenant, path = scope_values(namespace)
        active = f"{_ROWS} AND m.state = 'active' AND m.id = ANY(%s::text[])"
        return list(map(decode_index_row, self._ask_all(namespace, (active, (path, tenant, path, wanted)))[0]))

    def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
        pairs = list(dict.fromkeys(wanted))
        bound = [[encode_text(item) for item, _ in pairs], [version for _, version in pairs]]
        rows = self._ask(namespace, _VERSIONS, *bound, *scope_values(namespace), *bound)
        found = {
            (item.id, item.version): replace(item, state=MemoryState.ACTIVE, purge_at=None)
            for item in (decode_memory(namespace, row) for row in rows)
        }
        return [found[item] for item in wanted if item in found]

    def journal(
        self,
        namespace: Namespace,
        since: int,
        memory_id: str | None,
        thread_id: str | None,
        step: int | None,
        turns: bool,
        descending: bool,
        limit: int,
    ) -> list[JournalEntry]:
        conditions = [
            (" AND seq > %s::int8", since),
            (" AND memory_id = %s", encode_text(memory_id)),
            (" AND thread_id = %s", encode_text(thread_id)),
            (" AND step = %s::int8", step),
            (" AND seq >= %s::int8", step),  # a step is named by its first entry, so none is earlier
            (" AND channel <> %s", None if turns else Channel.TURN.value),
        ]
        asked = [condition for condition in conditions if condition[1] is not None]
        sql = f"SELECT {JOURNAL_COLUMNS} FROM memwarden.journal WHERE {_HERE}{''.join(text for text, _ in asked)}"
        order = f"ORDER BY seq {'DESC' if descending else 'ASC'} LIMIT %s::int8"
        rows = self._ask(namespace, f"{sql} {order}", *(value for _, value in asked), limit)
        return [decode_change(namespace, row) for row in rows]

    def revision_at(self, namespace: Namespace, moment: datetime) -> int:
        sql = f"SELECT coalesce(max(seq), 0) FROM memwarden.journal WHERE {_HERE} AND at <= %s::int8"
        return int(self._ask(namespace, sql, microseconds(moment))[0][0])

    def relations(self, namespace: Namespace, ids: Sequence[str]) -> list[Relation]:
        wanted = encode_text(list(dict.fromkeys(ids)))
        return list(map(decode_relation, self._ask(namespace, _RELATIONS, wanted, *scope_values(namespace), wanted)))

    def thread(self, namespace: Namespace, thread_id: str, turns: int) -> ThreadMarks:
        names, thread = scope_values(namespace), encode_text(thread_id)
        (marks,) = self._ask(namespace, _THREAD, thread, *names, thread, *names, thread, turns - 1, *names, thread)
        return ThreadMarks._make(marks)

    def namespaces(self) -> list[Namespace]:
        with self._connection.pipeline():
            begin(self._connection, None, self._seconds, TransactionKind.READ, listing=True)
            rows = self._connection.execute(_NAMESPACES)
            self._connection.execute(b"COMMIT")
        return sorted(Namespace(*map(decode_text, row)) for row in rows.fetchall())

    def identity(self, model: str, instead_of: str | None = None) -> str:
        """Bind the database to an embedding model unless it is bound otherwise. Return the bound model."""
        if instead_of is not None:
            self._connection.execute(_MOVE, [encode_text(model), encode_text(instead_of)])
        with self._connection.pipeline():
            begin(self._connection, None, self._seconds, TransactionKind.READ)
            rows = self._connection.execute(_MODEL)
            self._connection.execute(b"COMMIT")
        bound = rows.fetchone()
        if bound is None:
            # By the login, not by the store's role, which may not write here.
            self._connection.execute(_NEW_MODEL, [encode_text(model)])
            bound = self._connection.execute(_MODEL).fetchone()
        assert bound is not None
        return str(decode_text(bound[0]))

    def _ask(self, namespace: Namespace, sql: str, *values: Any) -> list[Values]:
        """Run a query whose first two values are the names of the namespace."""
        return self._ask_all(namespace, (sql, [*scope_values(namespace), *values]))[0]

    def _ask_all(self, namespace: Namespace, *questions: tuple[str, Sequence[Any]]) -> list[list[Values]]:
        with self._connection.pipeline():
            begin(self._connection, namespace, self._seconds, TransactionKind.READ)
            asked = [self._connection.execute(sql.encode(), values, binary=True) for sql, values in questions]
            self._connection.execute(b"COMMIT")
        with paused_collection(sum(item.rowcount for item in asked)):
            return [item.fetchall() for item in asked]


def touch_memories(db: Connection[Any], namespace: Namespace, ids: Sequence[str], at: datetime, seconds: float) -> None:
    """See :meth:`memwarden.stores.protocol.Store.touch`. No lock of the namespace is taken."""
    names = scope_values(namespace)
    with db.pipeline():
        begin(db, namespace, seconds)
        db.execute(b"SET LOCAL synchronous_commit = off")  # an access that a crash takes costs nothing
        db.execute(_TOUCH, (microseconds(at), *names, *names, encode_text(list(ids))))
        db.execute(b"COMMIT")


def _in_state(state: MemoryState) -> str:
    # In the text, not bound: PostgreSQL uses a partial index only where the condition names its state.
    return f" AND state = '{MemoryState(state).value}'"


# Before this migration the database may be open in processes that would write earlier terms.
TERMS_MIGRATION = 16
# Memories whose terms are made anew in a transaction.
TERMS_PAGE = 500
# Name of this memwarden's connections, with the number of the last migration that older processes must not miss.
APPLICATION = "memwarden 8"
_DONE = f"terms_{TERMS_VERSION}"
_MAY_NOTE = b"SELECT has_table_privilege('memwarden.meta', 'INSERT')"
_NOTE_DONE = b"INSERT INTO memwarden.meta (key, value) VALUES (%s, 'done') ON CONFLICT DO NOTHING"
_PAGE_SECONDS = 60.0

_OLDER_SESSIONS = b"""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'memwarden'
"""
_SPACE = b"SELECT terms, terms_n FROM memwarden.namespaces WHERE tenant = %s AND namespace = %s FOR UPDATE"
_ROWS_AFTER = b"""
    SELECT n, text, escaped, created_at, utc_offset FROM memwarden.memories
    WHERE tenant = %s AND namespace = %s AND n > %s ORDER BY n LIMIT %s
"""
_TAKE = (
    b"UPDATE memwarden.signals SET terms = %s, flags = %s, days = %s, passages = %s "
    b"WHERE tenant = %s AND namespace = %s AND n = %s"
)
_NOTE = b"UPDATE memwarden.namespaces SET terms = %s, terms_n = %s WHERE tenant = %s AND namespace = %s"

log = logging.getLogger(__name__)


def refuse_older_sessions(db: Connection[Any], place: str, number: int) -> None:
    """Raise StoreUnavailable if a process of an earlier memwarden has a database of schema ``number`` open."""
    if not 0 < number < TERMS_MIGRATION:
        return
    (older,) = db.execute(_OLDER_SESSIONS).fetchone() or (0,)
    if older:
        raise StoreUnavailable(
            f"{place} has to be upgraded, and {older} connections of an earlier memwarden are open; end those "
            "processes, then open the store again"
        )


def renew_terms(db: Connection[Any], place: str, tick: Tick) -> None:
    """Make the terms, flags and days of every memory anew, of namespaces that hold those of an earlier number.

    Each page is a transaction that notes how far it came: a killed upgrade goes on there when the store is opened
    again, and processes that open it at once share the work.
    """
    if db.execute(b"SELECT 1 FROM memwarden.meta WHERE key = %s", (_DONE,)).fetchone():
        return
    begin(db, None, _PAGE_SECONDS, TransactionKind.READ, listing=True)
    due = db.execute(
        b"SELECT tenant, namespace FROM memwarden.namespaces WHERE terms < %s", (TERMS_VERSION,)
    ).fetchall()
    db.rollback()
    if due:
        log.warning("%s: the terms of %d namespaces are made anew; this is done once", place, len(due))
    for done, (tenant, path) in enumerate(due, 1):
        namespace = Namespace(decode_text(tenant), decode_text(path))
        while _renew_page(db, namespace):
            pass
        tick(done, len(due))
    # Another login than the owner's looks again the next time.
    if db.execute(_MAY_NOTE).fetchone() == (True,):
        db.execute(_NOTE_DONE, (_DONE,))
    db.commit()


def _renew_page(db: Connection[Any], namespace: Namespace) -> bool:
    """Make a page of a namespace's terms anew. Return whether there may be more."""
    scope = scope_values(namespace)
    begin(db, namespace, _PAGE_SECONDS)
    found = db.execute(_SPACE, scope).fetchone()
    if found is None or found[0] >= TERMS_VERSION:
        db.rollback()
        return False
    rows = db.execute(_ROWS_AFTER, (*scope, found[1], TERMS_PAGE)).fetchall()
    with db.cursor() as cursor:
        cursor.executemany(
            _TAKE,
            [
                (*make_text_signals(decode_text(text) if escaped else text, local_time(moment(at), offset)), *scope, n)
                for n, text, escaped, at, offset in rows
            ],
        )
    if rows:
        db.execute(_NOTE, (found[0], rows[-1][0], *scope))
    else:
        db.execute(_NOTE, (TERMS_VERSION, 0, *scope))
        db.execute(b"DELETE FROM memwarden.digests WHERE tenant = %s AND namespace = %s", scope)
    db.commit()
    return bool(rows)
