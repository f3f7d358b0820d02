"""Writes batches of a namespace in a transaction of two round trips, whatever their size.

The first locks the namespace's row and reads everything that the batches depend on; the second writes and commits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from psycopg import Connection

from memwarden.records import ChangeResult, Channel, Fill, Link, Namespace, Receipt, Unlink
from memwarden.stores.postgres.sql.rows import (
    CONTENT,
    SIGNALS,
    Values,
    array,
    arrays,
    decode_text,
    encode_text,
    select_list,
    unnest,
)
from memwarden.stores.postgres.sql.transaction import begin, scope_values
from memwarden.stores.postgres.writing.decide import BatchContext, EarlierAnswer, PendingWrites, PreparedBatch
from memwarden.stores.shared.decide import TASKS, EdgeKey, StoredEdge, StoredMemory, edge_key, ids_of
from memwarden.stores.shared.sql_values import signal_values

_HERE = "tenant = %s AND namespace = %s"
_HEAD = f"SELECT rev, rows FROM memwarden.namespaces WHERE {_HERE} FOR UPDATE".encode()
_NEW_HEAD = b"INSERT INTO memwarden.namespaces VALUES (%s, %s, 0, 0, 0) ON CONFLICT DO NOTHING"
_ADVANCE = f"UPDATE memwarden.namespaces SET rev = %s, rows = %s WHERE {_HERE}".encode()
_MEMORIES = (
    f"SELECT id, n, rev, version, state, channel, thread_id FROM memwarden.memories WHERE {_HERE} AND id = ANY(%b)"
).encode()
_ONCE = (
    f"SELECT source_key, id FROM memwarden.memories WHERE {_HERE} AND source_key IS NOT NULL AND source_key = ANY(%b)"
).encode()
_STATED = (
    f"SELECT seq FROM memwarden.journal WHERE {_HERE} AND seq > %s::int8 AND channel <> 'turn' ORDER BY seq LIMIT 1000"
).encode()
_MARKS = (
    f"SELECT thread_id, coalesce(extracted, 0) FROM memwarden.threads WHERE {_HERE} AND thread_id = ANY(%b)"
).encode()
_RECEIPTS = f"SELECT key, fingerprint, rev, applied FROM memwarden.receipts WHERE {_HERE} AND key = ANY(%b)".encode()
_EDGES = (
    f"SELECT from_id, to_id, type, strength, live FROM memwarden.relations WHERE {_HERE} AND from_id = ANY(%b)"
).encode()

_NAMES = ", ".join(CONTENT)
_ARCHIVE = (
    f"INSERT INTO memwarden.versions (tenant, namespace, id, version, {_NAMES}) "
    f"SELECT tenant, namespace, id, version, {_NAMES} FROM memwarden.memories WHERE {_HERE} AND n = ANY(%b)"
).encode()

DROP = {"id": "text", "version": "int8"}
# Row security limits the table to the namespace of the transaction as well.
DROP_VERSIONS = (
    f"WITH h (tenant, namespace) AS (VALUES (%s::text, %s::text)) DELETE FROM memwarden.versions AS t "
    f"USING h, {unnest(DROP)} WHERE t.tenant = h.tenant AND t.namespace = h.namespace AND t.id = u.id "
    f"AND t.version < u.version AND (t.channel = '{Channel.STATE}' OR t.namespace LIKE '{TASKS}%%')"
).encode()

_STATE = {"n": "int8", "rev": "int8", "state": "text", "purge_at": "int8"}
_CHANGED = {**_STATE, "version": "int8", **CONTENT}
NEW = {"id": "text", "source_key": "text", **_CHANGED}
NUMBERED_SIGNALS = {"n": "int8", **SIGNALS}
_FILLED = {"id": "text", "version": "int8", **SIGNALS}
_FILL = (
    f"UPDATE memwarden.signals AS t SET {', '.join(f'{name} = u.{name}' for name in SIGNALS)} "
    f"FROM memwarden.memories AS m, {unnest(_FILLED)} WHERE t.tenant = %s AND t.namespace = %s "
    "AND m.tenant = t.tenant AND m.namespace = t.namespace AND m.n = t.n AND m.id = u.id AND m.version = u.version"
).encode()
VERSION = {"id": "text", "version": "int8", **CONTENT}
EDGE = {
    "from_id": "text",
    "to_id": "text",
    "type": "text",
    "strength": "float8",
    "live": "bool",
    "rev": "int8",
    "created_at": "int8",
}
JOURNAL = {
    "at": "int8",
    "actor": "text",
    "seq": "int8",
    "event": "text",
    "memory_id": "text",
    "old_version": "int8",
    "new_version": "int8",
    "thread_id": "text",
    "channel": "text",
    "step": "int8",
    "meta": "text",
}
_SEEN = {"thread_id": "text", "seen": "int8"}
_EXTRACTED = {"thread_id": "text", "extracted": "int8"}
RECEIPT = {"key": "text", "fingerprint": "text", "rev": "int8", "applied": "text", "at": "int8"}


def insert(table: str, columns: Mapping[str, str], conflict: str = "") -> bytes:
    """Return the SQL that inserts rows; its values are the two names, then :func:`arrays` of the rows."""
    return (
        f"INSERT INTO memwarden.{table} AS t (tenant, namespace, {', '.join(columns)}) "
        f"SELECT %s, %s, {', '.join(select_list(columns))} FROM {unnest(columns)} {conflict}"
    ).encode()


def _update(table: str, columns: Mapping[str, str]) -> bytes:
    """Return the SQL that updates rows by their first column."""
    key, *names = columns
    changes = ", ".join(f"{name} = {value}" for name, value in zip(names, select_list(columns)[1:], strict=True))
    # The names come before the arrays here too: WITH makes the table that the names are compared in.
    return (
        f"WITH h (tenant, namespace) AS (VALUES (%s::text, %s::text)) "
        f"UPDATE memwarden.{table} AS t SET {changes} FROM h, {unnest(columns)} "
        f"WHERE t.tenant = h.tenant AND t.namespace = h.namespace AND t.{key} = u.{key}"
    ).encode()


_INSERT_MEMORIES = insert("memories", NEW)
_INSERT_SIGNALS = insert("signals", NUMBERED_SIGNALS)
_INSERT_VERSIONS = insert("versions", VERSION)
_INSERT_JOURNAL = insert("journal", JOURNAL)
_INSERT_RECEIPTS = insert("receipts", RECEIPT)
_WRITE_EDGES = insert(
    "relations",
    EDGE,
    "ON CONFLICT (tenant, namespace, from_id, to_id, type) "
    "DO UPDATE SET strength = excluded.strength, live = excluded.live, rev = excluded.rev",
)
_MOVE_SEEN, _MOVE_EXTRACTED = (
    insert("threads", columns, f"ON CONFLICT (tenant, namespace, thread_id) DO UPDATE SET {moved}")
    for columns, moved in (
        ({"thread_id": "text", "seen": "int8"}, "seen = greatest(t.seen, excluded.seen)"),
        ({"thread_id": "text", "extracted": "int8"}, "extracted = excluded.extracted"),
    )
)
_UPDATE_MEMORIES = _update("memories", _CHANGED)
_UPDATE_SIGNALS = _update("signals", NUMBERED_SIGNALS)
_MOVE_MEMORIES = _update("memories", _STATE)


def read_context(
    connection: Connection[Any], namespace: Namespace, batches: Sequence[PreparedBatch], seconds: float
) -> BatchContext:
    """Begin a transaction, lock the namespace and return the stored state that the batches depend on."""
    names = scope_values(namespace)
    with connection.pipeline():
        begin(connection, namespace, seconds)
        head = connection.execute(_HEAD, names)
        asked = [
            connection.execute(sql, (*names, array("text", sorted(map(encode_text, wanted))))) if wanted else None
            for sql, wanted in zip((_MEMORIES, _ONCE, _EDGES, _RECEIPTS, _MARKS), _collect_keys(batches), strict=True)
        ]
        decided = [batch.batch.decided_at or 0 for batch in batches if batch.batch.decided_on_all]
        since = connection.execute(_STATED, (*names, min(decided))) if decided else None
    counters = head.fetchone()
    if counters is None:
        connection.execute(_NEW_HEAD, names)
        connection.execute(b"COMMIT")
        return read_context(connection, namespace, batches, seconds)
    memories, first, edges, receipts, marks = (
        [tuple(map(decode_text, row)) for row in item.fetchall()] if item else [] for item in asked
    )
    rev, rows = counters
    return BatchContext(
        rev,
        rows,
        {name: StoredMemory._make(row) for name, *row in memories},
        {encode_text(key): identity for key, identity in first},  # as it stands in what was encoded
        {EdgeKey._make(row[:3]): StoredEdge._make(row[3:]) for row in edges},
        {key: decode_answer(*row) for key, *row in receipts},
        dict(marks),
        [seq for (seq,) in since.fetchall()] if since is not None else [],
    )


def commit(connection: Connection[Any], namespace: Namespace, known: BatchContext, writes: PendingWrites) -> None:
    """Write and commit in the transaction that :func:`read_context` began."""
    names = scope_values(namespace)
    with connection.pipeline():
        if writes.archived:  # before the update, which overwrites what is archived
            connection.execute(_ARCHIVE, (*names, array("int8", writes.archived)))
        for sql, columns, rows in _statements(writes):
            if rows:
                connection.execute(sql, (*names, *arrays(columns, rows)))
        if (writes.rev, writes.count) != (known.rev, known.rows):
            connection.execute(_ADVANCE, (writes.rev, writes.count, *names))
        connection.execute(b"COMMIT")


def gather_statistics(connection: Connection[Any], seconds: float) -> None:
    """Refresh the server's statistics of tables that have doubled since (see the first migration)."""
    with connection.pipeline():
        begin(connection, None, seconds)
        connection.execute(b"SELECT memwarden.gather_statistics()")
        connection.execute(b"COMMIT")


