"""Writes batches of a namespace in a transaction of two round trips, whatever their size.

The first locks the namespace's row and reads everything that the batches depend on. The second writes and commits.
"""

from __future__ import annotations

import json
from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from psycopg import Connection

from memwarden.clock import microseconds
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import (
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    Fill,
    Link,
    MemoryState,
    Namespace,
    Put,
    Receipt,
    Remove,
    Unlink,
)
from memwarden.stores.postgres.citus import on_citus
from memwarden.stores.postgres.rows import (
    CONTENT,
    SIGNALS,
    PostgresRow,
    Values,
    array,
    arrays,
    decode_text,
    encode_put,
    encode_text,
    select_list,
    unnest,
)
from memwarden.stores.postgres.transaction import begin, scope_values
from memwarden.stores.shared.decide import (
    TASKS,
    ChangePlan,
    EdgeKey,
    Steps,
    StoredEdge,
    StoredMemory,
    check_all,
    check_kinds,
    check_mark,
    cut_chunks,
    edge_key,
    ids_of,
    join_source_key,
)
from memwarden.stores.shared.sql_values import meta_text, signal_values

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class PreparedBatch:
    """A checked, cut and encoded batch. at: time of the write, in microseconds. puts: by place in the batch."""

    batch: Batch
    at: int
    puts: dict[int, PostgresRow]
    chunks: list[list[tuple[int, BatchChange]]]


class EarlierAnswer(NamedTuple):
    """The stored answer to an idempotency key."""

    fingerprint: str | None
    receipt: Receipt


class MemoryTarget(NamedTuple):
    """A memory's state after the batches.

    known: it has a row in the database. put: its new content, None to keep the stored content. signals: likewise.
    source_key: thread and source key with which it is created.
    """

    rev: int
    version: int
    state: str
    purge_at: int | None
    known: bool
    put: PostgresRow | None = None
    signals: Values | None = None
    source_key: str | None = None


class EdgeTarget(NamedTuple):
    """An edge's state after the batches. created_at is used only if the database has no row of it."""

    strength: float
    live: bool
    rev: int
    created_at: int


@dataclass(frozen=True, slots=True)
class BatchContext:
    """The stored state of everything that the batches read. ``StoredMemory.row`` is the memory's number ``n``.

    source_keys: the id behind each thread and source key. receipts: by idempotency key. extracted: marks of threads.
    stated: numbers of journal entries that are not of turns, after the earliest revision that a batch was decided on.
    """

    rev: int
    rows: int
    found: dict[str, StoredMemory]
    source_keys: dict[str, str]
    edges: dict[EdgeKey, StoredEdge]
    receipts: dict[str, EarlierAnswer]
    extracted: dict[str, int]
    stated: list[int]


@dataclass(slots=True)
class PendingWrites:
    """The rows that a group of batches writes.

    rows: by number. archived: numbers of the rows whose content in the database becomes a version before it is
    overwritten. versions: id, version and content of those that were made and overwritten by these batches. dropped:
    ids, and before which version their contents are not kept. purged: ids of which no content is kept. journal: whole
    rows. seen, extracted: marks of threads.
    receipts: key, and the time of the write beside its answer.
    """

    rev: int
    count: int
    rows: MutableMapping[int, MemoryTarget] = field(default_factory=dict)
    edges: MutableMapping[EdgeKey, EdgeTarget] = field(default_factory=dict)
    archived: list[int] = field(default_factory=list)
    versions: list[Values] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    purged: list[str] = field(default_factory=list)
    journal: list[Values] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    extracted: dict[str, int] = field(default_factory=dict)
    receipts: dict[str, tuple[EarlierAnswer, int]] = field(default_factory=dict)


def prepare(batch: Batch) -> PreparedBatch:
    """Check and encode a batch, outside any lock. Raises InvalidInput."""
    namespace = batch.namespace
    if not namespace.tenant or not namespace.path:
        raise InvalidInput("a namespace has a tenant and a path, both not empty")
    at = _moment(batch.at)
    check_kinds(batch.changes)
    puts = {place: encode_put(item, namespace) for place, item in enumerate(batch.changes) if isinstance(item, Put)}
    for change in batch.changes:
        meta_text(change.meta)
        if isinstance(change, Remove | Put) and change.purge_at is not None:
            _moment(change.purge_at)
    chunks = list(cut_chunks(batch.changes, lambda put: join_source_key(put.memory.thread_id, put.source_key)))
    return PreparedBatch(batch, at, puts, chunks)


