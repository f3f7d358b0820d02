"""The store that forgets when the process ends: the plain-Python meaning of the contract, and the one for tests."""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC
from itertools import islice
from operator import attrgetter
from typing import Any, ClassVar

from memwarden.clock import microseconds
from memwarden.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from memwarden.filters import WRITTEN, Where, matches, sort_field
from memwarden.records import (
    Applied,
    Batch,
    Change,
    Event,
    Head,
    IndexRow,
    Memory,
    Namespace,
    Promises,
    Put,
    Receipt,
    Remove,
    Scan,
    Signals,
    State,
    WriteMode,
)

_SourceKey = tuple[str | None, str]
_values = attrgetter(*(each.name for each in fields(Memory)))


@dataclass(frozen=True, slots=True)
class _Row:
    """One memory with what the store knows about it. ``history`` holds its earlier contents, oldest first."""

    n: int
    rev: int
    memory: Memory
    signals: Signals
    history: tuple[Memory, ...] = ()

    @property
    def live(self) -> bool:
        return self.memory.state == State.ACTIVE


@dataclass(slots=True)
class _Space:
    """One namespace. Rows lie in the order in which they were first written.

    threads: for each thread the numbers of the rows that are or were in it, ascending. ids: the rows' ids by number.
    """

    rev: int = 0
    rows: dict[str, _Row] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    threads: dict[str | None, list[int]] = field(default_factory=dict)
    source_keys: dict[_SourceKey, str] = field(default_factory=dict)
    journal: list[Change] = field(default_factory=list)
    receipts: dict[str, tuple[str | None, Receipt]] = field(default_factory=dict)

    def keep(self, row: _Row) -> None:
        """Take a row in, new or changed. New ones come in the order of their numbers."""
        identity, thread = row.memory.id, row.memory.thread_id
        if identity not in self.rows:
            self.ids.append(identity)
        self.rows[identity] = row
        numbers = self.threads.setdefault(thread, [])
        at = bisect_left(numbers, row.n)
        if at == len(numbers) or numbers[at] != row.n:
            numbers.insert(at, row.n)

    def matching(self, where: Where, *, newest_first: bool = False) -> Iterable[Memory]:
        """Go through the live memories that match, in the order of writing; other threads' rows are not looked at."""
        rows: Iterable[_Row]
        thread = next((one for one in where if one.field == "thread_id" and one.op in ("$eq", "$in")), None)
        if thread is None:
            rows = reversed(self.rows.values()) if newest_first else self.rows.values()
        else:
            named = set(thread.value) if thread.op == "$in" else {thread.value}
            numbers = [self.threads.get(one, []) for one in named]
            wanted = numbers[0] if len(numbers) == 1 else sorted({n for some in numbers for n in some})
            rows = (self.rows[self.ids[n - 1]] for n in (reversed(wanted) if newest_first else wanted))
        return (row.memory for row in rows if row.live and matches(where, row.memory))


