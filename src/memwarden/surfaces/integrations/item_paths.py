"""Paths under which adapters keep items, and the order of items at a path."""

from __future__ import annotations

from memwarden import clock
from memwarden.records import Namespace
from memwarden.stores.shared.items import Items, ItemSearch

# Limit of a search for all items.
ALL_ITEMS = 2**31


def make_label(name: str) -> str:
    """Return a name as one label of a path, where dots separate labels. Different names have different labels."""
    return name.replace("%", "%25").replace(".", "%2E")


def read_label(label: str) -> str:
    """Return the name that :func:`make_label` made a label of."""
    return label.replace("%2E", ".").replace("%25", "%")


async def next_moment(items: Items, namespace: Namespace, path: str) -> int:
    """Return the time of an item that is to be the newest under a path, microseconds since 1970.

    It is after every other item there, because clocks of several hosts differ.
    """
    at = clock.microseconds(clock.now())
    newest = await items.search(namespace, ItemSearch(path, 1))
    return max([at, *(hit.item.updated_at + 1 for hit in newest)])