def _collect_keys(batches: Iterable[PreparedBatch]) -> tuple[set[str], set[str], set[str], set[str], set[str]]:
    """Return ids, source keys, starts of edges, idempotency keys and threads with an extraction mark."""
    ids, once, starts, keys, threads = set[str](), set[str](), set[str](), set[str](), set[str]()
    for batch in batches:
        for change in batch.batch.changes:
            ids.update(ids_of(change))
            if isinstance(change, Link | Unlink):
                starts.add(edge_key(change).from_id)
        once.update(decode_text(put.source_key) for put in batch.puts.values() if put.source_key is not None)
        keys.update(() if batch.batch.key is None else (batch.batch.key,))
        threads.update(() if batch.batch.extracted is None else (batch.batch.extracted.thread_id,))
    return ids, once, starts, keys, threads


def _statements(writes: PendingWrites) -> Iterable[tuple[bytes, Mapping[str, str], list[Values]]]:
    puts = [(n, row, row.put) for n, row in writes.rows.items() if row.put is not None]
    new = [(n, row, put) for n, row, put in puts if not row.known]
    changed = [(n, row, put) for n, row, put in puts if row.known]
    moved = [(n, row.rev, row.state, row.purge_at) for n, row in writes.rows.items() if row.put is None]
    whole = [(n, row.rev, row.state, row.purge_at, row.version, *put.content) for n, row, put in changed]
    yield _INSERT_VERSIONS, VERSION, writes.versions
    yield (
        _INSERT_MEMORIES,
        NEW,
        [
            (
                encode_text(put.put.memory.id),
                row.source_key,
                n,
                row.rev,
                row.state,
                row.purge_at,
                row.version,
                *put.content,
            )
            for n, row, put in new
        ],
    )
    yield _INSERT_SIGNALS, NUMBERED_SIGNALS, [(n, *(row.signals or ())) for n, row, _ in new]
    yield DROP_VERSIONS, DROP, list(writes.dropped.items())
    yield _UPDATE_MEMORIES, _CHANGED, whole
    yield _UPDATE_SIGNALS, NUMBERED_SIGNALS, [(n, *row.signals) for n, row, _ in changed if row.signals is not None]
    yield _MOVE_MEMORIES, _STATE, moved
    yield _WRITE_EDGES, EDGE, [(*map(encode_text, key), *edge) for key, edge in writes.edges.items()]
    yield _INSERT_JOURNAL, JOURNAL, writes.journal
    yield _MOVE_SEEN, _SEEN, [(encode_text(thread), rev) for thread, rev in writes.seen.items()]
    yield _MOVE_EXTRACTED, _EXTRACTED, [(encode_text(thread), rev) for thread, rev in writes.extracted.items()]
    yield _INSERT_RECEIPTS, RECEIPT, [receipt_row(key, *item) for key, item in writes.receipts.items()]


def receipt_row(key: str, kept: EarlierAnswer, at: int) -> Values:
    """Return a row of :data:`RECEIPT`."""
    fingerprint, receipt = kept
    return (encode_text(key), encode_text(fingerprint), receipt.rev, json.dumps(receipt.applied), at)


def decode_answer(fingerprint: str | None, rev: int, applied: str) -> EarlierAnswer:
    """Return the answer in a row of receipts."""
    return EarlierAnswer(fingerprint, Receipt(rev, tuple(ChangeResult(*load) for load in json.loads(applied))))


def fill_signals(db: Connection[Any], namespace: Namespace, fills: Sequence[Fill], seconds: float) -> None:
    """See :meth:`memwarden.stores.protocol.Store.fill`. No lock of the namespace is taken."""
    rows = [(encode_text(fill.id), fill.version, *signal_values(fill.signals)) for fill in fills]
    with db.pipeline():
        begin(db, namespace, seconds)
        db.execute(b"SET LOCAL synchronous_commit = off")  # what a crash takes is made again
        db.execute(_FILL, (*arrays(_FILLED, rows), *scope_values(namespace)))
        db.execute(b"COMMIT")
