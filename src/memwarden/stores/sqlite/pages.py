"""Exports and imports pages of a namespace (:mod:`memwarden.stores.transfer.pages`)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from memwarden import clock
from memwarden.clock import microseconds, moment
from memwarden.errors import StoreUnavailable
from memwarden.records import ChangeResult, Memory, MemoryState, Namespace, Put, Receipt, Signals
from memwarden.stores.shared.decide import find_dropped, find_purged
from memwarden.stores.shared.sql_values import JOURNAL_COLUMNS, meta_text, signal_values
from memwarden.stores.sqlite.rows import (
    CONTENT,
    FIRST_EPOCH,
    MAY_LEAVE,
    Values,
    decode_any_state,
    decode_change,
    decode_memory,
    decode_relation,
    encode_put,
    list_text,
)
from memwarden.stores.transfer.erasure import ERASED, MARK_SEPARATOR, ErasedPart, Holdings
from memwarden.stores.transfer.move import NamespaceExtras
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

_EPOCH = "SELECT epoch FROM namespaces WHERE tenant = ? AND path = ?"
_SPACE = "SELECT no, rev, rows FROM namespaces WHERE tenant = ? AND path = ?"
_KEPT = (
    f"SELECT m.row & 4294967295, m.rev, m.source_key, s.terms, s.vector, s.flags, s.days, s.pieces, s.statements, "
    f"s.passages, m.id, m.version, "
    f"{', '.join(f'm.{name}' for name in CONTENT)}, m.state, m.purge_at "
    "FROM memories m JOIN signals s ON s.row = m.row WHERE m.ns = ? AND m.rev > ? AND m.rev <= ? ORDER BY m.rev"
)
_EARLIER = (
    f"SELECT m.row & 4294967295, m.id, v.version, {', '.join(f'v.{name}' for name in CONTENT)} "
    "FROM memories m JOIN versions v ON v.row = m.row WHERE m.ns = ? AND m.id = ? AND v.version IN ({})"
)
_CHANGES = f"SELECT {JOURNAL_COLUMNS} FROM journal WHERE ns = ? AND seq > ? AND seq <= ? ORDER BY seq"
_EDGES = (
    "SELECT rev, live, from_id, to_id, type, strength, created_at FROM relations "
    "WHERE ns = ? AND rev > ? AND rev <= ? ORDER BY rev"
)
_MARKS = "SELECT thread_id, seen, extracted FROM threads WHERE ns = ? ORDER BY thread_id"
_ANSWERS = (
    "SELECT key, fingerprint, at, rev, applied FROM receipts WHERE ns = ? AND rev BETWEEN ? AND ? ORDER BY rev, key"
)
_COUNTS = (
    "SELECT count(*) FROM memories WHERE ns = ?",
    "SELECT count(*) FROM signals WHERE row > ? << 32 AND row < (? + 1) << 32",
    "SELECT count(*) FROM versions WHERE row > ? << 32 AND row < (? + 1) << 32",
    "SELECT count(*) FROM journal WHERE ns = ?",
    "SELECT count(*) FROM relations WHERE ns = ?",
    "SELECT count(*) FROM threads WHERE ns = ?",
    "SELECT count(*) FROM receipts WHERE ns = ?",
)

_ERASE_ID = (
    "DELETE FROM relations WHERE ns = ?1 AND (from_id = ?2 OR to_id = ?2)",
    f"UPDATE journal SET memory_id = '{ERASED}', old_version = NULL, new_version = NULL, thread_id = NULL, meta = NULL "
    "WHERE ns = ?1 AND memory_id = ?2",
)
_ERASE_THREAD = (
    f"DELETE FROM threads WHERE ns = ?1 AND (thread_id = ?2 "
    f"OR substr(thread_id, 1, length(?2) + 1) = ?2 || char({ord(MARK_SEPARATOR)}))",
    "UPDATE journal SET thread_id = NULL WHERE ns = ?1 AND thread_id = ?2",
)
_ERASE_VERSION = (
    "DELETE FROM versions WHERE row = (SELECT row FROM memories WHERE ns = ?1 AND id = ?2) AND version = ?3"
)
_NAMES = ", ".join(CONTENT)
_MARKED = ", ".join("?" * len(CONTENT))
_TAKE_MEMORY = (
    f"INSERT INTO memories (row, ns, rev, version, state, purge_at, id, source_key, {_NAMES}) "
    f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, {_MARKED}) ON CONFLICT (row) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in ("rev", "version", "state", "purge_at", *CONTENT))
)
_TAKE_SIGNALS = (
    "INSERT OR REPLACE INTO signals (row, flags, terms, vector, days, pieces, statements, passages) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAKE_EARLIER = (
    f"INSERT INTO versions (row, version, {_NAMES}) VALUES (?, ?, {_MARKED}) ON CONFLICT (row, version) DO NOTHING"
)
_DROP_EARLIER = (
    "DELETE FROM versions WHERE row = (SELECT row FROM memories WHERE ns = ? AND id = ?) AND version < ? "
    f"AND {MAY_LEAVE}"
)
_DROP_PURGED = (
    "DELETE FROM versions WHERE row = "
    f"(SELECT row FROM memories WHERE ns = ? AND id = ? AND state = '{MemoryState.PURGED}')"
)
_WATCH = "UPDATE memories SET accessed_at = ? WHERE ns = ? AND rev > ? AND accessed_at IS NULL AND channel <> 'turn'"
_TAKE_CHANGE = (
    f"INSERT INTO journal (ns, {JOURNAL_COLUMNS}) VALUES (?, {', '.join('?' * len(JOURNAL_COLUMNS.split(',')))})"
)
_TAKE_EDGE = (
    "INSERT OR REPLACE INTO relations (ns, from_id, to_id, type, strength, live, rev, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
_TAKE_MARK = "INSERT OR REPLACE INTO threads (ns, thread_id, seen, extracted) VALUES (?, ?, ?, ?)"
_TAKE_ANSWER = (
    "INSERT INTO receipts (ns, key, fingerprint, rev, applied, at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (ns, key) DO NOTHING"
)


def about(db: sqlite3.Connection) -> About:
    """Return facts about the file."""
    facts = dict(db.execute("SELECT key, value FROM meta").fetchall())
    size = db.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()").fetchone()[0]
    return About(f"SQLite {sqlite3.sqlite_version}", int(facts["schema"]), facts.get("model"), int(size))


def tally(db: sqlite3.Connection, namespace: Namespace) -> Tally:
    """Return the row counts of a namespace."""
    no, _, _ = _space(db, namespace)
    return Tally._make(db.execute(sql, (no,) * sql.count("?")).fetchone()[0] for sql in _COUNTS)


def dump(db: sqlite3.Connection, namespace: Namespace, since: int, limit: int) -> Page:
    """Read a page from a single snapshot."""
    db.execute("BEGIN")
    try:
        no, head, rows = _space(db, namespace)
        rev = last_revision(since, limit, head)
        span = (no, since, rev)
        changes = tuple(decode_change(namespace, row) for row in db.execute(_CHANGES, span))
        return Page(
            namespace,
            since,
            rev,
            head,
            rows,
            changes,
            tuple(_memory_row(namespace, row) for row in db.execute(_KEPT, span)),
            tuple(_earlier(db, namespace, no, find_archived(changes))),
            tuple(KeptEdge(row[0], row[1] == 1, decode_relation(row[2:])) for row in db.execute(_EDGES, span)),
            tuple(map(Mark._make, db.execute(_MARKS, (no,)))) if rev == head else (),
            tuple(_answer(*row) for row in db.execute(_ANSWERS, span)),
        )
    finally:
        db.execute("ROLLBACK")  # nothing was written; this ends the snapshot


def count_holdings(db: sqlite3.Connection, namespace: Namespace) -> Holdings:
    """Return the rows of a namespace by table."""
    return Holdings._make(
        db.execute(f"SELECT count(*) FROM {table} WHERE {where}", bound).fetchone()[0]
        for table, where, bound in _rows_of(db, namespace)
    )


def erase(db: sqlite3.Connection, namespace: Namespace) -> Holdings:
    """Remove a namespace with everything. Return what it held."""
    held = count_holdings(db, namespace)
    found = db.execute(_EPOCH, (namespace.tenant, namespace.path)).fetchone()
    if found is None and not any(held):
        return held
    db.execute("PRAGMA secure_delete = ON")  # freed pages are overwritten, also when the file is never rewritten
    for table, where, bound in sorted(_rows_of(db, namespace), key=lambda item: item[0] != "item_vectors"):
        db.execute(f"DELETE FROM {table} WHERE {where}", bound)
    db.execute("DELETE FROM namespaces WHERE tenant = ? AND path = ?", (namespace.tenant, namespace.path))
    # Whoever comes under the same name begins at an epoch that no cache has seen.
    db.execute(f"INSERT OR REPLACE INTO meta VALUES ('erasures', 1 + max({FIRST_EPOCH}, ?))", found or (0,))
    return held


def erase_part(db: sqlite3.Connection, namespace: Namespace, part: ErasedPart) -> None:
    """Remove memories and threads of a namespace for good."""
    no, _, _ = _space(db, namespace)
    db.execute("PRAGMA secure_delete = ON")
    found = ((item, db.execute("SELECT row FROM memories WHERE ns = ? AND id = ?", (no, item))) for item in part.ids)
    rows = [(row[0],) for _, cursor in found for row in cursor.fetchall()]
    for table in ("signals", "versions", "memories"):
        db.executemany(f"DELETE FROM {table} WHERE row = ?", rows)
    name = (namespace.tenant, namespace.path)
    for sql in _ERASE_ID:
        db.executemany(sql, [(no, item) for item in part.ids])
    for sql in _ERASE_THREAD:
        db.executemany(sql, [(no, thread) for thread in part.threads])
    for column, values in (("memory_id", part.ids), ("thread_id", part.threads)):
        sql = f"DELETE FROM events WHERE tenant = ? AND namespace = ? AND {column} = ?"
        db.executemany(sql, [(*name, value) for value in values])
    db.executemany(_ERASE_VERSION, [(no, *item) for item in part.versions])
    _forget_sources(db, no, part)
    cites = part.make_finder()
    entries = db.execute("SELECT seq, meta FROM journal WHERE ns = ? AND meta IS NOT NULL", (no,)).fetchall()
    cited = [(no, seq) for seq, meta in entries if cites(meta)]
    db.executemany("UPDATE journal SET meta = NULL WHERE ns = ? AND seq = ?", cited)
    gone, answers = set(part.ids), db.execute("SELECT key, applied FROM receipts WHERE ns = ?", (no,))
    stale = [(no, key) for key, applied in answers.fetchall() if gone & {result[0] for result in json.loads(applied)}]
    db.executemany("DELETE FROM receipts WHERE ns = ? AND key = ?", stale)
    db.execute("UPDATE namespaces SET epoch = epoch + 1 WHERE no = ?", (no,))


def _forget_sources(db: sqlite3.Connection, no: int, part: ErasedPart) -> None:
    """Take what goes out of the sources of what stays."""
    for item in part.citing:
        found = db.execute("SELECT row, thread_id FROM memories WHERE ns = ? AND id = ?", (no, item)).fetchone()
        row, thread = found
        for table in ("memories", "versions"):
            for (sources,) in db.execute(f"SELECT DISTINCT sources FROM {table} WHERE row = ?", (row,)).fetchall():
                kept = list_text(part.leave_out(json.loads(sources), thread))
                db.execute(f"UPDATE {table} SET sources = ? WHERE row = ? AND sources = ?", (kept, row, sources))


def _rows_of(db: sqlite3.Connection, namespace: Namespace) -> list[tuple[str, str, Values]]:
    """Return each table of :class:`Holdings` with the condition and values that name a namespace's rows."""
    no, _, _ = _space(db, namespace)
    apart: dict[str, tuple[str, Values]] = {
        "signals": ("row > ? << 32 AND row < (? + 1) << 32", (no, no)),
        "versions": ("row > ? << 32 AND row < (? + 1) << 32", (no, no)),
        "item_vectors": ("row IN (SELECT row FROM items WHERE ns = ?)", (no,)),
        "events": ("tenant = ? AND namespace = ?", (namespace.tenant, namespace.path)),
    }
    return [(table, *apart.get(table, ("ns = ?", (no,)))) for table in Holdings._fields]


