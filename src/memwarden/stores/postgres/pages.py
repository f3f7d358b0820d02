"""Exports and imports pages of a namespace (:mod:`memwarden.stores.transfer.pages`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from psycopg import Connection, Error
from psycopg.errors import Diagnostic

from memwarden import clock
from memwarden.clock import microseconds, moment
from memwarden.errors import InvalidInput
from memwarden.records import ChangeResult, Memory, Namespace, Put, Receipt, Signals
from memwarden.stores.postgres import write
from memwarden.stores.postgres.citus import count_bytes, has_citus
from memwarden.stores.postgres.rows import (
    CONTENT,
    Values,
    decode_change,
    decode_memory,
    decode_relation,
    decode_text,
    encode_put,
    encode_text,
)
from memwarden.stores.postgres.transaction import TransactionKind, begin, name_scope, scope_values
from memwarden.stores.postgres.write import (
    DROP,
    DROP_PURGED,
    DROP_VERSIONS,
    EDGE,
    JOURNAL,
    NEW,
    NEW_NAMESPACE,
    NUMBERED_SIGNALS,
    PURGED,
    RECEIPT,
    VERSION,
    insert,
    receipt_row,
    write_rows,
)
from memwarden.stores.shared.decide import find_dropped, find_purged
from memwarden.stores.shared.sql_values import JOURNAL_COLUMNS, meta_text, signal_values
from memwarden.stores.transfer.erasure import ERASED, ErasedPart, Holdings
from memwarden.stores.transfer.pages import (
    About,
    EarlierContent,
    IdempotentAnswer,
    KeptEdge,
    Mark,
    MemoryRow,
    Page,
    Tally,
    check_follows,
    find_archived,
    last_revision,
)

_HERE = "tenant = %s AND namespace = %s"
_SPACE = f"SELECT rev, rows FROM memwarden.namespaces WHERE {_HERE}"
_SPAN = "AND rev > %s::int8 AND rev <= %s::int8 ORDER BY rev"
_KEPT = (
    "SELECT n, rev, source_key, s.terms, s.vector, s.flags, s.days, s.pieces, s.statements, s.passages, "
    "id, version, state, purge_at, "
    f"{', '.join(CONTENT)} FROM memwarden.memories JOIN memwarden.signals s USING (tenant, namespace, n) "
    f"WHERE {_HERE} {_SPAN}"
)
_EARLIER = (
    f"SELECT m.n, v.id, v.version, 'active', NULL, {', '.join(f'v.{name}' for name in CONTENT)} "
    "FROM memwarden.versions v JOIN memwarden.memories m USING (tenant, namespace, id) "
    f"WHERE {_HERE} AND (v.id, v.version) IN (SELECT u.id, u.version FROM unnest(%s::text[], %s::int8[]) "
    "AS u (id, version)) ORDER BY v.id, v.version"
)
_CHANGES = (
    f"SELECT {JOURNAL_COLUMNS} FROM memwarden.journal WHERE {_HERE} AND seq > %s::int8 AND seq <= %s::int8 ORDER BY seq"
)
_EDGES = f"SELECT rev, live, from_id, to_id, type, strength, created_at FROM memwarden.relations WHERE {_HERE} {_SPAN}"
_MARKS = f"SELECT thread_id, seen, extracted FROM memwarden.threads WHERE {_HERE} ORDER BY thread_id"
_ANSWERS = (
    f"SELECT key, fingerprint, at, rev, applied FROM memwarden.receipts WHERE {_HERE} "
    "AND rev BETWEEN %s::int8 AND %s::int8 ORDER BY rev, key"
)
_COUNT_ERASURE = (
    b"INSERT INTO memwarden.meta (key, value) SELECT 'erasures', (1 + greatest(max(value::int8), %s::int8))::text "
    b"FROM memwarden.meta WHERE key = 'erasures' ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
# In this order: signals are found by their memories. Each takes the ids, or the threads, as often as it names them.
_ERASE_IDS = (
    "DELETE FROM memwarden.signals s USING memwarden.memories m WHERE s.tenant = %s AND s.namespace = %s "
    "AND m.tenant = s.tenant AND m.namespace = s.namespace AND m.n = s.n AND m.id = ANY(%s::text[])",
    "DELETE FROM memwarden.versions WHERE {here} AND id = ANY(%s::text[])",
    "DELETE FROM memwarden.memories WHERE {here} AND id = ANY(%s::text[])",
    "DELETE FROM memwarden.relations WHERE {here} AND (from_id = ANY(%s::text[]) OR to_id = ANY(%s::text[]))",
    f"UPDATE memwarden.journal SET memory_id = '{ERASED}', old_version = NULL, new_version = NULL, thread_id = NULL, "
    "meta = NULL WHERE {here} AND memory_id = ANY(%s::text[])",
    "DELETE FROM memwarden.events WHERE {here} AND memory_id = ANY(%s::text[])",
    "DELETE FROM memwarden.receipts WHERE {here} AND EXISTS (SELECT 1 FROM jsonb_array_elements(applied::jsonb) one "
    "WHERE one ->> 0 = ANY(%s::text[]))",
)
_ERASE_THREADS = (
    "DELETE FROM memwarden.threads WHERE {here} AND split_part(thread_id, chr(31), 1) = ANY(%s::text[])",
    "UPDATE memwarden.journal SET thread_id = NULL WHERE {here} AND thread_id = ANY(%s::text[])",
    "DELETE FROM memwarden.events WHERE {here} AND thread_id = ANY(%s::text[])",
)
_ERASE_VERSIONS = (
    b"DELETE FROM memwarden.versions AS v USING unnest(%s::text[], %s::int8[]) AS u (id, version) "
    b"WHERE v.tenant = %s AND v.namespace = %s AND v.id = u.id AND v.version = u.version"
)
_ENTRIES_WITH_META = f"SELECT seq, meta FROM memwarden.journal WHERE {_HERE} AND meta IS NOT NULL".encode()
_DROP_META = f"UPDATE memwarden.journal SET meta = NULL WHERE {_HERE} AND seq = ANY(%s::int8[])".encode()
_FORGET_SOURCES = (
    "UPDATE memwarden.{table} SET sources = ARRAY(SELECT one FROM unnest(sources) WITH ORDINALITY AS t (one, place) "
    "WHERE one <> ALL(%s::text[]) ORDER BY place) WHERE {here} AND id = ANY(%s::text[])"
)
_OF_THREAD = " AND thread_id IS NOT DISTINCT FROM %s"
# Statistics of columns hold values of rows, too.
_REWRITTEN = b"""
    SELECT oid::regclass::text FROM pg_class
    WHERE relkind = 'r' AND (relnamespace = to_regnamespace('memwarden') OR oid = 'pg_catalog.pg_statistic'::regclass)
    ORDER BY oid DESC
