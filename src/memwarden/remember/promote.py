"""From one namespace to a wider one: copied, confirmed, closed (E7, decisions 4.5).

A Batch is of one namespace, so there are two of them, and each may be the last one before a kill. Called again, it goes
on: the copy is made once for each version of a memory, and the source says once where it went.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from memwarden.concurrency.tasks import retry_on_stale
from memwarden.errors import Conflict, NotFound
from memwarden.ids import new_id
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.recall.time.past import read_entries_after
from memwarden.records import Batch, Event, Memory, Namespace, Put, WriteMode
from memwarden.stores.protocol import Store


async def promote(
    store: Store, embedder: Embedder | None, memory: Memory, target: Namespace, now: Callable[[], datetime]
) -> str:
    """Copy a memory, as it was read, to a wider namespace and say so in both journals; return the id of the copy.

    Raises NotFound when it was removed since it was read, or the copy was; Conflict when it, or an earlier copy, says
    something else by now; StoreError.
    """
    await _check_unchanged(store, memory)
    at = now()
    origin = f"{memory.namespace.path}/{memory.id}"
    copy = replace(memory, id=new_id(), namespace=target, updated_at=at, source=memory.source or origin)
    signals = await make_signals_in_thread([(copy.text, copy.created_at)], embedder)
    told = {"from": memory.namespace.path, "id": memory.id, "version": memory.version}
    put = Put(copy, signals[0], source_key=f"promoted:{origin}:{_digest_content(memory)}", meta=told)
    # One thread for the copies of all: a source key counts within a thread.
    receipt = await store.apply(Batch(target, (replace(put, memory=replace(copy, thread_id=None)),), at))
    there = await store.get(target, [receipt.applied[0].id])
    if not there:
        raise NotFound(f"{origin} was promoted to {target.path} before, and removed there since")
    if there[0].text != memory.text:
        raise Conflict(
            f"{origin} was promoted to {target.path} before, as {there[0].id!r}, which says something else by now: "
            "it was left alone"
        )
    await _note_promotion(store, memory, target, there[0].id, at)
    return there[0].id


async def _check_unchanged(store: Store, memory: Memory) -> None:
    """By content, not by version: a note in the journal makes a version too, and a call at the same time writes one."""
    found = await store.get(memory.namespace, [memory.id])
    if not found:
        raise NotFound(f"{memory.namespace.path}/{memory.id} was removed since it was read")
    if _digest_content(found[0]) != _digest_content(memory):
        raise Conflict(
            f"{memory.namespace.path}/{memory.id} has version {found[0].version}, and says something else than version "
            f"{memory.version}, which was to be promoted; read it again"
        )


def _digest_content(memory: Memory) -> str:
    """A short text for what a memory says: the note in its journal makes a version too, which says nothing new."""
    said = json.dumps([memory.text, dict(memory.payload or {}), list(memory.tags)], sort_keys=True)
    return hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


async def _note_promotion(store: Store, memory: Memory, target: Namespace, copy_id: str, at: datetime) -> None:
    """Say in the source's journal where it went, unless that was said."""
    entries = await read_entries_after(store, memory.namespace, 0, memory_id=memory.id)
    if any(entry.event == Event.PROMOTE and (entry.meta or {}).get("id") == copy_id for entry in entries):
        return
    told = {"to": target.path, "id": copy_id}

    async def note(_: bool) -> None:
        # The note rewrites the memory, so it is read again: what somebody changed since the copy shall stay changed.
        latest = next(iter(await store.get(memory.namespace, [memory.id])), memory)
        put = Put(latest, None, WriteMode.UPDATE, expected_version=latest.version, event=Event.PROMOTE, meta=told)
        await store.apply(Batch(memory.namespace, (put,), at))

    await retry_on_stale(note, on=Conflict)