def decide(known: BatchContext, batches: Iterable[PreparedBatch]) -> tuple[list[Receipt | Exception], PendingWrites]:
    """Return the answer to each batch, in their order, and the rows to write for the accepted batches."""
    writes = PendingWrites(known.rev, known.rows)
    return [_answer(known, writes, batch) for batch in batches], writes


def _answer(known: BatchContext, writes: PendingWrites, prepared: PreparedBatch) -> Receipt | Exception:
    batch = prepared.batch
    try:
        if batch.key is not None and batch.key in known.receipts:
            fingerprint, receipt = known.receipts[batch.key]
            if fingerprint != batch.fingerprint:
                raise Conflict(f"the key {batch.key!r} was used for another call in {batch.namespace}")
            return replace(receipt, replayed=True)
        if batch.extracted is not None:
            check_mark(batch.extracted, known.extracted.get(batch.extracted.thread_id, 0))
        check_all(batch, any(seq > (batch.decided_at or 0) for seq in known.stated))
        draft = _BatchDraft(known, writes, prepared)
        applied = [item for chunk in prepared.chunks for item in draft.apply(chunk)]
    except (Conflict, NotFound, InvalidInput) as refused:
        return refused
    return draft.keep(tuple(applied))


class _BatchDraft:
    """A batch under decision: it reads through to those before it, and changes them only in :meth:`keep`."""

    def __init__(self, known: BatchContext, writes: PendingWrites, prepared: PreparedBatch) -> None:
        self._known = known
        self._writes = writes
        self._prepared = prepared
        self._batch = prepared.batch
        self._steps = Steps()
        self._entries: list[tuple[int, str]] = []
        self._head = writes.rev
        self._layers: list[ChainMap[Any, Any]] = []
        self._found = self._over(known.found)
        self._source_keys = self._over(known.source_keys)
        self._edges = self._over(known.edges)
        self._new = PendingWrites(writes.rev, writes.count, self._over(writes.rows), self._over(writes.edges))

    def apply(self, chunk: list[tuple[int, BatchChange]]) -> list[ChangeResult]:
        """Decide the changes of a chunk and apply them to the draft, so that the next chunk sees them."""
        new, puts = self._new, self._prepared.puts
        plan: ChangePlan[PostgresRow] = ChangePlan(
            self._batch, self._steps, head=self._head, rev=new.rev, rows=new.count, encoded=puts
        )
        keys = {place: puts[place].source_key for place, change in chunk if isinstance(change, Put)}
        first = {
            place: self._source_keys[key] for place, key in keys.items() if key is not None and key in self._source_keys
        }
        applied = plan.decide(chunk, self._found, first, self._edges)
        names = {self._found[item].row: item for _, change in chunk for item in ids_of(change) if item in self._found}
        self._create(plan)
        self._rewrite(plan, names)
        self._move(plan, names)
        self._purge(plan, names)
        self._relate(plan)
        at, actor = self._prepared.at, encode_text(self._batch.actor)
        self._entries += [(entry.seq, entry.channel) for entry in plan.entries]
        new.journal += [(at, actor, *map(encode_text, entry[:-1]), meta_text(entry.meta)) for entry in plan.entries]
        new.rev, new.count = plan.rev, plan.rows
        return applied

    def keep(self, applied: tuple[ChangeResult, ...]) -> Receipt:
        """Add the draft to what will be written and return the batch's receipt."""
        new, writes, known, batch = self._new, self._writes, self._known, self._batch
        receipt = Receipt(new.rev, applied)
        if batch.key is not None:
            known.receipts[batch.key] = EarlierAnswer(batch.fingerprint, receipt)
            writes.receipts[batch.key] = known.receipts[batch.key], self._prepared.at
        for item in batch.seen:
            writes.seen[item.thread_id] = max(item.rev, writes.seen.get(item.thread_id, 0))
        if batch.extracted is not None:
            mark = batch.extracted
            known.extracted[mark.thread_id] = writes.extracted[mark.thread_id] = mark.rev
        known.stated.extend(seq for seq, channel in self._entries if channel != Channel.TURN)
        writes.rev, writes.count = new.rev, new.count
        writes.archived += new.archived
        writes.versions += new.versions
        for memory_id, version in new.dropped.items():
            _drop(writes, memory_id, version)
        writes.purged += new.purged
        writes.journal += new.journal
        for layer in self._layers:
            layer.maps[1].update(layer.maps[0])
        return receipt

    def _over(self, below: MutableMapping[K, V]) -> ChainMap[K, V]:
        """Return a layer over a mapping that keeps writes in this draft until :meth:`keep`."""
        layer = ChainMap({}, below)
        self._layers.append(layer)
        return layer

    def _create(self, plan: ChangePlan[PostgresRow]) -> None:
        for item in plan.created:
            put, memory = item.put.put, item.put.put.memory
            state, purge_at = str(put.state), None if put.purge_at is None else microseconds(put.purge_at)
            if state == MemoryState.ACTIVE:
                purge_at = None
            self._found[memory.id] = StoredMemory(item.n, item.rev, 1, state, str(memory.channel), memory.thread_id)
            self._new.rows[item.n] = MemoryTarget(
                item.rev, 1, state, purge_at, False, item.put, item.put.signals, item.put.source_key
            )
            if item.put.source_key is not None:
                self._source_keys[item.put.source_key] = memory.id

    def _rewrite(self, plan: ChangePlan[PostgresRow], names: dict[int, str]) -> None:
        for item in plan.rewritten:
            memory, found = item.put.put.memory, self._found[names[item.row]]
            before = self._row(item.row, found)
            if before.put is None:
                self._new.archived.append(item.row)
            else:
                self._new.versions.append((encode_text(memory.id), before.version, *before.put.content))
            if item.put.put.keep_versions is not None:
                _drop(self._new, encode_text(memory.id), item.version - item.put.put.keep_versions)
            self._found[memory.id] = StoredMemory(
                item.row, item.rev, item.version, MemoryState.ACTIVE, str(memory.channel), memory.thread_id
            )
            self._new.rows[item.row] = before._replace(
                rev=item.rev,
                version=item.version,
                state=MemoryState.ACTIVE,
                purge_at=None,
                put=item.put,
                signals=before.signals if item.put.signals is None else item.put.signals,
            )

    def _move(self, plan: ChangePlan[PostgresRow], names: dict[int, str]) -> None:
        for item in plan.moved:
            found = self._found[names[item.row]]
            purge_at = None if item.purge_at is None else microseconds(item.purge_at)
            moved = self._row(item.row, found)._replace(rev=item.rev, state=item.state, purge_at=purge_at)
            self._new.rows[item.row] = moved
            self._found[names[item.row]] = found._replace(rev=item.rev, state=item.state)

    def _purge(self, plan: ChangePlan[PostgresRow], names: dict[int, str]) -> None:
        for item in plan.purged:
            found = self._found[names[item.row]]
            self._new.rows[item.row] = self._row(item.row, found)._replace(
                rev=item.rev, state=MemoryState.PURGED, purge_at=None, put=item.put, signals=item.put.signals
            )
            self._new.purged.append(encode_text(names[item.row]))
            self._found[names[item.row]] = found._replace(rev=item.rev, state=MemoryState.PURGED)

    def _relate(self, plan: ChangePlan[PostgresRow]) -> None:
        for edge in plan.edges:
            before = self._new.edges.get(edge.key)
            created_at = self._prepared.at if before is None else before.created_at
            self._edges[edge.key] = StoredEdge(edge.strength, edge.live)
            self._new.edges[edge.key] = EdgeTarget(edge.strength, edge.live, edge.rev, created_at)

    def _row(self, number: int, found: StoredMemory) -> MemoryTarget:
        row = self._new.rows.get(number)
        # Unchanged so far: content, state and purge date stay those of the database.
        return MemoryTarget(found.rev, found.version, found.state, None, known=True) if row is None else row


