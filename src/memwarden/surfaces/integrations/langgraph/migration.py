"""Copies the contents of an in-memory checkpointer into a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver

from memwarden.stores.shared.checkpoints import CheckpointKey, PendingWrite
from memwarden.surfaces.integrations.langgraph.saver import MemwardenSaver


def copy_from_memory(source: InMemorySaver, target: MemwardenSaver) -> int:
    """Copy every thread of an InMemorySaver: checkpoints, values and pending writes, in order.

    Nothing is taken out of the source. What the target has under the same keys is replaced, so a copy that was broken
    off can be made again. No run may be under way on the source. Values are written anew by the target's serializer.

    Returns how many checkpoints were copied. Raises InvalidInput for a value that cannot be saved without pickle or is
    too large; what was copied before stays.
    """
    return target._bound.run(_copy(source, target))


async def acopy_from_memory(source: InMemorySaver, target: MemwardenSaver) -> int:
    """See :func:`copy_from_memory`."""
    return await target._bound.wait(_copy(source, target))


class _SaverContents(NamedTuple):
    key: CheckpointKey
    parent: str | None
    checkpoint: Checkpoint
    metadata: CheckpointMetadata


async def _copy(source: InMemorySaver, target: MemwardenSaver) -> int:
    checkpoints, namespace = target._checkpoints, target._bound.who.namespace
    copied = 0
    for held in _iterate_contents(source):
        versions = held.checkpoint["channel_versions"]
        saved, values = target._serializer.to_records(held.key, held.parent, held.checkpoint, held.metadata, versions)
        await checkpoints.put(namespace, saved, values)
        copied += 1
    for key, writes in _writes(source, target):
        await checkpoints.put_writes(namespace, key, writes)
    return copied


def _iterate_contents(source: InMemorySaver) -> Iterator[_SaverContents]:
    loads = source.serde.loads_typed
    for thread, subgraphs in source.storage.items():
        for ns, checkpoints in subgraphs.items():
            for identity, (checkpoint, metadata, parent) in checkpoints.items():
                found = loads(checkpoint)
                held: dict[str, Any] = {}
                for channel, version in found["channel_versions"].items():
                    value = source.blobs.get((thread, ns, channel, version))
                    if value is not None and value[0] != "empty":
                        held[channel] = loads(value)
                found["channel_values"] = held
                yield _SaverContents(CheckpointKey(str(thread), str(ns), str(identity)), parent, found, loads(metadata))


def _writes(source: InMemorySaver, target: MemwardenSaver) -> Iterator[tuple[CheckpointKey, list[PendingWrite]]]:
    loads = source.serde.loads_typed
    for (thread, ns, identity), writes in source.writes.items():
        made = []
        for (task, number), (_, channel, value, path) in writes.items():
            (item,) = target._serializer.writes([(channel, loads(value))], task, path)
            made.append(PendingWrite(item.task, item.path, number, item.channel, item.kind, item.data))
        yield CheckpointKey(str(thread), str(ns), str(identity)), made
