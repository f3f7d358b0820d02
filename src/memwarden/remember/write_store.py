"""The stores that the write path gets: they guard user contexts, and record what each batch did as events.

Only consent (:mod:`memwarden.remember.resolve.proposals`) writes without the guard.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from datetime import datetime
from typing import Any

from memwarden.categories import Categories, shipped_categories
from memwarden.errors import Denied, NotFound
from memwarden.filters import Where
from memwarden.observability.instrument import Sink, current_operation
from memwarden.observability.records import EventDraft, Op, Status
from memwarden.records import (
    UNDOES,
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    Event,
    Head,
    IndexRow,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    Namespace,
    Put,
    Receipt,
    Relation,
    Remove,
    Restore,
    ThreadMarks,
    Trust,
    Unlink,
    WriteMode,
)
from memwarden.remember.resolve.user_context import CONTEXT_ID
from memwarden.stores.protocol import BatchStore, StoreReader

# Stands in the meta of every change that an undo makes.
_PUT_OPS = {Event.MERGE: Op.MERGE, Event.RESTORE: Op.RESTORE}
_REMOVE_OPS = {Event.TTL: Op.TTL, Event.CONFIRM: Op.MERGE}


class _ReadThrough(StoreReader):
    """Passes reads to a store; each documented there."""

    def __init__(self, store: BatchStore) -> None:
        self._store = store

    def head(self, namespace: Namespace) -> Coroutine[Any, Any, Head]:
        return self._store.head(namespace)

    def get(
        self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False
    ) -> Coroutine[Any, Any, list[Memory]]:
        return self._store.get(namespace, ids, removed=removed)

    def find(
        self,
        namespace: Namespace,
        where: Where = (),
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
        state: MemoryState = MemoryState.ACTIVE,
    ) -> Coroutine[Any, Any, list[Memory]]:
        return self._store.find(namespace, where, limit=limit, order_by=order_by, descending=descending, state=state)

    def count(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> Coroutine[Any, Any, int]:
        return self._store.count(namespace, where, state=state)

    def find_ids(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> Coroutine[Any, Any, list[str]]:
        return self._store.find_ids(namespace, where, state=state)

    def index_rows(self, namespace: Namespace, ids: Sequence[str]) -> Coroutine[Any, Any, list[IndexRow]]:
        return self._store.index_rows(namespace, ids)

    def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> Coroutine[Any, Any, list[Memory]]:
        return self._store.versions(namespace, wanted)

    def journal(
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
    ) -> Coroutine[Any, Any, list[JournalEntry]]:
        return self._store.journal(
            namespace,
            since=since,
            memory_id=memory_id,
            thread_id=thread_id,
            step=step,
            turns=turns,
            descending=descending,
            limit=limit,
        )

    def revision_at(self, namespace: Namespace, moment: datetime) -> Coroutine[Any, Any, int]:
        return self._store.revision_at(namespace, moment)

    def relations(self, namespace: Namespace, ids: Sequence[str]) -> Coroutine[Any, Any, list[Relation]]:
        return self._store.relations(namespace, ids)

    def thread(self, namespace: Namespace, thread_id: str, *, turns: int = 20) -> Coroutine[Any, Any, ThreadMarks]:
        return self._store.thread(namespace, thread_id, turns=turns)


class InstrumentedStore(_ReadThrough, BatchStore):
    """A store that records what each applied batch did as operational events."""

    def __init__(self, store: BatchStore, sink: Sink) -> None:
        super().__init__(store)
        self._sink = sink

    async def apply(self, batch: Batch) -> Receipt:
        """Apply a batch as the store does, then record its events. A batch that fails records nothing."""
        receipt = await self._store.apply(batch)
        call = current_operation(batch.namespace, self._sink)
        for draft in events_of(batch, receipt):
            call.emit(draft, batch.namespace, receipt.rev)
        return receipt


class GuardedStore(_ReadThrough, BatchStore):
    """A store that checks who may write what: user contexts need consent, an agent its allowlist.

    categories: those that hold now; they are replaced when the settings change.
    """

    def __init__(self, store: BatchStore, categories: Categories | None = None) -> None:
        super().__init__(store)
        self.categories = categories or shipped_categories()

    async def apply(self, batch: Batch) -> Receipt:
        """Apply a batch as the store does.

        Raises Denied for a change of a user context or of a proposal for it, and for external words in a category that
        every prompt gets; CategoryDenied for what an agent may not write, NotFound for a change of what it may not
        read.
        """
        check_batch(batch)
        check_offered(batch, self.categories)
        await self._check_agent(batch)
        return await self._store.apply(batch)

    async def _check_agent(self, batch: Batch) -> None:
        if batch.agent is None:
            return
        categories = self.categories
        for change in batch.changes:
            if isinstance(change, Put):
                categories.check_writable(batch.agent, change.memory.category)
        ids = list(dict.fromkeys(memory_id for change in batch.changes for memory_id in _touched_ids(change)))
        readable = categories.readable(batch.agent, None)
        for memory in await self._store.get(batch.namespace, ids, removed=True) if ids else ():
            if readable is not None and memory.category not in readable:
                raise NotFound(f"no memory {memory.id!r} in {batch.namespace.path}")


def is_reserved(memory_id: str) -> bool:
    """Whether an id belongs to a user context or to a proposal for it, which nothing but consent changes."""
    return memory_id == CONTEXT_ID or memory_id.startswith(CONTEXT_ID + ".")


def check_batch(batch: Batch) -> None:
    """Raise Denied if a batch touches a user context, or a proposal for it, otherwise than by an undo."""
    for change in batch.changes:
        if isinstance(change, Put) and change.mode == WriteMode.PURGE:
            continue  # it changes nothing that anybody reads, and no store purges what is active
        for memory_id in _changed_ids(change):
            # An undo was checked by rules.check_context_undo: it may take an approval back, and nothing else.
            if is_reserved(memory_id) and UNDOES not in (change.meta or {}):
                raise Denied(
                    f"{memory_id!r} is the user context or a proposal for it: it changes by consent.propose and decide "
                    f"only, so that nothing of it changes without consent. No other memory has an id that begins with "
                    f"{CONTEXT_ID!r}"
                )


def check_offered(batch: Batch, categories: Categories) -> None:
    """Raise Denied for new external words in a category that is always offered: no page speaks in every prompt."""
    always = {category.name for category in categories.declared.values() if category.always}
    for change in batch.changes:
        if not isinstance(change, Put) or change.mode == WriteMode.UPDATE or change.state != MemoryState.ACTIVE:
            continue
        if change.memory.category in always and change.memory.trust == Trust.EXTERNAL:
            raise Denied(
                f"the category {change.memory.category!r} is in every prompt, so external words cannot be in it; "
                "choose another category, or declare them a person's words with trust='person'"
            )


def _touched_ids(change: BatchChange) -> tuple[str, ...]:
    if isinstance(change, Link | Unlink):
        return (change.from_id, change.to_id)
    return _changed_ids(change)


def _changed_ids(change: BatchChange) -> tuple[str, ...]:
    if isinstance(change, Link | Unlink):
        return ()  # an edge changes nothing of what it joins
    return (change.memory.id,) if isinstance(change, Put) else (change.id,)


def events_of(batch: Batch, receipt: Receipt) -> Iterator[EventDraft]:
    """Yield an event for each change that a batch made, turns counted together; none for a repeated batch."""
    if receipt.replayed:
        return
    turns: Counter[str] = Counter()
    for change, applied in zip(batch.changes, receipt.applied, strict=True):
        if applied.outcome in ("duplicate", "missing"):
            continue
        if isinstance(change, Put) and change.memory.channel == Channel.TURN and applied.outcome == "created":
            turns[_reason_for_state(change)] += 1
        elif (event := _event_of_change(change, applied)) is not None:
            yield event
    category = next((change.memory.category for change in batch.changes if isinstance(change, Put)), None)
    for reason, count in turns.items():
        yield EventDraft(Op.CREATE, Status.OK, reason or "turns", category=category, many=count)


def _event_of_change(change: BatchChange, applied: ChangeResult) -> EventDraft | None:
    reason = "undo" if UNDOES in (change.meta or {}) else ""
    sim = (change.meta or {}).get("cosine")
    if isinstance(change, Put) and change.mode == WriteMode.PURGE:
        return EventDraft(Op.DELETE, Status.OK, reason or "purged", applied.id, change.memory.category)
    if isinstance(change, Put):
        category = change.memory.category
        if applied.outcome == "created":
            return EventDraft(Op.CREATE, Status.OK, reason or _reason_for_state(change), applied.id, category, sim)
        reason = reason or ("superseded" if change.event == Event.SUPERSEDE else "")
        return EventDraft(_PUT_OPS.get(change.event, Op.UPDATE), Status.OK, reason, applied.id, category, sim)
    if isinstance(change, Remove):
        if change.event == Event.MERGE:
            return None  # the Put of the surviving memory has an event already
        reason = reason or ("evicted" if change.event == Event.EVICT else "")
        return EventDraft(_REMOVE_OPS.get(change.event, Op.DELETE), Status.OK, reason, applied.id)
    if isinstance(change, Restore):
        return EventDraft(
            Op.RESTORE, Status.OK, reason or ("confirmed" if change.event == Event.CONFIRM else ""), applied.id
        )
    if isinstance(change, Link):
        return EventDraft(Op.LINK, Status.OK, reason or str(change.type), change.from_id, sim=change.strength)
    assert isinstance(change, Unlink)
    return EventDraft(Op.LINK, Status.OK, reason or "unlinked", change.from_id)


def _reason_for_state(put: Put) -> str:
    """The state that keeps a new memory out of answers; empty for an active memory."""
    return "" if put.state == MemoryState.ACTIVE else str(put.state)


def hash_arguments(arguments: Sequence[Any]) -> str:
    """A short fingerprint of what an idempotency key stands for."""
    return hashlib.blake2b(json.dumps(arguments).encode(), digest_size=16).hexdigest()
