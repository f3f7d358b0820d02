"""Checkpoints in memory: the reference implementation of the contract."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import ClassVar

from memwarden.errors import InvalidInput
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import (
    PAGE,
    ChannelValue,
    CheckpointKey,
    CheckpointOutline,
    CheckpointRead,
    Checkpoints,
    CheckpointSearch,
    PendingWrite,
    SavedCheckpoint,
    find_unneeded,
    matches_metadata,
    metadata_text,
)
from memwarden.stores.shared.decide import check_text
from memwarden.stores.shared.items import (
    ItemChange,
    ItemHit,
    ItemPlace,
    ItemSearch,
    PutItem,
    StoredItem,
    answer_search,
    is_under,
)


@dataclass(slots=True)
class _CheckpointShelf:
    """The checkpoints of a namespace. values: by thread, subgraph, channel and version."""

    saved: dict[CheckpointKey, SavedCheckpoint] = field(default_factory=dict)
    values: dict[tuple[str, str, str, str], ChannelValue] = field(default_factory=dict)
    writes: dict[CheckpointKey, dict[tuple[str, int], PendingWrite]] = field(default_factory=dict)

    def read_checkpoint(self, key: CheckpointKey) -> CheckpointRead:
        saved = self.saved[key]
        places = [(key.thread, key.ns, *link) for link in saved.links]
        values = tuple(self.values[place] for place in places if place in self.values)
        writes = sorted(self.writes.get(key, {}).values(), key=lambda item: (item.path, item.task, item.number))
        return CheckpointRead(saved, values, tuple(writes))


class MemoryCheckpoints:
    """See :class:`memwarden.stores.shared.checkpoints.Checkpoints`.

    Args:
        check_open: raises when the store is not open.
    """

    durable: ClassVar[bool] = False

    def __init__(self, check_open: Callable[[], None]) -> None:
        self._check_open = check_open
        self._shelves: dict[Namespace, _CheckpointShelf] = {}

    async def put(self, namespace: Namespace, saved: SavedCheckpoint, values: Sequence[ChannelValue]) -> None:
        copy = _plain(saved)
        shelf = self._shelf(namespace)
        shelf.saved[saved.key] = copy
        for value in values:
            shelf.values[saved.key.thread, saved.key.ns, value.channel, value.version] = replace(value, shown=None)

    async def put_writes(self, namespace: Namespace, key: CheckpointKey, writes: Sequence[PendingWrite]) -> None:
        check_text(*key, *(text for write in writes for text in (write.task, write.path, write.channel)))
        there = self._shelf(namespace).writes.setdefault(key, {})
        for write in writes:
            if write.number < 0 or (write.task, write.number) not in there:
                there[write.task, write.number] = write

    async def get(
        self, namespace: Namespace, thread: str, ns: str = "", id: str | None = None
    ) -> CheckpointRead | None:
        found = await self.find(namespace, CheckpointSearch(thread, ns, id), limit=1)
        return found[0] if found else None

    async def find(self, namespace: Namespace, search: CheckpointSearch, limit: int = PAGE) -> list[CheckpointRead]:
        shelf = self._shelf(namespace)
        keys = sorted((key for key in shelf.saved if _is_meant(shelf.saved[key], search)), key=_order, reverse=True)
        return [shelf.read_checkpoint(key) for key in keys[:limit]]

    async def outlines(self, namespace: Namespace, thread: str) -> list[CheckpointOutline]:
        saved = self._shelf(namespace).saved
        return [
            CheckpointOutline(
                key, item.parent, item.metadata, frozenset({*item.small, *(channel for channel, _ in item.links)})
            )
            for key, item in sorted(saved.items())
            if key.thread == thread
        ]

    def tally(self, namespace: Namespace) -> tuple[int, int, int, int]:
        """Return a namespace's checkpoints, values, pending writes and threads."""
        shelf = self._shelf(namespace)
        writes = sum(len(item) for item in shelf.writes.values())
        return len(shelf.saved), len(shelf.values), writes, len({key.thread for key in shelf.saved})

    def discard(self, namespace: Namespace) -> None:
        """Remove a namespace's checkpoints."""
        self._shelves.pop(namespace, None)

    async def remove(self, namespace: Namespace, keys: Sequence[CheckpointKey]) -> None:
        shelf = self._shelf(namespace)
        for key in keys:
            shelf.saved.pop(key, None)
            shelf.writes.pop(key, None)
        for thread in {key.thread for key in keys}:
            there = [place[1:] for place in shelf.values if place[0] == thread]
            needed = [
                (key.ns, *link) for key, item in shelf.saved.items() if key.thread == thread for link in item.links
            ]
            for place in find_unneeded(there, needed):
                del shelf.values[thread, *place]

    async def delete_threads(self, namespace: Namespace, threads: Sequence[str]) -> None:
        shelf, gone = self._shelf(namespace), set(threads)
        shelf.saved = {key: item for key, item in shelf.saved.items() if key.thread not in gone}
        shelf.writes = {key: item for key, item in shelf.writes.items() if key.thread not in gone}
        shelf.values = {place: item for place, item in shelf.values.items() if place[0] not in gone}

    async def delete_runs(self, namespace: Namespace, runs: Sequence[str]) -> None:
        shelf, gone = self._shelf(namespace), set(runs)
        await self.remove(namespace, [key for key, item in shelf.saved.items() if item.run in gone])

    async def copy_thread(self, namespace: Namespace, source: str, target: str) -> None:
        shelf = self._shelf(namespace)
        for key, item in list(shelf.saved.items()):
            if key.thread == source:
                copied = key._replace(thread=target)
                shelf.saved[copied] = replace(item, key=copied)
        for key, writes in list(shelf.writes.items()):
            if key.thread == source:
                shelf.writes.setdefault(key._replace(thread=target), {}).update(writes)
        for (thread, *place), value in list(shelf.values.items()):
            if thread == source:
                ns, channel, version = place
                shelf.values[target, ns, channel, version] = value

    def _shelf(self, namespace: Namespace) -> _CheckpointShelf:
        self._check_open()
        return self._shelves.setdefault(namespace, _CheckpointShelf())