def rewrite(db: sqlite3.Connection, path: Path) -> None:
    """Write the file anew without its free pages, and empty its log. Raises StoreUnavailable while others read."""
    for statement in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
        answer = db.execute(statement).fetchone()
        if answer is not None and answer[0]:
            raise StoreUnavailable(
                f"the rows are gone from {path}, but their bytes may be in its log: another process reads from it; "
                "end that process and repeat the erasure"
            )


def prepare(page: Page) -> Callable[[sqlite3.Connection], None]:
    """Encode a page outside any lock. Return the function that writes it. Raises InvalidInput."""
    space = page.namespace
    kept = [(memory, _content(memory.memory, memory.signals, space)) for memory in page.memories]
    earlier = [(item, _content(item.memory, Signals(), space)) for item in page.earlier]
    return lambda db: _take_in(db, page, kept, earlier)


def _take_in(
    db: sqlite3.Connection,
    page: Page,
    kept: Sequence[tuple[MemoryRow, Values]],
    earlier: Sequence[tuple[EarlierContent, Values]],
) -> None:
    name = (page.namespace.tenant, page.namespace.path)
    db.execute(
        f"INSERT INTO namespaces (tenant, path, rev, epoch, rows) VALUES (?, ?, 0, {FIRST_EPOCH}, 0) "
        "ON CONFLICT DO NOTHING",
        name,
    )
    no, rev, _ = _space(db, page.namespace)
    check_follows(page, rev)
    base = no << 32
    for sql, rows in (
        (
            _TAKE_MEMORY,
            [(base | item.n, no, *_state(item), item.memory.id, item.source_key, *content) for item, content in kept],
        ),
        (_TAKE_SIGNALS, [(base | item.n, *signal_values(item.signals)) for item, _ in kept]),
        (_TAKE_EARLIER, [(base | item.n, item.memory.version, *content) for item, content in earlier]),
        (_DROP_EARLIER, [(no, *item) for item in find_dropped(page.changes).items()]),
        (
            _TAKE_CHANGE,
            [
                (
                    *(
                        no,
                        entry.seq,
                        str(entry.event),
                        entry.memory_id,
                        entry.old_version,
                        entry.new_version,
                        entry.actor,
                    ),
                    *(
                        entry.thread_id,
                        microseconds(entry.at),
                        str(entry.channel),
                        entry.step,
                        meta_text(entry.meta),
                    ),
                )
                for entry in page.changes
            ],
        ),
        (_TAKE_EDGE, [(no, *_edge(edge)) for edge in page.edges]),
        (_TAKE_MARK, [(no, *mark) for mark in page.marks]),
        (
            _TAKE_ANSWER,
            [
                (no, key, fingerprint, receipt.rev, json.dumps(receipt.applied), microseconds(at))
                for key, fingerprint, at, receipt in page.answers
            ],
        ),
    ):
        db.executemany(sql, rows)
    for memory_id in find_purged(page.changes):
        db.execute(_DROP_PURGED, (no, memory_id))
    # Nobody knows here when they were read: they are watched from now on.
    db.execute(_WATCH, (microseconds(clock.now()), no, page.since))
    db.execute(
        "UPDATE namespaces SET rev = ?, rows = max(rows, ?), epoch = epoch + 1 WHERE no = ?", (page.rev, page.rows, no)
    )


