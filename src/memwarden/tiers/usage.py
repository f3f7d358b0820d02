"""What this process knows of items without asking the store: their last use, and their maximum number.

Reads never write, so no other process learns of a use.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import datetime

from memwarden.records import Head, Namespace

# Maximum items with a remembered last use; for others the creation time counts.
MAX_REMEMBERED = 100_000


class ItemUses:
    """The last uses of items; beyond the limit the oldest are dropped."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._at: OrderedDict[tuple[Namespace, str], datetime] = OrderedDict()
        self._counted: dict[Namespace, tuple[Head, int]] = {}

    def record_count(self, namespace: Namespace, head: Head, count: int) -> None:
        """Record the number of items at a revision."""
        self._counted[namespace] = head, count

    def at_most(self, namespace: Namespace, head: Head) -> int | None:
        """Return an upper bound of the items at a revision: each journal entry since the count adds at most an item."""
        known, count = self._counted.get(namespace, (head, None))
        return None if count is None or known.epoch != head.epoch else count + head.rev - known.rev

    def record_use(self, namespace: Namespace, ids: Iterable[str], at: datetime) -> None:
        """Record that items were returned to a caller."""
        for item in ids:
            # The most recently used stands last, so that the first is the oldest.
            self._at[namespace, item] = at
            self._at.move_to_end((namespace, item))
        while len(self._at) > self._most:
            self._at.popitem(last=False)

    def of(self, namespace: Namespace, ids: Iterable[str]) -> Mapping[str, datetime]:
        """Return when each of these was used last, if known."""
        known = ((item, self._at.get((namespace, item))) for item in ids)
        return {item: at for item, at in known if at is not None}