def _order(key: CheckpointKey) -> tuple[str, str, str]:
    return key.id, key.thread, key.ns


def _is_meant(saved: SavedCheckpoint, search: CheckpointSearch) -> bool:
    key = saved.key
    return (
        search.thread in (None, key.thread)
        and search.ns in (None, key.ns)
        and search.id in (None, key.id)
        and (search.before is None or key.id < search.before)
        and (search.after is None or _order(key) < _order(search.after))
        and matches_metadata(saved.metadata, search.metadata)
    )


def _plain(saved: SavedCheckpoint) -> SavedCheckpoint:
    """Return an isolated copy as every engine would return it. Raises InvalidInput."""
    text = metadata_text(saved)
    check_text(text, *saved.key, saved.parent, saved.run, *chain.from_iterable(saved.links))
    return replace(saved, metadata=json.loads(text), shown="{}")


def require_checkpoints(store: Store) -> Checkpoints:
    """Return a store's checkpoints. Raises InvalidInput unless it keeps them as durably as memories."""
    if store.promises.durable and isinstance(store.checkpoints, MemoryCheckpoints):
        raise InvalidInput(f"a {type(store).__name__} keeps no states of agents; use memory://, SQLite or PostgreSQL")
    return store.checkpoints


_MINUTE = 60_000_000


class _ItemShelf(dict[ItemPlace, PutItem]):
    """The items of a namespace."""

    def alive(self, path: str | None, at: int | None) -> list[StoredItem]:
        return [item.item for item in self.values() if is_under(item.item.path, path) and _is_alive(item.item, at)]