def _space(db: sqlite3.Connection, namespace: Namespace) -> tuple[int, int, int]:
    """Return number, revision and count of rows of a namespace. Zeros if it was never written to."""
    row = db.execute(_SPACE, (namespace.tenant, namespace.path)).fetchone()
    return (0, 0, 0) if row is None else (row[0], row[1], row[2])


def _memory_row(namespace: Namespace, row: Values) -> MemoryRow:
    n, rev, once, terms, vector, flags, days, pieces, statements, passages, *content = row
    return MemoryRow(
        n,
        rev,
        once,
        decode_any_state(namespace, tuple(content)),
        Signals(terms, vector, flags, days, pieces, statements, passages),
    )


def _earlier(
    db: sqlite3.Connection, namespace: Namespace, no: int, wanted: Sequence[tuple[str, int]]
) -> list[EarlierContent]:
    found: list[EarlierContent] = []
    for memory_id, pairs in groupby(wanted, lambda pair: pair[0]):
        versions = [version for _, version in pairs]
        sql = _EARLIER.format(", ".join("?" * len(versions))) + " ORDER BY v.version"
        found += [
            EarlierContent(row[0], decode_memory(namespace, row[1:]))
            for row in db.execute(sql, (no, memory_id, *versions))
        ]
    return found


def _answer(key: str, fingerprint: str | None, at: int, rev: int, applied: str) -> IdempotentAnswer:
    return IdempotentAnswer(
        key, fingerprint, moment(at), Receipt(rev, tuple(ChangeResult(*load) for load in json.loads(applied)))
    )


def _content(memory: Memory, signals: Signals, namespace: Namespace) -> Values:
    return encode_put(Put(memory, signals), namespace).content


def _state(kept: MemoryRow) -> Values:
    memory = kept.memory
    purge_at = None if memory.purge_at is None else microseconds(memory.purge_at)
    return (kept.rev, memory.version, str(memory.state), purge_at)


def _edge(edge: KeptEdge) -> Values:
    said = edge.relation
    ends = (said.from_id, said.to_id, str(said.type))
    return (*ends, said.strength, int(edge.live), edge.rev, microseconds(said.created_at))


def count_extras(db: sqlite3.Connection) -> list[NamespaceExtras]:
    """Return the counts of items and checkpoints of namespaces that hold any."""
    counts = (
        "SELECT tenant, path, (SELECT count(*) FROM items i WHERE i.ns = n.no) AS items, "
        "(SELECT count(*) FROM checkpoints c WHERE c.ns = n.no) AS states FROM namespaces n"
    )
    sql = f"SELECT * FROM ({counts}) WHERE items + states > 0 ORDER BY tenant, path"
    return [NamespaceExtras(Namespace(tenant, path), items, states) for tenant, path, items, states in db.execute(sql)]
