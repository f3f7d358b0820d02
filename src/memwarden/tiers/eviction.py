"""Which items of a full project go (E3). Decisions only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memwarden.lifecycle import Ends, ends
from memwarden.records import Memory

MAX_ITEMS = 1000
"""A project with more items than this loses some."""
SHARE = 10
"""One of so many goes."""


def victims(
    items: Sequence[Memory], last_used: Mapping[str, datetime], max_items: int, new: Collection[str] = ()
) -> list[Memory]:
    """Return the tenth of all items that matters least, at least one, when there are too many; else nothing.

    The least important first, of equally important ones the one whose last use, or else its making, is longest ago.
    Pinned ones and those that no eviction ends (:mod:`memwarden.lifecycle`) stay, however many there are.

    new: ids of what room is made for: it goes only where nothing else may.
    """
    if len(items) <= max_items:
        return []
    mortal = [item for item in items if not item.pinned and ends(item.channel, item.namespace.path) == Ends.EVICTED]
    mortal.sort(key=lambda item: (item.importance, last_used.get(item.id) or item.created_at, item.id))
    older = [item for item in mortal if item.id not in new]
    return (older or mortal)[: max(1, len(items) // SHARE)]