"""
_LOCK_TIMEOUT = "60s"
_ABOUT = b"""
    SELECT current_setting('server_version'), (SELECT value FROM memwarden.meta WHERE key = 'schema'),
        (SELECT value FROM memwarden.meta WHERE key = 'model'),
        (SELECT sum(pg_total_relation_size(oid)) FROM pg_class
            WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r')::int8
"""

_LOCK = f"{_SPACE} FOR UPDATE".encode()
_ADVANCE = (
    f"UPDATE memwarden.namespaces SET rev = %s::int8, rows = greatest(rows, %s::int8), epoch = epoch + 1 WHERE {_HERE}"
).encode()
# Nobody knows here when they were read: they are watched from now on.
_WATCH = (
    f"UPDATE memwarden.memories SET accessed_at = %s::int8 WHERE {_HERE} AND rev > %s::int8 AND accessed_at IS NULL "
    "AND channel <> 'turn'"
).encode()
_MARK = {"thread_id": "text", "seen": "int8", "extracted": "int8"}


def _upsert(table: str, columns: Mapping[str, str], key: str) -> bytes:
    """Return SQL that inserts or replaces rows by key. The columns of the key stand first."""
    names = [name for name in columns if name not in key.split(", ")]
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    return insert(table, columns, f"ON CONFLICT (tenant, namespace, {key}) DO UPDATE SET {changes}")


_TAKE_MEMORIES = _upsert("memories", NEW, "id")
_TAKE_SIGNALS = _upsert("signals", NUMBERED_SIGNALS, "n")
_TAKE_EARLIER = insert("versions", VERSION, "ON CONFLICT DO NOTHING")
_TAKE_CHANGES = insert("journal", JOURNAL)
_TAKE_EDGES = _upsert("relations", EDGE, "from_id, to_id, type")
_TAKE_MARKS = _upsert("threads", _MARK, "thread_id")
_TAKE_ANSWERS = insert("receipts", RECEIPT, "ON CONFLICT DO NOTHING")


def about(db: Connection[Any], seconds: float) -> About:
    """Return facts about the database."""
    with db.pipeline():
        begin(db, None, seconds, TransactionKind.READ)
        asked = db.execute(_ABOUT)
        db.execute(b"COMMIT")
    ((version, schema, model, size),) = asked.fetchall()
    if has_citus(db):
        size = count_bytes(db)
    return About(f"PostgreSQL {version.split()[0]}", int(schema), decode_text(model), size)


def tally(db: Connection[Any], namespace: Namespace, seconds: float) -> Tally:
    """Return the row counts of a namespace."""
    with db.pipeline():
        begin(db, namespace, seconds, TransactionKind.READ)
        counts = [
            db.execute(f"SELECT count(*) FROM memwarden.{table} WHERE {_HERE}".encode(), scope_values(namespace))
            for table in Tally._fields
        ]
        db.execute(b"COMMIT")
    return Tally._make(count.fetchall()[0][0] for count in counts)


def dump(db: Connection[Any], namespace: Namespace, since: int, limit: int, seconds: float) -> Page:
    """Read a page from a single snapshot."""

    def ask(sql: str, *values: Any) -> Any:
        return db.execute(sql.encode(), (*scope_values(namespace), *values), binary=True)

    with db.pipeline():
        begin(db, namespace, seconds, TransactionKind.READ)
        counters = ask(_SPACE)
    head, rows = counters.fetchone() or (0, 0)
    rev = last_revision(since, limit, head)
    with db.pipeline():
        journal, kept, edges, answers = (ask(sql, since, rev) for sql in (_CHANGES, _KEPT, _EDGES, _ANSWERS))
        marks = ask(_MARKS) if rev == head else None
    changes = tuple(decode_change(namespace, row) for row in journal)
    pairs = find_archived(changes)
    with db.pipeline():
        ids, versions = [encode_text(item) for item, _ in pairs], [version for _, version in pairs]
        earlier = ask(_EARLIER, ids, versions)
        db.execute(b"COMMIT")
    return Page(
        namespace,
        since,
        rev,
        head,
        rows,
        changes,
        tuple(_memory_row(namespace, row) for row in kept),
        tuple(EarlierContent(row[0], decode_memory(namespace, row[1:])) for row in earlier),
        tuple(KeptEdge(row[0], row[1], decode_relation(row[2:])) for row in edges),
        tuple(Mark._make(map(decode_text, row)) for row in marks or ()),
        tuple(_answer(*map(decode_text, row)) for row in answers),
    )


def count_holdings(db: Connection[Any], namespace: Namespace, seconds: float) -> Holdings:
    """Return the rows of a namespace by table."""
    begin(db, namespace, seconds, TransactionKind.READ)
    held = _count(db, namespace)
    db.execute(b"COMMIT")
    return held


def erase(db: Connection[Any], namespace: Namespace) -> Holdings:
    """Remove a namespace as the login itself, for the store's role may not delete memories. Return what it held."""
    here = scope_values(namespace)
    with db.transaction():
        name_scope(db, *here)
        found = db.execute(f"SELECT epoch FROM memwarden.namespaces WHERE {_HERE} FOR UPDATE".encode(), here).fetchone()
        held = _count(db, namespace)
        if found is None and not any(held):
            return held
        for table in (*Holdings._fields, "digests", "namespaces"):
            db.execute(f"DELETE FROM memwarden.{table} WHERE {_HERE}".encode(), here)
        # Whoever comes under the same name begins at an epoch that no cache has seen.
        db.execute(_COUNT_ERASURE, found or (0,))
    return held


def erase_part(db: Connection[Any], namespace: Namespace, part: ErasedPart) -> None:
    """Remove memories and threads of a namespace as the login itself."""
    here, ids, threads = scope_values(namespace), list(part.ids), list(part.threads)
    versions = [item for item, _ in part.versions], [number for _, number in part.versions]
    with db.transaction():
        name_scope(db, *here)
        db.execute(f"SELECT epoch FROM memwarden.namespaces WHERE {_HERE} FOR UPDATE".encode(), here)
        for statements, names in ((_ERASE_IDS, ids), (_ERASE_THREADS, threads)):
            for sql in statements:
                db.execute(sql.format(here=_HERE).encode(), (*here, *[names] * sql.count("::text[]")))
        db.execute(_ERASE_VERSIONS, (*versions, *here))
        for table in ("memories", "versions"):
            forget = _FORGET_SOURCES.format(here=_HERE, table=table)
            db.execute(forget.encode(), (ids, *here, list(part.citing)))
            for thread, named in part.named:
                of_thread = (list(named), *here, list(part.citing), thread)
                db.execute((forget + _OF_THREAD).encode(), of_thread)
        cites = part.make_finder()
        entries = db.execute(_ENTRIES_WITH_META, here)
        cited = [int(seq) for seq, meta in entries.fetchall() if cites(decode_text(meta))]
        db.execute(_DROP_META, (*here, cited))
        db.execute(f"DELETE FROM memwarden.digests WHERE {_HERE}".encode(), here)  # it holds words of rows
        db.execute(f"UPDATE memwarden.namespaces SET epoch = epoch + 1 WHERE {_HERE}".encode(), here)


def _count(db: Connection[Any], namespace: Namespace) -> Holdings:
    counts = [
        db.execute(f"SELECT count(*) FROM memwarden.{table} WHERE {_HERE}".encode(), scope_values(namespace))
        for table in Holdings._fields
    ]
    return Holdings._make(count.fetchall()[0][0] for count in counts)


def rewrite(db: Connection[Any]) -> list[str]:
    """Write every table of the schema anew. Return what this login could not do or an open transaction prevented."""
    left: list[str] = []
    notes: list[Diagnostic] = []
    db.add_notice_handler(notes.append)
    db.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT}'".encode())
    tables = [str(row[0]) for row in db.execute(_REWRITTEN).fetchall()]
    for table in tables:
        notes.clear()
        db.execute(f"VACUUM (FULL, ANALYZE, VERBOSE) {table}".encode())
        if any(note.severity_nonlocalized == "WARNING" for note in notes):
            left.append(f"run VACUUM FULL {table} as its owner: this login may not, and removed rows are still in it")
        elif any(re.match(r"[1-9]", note.message_detail or "") for note in notes):
            left.append(f"run VACUUM FULL {table} once older transactions have ended: they still see removed rows")
    return left


