"""What a namespace holds beside its memories, as lines of JSON: items with their vectors, and checkpoints of agents.

The same content gives the same lines from every engine. A value that several checkpoints name stands with the first of
them. What a checkpoint shows to readers of its table is not read back from a store, and is not in its line.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterable, AsyncIterator, Container, Sequence
from typing import Any, Final, NamedTuple

from memwarden.errors import Conflict
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import (
    ChannelValue,
    CheckpointKey,
    CheckpointRead,
    CheckpointSearch,
    PendingWrite,
    SavedCheckpoint,
)
from memwarden.stores.shared.items import TRACES, ItemPlace, Items, PutItem, StoredItem

_ITEMS: Final = 100
# Checkpoints in memory at a time. Each may be of many megabytes.
_CHECKPOINTS: Final = 10


class CheckpointLine(NamedTuple):
    """A checkpoint with those of its values that no earlier line holds, and its writes."""

    saved: SavedCheckpoint
    values: tuple[ChannelValue, ...]
    writes: tuple[PendingWrite, ...]


def keeps_items(store: Store) -> Items | None:
    """Return the items of a store, or None where they would not last as long as its memories."""
    items: Items | None = getattr(store, "items", None)
    return items if items is not None and items.durable >= store.promises.durable else None


def keeps_checkpoints(store: Store) -> bool:
    """Return whether a store keeps checkpoints as long as its memories."""
    return store.checkpoints.durable >= store.promises.durable


async def read_beside(store: Store, namespace: Namespace) -> AsyncIterator[bytes]:
    """Yield a line for each item, by path and key, and for each checkpoint, by descending id."""
    items = keeps_items(store)
    if items is not None:
        async for put in _read_items(items, namespace):
            yield _encode(
                {"item": put.item._asdict() | _ttl(put.item), "vectors": [[n, _text(v)] for n, v in put.vectors]}
            )
    if keeps_checkpoints(store):
        async for line in _read_checkpoints(store, namespace):
            yield _encode(_describe(line))


async def digest_beside(store: Store, namespace: Namespace) -> str:
    """Return the SHA-256 of all lines of a namespace."""
    digest = hashlib.sha256()
    async for line in read_beside(store, namespace):
        digest.update(line)
    return digest.hexdigest()


async def check_beside(store: Store, namespace: Namespace, known: Container[bytes]) -> None:
    """Raise Conflict when a store holds a line that is not among those known by :func:`digest_line`."""
    async for line in read_beside(store, namespace):
        if digest_line(line) not in known:
            raise Conflict(f"the store holds other items or checkpoints of {namespace}; erase them, or choose another")


async def write_beside(store: Store, namespace: Namespace, lines: AsyncIterable[bytes]) -> None:
    """Write lines into a store. A checkpoint is there once all of it is, so an interrupted call may be made again."""
    puts: list[PutItem] = []
    items = keeps_items(store)
    async for line in lines:
        held = parse_line(line)
        if isinstance(held, PutItem):
            puts.append(held)
        elif keeps_checkpoints(store):
            await store.checkpoints.put_writes(namespace, held.saved.key, held.writes)
            await store.checkpoints.put(namespace, held.saved, held.values)
        if items is not None and len(puts) == _ITEMS:
            await items.write(namespace, puts)
            puts = []
    if items is not None and puts:
        await items.write(namespace, puts)


def parse_line(line: bytes) -> PutItem | CheckpointLine:
    """Return what a line says. Raises ValueError, KeyError or TypeError for what is none."""
    said = json.loads(line)
    if "item" in said:
        return PutItem(
            StoredItem(**said["item"]), tuple((str(name), b64decode(data)) for name, data in said["vectors"])
        )
    own = dict(said["checkpoint"])
    key = CheckpointKey(own.pop("thread"), own.pop("ns"), own.pop("id"))
    links = tuple((channel, version) for channel, version in own.pop("links"))
    saved = SavedCheckpoint(key, data=b64decode(own.pop("data")), links=links, small=tuple(own.pop("small")), **own)
    values = tuple(ChannelValue(**item | {"data": b64decode(item["data"])}) for item in said["values"])
    writes = tuple(PendingWrite(**item | {"data": b64decode(item["data"])}) for item in said["writes"])
    return CheckpointLine(saved, values, writes)


def digest_line(line: bytes) -> bytes:
    """Return a fingerprint of a line."""
    return hashlib.blake2b(line.rstrip(b"\n"), digest_size=16).digest()


async def _read_items(items: Items, namespace: Namespace) -> AsyncIterator[PutItem]:
    # What models were shown is a log of this store, written while somebody reads. It stays.
    for path in sorted(set(await items.paths(namespace, None)) - {TRACES}):
        keys = await items.keys(namespace, path)
        for start in range(0, len(keys), _ITEMS):
            places: Sequence[ItemPlace] = [(path, key) for key in keys[start : start + _ITEMS]]
            found, vectors = await items.get(namespace, places), await items.vectors(namespace, places)
            for place in places:
                if place in found:
                    yield PutItem(found[place], vectors.get(place, ()))


async def _read_checkpoints(store: Store, namespace: Namespace) -> AsyncIterator[CheckpointLine]:
    seen: set[tuple[str, ...]] = set()
    search = CheckpointSearch()
    while found := await store.checkpoints.find(namespace, search, limit=_CHECKPOINTS):
        for read in found:
            key = read.saved.key
            places = {(key.thread, key.ns, item.channel, item.version): item for item in read.values}
            values = tuple(item for place, item in sorted(places.items()) if place not in seen)
            seen.update(places)
            yield CheckpointLine(read.saved, values, read.writes)
        search = CheckpointSearch(after=found[-1].saved.key)


def _describe(line: CheckpointLine | CheckpointRead) -> dict[str, Any]:
    saved = line.saved
    own = {
        **saved.key._asdict(), "parent": saved.parent, "agent": saved.agent, "kind": saved.kind,
        "data": _text(saved.data),
        "links": saved.links, "small": saved.small, "metadata": dict(saved.metadata),
        "run": saved.run,
    }  # fmt: skip
    values = [
        {"channel": item.channel, "version": item.version, "kind": item.kind, "data": _text(item.data)}
        for item in line.values
    ]
    writes = [
        {"task": item.task, "path": item.path, "number": item.number, "channel": item.channel, "kind": item.kind,
         "data": _text(item.data)}
        for item in line.writes
    ]  # fmt: skip
    return {"checkpoint": own, "values": values, "writes": writes}


def _ttl(item: StoredItem) -> dict[str, float | None]:
    """Return the lifetime as every engine gives it: callers may give a whole number."""
    return {"ttl": None if item.ttl is None else float(item.ttl)}


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _encode(said: dict[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False, sort_keys=True).encode() + b"\n"
