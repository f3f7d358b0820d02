"""The old ``ContextStore``, a plain dict of items, over a namespace of memwarden.

For code that is to be moved: what was written for the old store runs, and what it adds is a memory like any other.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from copy import copy
from dataclasses import replace
from typing import Any

from memwarden.api.blocking import Backend
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.tiers.backend import ContextItem

_FIELDS = ("kind", "source", "timestamp", "tags", "importance", "token_cost", "payload")
_MAY_BE_NONE = ("source", "importance", "token_cost")


class StoredItems(MutableMapping[str, Any]):
    """Items by their id, the first added first. Every access reads or writes the store.

    An item that is put in may be of any class with the same fields. What comes out is a
    :class:`memwarden.tiers.backend.ContextItem`: ``tags`` is a list, and ``timestamp`` a time without an offset, as old
    code writes it. It is a copy: put a changed item in its place.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __getitem__(self, key: str) -> ContextItem:
        found = self._backend.get(key) if isinstance(key, str) and key else None
        if found is None:
            raise KeyError(key)
        return _old_form(found)

    def __setitem__(self, key: str, item: Any) -> None:
        self._backend.add(_item(key, item))

    def __delitem__(self, key: str) -> None:
        if not (isinstance(key, str) and key and self._backend.delete(key)):
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter([item.context_item_id for item in self._backend.list_all()])

    def __len__(self) -> int:
        return self._backend.count()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._snapshot()!r})"

    def items(self) -> ItemsView[str, ContextItem]:
        """All ids and items as they are now, read at once."""
        return self._snapshot().items()

    def values(self) -> ValuesView[ContextItem]:
        """All items as they are now, read at once."""
        return self._snapshot().values()

    def clear(self) -> None:
        """Take every item out, at once."""
        self._backend.clear()

    def _snapshot(self) -> dict[str, ContextItem]:
        return {item.context_item_id: _old_form(item) for item in self._backend.list_all()}


class ContextStore:
    """The old store: ``store.items`` is its dict.

    Args:
        items: to begin with. They are added to what the namespace holds already.
        backend: where they live, such as ``warden.backend("task/k1")``, so that the assembler finds them.
    """

    def __init__(self, items: Mapping[str, Any] | None = None, *, backend: Backend) -> None:
        self._items = StoredItems(backend)
        self._items.update(items or {})

    @property
    def items(self) -> MutableMapping[str, Any]:
        """The items by their id."""
        return self._items

    @items.setter
    def items(self, items: Mapping[str, Any]) -> None:
        """Put these in the place of all."""
        new = {key: _item(key, item) for key, item in items.items()}  # read first: they may come from here
        self._items.clear()
        self._items.update(new)


def _item(key: Any, item: Any) -> ContextItem:
    """Convert an item of any class with the fields of ContextItem. Raises InvalidInput."""
    if isinstance(item, ContextItem):
        return item if item.context_item_id == key else replace(item, context_item_id=key)
    if not hasattr(item, "kind") or not hasattr(item, "payload"):
        raise InvalidInput(f"an item has at least kind and payload, not {quote(item)}")
    told = {name: getattr(item, name) for name in _FIELDS if hasattr(item, name)}
    known = {name: value for name, value in told.items() if value is not None or name in _MAY_BE_NONE}
    if "payload" in known and not isinstance(known["payload"], Mapping):
        known["payload"] = {"text": known["payload"]}
    if isinstance(known.get("tags"), list | tuple | set | frozenset):
        known["tags"] = [" ".join(tag.split()) if isinstance(tag, str) else tag for tag in known["tags"]]
    return ContextItem(context_item_id=key, **known)


def _old_form(item: ContextItem) -> ContextItem:
    """Return an item with its time as old code writes it, to compare as text with ``datetime.isoformat()``."""
    shown = copy(item)
    object.__setattr__(shown, "timestamp", item.timestamp.removesuffix("+00:00"))
    return shown