class IncomingPage:
    """An encoded page on its way into the database. Raises InvalidInput for unstorable values."""

    def __init__(self, page: Page) -> None:
        if not page.namespace.tenant or not page.namespace.path:
            raise InvalidInput("a namespace has a tenant and a path, both not empty")
        self._page = page
        self._statements = list(_statements(page))
        self._sent = False

    def may_repeat(self, error: Error) -> bool:
        """Return whether the page may be written again: once the commit was sent, it may be stored already."""
        return not self._sent

    def write(self, db: Connection[Any], seconds: float) -> None:
        """Write the page. Raises Conflict unless it begins at the namespace's revision."""
        page, names = self._page, scope_values(self._page.namespace)
        with db.pipeline():
            begin(db, page.namespace, seconds)
            db.execute(NEW_NAMESPACE, names)
            counters = db.execute(_LOCK, names)
        ((rev, _),) = counters.fetchall()
        check_follows(page, rev)
        with db.pipeline():
            write_rows(db, names, self._statements)
            db.execute(_WATCH, (microseconds(clock.now()), *names, page.since))
            db.execute(_ADVANCE, (page.rev, page.rows, *names))
        self._sent = True
        db.execute(b"COMMIT")


def _statements(page: Page) -> Iterable[tuple[bytes, Mapping[str, str], list[Values]]]:
    space = page.namespace
    memories = [
        (
            encode_text(memory.memory.id),
            encode_text(memory.source_key),
            memory.n,
            memory.rev,
            *_state(memory.memory),
            *_content(memory.memory, space),
        )
        for memory in page.memories
    ]
    earlier = [
        (encode_text(item.memory.id), item.memory.version, *_content(item.memory, space)) for item in page.earlier
    ]
    yield _TAKE_MEMORIES, NEW, memories
    yield _TAKE_SIGNALS, NUMBERED_SIGNALS, [(memory.n, *signal_values(memory.signals)) for memory in page.memories]
    yield _TAKE_EARLIER, VERSION, earlier
    yield DROP_VERSIONS, DROP, [(encode_text(item), version) for item, version in find_dropped(page.changes).items()]
    yield DROP_PURGED, PURGED, [(encode_text(item),) for item in find_purged(page.changes)]
    yield _TAKE_CHANGES, JOURNAL, [_journal_row(entry) for entry in page.changes]
    yield _TAKE_EDGES, EDGE, [_edge_row(edge) for edge in page.edges]
    yield _TAKE_MARKS, _MARK, [(encode_text(mark.thread_id), mark.seen, mark.extracted) for mark in page.marks]
    yield (
        _TAKE_ANSWERS,
        RECEIPT,
        [
            receipt_row(answer.key, write.EarlierAnswer(answer.fingerprint, answer.receipt), microseconds(answer.at))
            for answer in page.answers
        ],
    )


