"""The lasting memory of a project, of limited size and hidden from other projects."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from memwarden import arguments
from memwarden.concurrency.tasks import retry_on_stale
from memwarden.errors import InvalidInput, Stale
from memwarden.lifecycle import Ends, ends
from memwarden.records import Memory, Namespace, WriteResult
from memwarden.runtime import Runtime
from memwarden.tiers import confirm, items
from memwarden.tiers.backend import ITEMS, ContextItem, as_item
from memwarden.tiers.items import read_failure
from memwarden.tiers.store import AsyncTierStore, TierScope, check_name, tags_filter
from memwarden.tiers.usage import ItemUses

# A project with more items than this loses some.
DEFAULT_MAX_ITEMS = 1000
# An eviction takes the tenth part.
EVICTED_PART = 10


class AsyncProjectMemoryStore(AsyncTierStore):
    """A project's memory. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.project`."""

    def __init__(
        self,
        parts: Runtime,
        place: TierScope,
        uses: ItemUses,
        project_id: str,
        max_items: int = DEFAULT_MAX_ITEMS,
        confirmation_callback: confirm.Confirm | None = None,
    ) -> None:
        super().__init__(parts, place, uses)
        self.project_id = project_id
        self.max_items = max_items
        self._callback = confirmation_callback

    async def add_decision(self, decision: str, tags: Sequence[str] = ()) -> ContextItem:
        """Keep a design decision; importance 0.9. Raises InvalidInput, StoreError, as do the others that add."""
        return await self._keep(items.decision(self.project_id, self._text(decision, "decision"), tags))

    async def add_convention(self, convention: str, scope: str) -> ContextItem:
        """Keep a convention and where it applies (``scope``, such as ``python``); importance 0.8."""
        text = self._text(convention, "convention")
        return await self._keep(items.convention(self.project_id, text, check_name(scope, "scope")))

    async def add_failure(self, failure: Any, lesson: str) -> ContextItem:
        """Keep a failure and its lesson; importance 0.85.

        failure: a :class:`memwarden.tiers.FailureSignature`, or anything with ``code`` and ``dict()``.
        """
        code, whole = read_failure(failure)
        text = self._text(lesson, "lesson")
        return await self._keep(items.failure(self.project_id, check_name(code, "failure.code"), whole, text))

    async def add_preference(self, preference: str, category: str) -> ContextItem:
        """Keep a preference for this project; importance 0.9. Only global preferences need consent."""
        text = self._text(preference, "preference")
        return await self._keep(items.preference(self.project_id, text, check_name(category, "category")))

    async def add_pattern(self, pattern: str, domain: str) -> ContextItem:
        """Keep a pattern that works in this project; importance 0.7."""
        return await self._keep(
            items.pattern(self.project_id, self._text(pattern, "pattern"), check_name(domain, "domain"))
        )

    async def query_decisions(self, tags: Sequence[str] | None = None) -> list[ContextItem]:
        """Return decisions with at least any of these tags, or all, the newest first, at most 100."""
        return await self.query(tags_filter("decision", tags))

    async def section(self, section: str, limit: int = 100) -> list[ContextItem]:
        """Return the items of a section of the project's memory, the newest first.

        section: ``decisions``, ``conventions``, ``failures``, ``patterns`` or ``preferences``; a slash may follow.
        """
        kind = items.SECTIONS.get(section.rstrip("/")) if isinstance(section, str) else None
        if kind is None:
            raise InvalidInput(f"section is one of {', '.join(items.SECTIONS)}, not {section!r:.80}")
        return await self.query({"kind": kind}, limit=limit)

    async def remove(self, item_id: str) -> bool:
        """Remove an item. Returns whether it existed; :meth:`restore` brings it back."""
        return await self._backend.delete(item_id)

    async def pin(self, item_id: str, pinned: bool = True) -> WriteResult:
        """Protect an item from eviction; ``False`` ends that. Raises NotFound."""
        return await self._scope.pin(item_id, pinned)

    async def restore(self, item_id: str) -> WriteResult:
        """Bring back a removed or evicted item, unchanged. Pin it as well to protect it from eviction."""
        return await self._scope.restore(item_id)

    async def undo(self, change: int) -> WriteResult:
        """Undo a change, whole, such as an eviction. See :meth:`memwarden.api.scope.AsyncScope.undo`."""
        return await self._scope.journal.undo(change)

    async def promote(self, item_id: str, *, confirm: bool = False) -> str | None:
        """Copy an item to global memory. Returns the id of the copy.

        A preference needs a person's word, like a new global preference; None when they declined. The copy has the
        words that they were shown.

        Raises NotFound, Denied, Conflict when somebody changed it while the person was asked, StoreError.
        """
        found = await self._read_stored(item_id)
        if found.kind == "preference" and not await self._may_add(as_item(found), confirm):
            return None
        return await self._parts.working.items.promote(found, Namespace(self.namespace.tenant, "global"))

    async def make_room(self, *, new: str | None = None) -> int:
        """Evict the least important tenth when there are more than ``max_items``. Returns how many went.

        Every addition does this by itself. An eviction is a single change in the journal, with the event EVICT, and can
        be undone for 30 days.

        new: the id of the new item, which goes only where nothing else may.
        """
        store = self._parts.store

        async def evict(_: bool) -> int:
            head = await store.head(self.namespace)
            most = self._uses.at_most(self.namespace, head)
            if most is not None and most <= self.max_items:
                return 0  # without counting, which takes as long as there are items
            count = await store.count(self.namespace, ITEMS)
            self._uses.record_count(self.namespace, head, count)
            if count <= self.max_items:
                return 0
            found = await store.find(self.namespace, ITEMS, limit=10**9)
            used = self._uses.of(self.namespace, [item.id for item in found])
            going = choose_victims(found, used, self.max_items, () if new is None else (new,))
            await self._parts.working.items.evict(going, head.rev, self.max_items)
            return len(going)

        try:
            return await retry_on_stale(evict)
        except Stale:
            return 0  # somebody else is at work here; the next adding sees to it

    async def _keep(self, item: ContextItem) -> ContextItem:
        added = await self._add(item)
        await self.make_room(new=added.context_item_id)
        return added

    async def _may_add(self, item: ContextItem, vouched: bool) -> bool:
        words = str(item.payload.get("preference", items.item_words(item)))
        question = confirm.add_question(words, str(item.payload.get("category", "")))
        return await confirm.ask_confirmation(question, self._callback, vouched)


def check_max_items(max_items: Any) -> int:
    """Return the maximum number of items of a project. Raises InvalidInput."""
    return arguments.check_whole(max_items, "max_items", 1, None)


def choose_victims(
    items: Sequence[Memory], last_used: Mapping[str, datetime], max_items: int, new: Collection[str] = ()
) -> list[Memory]:
    """Return the least important tenth of all items, at least a single item, when there are too many; else none.

    The least important first; of equally important items the least recently used first, counting from their creation.
    Pinned items stay however many there are, and so do those that no eviction ends (:mod:`memwarden.lifecycle`).

    new: ids of new items: they go only where nothing else may.
    """
    if len(items) <= max_items:
        return []
    mortal = [item for item in items if not item.pinned and ends(item.channel, item.namespace.path) == Ends.EVICTED]
    # The id breaks ties, so that two processes choose the same victims.
    mortal.sort(key=lambda item: (item.importance, last_used.get(item.id) or item.created_at, item.id))
    older = [item for item in mortal if item.id not in new]
    return (older or mortal)[: max(1, len(items) // EVICTED_PART)]
