"""Writes items under ids of their own, and copies them from a namespace to a wider namespace."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from memwarden import clock
from memwarden.clock import new_id
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, NotFound, Stale
from memwarden.lifecycle import KEPT_AFTER_FORGETTING
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread, read_long
from memwarden.recall.time.past import read_entries_after
from memwarden.records import (
    Batch,
    BatchChange,
    Channel,
    Event,
    Memory,
    MemoryState,
    Namespace,
    Put,
    Remove,
    Restore,
    Signals,
    WriteMode,
)
from memwarden.remember.ingest.redaction import redact_secrets
from memwarden.remember.ingest.screening import Screening, screen
from memwarden.remember.write_store import GuardedStore, hash_arguments


class ItemWriter:
    """Writes the items of tasks, projects, sessions and states. Holds no state of its own."""

    def __init__(
        self,
        store: GuardedStore,
        embedder: Embedder | None,
        now: Callable[[], datetime] = lambda: clock.now(),
        *,
        hold: bool = False,
        strict: bool = False,
    ) -> None:
        self._store = store
        self._hold = hold
        self.strict = strict
        self._embedder = embedder
        self._now = now

    async def upsert(
        self,
        memory: Memory,
        *,
        actor: str | None = None,
        agent: str | None = None,
        meta: Mapping[str, Any] | None = None,
        keep: int | None = None,
        decided_at: int | None = None,
    ) -> tuple[Memory, Screening]:
        """Store an item without secrets, in place of an item with its id; return it as stored, and its screening.

        What comes from outside and looks like orders is quarantined under a new id, so that it takes no place.

        Args:
            agent: the agent that writes it; None for others.
            keep: how many of its earlier contents stay readable (:class:`memwarden.records.Put`); None keeps all.
            decided_at: raise Stale for an item that was written after this revision.
        """
        memory, _ = await read_long(len(memory.text), partial(redact_secrets, memory, strict=self.strict))
        signals = await self._signals(memory)
        texts = (memory.text, memory.summary, memory.context)
        # A value that is saved by key is loaded by the program that saved it; prompts leave it out when they are made.
        hold = self._hold and memory.channel != Channel.STATE
        screening = await read_long(len(memory.text), partial(screen, memory.trust, *texts, hold=hold))
        changes: tuple[BatchChange, ...] = (Put(memory, signals, WriteMode.UPSERT, meta=meta, keep_versions=keep),)
        if screening.state == MemoryState.QUARANTINED:
            quarantined, kinds = replace(memory, id=new_id()), {"kinds": list(screening.kinds)}
            changes = (Remove(memory.id), Put(quarantined, signals, state=screening.state, meta=kinds))
        batch = Batch(memory.namespace, changes, self._now(), actor=actor, agent=agent, decided_at=decided_at)
        await self._store.apply(batch)
        return memory, screening

    async def rewrite(
        self,
        namespace: Namespace,
        memories: Sequence[Memory],
        removed: Sequence[str],
        decided_at: int,
        *,
        keep: int,
        actor: str | None,
        agent: str | None,
    ) -> None:
        """Store items that are screened, and remove others by id, in one batch.

        Raises Stale when anything but turns was written to the namespace after revision ``decided_at``.
        """
        if not (memories or removed):
            return
        signals = await make_signals_in_thread([(item.text, item.said_at) for item in memories], self._embedder)
        puts = [
            Put(item, each, WriteMode.UPSERT, keep_versions=keep) for item, each in zip(memories, signals, strict=True)
        ]
        batch = Batch(
            namespace, (*puts, *map(Remove, removed)), self._now(), actor=actor, agent=agent,
            decided_at=decided_at, decided_on_all=True,
        )  # fmt: skip
        await self._store.apply(batch)

    async def swap(
        self, memory: Memory, rev: int, *, keep: int, key: str | None = None, asked: Sequence[Any] = ()
    ) -> bool:
        """Store an item that is never searched by meaning, unless somebody wrote it after revision ``rev``.

        Args:
            keep: how many of its earlier contents stay readable. key: idempotency key. asked: what the key stands for.

        Returns False, and writes nothing, when the key was used before. Raises Stale for an item written after ``rev``,
        Conflict for a key that was used with something else ``asked``.
        """
        memory, _ = await read_long(len(memory.text), partial(redact_secrets, memory, strict=self.strict))
        (signals,) = await make_signals_in_thread([(memory.text, memory.said_at)], None)
        changes = (Put(memory, signals, WriteMode.UPSERT, keep_versions=keep),)
        batch = Batch(
            memory.namespace,
            changes,
            self._now(),
            key=key,
            fingerprint=None if key is None else hash_arguments([memory.id, *asked]),
            actor=memory.actor_id or memory.agent_id,
            decided_at=rev,
        )
        return not (await self._store.apply(batch)).replayed

    async def remove(
        self,
        namespace: Namespace,
        ids: Sequence[str],
        *,
        decided_at: int | None = None,
        actor: str | None = None,
        agent: str | None = None,
    ) -> int:
        """Remove items from a namespace in a single batch; return how many were there.

        Raises Stale when any of them was changed after revision ``decided_at``.
        """
        if not ids:
            return 0
        changes = tuple(Remove(item_id) for item_id in ids)
        batch = Batch(namespace, changes, self._now(), actor=actor, agent=agent, decided_at=decided_at)
        receipt = await self._store.apply(batch)
        return sum(1 for applied in receipt.applied if applied.outcome == "deleted")

    async def clear(self, namespace: Namespace, found: Sequence[Memory]) -> None:
        """Remove a task's memories of any state for good, in a single batch.

        Their contents leave with it, earlier ones too; the next purge may delete what is left.
        """
        at = self._now()
        emptied = [memory for memory in found if memory.purge_at is None or memory.purge_at > at]
        if not emptied:
            return
        (signals,) = await make_signals_in_thread([(CLEARED, at)], None)
        changes = tuple(change for memory in emptied for change in clear_changes(memory, signals, at))
        await self._store.apply(Batch(namespace, changes, at))

    async def evict(self, victims: Sequence[Memory], rev: int, limit: int) -> None:
        """Remove what matters least from a full namespace, as a decision that can be undone while it is kept.

        Raises Stale when any of them was changed after revision ``rev``: it may matter more now, or be pinned.
        """
        if not victims:
            return
        at, meta = self._now(), {"limit": limit}
        purge_at = at + KEPT_AFTER_FORGETTING
        changes = tuple(Remove(victim.id, event=Event.EVICT, purge_at=purge_at, meta=meta) for victim in victims)
        await self._store.apply(Batch(victims[0].namespace, changes, at, decided_at=rev))

    async def promote(self, memory: Memory, target: Namespace) -> str:
        """Copy a memory, as it was read, to a wider namespace and note it in both journals; return the copy's id.

        A batch has a single namespace, so there are two, and the process may be killed between them. Called again,
        promotion goes on: a version of a memory is copied once, and the source notes once where it went.

        Raises NotFound when it was removed since it was read, or the copy was; Conflict when it, or an earlier copy,
        says something else by now; StoreError.
        """
        await self._check_unchanged(memory)
        at = self._now()
        origin = f"{memory.namespace.path}/{memory.id}"
        # No thread: a source key counts within a thread, and the copies from all threads share a key.
        copy = replace(
            memory,
            id=new_id(),
            namespace=target,
            updated_at=at,
            source=memory.source or origin,
            thread_id=None,
            payload=_payload_of_item(memory),
        )
        meta = {"from": memory.namespace.path, "id": memory.id, "version": memory.version}
        key = f"promoted:{origin}:{_digest_content(memory)}"
        put = Put(copy, await self._signals(copy), source_key=key, meta=meta)
        receipt = await self._store.apply(Batch(target, (put,), at))
        there = await self._store.get(target, [receipt.applied[0].id])
        if not there:
            raise NotFound(f"{origin} was promoted to {target.path} before, and removed there since")
        if there[0].text != memory.text:
            raise Conflict(
                f"{origin} was promoted to {target.path} before, as {there[0].id!r}, which says something else by now: "
                "it was left alone"
            )
        await self._note_promotion(memory, target, there[0].id, at)
        return there[0].id

    async def _check_unchanged(self, memory: Memory) -> None:
        # By content: the note in the journal makes a version too, and a call at the same time writes that note.
        found = await self._store.get(memory.namespace, [memory.id])
        if not found:
            raise NotFound(f"{memory.namespace.path}/{memory.id} was removed since it was read")
        if _digest_content(found[0]) != _digest_content(memory):
            raise Stale(
                f"{memory.namespace.path}/{memory.id} has version {found[0].version}, and says something else than "
                f"version {memory.version}, which was to be promoted; read it again"
            )

    async def _note_promotion(self, memory: Memory, target: Namespace, copy_id: str, at: datetime) -> None:
        """Write into the source's journal where it went, unless that is noted."""
        entries = await read_entries_after(self._store, memory.namespace, 0, memory_id=memory.id)
        if any(entry.event == Event.PROMOTE and (entry.meta or {}).get("id") == copy_id for entry in entries):
            return
        meta = {"to": target.path, "id": copy_id}

        async def note() -> None:
            # The note rewrites the memory, so it is read again: a change made since the copy has to stay.
            latest = next(iter(await self._store.get(memory.namespace, [memory.id])), memory)
            put = Put(latest, None, WriteMode.UPDATE, expected_version=latest.version, event=Event.PROMOTE, meta=meta)
            await self._store.apply(Batch(memory.namespace, (put,), at))

        await change_atomically(memory.namespace, note)

    async def _signals(self, memory: Memory) -> Signals:
        (signals,) = await make_signals_in_thread([(memory.text, memory.said_at)], self._embedder)
        return signals


CLEARED = "(cleared)"


def clear_changes(memory: Memory, signals: Signals, at: datetime) -> tuple[BatchChange, ...]:
    """The changes that take a memory's contents away for good and let it be purged.

    What is not active is restored first, as nothing else can be written again or removed.
    """
    empty = Memory(
        id=memory.id,
        namespace=memory.namespace,
        text=CLEARED,
        created_at=memory.created_at,
        updated_at=at,
        channel=memory.channel,
        category=memory.category,
        trust=memory.trust,
    )
    back = () if memory.state == MemoryState.ACTIVE else (Restore(memory.id),)
    return *back, Put(empty, signals, WriteMode.UPDATE, keep_versions=0), Remove(memory.id, purge_at=at)


def _payload_of_item(memory: Memory) -> Mapping[str, Any] | None:
    """Return the payload of a copy: an item has its words in there, a fact of a user has them beside it."""
    of_user = memory.namespace.path.startswith("user/")
    return {**(memory.payload or {}), "text": memory.text} if of_user else memory.payload


def _digest_content(memory: Memory) -> str:
    content = json.dumps([memory.text, dict(memory.payload or {}), list(memory.tags)], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()
