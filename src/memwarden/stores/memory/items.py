"""Items in memory: the reference implementation of :class:`memwarden.stores.shared.items.Items`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from memwarden.records import Namespace
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

    async def search(self, namespace: Namespace, search: ItemSearch) -> list[ItemHit]:
        return answer_search(_MemoryItemsView(self._shelf(namespace)), search)

    async def paths(self, namespace: Namespace, under: str | None, *, alive_at: int | None = None) -> list[str]:
        return list({item.path for item in self._shelf(namespace).alive(under, alive_at)})

    async def keys(self, namespace: Namespace, path: str, begins: str = "") -> list[str]:
        return sorted(key for at, key in self._shelf(namespace) if at == path and key.startswith(begins))

    async def write(self, namespace: Namespace, changes: Sequence[ItemChange]) -> None:
        shelf = self._shelf(namespace)
        for change in changes:
            if isinstance(change, PutItem):
                place = (change.item.path, change.item.key)
                before = shelf.get(place)
                created_at = change.item.created_at if before is None else before.item.created_at
                shelf[place] = change._replace(item=change.item._replace(created_at=created_at))
            else:
                shelf.pop((change.path, change.key), None)
        self._shelves[namespace] = shelf

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

    def discard(self, namespace: Namespace) -> None:
        """Remove a canary's items."""
        self._shelves.pop(namespace, None)

    def _shelf(self, namespace: Namespace) -> _ItemShelf:
        self._ready()
        return self._shelves.get(namespace) or _ItemShelf()


def _is_alive(item: StoredItem, at: int | None) -> bool:
    return at is None or item.expires_at is None or item.expires_at > at
