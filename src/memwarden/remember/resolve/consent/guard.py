"""The door that every write but those of consent goes through: it lets nothing pass that touches a user context."""

from __future__ import annotations

from typing import Any

from memwarden.errors import Denied
from memwarden.records import Batch, BatchChange, Link, Put, Unlink
from memwarden.remember.resolve.consent.user_context import CONTEXT_ID, is_reserved
from memwarden.stores.protocol import Store


class GuardedStore:
    """A store whose user contexts cannot be changed, but for the undo of a decision."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def apply(self, batch: Any) -> Any:
        """As the store's. Raises Denied for a change of a user context or of a proposal for one."""
        check_batch(batch)
        return await self._store.apply(batch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def check_batch(batch: Batch) -> None:
    """Raise Denied if a batch touches a user context, or a proposal for one, otherwise than by an undo."""
    for change in batch.changes:
        for item in _changed_ids(change):
            if is_reserved(item) and "undoes" not in (change.meta or {}):
                raise Denied(
                    f"{item!r} is the user context or a proposal for it: it changes by propose_context and decide "
                    f"only, so that nothing of it changes without consent. No other memory has an id that begins with "
                    f"{CONTEXT_ID!r}"
                )


def _changed_ids(change: BatchChange) -> tuple[str, ...]:
    if isinstance(change, Link | Unlink):
        return ()  # an edge changes nothing of what it joins
    return (change.memory.id,) if isinstance(change, Put) else (change.id,)