def _drop(writes: PendingWrites, memory_id: str, version: int) -> None:
    writes.dropped[memory_id] = max(version, writes.dropped.get(memory_id, 0))


def _moment(moment: object) -> int:
    try:
        return microseconds(moment)  # type: ignore[arg-type]
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"the time of a change is an aware datetime, not {moment!r}") from error


# SQL whose values are the columns of rows, then the names of the namespace.
RowStatement = tuple[bytes, Mapping[str, str], list[Values]]

_HERE = "tenant = %s AND namespace = %s"
_HEAD = f"SELECT rev, rows FROM memwarden.namespaces WHERE {_HERE} FOR UPDATE".encode()
NEW_NAMESPACE = (
    b"INSERT INTO memwarden.namespaces (tenant, namespace, rev, epoch, rows) "
    b"VALUES (%s, %s, 0, memwarden.first_epoch(), 0) ON CONFLICT DO NOTHING"
)
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
DROP_VERSIONS = (
    f"DELETE FROM memwarden.versions AS t USING {unnest(DROP)} WHERE t.tenant = %s AND t.namespace = %s "
    f"AND t.id = u.id AND t.version < u.version AND (t.channel = '{Channel.STATE}' OR t.namespace LIKE '{TASKS}%%')"
).encode()

PURGED = {"id": "text"}
DROP_PURGED = (
    f"DELETE FROM memwarden.versions AS t USING {unnest(PURGED)} WHERE t.tenant = %s AND t.namespace = %s "
    "AND t.id = u.id AND EXISTS (SELECT FROM memwarden.memories m WHERE m.tenant = t.tenant "
    f"AND m.namespace = t.namespace AND m.id = t.id AND m.state = '{MemoryState.PURGED}')"
).encode()
_PURGING = b"SET LOCAL memwarden.purging = 'on'"  # read by a policy of :mod:`memwarden.stores.postgres.citus`
_STATE = {"n": "int8", "rev": "int8", "state": "text", "purge_at": "int8"}
_CHANGED = {**_STATE, "version": "int8", **CONTENT}
NEW = {"id": "text", "source_key": "text", **_CHANGED}
NUMBERED_SIGNALS = {"n": "int8", **SIGNALS}
_FILLED = {"id": "text", "version": "int8", **SIGNALS}
_FILL = (
    f"UPDATE memwarden.signals AS t SET {', '.join(f'{name} = u.{name}' for name in SIGNALS)} "
    f"FROM memwarden.memories AS m, {unnest(_FILLED)} WHERE t.tenant = %s AND t.namespace = %s "
    "AND m.tenant = t.tenant AND m.namespace = t.namespace AND m.n = t.n AND m.id = u.id AND m.version = u.version "
    "RETURNING t.n"
).encode()
# A trigger does so where there is no Citus.
_KEEP_VECTORS = b"SELECT memwarden.keep_vectors_of(%s::int8[])"
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
    """Return the SQL that inserts rows. Its values are :func:`arrays` of the rows, then the two names.

    The namespace must have its row: read from there, the names are a task of one node for Citus.
    """
    return (
        f"INSERT INTO memwarden.{table} AS t (tenant, namespace, {', '.join(columns)}) "
        f"SELECT h.tenant, h.namespace, {', '.join(select_list(columns))} FROM {unnest(columns)}, "
        f"memwarden.namespaces AS h WHERE h.tenant = %s AND h.namespace = %s {conflict}"
    ).encode()


