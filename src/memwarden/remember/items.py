"""How items of design E are written: put under ids of their own, taken out, and evicted from a full project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memwarden.ids import new_id
from memwarden.lifecycle import KEPT_AFTER_FORGETTING
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.records import Batch, BatchChange, Event, Memory, MemoryState, Namespace, Put, Remove, Restore, WriteMode
from memwarden.remember.ingest.intake import Screening, redact_secrets, screen
from memwarden.stores.protocol import Store


async def put(
    store: Store,
    embedder: Embedder | None,
    memory: Memory,
    at: datetime,
    *,
    actor: str | None = None,
    meta: Mapping[str, Any] | None = None,
    keep: int | None = None,
) -> tuple[Memory, Screening]:
    """Store an item without secrets, in place of one that has its id; return it as stored, and the look at it.

    What comes from outside and looks like orders is stored apart, under an id of ours, so that it can take no place.
    keep: so many of its earlier contents (:class:`Put`).
    """
    memory, _ = redact_secrets(memory)
    (signals,) = await make_signals_in_thread([(memory.text, memory.created_at)], embedder)
    look = screen(memory.trust, memory.text, memory.summary, memory.context)
    changes: tuple[BatchChange, ...] = (Put(memory, signals, WriteMode.UPSERT, meta=meta, keep_versions=keep),)
    if look.state == MemoryState.QUARANTINED:
        apart, kinds = replace(memory, id=new_id()), {"kinds": list(look.kinds)}
        changes = (Remove(memory.id), Put(apart, signals, state=look.state, meta=kinds))
    await store.apply(Batch(memory.namespace, changes, at, actor=actor))
    return memory, look


async def swap(
    store: Store,
    memory: Memory,
    at: datetime,
    rev: int,
    *,
    keep: int,
    key: str | None = None,
    fingerprint: str | None = None,
) -> bool:
    """Store what is never searched by meaning under its own id, without secrets; False if ``key`` was used before.

    keep: so many of its earlier contents (:class:`Put`).
    Raises Stale when what has its id was written after revision ``rev``, Conflict for a key with another fingerprint.
    """
    memory, _ = redact_secrets(memory)
    (signals,) = await make_signals_in_thread([(memory.text, memory.created_at)], None)
    changes = (Put(memory, signals, WriteMode.UPSERT, keep_versions=keep),)
    actor = memory.actor_id or memory.agent_id
    batch = Batch(memory.namespace, changes, at, key=key, fingerprint=fingerprint, actor=actor, decided_at=rev)
    return not (await store.apply(batch)).replayed


async def remove(
    store: Store,
    namespace: Namespace,
    ids: Sequence[str],
    at: datetime,
    *,
    decided_at: int | None = None,
    actor: str | None = None,
) -> int:
    """Take items out, in one batch. Returns how many were there.

    Raises Stale when one of them was changed after revision ``decided_at``.
    """
    if not ids:
        return 0
    changes = tuple(Remove(item) for item in ids)
    receipt = await store.apply(Batch(namespace, changes, at, actor=actor, decided_at=decided_at))
    return sum(1 for item in receipt.applied if item.outcome == "deleted")


async def clear(store: Store, namespace: Namespace, found: Sequence[Memory], at: datetime) -> None:
    """Take memories out for good, in one batch; found: in any state. The next purge may remove all of them."""
    changes = tuple(change for item in found for change in for_good(item, at))
    if changes:
        await store.apply(Batch(namespace, changes, at))


def for_good(memory: Memory, at: datetime) -> tuple[BatchChange, ...]:
    """Return the changes after which a memory may be purged, and nothing when it may be by now.

    What was soft-deleted before is taken out once more: a removal says when to purge, and only what is there goes.
    """
    if memory.state != MemoryState.SOFT_DELETED:
        return (Remove(memory.id, purge_at=at),)
    if memory.purge_at is not None and memory.purge_at <= at:
        return ()
    return Restore(memory.id), Remove(memory.id, purge_at=at)


async def evict(store: Store, victims: Sequence[Memory], rev: int, limit: int, at: datetime) -> None:
    """Take memories out of a full namespace: one decision, which can be undone while they are kept.

    Raises Stale when one of them was changed after revision ``rev``: it may matter more now, or be pinned.
    """
    if not victims:
        return
    purge_at, told = at + KEPT_AFTER_FORGETTING, {"limit": limit}
    changes = tuple(Remove(victim.id, event=Event.EVICT, purge_at=purge_at, meta=told) for victim in victims)
    await store.apply(Batch(victims[0].namespace, changes, at, decided_at=rev))