class _Draft:
    """A batch being applied: it reads through to the namespace and touches it only in :meth:`keep`."""

    def __init__(self, space: _Space, batch: Batch) -> None:
        self._space = space
        self._batch = batch
        self._rows: dict[str, _Row] = {}
        self._count = len(space.rows)
        self._source_keys: dict[_SourceKey, str] = {}
        self._journal: list[Change] = []

    def put(self, put: Put) -> Applied:
        memory = put.memory
        row = self._row(memory.id)
        if put.mode == WriteMode.UPDATE:
            if row is None or not row.live:
                raise NotFound(f"there is no memory {memory.id!r} in {self._batch.namespace} to update")
            if put.expected_version not in (None, row.memory.version):
                raise Conflict(
                    f"memory {memory.id!r} has version {row.memory.version}, not {put.expected_version}; read it again"
                )
            return self._rewrite(row, memory, put.signals)
        if put.mode == WriteMode.UPSERT and row is not None:
            return self._rewrite(row, memory, put.signals)
        return self._create(put, memory, taken=row is not None)

    def remove(self, remove: Remove) -> Applied:
        row = self._row(remove.id)
        if row is None or not row.live:
            return Applied(remove.id, "missing")
        rev = self._log(Event.DELETE, row.memory, row.memory.version, None)
        self._rows[remove.id] = replace(row, rev=rev, memory=replace(row.memory, state=State.SOFT_DELETED))
        return Applied(remove.id, "deleted")

    def keep(self) -> int:
        """Make the draft the truth and return the new revision."""
        for row in self._rows.values():
            self._space.keep(row)
        self._space.source_keys.update(self._source_keys)
        self._space.journal.extend(self._journal)
        self._space.rev += len(self._journal)
        return self._space.rev

    def _create(self, put: Put, memory: Memory, taken: bool) -> Applied:
        if put.source_key is not None:
            key = (memory.thread_id, put.source_key)
            first = self._source_keys.get(key, self._space.source_keys.get(key))
            if first is not None:
                return Applied(first, "duplicate")
            if not taken:
                self._source_keys[key] = memory.id
        if taken:
            raise Conflict(f"the id {memory.id!r} is in use in {self._batch.namespace}")
        memory = replace(memory, version=1)
        rev = self._log(Event.ADD, memory, None, 1)
        self._count += 1
        self._rows[memory.id] = _Row(self._count, rev, memory, put.signals)
        return Applied(memory.id, "created")

    def _row(self, identity: str) -> _Row | None:
        return self._rows.get(identity) or self._space.rows.get(identity)

    def _rewrite(self, row: _Row, memory: Memory, signals: Signals) -> Applied:
        old = row.memory.version
        memory = replace(memory, version=old + 1)
        event = Event.UPDATE if row.live else Event.ADD
        rev = self._log(event, memory, old if row.live else None, old + 1)
        self._rows[memory.id] = _Row(row.n, rev, memory, signals, (*row.history, _active(row.memory)))
        return Applied(memory.id, "updated" if row.live else "created")

    def _log(self, event: str, memory: Memory, old: int | None, new: int | None) -> int:
        batch = self._batch
        seq = self._space.rev + len(self._journal) + 1
        entry = Change(seq, batch.namespace, event, memory.id, old, new, batch.actor, memory.thread_id, batch.at)
        self._journal.append(entry)
        return seq


class MemoryStore:
    """A store in this process's memory. It survives ``close`` and ``open`` of the same object, nothing else."""

    promises: ClassVar[Promises] = Promises(durable=False, shared=False, rows_enforced=False)

    def __init__(self) -> None:
        self._spaces: dict[Namespace, _Space] = {}
        self._model: str | None = None
        self._open = False

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def identity(self, model: str) -> str:
        self._ready()
        self._model = self._model or model
        return self._model

    async def apply(self, batch: Batch) -> Receipt:
        self._ready()
        space = self._spaces.get(batch.namespace) or _Space()
        batch = _checked(batch)
        if batch.key is not None and batch.key in space.receipts:
            fingerprint, first = space.receipts[batch.key]
            if fingerprint != batch.fingerprint:
                raise Conflict(f"the key {batch.key!r} was used for another call in {batch.namespace}")
            return replace(first, replayed=True)
        draft = _Draft(space, batch)
        applied = tuple(draft.put(one) if isinstance(one, Put) else draft.remove(one) for one in batch.changes)
        receipt = Receipt(draft.keep(), applied)
        if batch.key is not None:
            space.receipts[batch.key] = (batch.fingerprint, receipt)
        self._spaces[batch.namespace] = space
        return receipt

    async def head(self, namespace: Namespace) -> Head:
        return Head(self._space(namespace).rev, 0)

    async def get(self, namespace: Namespace, ids: Sequence[str]) -> list[Memory]:
        rows = self._space(namespace).rows
        return [rows[one].memory for one in ids if one in rows and rows[one].live]

    async def find(
        self,
        namespace: Namespace,
        where: Where = (),
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
    ) -> list[Memory]:
        by = sort_field(order_by)
        _not_negative(limit)
        matching = self._space(namespace).matching(where, newest_first=descending)
        if by == WRITTEN:
            return list(islice(matching, min(limit, sys.maxsize)))
        found = list(matching)
        having = [one for one in found if getattr(one, by) is not None]
        lacking = [one for one in found if getattr(one, by) is None]
        having.sort(key=lambda one: getattr(one, by), reverse=descending)  # stable, also when reversed
        return [*having, *lacking][:limit]

    async def count(self, namespace: Namespace, where: Where = ()) -> int:
        return sum(1 for _ in self._space(namespace).matching(where))

    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        space = self._space(namespace)
        return Scan([_index_row(row) for row in space.rows.values() if row.rev > since], Head(space.rev, 0))

    async def version(self, namespace: Namespace, memory_id: str, version: int) -> Memory | None:
        row = self._space(namespace).rows.get(memory_id)
        contents = (*row.history, _active(row.memory)) if row else ()
        return next((one for one in contents if one.version == version), None)

    async def journal(
        self, namespace: Namespace, *, since: int = 0, memory_id: str | None = None, limit: int = 1000
    ) -> list[Change]:
        _not_negative(limit)
        entries = self._space(namespace).journal
        wanted = [one for one in entries if one.seq > since and memory_id in (None, one.memory_id)]
        return wanted[:limit]

    async def namespaces(self) -> list[Namespace]:
        self._ready()
        return sorted(name for name, space in self._spaces.items() if space.rev)

    def _ready(self) -> None:
        if not self._open:
            raise StoreUnavailable("the store is not open; call open() first")

    def _space(self, namespace: Namespace) -> _Space:
        self._ready()
        return self._spaces.get(namespace) or _Space()


