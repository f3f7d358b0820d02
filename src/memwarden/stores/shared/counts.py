"""Counts of calls that all processes of a store share."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from memwarden.records import Namespace
from memwarden.stores.protocol import Store


class CallCount(NamedTuple):
    """Calls of one counter in every process.

    Attributes:
        period: number of the period since 1970.
        calls: calls in this period.
        earlier: calls in the period before.
    """

    period: int
    calls: int = 0
    earlier: int = 0


class SharedCounts(Protocol):
    """An engine's counts. A crash of the database may lose the last ones."""

    async def add(self, namespace: Namespace, counter: str, period: int, calls: int, expires_at: datetime) -> CallCount:
        """Add calls to a counter in one statement and return its count with them.

        Args:
            namespace: keeps the counter. An addition may remove expired counters there.
            counter: names caller, limit and length of the period.
            period: present period. An earlier one than the counter's counts in the counter's, because clocks differ.
            calls: calls to add.
            expires_at: moment from which the counter may be removed.

        Raises StoreError.
        """


def find_counts(store: Store) -> SharedCounts | None:
    """Return the shared counts of a store. None for a store that shares none between processes."""
    counts: SharedCounts | None = getattr(store, "counts", None)
    return counts