class _MemoryItemsView:
    def __init__(self, shelf: _ItemShelf) -> None:
        self._shelf = shelf

    def newest(self, search: ItemSearch, most: int | None) -> Iterable[ItemPlace]:
        items = sorted(self._shelf.alive(search.path, search.alive_at), key=lambda item: (-item.updated_at, *item[:2]))
        page = items if most is None else items[search.offset : search.offset + most]
        return [(item.path, item.key) for item in page]

    def page(self, search: ItemSearch, most: int) -> Sequence[StoredItem]:
        return [self._shelf[place].item for place in self.newest(search, most)]

    def read(self, identities: Sequence[ItemPlace]) -> Mapping[ItemPlace, StoredItem]:
        return {identity: self._shelf[identity].item for identity in identities}

    def vectors(self, search: ItemSearch) -> Iterator[Sequence[tuple[ItemPlace, bytes]]]:
        places = ((item.path, item.key) for item in self._shelf.alive(search.path, search.alive_at))
        yield [(place, vector) for place in places for _, vector in self._shelf[place].vectors]


class MemoryItems:
    """Items in memory, lost when the process ends.

    Args:
        ready: raises StoreUnavailable when the store is not open.
    """

    durable: ClassVar[bool] = False

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        self._shelves: dict[Namespace, _ItemShelf] = {}

    async def get(
        self, namespace: Namespace, places: Sequence[ItemPlace], *, alive_at: int | None = None
    ) -> dict[ItemPlace, StoredItem]:
        shelf = self._shelf(namespace)
        return {
            place: shelf[place].item for place in places if place in shelf and _is_alive(shelf[place].item, alive_at)
        }

    async def vectors(
        self, namespace: Namespace, places: Sequence[ItemPlace]
    ) -> dict[ItemPlace, tuple[tuple[str, bytes], ...]]:
        shelf = self._shelf(namespace)
        held = {place: tuple(sorted(shelf[place].vectors)) for place in places if place in shelf}
        return {place: vectors for place, vectors in held.items() if vectors}

    async def search(self, namespace: Namespace, search: ItemSearch) -> list[ItemHit]:
        return answer_search(_MemoryItemsView(self._shelf(namespace)), search)

    async def paths(self, namespace: Namespace, under: str | None, *, alive_at: int | None = None) -> list[str]:
        return list({item.path for item in self._shelf(namespace).alive(under, alive_at)})

    async def keys(self, namespace: Namespace, path: str, begins: str = "") -> list[str]:
        return sorted(key for at, key in self._shelf(namespace) if at == path and key.startswith(begins))

    async def write(self, namespace: Namespace, changes: Sequence[ItemChange]) -> int:
        shelf = self._shelf(namespace)
        removed = 0
        for change in changes:
            if isinstance(change, PutItem):
                place = (change.item.path, change.item.key)
                before = shelf.get(place)
                created_at = change.item.created_at if before is None else before.item.created_at
                shelf[place] = change._replace(item=change.item._replace(created_at=created_at))
            elif shelf.pop((change.path, change.key), None) is not None:
                removed += 1
        self._shelves[namespace] = shelf
        return removed

    async def refresh(
        self, namespace: Namespace, places: Sequence[ItemPlace], at: int, *, alive_at: int | None = None
    ) -> None:
        shelf = self._shelf(namespace)
        for place in places:
            kept = shelf.get(place)
            if kept is not None and kept.item.ttl is not None and _is_alive(kept.item, alive_at):
                shelf[place] = kept._replace(item=kept.item._replace(expires_at=at + round(kept.item.ttl * _MINUTE)))

    async def sweep(self, namespace: Namespace, at: int) -> int:
        shelf = self._shelf(namespace)
        ended = [
            place for place, item in shelf.items() if item.item.expires_at is not None and item.item.expires_at < at
        ]
        for place in ended:
            del shelf[place]
        return len(ended)

    def tally(self, namespace: Namespace) -> tuple[int, int]:
        """Return a namespace's items and their vectors."""
        shelf = self._shelf(namespace)
        return len(shelf), sum(len(item.vectors) for item in shelf.values())

    def discard(self, namespace: Namespace) -> None:
        """Remove a namespace's items."""
        self._shelves.pop(namespace, None)

    def _shelf(self, namespace: Namespace) -> _ItemShelf:
        self._ready()
        return self._shelves.get(namespace) or _ItemShelf()


def _is_alive(item: StoredItem, at: int | None) -> bool:
    return at is None or item.expires_at is None or item.expires_at > at