def _active(memory: Memory) -> Memory:
    return replace(memory, state=State.ACTIVE)


def _checked(batch: Batch) -> Batch:
    """Return a copy that nobody else can change, as every engine would give it back. Raises InvalidInput."""
    _text(batch.key, batch.fingerprint, batch.actor, batch.namespace.tenant, batch.namespace.path)
    _aware(batch.at)
    changes = tuple(
        replace(one, memory=_checked_memory(one, batch.namespace)) if isinstance(one, Put) else one
        for one in batch.changes
    )
    return replace(batch, changes=changes, at=batch.at.astimezone(UTC))


def _checked_memory(put: Put, namespace: Namespace) -> Memory:
    memory = put.memory
    _text(put.source_key)
    if memory.namespace != namespace:
        raise InvalidInput(f"memory {memory.id!r} is of {memory.namespace}, the batch of {namespace}")
    for one in (memory.created_at, memory.updated_at, memory.valid_from):
        _aware(one)
    _text(*_values(memory), *memory.tags, *memory.characters, *memory.sources)
    return replace(
        memory,
        created_at=memory.created_at.astimezone(UTC),
        updated_at=memory.updated_at.astimezone(UTC),
        valid_from=memory.valid_from and memory.valid_from.astimezone(UTC),
        payload=_payload(memory),
        state=State.ACTIVE,
    )


def _payload(memory: Memory) -> dict[str, Any] | None:
    if memory.payload is None:
        return None
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(memory.payload), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the payload of memory {memory.id!r} is not JSON: {error}") from None
    return copy


def _aware(moment: Any) -> None:
    if moment is not None and moment.tzinfo is None:
        raise InvalidInput(f"a time without a time zone: {moment}")


def _text(*values: object) -> None:
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(f"text that no file can hold (half of a character pair): {error}") from None


def _not_negative(limit: int) -> None:
    if limit < 0:
        raise InvalidInput(f"limit is a number from 0, not {limit}")


def _index_row(row: _Row) -> IndexRow:
    memory, signals = row.memory, row.signals
    return IndexRow(
        n=row.n,
        id=memory.id,
        live=row.live,
        terms=signals.terms,
        vector=signals.vector,
        flags=signals.flags,
        days=signals.days,
        pieces=signals.pieces,
        created_at=microseconds(memory.created_at),
        updated_at=microseconds(memory.updated_at),
        channel=memory.channel,
        kind=memory.kind,
        category=memory.category,
        importance=memory.importance,
        pinned=memory.pinned,
        tags=memory.tags,
        characters=memory.characters,
        source=memory.source,
        sources=memory.sources,
        role=memory.role,
        name=memory.name,
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        run_id=memory.run_id,
        actor_id=memory.actor_id,
        thread_id=memory.thread_id,
        valid_from=None if memory.valid_from is None else microseconds(memory.valid_from),
    )
