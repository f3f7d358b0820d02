"""The store in memory: the reference implementation of the contract, also used by tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from memwarden.errors import Conflict, InvalidInput, NotFound, Stale, StoreUnavailable
from memwarden.filters import WRITTEN, Where, sort_field
from memwarden.observability.records import DAY_SECONDS, EVERYTHING, EventFilter, OpCount, OpEvent, in_utc
from memwarden.records import (
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    Edge,
    Event,
    Fill,
    Head,
    IndexRow,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    Namespace,
    Promises,
    Put,
    Receipt,
    Relation,
    Remove,
    Restore,
    Scan,
    Signals,
    ThreadMarks,
    Unlink,
    WriteMode,
)
from memwarden.stores.memory.checkpoints import MemoryCheckpoints, MemoryItems
from memwarden.stores.memory.space import EdgeKey, NamespaceTables, as_active
from memwarden.stores.shared.decide import (
    build_rewrite_meta,
    can_be_purged,
    can_be_removed,
    check_all,
    check_kinds,
    check_mark,
    check_text,
    describe_creation,
    index_row,
    join_source_key,
)
from memwarden.stores.shared.event_list import EventList, check_events
from memwarden.stores.transfer.erasure import ErasedPart, Holdings
from memwarden.stores.transfer.pages import (
    PAGE,
    About,
    EarlierContent,
    IdempotentAnswer,
    KeptEdge,
    Mark,
    MemoryRow,
    Page,
    Tally,
    check_follows,
)

_values = attrgetter(*(each.name for each in fields(Memory)))


class _MemoryDraft:
    """A batch under decision: it reads through to the namespace and leaves it unchanged."""

    def __init__(self, space: NamespaceTables, batch: Batch) -> None:
        self._space = space
        self._batch = batch
        self._rows: dict[str, MemoryRow] = {}
        self._versions: dict[tuple[str, int], Memory] = {}
        self._count = space.count
        self._source_keys: dict[str, str] = {}
        self._edges: dict[EdgeKey, KeptEdge] = {}
        self._steps: dict[int, int] = {}
        self._journal: list[JournalEntry] = []

    def apply(self, change: BatchChange) -> ChangeResult:
        if isinstance(change, Put):
            return self.put(change)
        if isinstance(change, Remove):
            return self.remove(change)
        if isinstance(change, Restore):
            return self.restore(change)
        if isinstance(change, Link):
            return self.link(change)
        return self.unlink(change)

    def put(self, put: Put) -> ChangeResult:
        memory = put.memory
        row = self._row(memory.id)
        if put.mode == WriteMode.UPDATE:
            if row is None or not row.live:
                raise NotFound(f"there is no memory {memory.id!r} in {self._batch.namespace} to update")
            if put.expected_version not in (None, row.memory.version):
                raise Stale(
                    f"memory {memory.id!r} has version {row.memory.version}, not {put.expected_version}; read it again"
                )
            return self._rewrite(put, row, memory)
        if put.mode == WriteMode.UPSERT and row is not None:
            return self._rewrite(put, row, memory)
        if put.mode == WriteMode.PURGE:
            return self._purge(put, row)
        return self._create(put, memory, taken=row is not None)

    def _purge(self, put: Put, row: MemoryRow | None) -> ChangeResult:
        if row is None or not can_be_purged(row.memory.state):
            return ChangeResult(put.memory.id, "missing", put.step)
        self._check_unchanged(row)
        rev = self._log(put, Event.PURGE, row.memory, None, None)
        husk = replace(put.memory, version=row.memory.version, state=MemoryState.PURGED)
        self._rows[husk.id] = replace(row, rev=rev, memory=husk, signals=put.signals or Signals())
        return ChangeResult(husk.id, "deleted", put.step)

    def remove(self, remove: Remove) -> ChangeResult:
        row = self._row(remove.id)
        if row is None:
            return ChangeResult(remove.id, "missing", remove.step)
        self._check_unchanged(row)
        if not can_be_removed(row.memory.state, remove.state):
            return ChangeResult(remove.id, "missing", remove.step)
        rev = self._log(remove, remove.event, row.memory, row.memory.version if row.live else None, None)
        gone = replace(row.memory, state=remove.state, purge_at=remove.purge_at)
        self._rows[remove.id] = replace(row, rev=rev, memory=gone)
        return ChangeResult(remove.id, "deleted", remove.step)

    def restore(self, restore: Restore) -> ChangeResult:
        row = self._row(restore.id)
        if row is None or row.live or row.memory.state == MemoryState.PURGED:
            return ChangeResult(restore.id, "missing", restore.step)
        self._check_unchanged(row)
        rev = self._log(restore, restore.event, row.memory, None, row.memory.version)
        self._rows[restore.id] = replace(row, rev=rev, memory=as_active(row.memory))
        return ChangeResult(restore.id, "restored", restore.step)

    def link(self, link: Link) -> ChangeResult:
        ends = [self._row(link.from_id), self._row(link.to_id)]
        start = ends[0]
        if start is None or link.from_id == link.to_id or not all(row is not None and row.live for row in ends):
            return ChangeResult(link.from_id, "missing", link.step)
        key = (link.from_id, link.to_id, str(link.type))
        edge = self._edge(key)
        there = edge is not None and edge.live
        if edge is not None and there and edge.relation.strength == link.strength:
            return ChangeResult(link.from_id, "duplicate", link.step)
        was = {"was": edge.relation.strength} if edge is not None and there else {}
        meta = {"to": link.to_id, "type": str(link.type), "strength": link.strength, **(link.meta or {}), **was}
        rev = self._log(link, Event.LINK, start.memory, start.memory.version, start.memory.version, meta)
        created_at = edge.relation.created_at if edge is not None else self._batch.at
        self._edges[key] = KeptEdge(rev, True, Relation(*key, link.strength, created_at))
        return ChangeResult(link.from_id, "updated" if there else "created", link.step)

    def unlink(self, unlink: Unlink) -> ChangeResult:
        key = (unlink.from_id, unlink.to_id, str(unlink.type))
        start, edge = self._row(unlink.from_id), self._edge(key)
        if start is None or edge is None or not edge.live:
            return ChangeResult(unlink.from_id, "missing", unlink.step)
        version = start.memory.version if start.live else None
        strength = edge.relation.strength
        meta = {"to": unlink.to_id, "type": str(unlink.type), "was": strength, **(unlink.meta or {})}
        rev = self._log(unlink, Event.UNLINK, start.memory, version, version, meta)
        self._edges[key] = KeptEdge(rev, False, edge.relation)
        return ChangeResult(unlink.from_id, "deleted", unlink.step)

    def page(self, applied: tuple[ChangeResult, ...]) -> Page:
        """Return the batch's effect as the page that follows the namespace's revision."""
        space, batch, rev = self._space, self._batch, self._space.rev + len(self._journal)
        seen: dict[str, int] = {}
        for item in batch.seen:
            seen[item.thread_id] = max(item.rev, seen.get(item.thread_id, space.seen.get(item.thread_id, 0)))
        marks = [Mark(thread, mark, None) for thread, mark in seen.items()]
        if batch.extracted is not None:
            marks.append(Mark(batch.extracted.thread_id, None, batch.extracted.rev))
        answers = (
            ()
            if batch.key is None
            else (IdempotentAnswer(batch.key, batch.fingerprint, batch.at, Receipt(rev, applied)),)
        )
        return Page(
            batch.namespace,
            space.rev,
            rev,
            rev,
            self._count,
            tuple(self._journal),
            tuple(self._rows.values()),
            tuple(EarlierContent(self._rows[key[0]].n, memory) for key, memory in self._versions.items()),
            tuple(self._edges.values()),
            tuple(marks),
            answers,
        )

    def _create(self, put: Put, memory: Memory, taken: bool) -> ChangeResult:
        if put.source_key is not None:
            key = join_source_key(memory.thread_id, put.source_key)
            assert key is not None
            first = self._source_keys.get(key, self._space.source_keys.get(key))
            if first is not None:
                return ChangeResult(first, "duplicate", put.step)
            if not taken:
                self._source_keys[key] = memory.id
        if taken:
            raise Conflict(f"the id {memory.id!r} is in use in {self._batch.namespace}")
        purge_at = None if put.state == MemoryState.ACTIVE else put.purge_at
        memory = replace(memory, version=1, state=put.state, purge_at=purge_at)
        event, version = describe_creation(put)
        rev = self._log(put, event, memory, None, version)
        self._count += 1
        assert put.signals is not None  # checked before
        key = join_source_key(memory.thread_id, put.source_key)
        self._rows[memory.id] = MemoryRow(self._count, rev, key, memory, put.signals)
        return ChangeResult(memory.id, "created", put.step)

    def _row(self, identity: str) -> MemoryRow | None:
        return self._rows.get(identity) or self._space.rows.get(identity)

    def _edge(self, key: EdgeKey) -> KeptEdge | None:
        return self._edges.get(key) or self._space.edges.get(key)

    def _rewrite(self, put: Put, row: MemoryRow, memory: Memory) -> ChangeResult:
        self._check_unchanged(row)
        old = row.memory.version
        memory = replace(memory, version=old + 1)
        event = put.event if row.live else Event.ADD
        rev = self._log(put, event, memory, old if row.live else None, old + 1, build_rewrite_meta(put))
        signals = row.signals if put.signals is None else put.signals
        self._versions[memory.id, old] = as_active(row.memory)
        self._rows[memory.id] = replace(row, rev=rev, memory=memory, signals=signals)
        return ChangeResult(memory.id, "updated" if row.live else "created", put.step)

    def _check_unchanged(self, row: MemoryRow) -> None:
        decided_at = self._batch.decided_at
        if decided_at is not None and decided_at < row.rev <= self._space.rev:
            raise Stale(
                f"memory {row.memory.id!r} was changed at revision {row.rev}, after {decided_at}; read it again"
            )

    def _log(
        self,
        change: BatchChange,
        event: Event,
        memory: Memory,
        old: int | None,
        new: int | None,
        meta: Mapping[str, Any] | None = None,
    ) -> int:
        batch = self._batch
        seq = self._space.rev + len(self._journal) + 1
        self._journal.append(
            JournalEntry(
                seq,
                batch.namespace,
                Event(event).value,
                memory.id,
                old,
                new,
                batch.actor,
                memory.thread_id,
                batch.at,
                str(memory.channel),
                self._steps.setdefault(change.step, seq),
                change.meta if meta is None else meta,
            )
        )
        return seq


class MemoryStore:
    """A store in this process's memory. It survives ``close`` and ``open`` of the same object, nothing else."""

    promises: ClassVar[Promises] = Promises(durable=False, shared=False, rows_enforced=False)

    def __init__(self) -> None:
        self._spaces: dict[Namespace, NamespaceTables] = {}
        self._events = EventList()
        self._model: str | None = None
        self._open = False
        self._first_epoch = 0
        """Epoch of a new namespace: no cache may know it from somebody of the same name who was erased."""
        self.checkpoints = MemoryCheckpoints(self._ready)
        self.items = MemoryItems(self._ready)

    @property
    def place(self) -> str:
        return "memory://"

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def identity(self, model: str, instead_of: str | None = None) -> str:
        self._ready()
        if self._model is not None and self._model == instead_of:
            self._model = model
            for space in self._spaces.values():
                space.epoch += 1
        self._model = self._model or model
        return self._model

    async def apply(self, batch: Batch) -> Receipt:
        space = await self._space(batch.namespace)
        batch = _copy_batch(batch)
        if batch.key is not None and batch.key in space.receipts:
            first = space.receipts[batch.key]
            if first.fingerprint != batch.fingerprint:
                raise Conflict(f"the key {batch.key!r} was used for another call in {batch.namespace}")
            return replace(first.receipt, replayed=True)
        if batch.extracted is not None:
            check_mark(batch.extracted, space.extracted.get(batch.extracted.thread_id, 0))
        if batch.decided_on_all:
            later = space.journal[batch.decided_at or 0 :]
            check_all(batch, any(item.channel != Channel.TURN for item in later))
        draft = _MemoryDraft(space, batch)
        applied = tuple(draft.apply(change) for change in batch.changes)
        page = draft.page(applied)
        # Durable first, visible second: a failed write must leave no trace in the tables.
        await self._write(page)
        space.follow(page)
        self._spaces[batch.namespace] = space
        return Receipt(page.rev, applied)

    async def fill(self, namespace: Namespace, fills: Sequence[Fill]) -> None:
        space = await self._space(namespace)
        for fill in fills:
            row = space.rows.get(fill.id)
            if row is not None and row.memory.version == fill.version:
                space.rows[fill.id] = replace(row, signals=fill.signals)

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        space = await self._space(namespace)
        for memory_id in ids:
            if memory_id in space.rows:
                space.accessed[memory_id] = max(at.astimezone(UTC), space.accessed.get(memory_id, at))

    async def accesses(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, datetime]:
        accessed = (await self._space(namespace)).accessed
        return {memory_id: accessed[memory_id] for memory_id in ids if memory_id in accessed}

    async def index_rows(self, namespace: Namespace, ids: Sequence[str]) -> list[IndexRow]:
        space = await self._space(namespace)
        found = (space.rows.get(memory_id) for memory_id in dict.fromkeys(ids))
        active = [row for row in found if row is not None and row.memory.state == MemoryState.ACTIVE]
        return [index_row(row.n, row.memory, row.signals, live=True) for row in active]

    async def head(self, namespace: Namespace) -> Head:
        space = await self._space(namespace)
        return Head(space.rev, space.epoch)

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        rows = (await self._space(namespace)).rows
        wanted = set(MemoryState) - {MemoryState.PURGED} if removed else {MemoryState.ACTIVE}
        return [rows[item].memory for item in ids if item in rows and rows[item].memory.state in wanted]

    async def find(
        self,
        namespace: Namespace,
        where: Where = (),
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
        state: MemoryState = MemoryState.ACTIVE,
    ) -> list[Memory]:
        by = sort_field(order_by)
        _not_negative(limit)
        matching = (await self._space(namespace)).matching(where, state, newest_first=descending)
        if by == WRITTEN:
            return list(islice(matching, min(limit, sys.maxsize)))
        found = list(matching)
        having = [item for item in found if getattr(item, by) is not None]
        lacking = [item for item in found if getattr(item, by) is None]
        having.sort(key=lambda item: getattr(item, by), reverse=descending)  # stable, also when reversed
        return [*having, *lacking][:limit]

    async def count(self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE) -> int:
        return sum(1 for _ in (await self._space(namespace)).matching(where, state))

    async def find_ids(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> list[str]:
        return [memory.id for memory in (await self._space(namespace)).matching(where, state)]

    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        space = await self._space(namespace)
        later = [(row, row.memory.state == MemoryState.ACTIVE) for row in space.rows.values() if row.rev > since]
        rows = [
            index_row(row.n, row.memory, row.signals, live=live, forgotten=space.is_forgotten(row))
            for row, live in later
        ]
        edges = [Edge(*key, item.relation.strength, item.live) for key, item in space.edges.items() if item.rev > since]
        return Scan(rows, Head(space.rev, space.epoch), edges)

    async def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
        space = await self._space(namespace)
        found = (space.content(*item) for item in wanted)
        return [item for item in found if item is not None]

    async def journal(
        self,
        namespace: Namespace,
        *,
        since: int = 0,
        memory_id: str | None = None,
        thread_id: str | None = None,
        step: int | None = None,
        turns: bool = True,
        descending: bool = False,
        limit: int = 1000,
    ) -> list[JournalEntry]:
        _not_negative(limit)
        entries = (await self._space(namespace)).journal
        wanted = [
            entry
            for entry in (reversed(entries) if descending else entries)
            if entry.seq > since
            and memory_id in (None, entry.memory_id)
            and thread_id in (None, entry.thread_id)
            and step in (None, entry.step)
            and (turns or entry.channel != Channel.TURN)
        ]
        return wanted[:limit]

    async def revision_at(self, namespace: Namespace, moment: datetime) -> int:
        return max((item.seq for item in (await self._space(namespace)).journal if item.at <= moment), default=0)

    async def relations(self, namespace: Namespace, ids: Sequence[str]) -> list[Relation]:
        edges = (await self._space(namespace)).edges
        asked = set(ids)
        return [edges[key].relation for key in sorted(edges) if edges[key].live and asked & {key[0], key[1]}]

    async def thread(self, namespace: Namespace, thread_id: str, *, turns: int = 20) -> ThreadMarks:
        space = await self._space(namespace)
        entries = [item for item in space.journal if item.thread_id == thread_id]
        said = [entry.seq for entry in entries if entry.channel == Channel.TURN and entry.event == Event.ADD]
        began = entries[0].seq if entries else None
        recent = said[-turns] if len(said) >= turns else 0
        return ThreadMarks(space.seen.get(thread_id), began, recent, space.extracted.get(thread_id, 0))

    async def record(self, events: Sequence[OpEvent]) -> None:
        self._events.record(self._checked_events(events))

    async def events(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, limit: int = 100, descending: bool = True
    ) -> list[OpEvent]:
        self._ready()
        return self._events.events(namespace, where, limit, descending)

    async def event_counts(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, seconds: int = DAY_SECONDS
    ) -> list[OpCount]:
        self._ready()
        return self._events.counts(namespace, where, seconds)

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        self._ready()
        return self._events.prune(namespace, before, most)

    async def namespaces(self) -> list[Namespace]:
        self._ready()
        return sorted(name for name, space in self._spaces.items() if space.rev)

    async def about(self) -> About:
        self._ready()
        return About("memory", 0, self._model, None)

    async def tally(self, namespace: Namespace) -> Tally:
        return (await self._space(namespace)).tally()

    async def dump_page(self, namespace: Namespace, since: int = 0, *, limit: int = PAGE) -> Page:
        return (await self._space(namespace)).page(namespace, since, limit)

    async def load_page(self, page: Page) -> None:
        space = await self._space(page.namespace)
        for memory in (*(memory.memory for memory in page.memories), *(item.memory for item in page.earlier)):
            if memory.namespace != page.namespace:
                raise InvalidInput(f"memory {memory.id!r} is of {memory.namespace}, not of {page.namespace}")
        check_follows(page, space.rev)
        await self._write(page)
        space.take_in(page)
        self._spaces[page.namespace] = space

    async def holdings(self, namespace: Namespace) -> Holdings:
        tally = (await self._space(namespace)).tally()
        events = len(await self.events(namespace, limit=sys.maxsize))
        return Holdings(*tally, events, *self.items.tally(namespace), *self.checkpoints.tally(namespace))

    async def erase(self, namespace: Namespace) -> Holdings:
        held = await self.holdings(namespace)
        space = self._spaces.pop(namespace, None)
        self._first_epoch = 1 + max(self._first_epoch, space.epoch if space is not None else 0)
        self._events.discard(namespace)
        self.items.discard(namespace)
        self.checkpoints.discard(namespace)
        return held

    async def erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        space = await self._space(namespace)
        space.erase_part(part)
        self._events.erase_part(namespace, part)

    async def reclaim(self) -> list[str]:
        self._ready()
        return []

    def files(self) -> list[Path]:
        return []

    def _checked_events(self, events: Sequence[OpEvent]) -> list[OpEvent]:
        """Return the events in UTC. Raises InvalidInput."""
        self._ready()
        check_events(events)
        return [in_utc(event) for event in events]

    def _ready(self) -> None:
        if not self._open:
            raise StoreUnavailable("the store is not open; call open() first")

    async def _space(self, namespace: Namespace) -> NamespaceTables:
        self._ready()
        return self._spaces.get(namespace) or NamespaceTables(epoch=self._first_epoch)

    async def _write(self, page: Page) -> None:
        """Make a page durable before it is visible. A hook for JsonStore, since this store promises no durability."""


def _copy_batch(batch: Batch) -> Batch:
    """Return an isolated copy as every engine would return it. Raises InvalidInput."""
    check_text(batch.key, batch.fingerprint, batch.actor, batch.namespace.tenant, batch.namespace.path)
    _aware(batch.at)
    check_kinds(batch.changes)
    changes = tuple(_copy_change(change, batch.namespace) for change in batch.changes)
    return replace(batch, changes=changes, at=batch.at.astimezone(UTC))


def _copy_change(change: BatchChange, namespace: Namespace) -> BatchChange:
    meta = None if change.meta is None else _json(change.meta, "the meta of a change")
    if isinstance(change, Put):
        _aware(change.purge_at)
        purge_at = change.purge_at and change.purge_at.astimezone(UTC)
        memory = _copy_memory(change, namespace)
        return replace(change, memory=memory, meta=meta, purge_at=purge_at, state=MemoryState(change.state))
    if isinstance(change, Remove):
        _aware(change.purge_at)
        purge_at = change.purge_at and change.purge_at.astimezone(UTC)
        return replace(change, meta=meta, purge_at=purge_at, state=MemoryState(change.state))
    return replace(change, meta=meta)


def _copy_memory(put: Put, namespace: Namespace) -> Memory:
    memory = put.memory
    check_text(put.source_key)
    if memory.namespace != namespace:
        raise InvalidInput(f"memory {memory.id!r} is of {memory.namespace}, the batch of {namespace}")
    for item in (memory.created_at, memory.updated_at, memory.valid_from, memory.valid_to):
        _aware(item)
    check_text(*_values(memory), *memory.tags, *memory.characters, *memory.sources)
    return replace(
        memory,
        created_at=memory.created_at.astimezone(UTC),
        updated_at=memory.updated_at.astimezone(UTC),
        valid_from=memory.valid_from and memory.valid_from.astimezone(UTC),
        valid_to=memory.valid_to and memory.valid_to.astimezone(UTC),
        payload=None if memory.payload is None else _json(memory.payload, f"the payload of memory {memory.id!r}"),
        state=MemoryState.ACTIVE,
        purge_at=None,
    )


def _json(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not JSON: {error}") from None
    return copy


def _aware(moment: Any) -> None:
    if moment is not None and moment.tzinfo is None:
        raise InvalidInput(f"a time without a time zone: {moment}")


def _not_negative(limit: int) -> None:
    if limit < 0:
        raise InvalidInput(f"limit is a number from 0, not {limit}")
