"""What this process knows of items without asking the store: when they were used last, and how many there can be.

Reads never write, so nobody else is told of a use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import datetime

from memwarden.records import Head, Namespace

MAX_REMEMBERED = 100_000
"""Of so many items a process remembers the last use; of others the time of making counts."""


class ItemUses:
    """The last uses of items, the oldest dropped first when there are too many."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._at: OrderedDict[tuple[Namespace, str], datetime] = OrderedDict()
        self._counted: dict[Namespace, tuple[Head, int]] = {}

    def record_count(self, namespace: Namespace, head: Head, count: int) -> None:
        """So many items there were at a revision."""
        self._counted[namespace] = head, count

    def at_most(self, namespace: Namespace, head: Head) -> int | None:
        """How many items there can be at a revision, since one that was counted: each entry adds one at most."""
        known, count = self._counted.get(namespace, (head, None))
        return None if count is None or known.epoch != head.epoch else count + head.rev - known.rev

    def record_use(self, namespace: Namespace, ids: Iterable[str], at: datetime) -> None:
        """Items were given to somebody."""
        for item in ids:
            self._at[namespace, item] = at
            self._at.move_to_end((namespace, item))
        while len(self._at) > self._most:
            self._at.popitem(last=False)

    def of(self, namespace: Namespace, ids: Iterable[str]) -> Mapping[str, datetime]:
        """Return when each of these was used last, if that is known."""
        known = ((item, self._at.get((namespace, item))) for item in ids)
        return {item: at for item, at in known if at is not None}