def _update(table: str, columns: Mapping[str, str]) -> bytes:
    """Return the SQL that updates rows by their first column. Its values are as of :func:`insert`."""
    key, *names = columns
    changes = ", ".join(f"{name} = {value}" for name, value in zip(names, select_list(columns)[1:], strict=True))
    return (
        f"UPDATE memwarden.{table} AS t SET {changes} FROM {unnest(columns)} "
        f"WHERE t.tenant = %s AND t.namespace = %s AND t.{key} = u.{key}"
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
        connection.execute(NEW_NAMESPACE, names)
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
        write_rows(connection, names, _statements(writes))
        if (writes.rev, writes.count) != (known.rev, known.rows):
            connection.execute(_ADVANCE, (writes.rev, writes.count, *names))
        connection.execute(b"COMMIT")


def write_rows(connection: Connection[Any], names: tuple[str, str], statements: Iterable[RowStatement]) -> None:
    """Run statements of :func:`insert` and the like, unless they have no rows."""
    for sql, columns, rows in statements:
        if rows:
            if sql is DROP_PURGED:
                connection.execute(_PURGING)
            connection.execute(sql, (*arrays(columns, rows), *names))
            if columns is NUMBERED_SIGNALS and on_citus(connection):
                connection.execute(_KEEP_VECTORS, ([row[0] for row in rows],))


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


def _statements(writes: PendingWrites) -> Iterable[RowStatement]:
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
    yield DROP_PURGED, PURGED, [(item,) for item in writes.purged]
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
        filled = db.execute(_FILL, (*arrays(_FILLED, rows), *scope_values(namespace)))
        if on_citus(db) and (numbers := [n for (n,) in filled.fetchall()]):
            db.execute(_KEEP_VECTORS, (numbers,))
        db.execute(b"COMMIT")