def _memory_row(namespace: Namespace, row: Values) -> MemoryRow:
    n, rev, once, terms, vector, flags, days, pieces, statements, passages = row[:10]
    return MemoryRow(
        n,
        rev,
        decode_text(once),
        decode_memory(namespace, row[10:]),
        Signals(terms, vector, flags, days, pieces, statements, passages),
    )


def _answer(key: str, fingerprint: str | None, at: int, rev: int, applied: str) -> IdempotentAnswer:
    return IdempotentAnswer(
        key, fingerprint, moment(at), Receipt(rev, tuple(ChangeResult(*load) for load in json.loads(applied)))
    )


def _state(memory: Memory) -> Values:
    purge_at = None if memory.purge_at is None else microseconds(memory.purge_at)
    return (str(memory.state), purge_at, memory.version)


def _content(memory: Memory, namespace: Namespace) -> Values:
    return encode_put(Put(memory, Signals()), namespace).content


def _journal_row(value: Any) -> Values:
    written = (microseconds(value.at), value.actor, value.seq, str(value.event), value.memory_id, value.old_version)
    return tuple(
        map(
            encode_text,
            (*written, value.new_version, value.thread_id, str(value.channel), value.step, meta_text(value.meta)),
        )
    )


def _edge_row(edge: KeptEdge) -> Values:
    said = edge.relation
    ends = map(encode_text, (said.from_id, said.to_id, str(said.type)))
    return (*ends, said.strength, edge.live, edge.rev, microseconds(said.created_at))
