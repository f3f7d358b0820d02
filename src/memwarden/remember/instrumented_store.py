"""What a batch did, as operational events tell it (B14)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from memwarden.observability.instrument import EventDraft, Sink, call_in
from memwarden.observability.records import Op, Status
from memwarden.records import (
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    Event,
    Link,
    MemoryState,
    Put,
    Receipt,
    Remove,
    Restore,
    Unlink,
)

_UNDOES = "undoes"
_PUT_OPS = {Event.MERGE: Op.MERGE, Event.RESTORE: Op.RESTORE}
_REMOVE_OPS = {Event.TTL: Op.TTL, Event.CONFIRM: Op.MERGE}


class InstrumentedStore:
    """A store that tells of every batch that it applied."""

    def __init__(self, store: Any, sink: Sink) -> None:
        self._store = store
        self._sink = sink

    async def apply(self, batch: Batch) -> Receipt:
        """As the store's."""
        receipt: Receipt = await self._store.apply(batch)
        call = call_in(batch.namespace, self._sink)
        for deed in events_of(batch, receipt):
            call.tell(deed, batch.namespace, receipt.rev)
        return receipt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def events_of(batch: Batch, receipt: Receipt) -> Iterator[EventDraft]:
    """What a batch did, a deed for each change that was made; turns are counted together. Nothing for a repeat."""
    if receipt.replayed:
        return
    turns: Counter[str] = Counter()
    for change, applied in zip(batch.changes, receipt.applied, strict=True):
        if applied.outcome in ("duplicate", "missing"):
            continue
        if isinstance(change, Put) and change.memory.channel == Channel.TURN and applied.outcome == "created":
            turns[_reason_for_state(change)] += 1
        elif (deed := _event_of_change(change, applied)) is not None:
            yield deed
    category = next((change.memory.category for change in batch.changes if isinstance(change, Put)), None)
    for reason, count in turns.items():
        yield EventDraft(Op.CREATE, Status.OK, reason or "turns", category=category, many=count)


def _event_of_change(change: BatchChange, applied: ChangeResult) -> EventDraft | None:
    reason = "undo" if _UNDOES in (change.meta or {}) else ""
    sim = (change.meta or {}).get("cosine")
    if isinstance(change, Put):
        category = change.memory.category
        if applied.outcome == "created":
            return EventDraft(Op.CREATE, Status.OK, reason or _reason_for_state(change), applied.id, category, sim)
        reason = reason or ("superseded" if change.event == Event.SUPERSEDE else "")
        return EventDraft(_PUT_OPS.get(change.event, Op.UPDATE), Status.OK, reason, applied.id, category, sim)
    if isinstance(change, Remove):
        if change.event == Event.MERGE:
            return None  # the memory that stands for both was told of
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
    """Why a new memory is apart; empty for an active one."""
    return "" if put.state == MemoryState.ACTIVE else str(put.state)
