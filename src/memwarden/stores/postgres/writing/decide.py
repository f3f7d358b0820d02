"""Decides what several batches change in a namespace: from stored state to rows to write, without I/O.

Batches that wait for the same namespace share a transaction. Each is decided on top of those before it and kept or
dropped as a whole, so that a refused batch spares the others without a savepoint. Single changes are decided by
:mod:`memwarden.stores.shared.decide`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from memwarden.clock import microseconds
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import Batch, BatchChange, ChangeResult, Channel, MemoryState, Put, Receipt, Remove
from memwarden.stores.postgres.sql.rows import PostgresRow, Values, encode_put, encode_text
from memwarden.stores.shared.decide import (
    ChangePlan,
    EdgeKey,
    Steps,
    StoredEdge,
    StoredMemory,
    check_all,
    check_kinds,
    check_mark,
    cut_chunks,
    ids_of,
    join_source_key,
)
from memwarden.stores.shared.sql_values import meta_text

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
    ids, and before which version their contents are not kept. journal: whole rows. seen, extracted: marks of threads.
    receipts: key, and the time of the write beside its answer.
    """

    rev: int
    count: int
    rows: MutableMapping[int, MemoryTarget] = field(default_factory=dict)
    edges: MutableMapping[EdgeKey, EdgeTarget] = field(default_factory=dict)
    archived: list[int] = field(default_factory=list)
    versions: list[Values] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
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
