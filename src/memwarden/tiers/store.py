"""The common part of the three stores: a view of a namespace, its items and its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memwarden import clock
from memwarden.errors import InvalidInput, NotFound
from memwarden.records import HistoryEntry, Memory, Namespace, Scope
from memwarden.remember.ingest.messages import checked_name, checked_text
from memwarden.runtime import Runtime
from memwarden.tiers.backend import AsyncBackend, ContextItem, as_item, as_memory, parse_namespace, stored_item
from memwarden.tiers.usage import ItemUses

# The tag of a quarantined item, which no query returns.
QUARANTINED_TAG = "quarantined"


@dataclass(frozen=True, slots=True)
class TierScope(Scope):
    """The scope of a namespace without a user: a task's, a project's, or the global namespace."""

    user: str = ""
    path: str = "global"

    @property
    def namespace(self) -> Namespace:
        """The namespace that it reads and writes."""
        return parse_namespace(self.path, self.tenant)


class AsyncTierStore:
    """The items of a tier."""

    def __init__(self, parts: Runtime, place: TierScope, uses: ItemUses) -> None:
        self._parts = parts
        self._scope = parts.verbs(place)
        self._uses = uses
        self.namespace = place.namespace

    async def query(
        self, filters: Mapping[str, Any], limit: int = 100, order_by: str = "timestamp"
    ) -> list[ContextItem]:
        """Return items that match every filter, newest or largest first."""
        found = await self._backend.query(filters, limit, order_by)
        self._uses.record_use(self.namespace, [item.context_item_id for item in found], clock.now())
        return found

    async def get(self, item_id: str) -> ContextItem | None:
        """Return an item, or None."""
        found = await self._backend.get(item_id)
        if found is not None:
            self._uses.record_use(self.namespace, [item_id], clock.now())
        return found

    async def list_all(self) -> list[ContextItem]:
        """Return every item, the first added first."""
        return await self._backend.list_all()

    async def count(self) -> int:
        """Return the number of items."""
        return await self._backend.count()

    async def history(
        self, item_id: str | None = None, *, since: int = 0, limit: int = 100, descending: bool = False
    ) -> list[HistoryEntry]:
        """Return the journal of an item or of the tier. See :meth:`memwarden.api.scope.AsyncScope.history`."""
        return await self._scope.journal.history(item_id, since=since, limit=limit, descending=descending)

    @property
    def _backend(self) -> AsyncBackend:
        working = self._parts.working
        return AsyncBackend(self._parts.store, working.items, working.indexes, self.namespace)

    async def _read_stored(self, item_id: str) -> Memory:
        """Return the stored memory of an item, for a decision about it. Raises NotFound."""
        found = await stored_item(self._parts.store, self.namespace, item_id)
        if found is None:
            raise NotFound(f"no item {item_id!r} in {self.namespace.path}")
        return found

    async def _add(self, item: ContextItem) -> ContextItem:
        """Store an item and return it as stored; with the tag ``quarantined`` when it was held back."""
        memory, look = await self._parts.working.items.upsert(as_memory(item, self.namespace))
        stored = as_item(memory)
        if not look.kinds:
            return stored
        return ContextItem(**{**_fields(stored), "tags": (*stored.tags, QUARANTINED_TAG)})

    def _text(self, value: Any, what: str) -> str:
        return checked_text(value, what, self._parts.settings.max_text_bytes)


def check_name(value: Any, what: str) -> str:
    """Return a short text. Raises InvalidInput, also for None."""
    found = checked_name(value, what)
    if found is None:
        raise InvalidInput(f"{what} is a text, not None")
    return found


def tags_filter(kind: str, tags: Sequence[str] | None) -> dict[str, Any]:
    """Return the filter for items of a kind with at least any of these tags; None or no tags: all."""
    return {"kind": kind, "tags": list(tags)} if tags else {"kind": kind}


def _fields(item: ContextItem) -> dict[str, Any]:
    return {field: getattr(item, field) for field in ContextItem.__dataclass_fields__}
