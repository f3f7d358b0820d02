"""Counts of calls that all processes of a store share."""

from __future__ import annotations

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

    async def add(self, namespace: Namespace, counter: str, seconds: int, calls: int) -> tuple[CallCount, float]:
        """Add calls to a counter in one statement. Return its count with them and the time of the store's clock.

        The store's clock decides about the period, because clocks of machines differ.

        Args:
            namespace: keeps the counter. An addition may remove expired counters there.
            counter: names caller and limit.
            seconds: length of a period, always the same for a counter.
            calls: calls to add.

        Raises StoreError.
        """


def find_counts(store: Store) -> SharedCounts | None:
    """Return the shared counts of a store. None for a store that shares none between processes."""
    counts: SharedCounts | None = getattr(store, "counts", None)
    return counts
