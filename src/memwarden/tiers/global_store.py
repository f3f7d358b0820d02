"""The memory of all projects of a tenant, changed only with a person's consent."""

from __future__ import annotations

from dataclasses import replace

from memwarden.errors import InvalidInput, NotFound
from memwarden.records import WriteResult
from memwarden.runtime import Runtime
from memwarden.tiers import confirm as asking
from memwarden.tiers import items
from memwarden.tiers.backend import ITEMS, ContextItem, as_item, as_memory
from memwarden.tiers.store import AsyncTierStore, TierScope, check_name, tags_filter
from memwarden.tiers.usage import ItemUses
from memwarden.tokens import estimate


class AsyncGlobalMemoryStore(AsyncTierStore):
    """The memory of all projects. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.global_store`.

    Preferences, removing and clearing need a person's word: ``confirmation_callback`` is shown the question, and its
    answer decides. A caller who has that word already says ``confirm=True``. Without either the call is refused.
    """

    def __init__(
        self, parts: Runtime, place: TierScope, uses: ItemUses, confirmation_callback: asking.Confirm | None = None
    ) -> None:
        super().__init__(parts, place, uses)
        self.confirmation_callback = confirmation_callback

    async def add_preference(
        self, preference: str, category: str, require_confirmation: bool = False, *, confirm: bool = False
    ) -> ContextItem | None:
        """Keep a preference for all projects; importance 0.9. None when the person declined: then nothing was written.

        Args:
            category: such as ``style``, ``verbosity``, ``tools``.
            require_confirmation: a person has to be asked now; ``confirm`` is not enough.
            confirm: you have their word, so nobody is asked.

        Raises Denied when there is nobody to ask, InvalidInput, StoreError.
        """
        # Before the question, so that no person is asked about invalid arguments.
        item = items.preference(None, self._text(preference, "preference"), check_name(category, "category"))
        question = asking.add_question(preference, category)
        if not await self._may(question, confirm, must_ask=require_confirmation):
            return None
        return await self._add(item)

    async def modify_preference(self, item_id: str, preference: str, *, confirm: bool = False) -> ContextItem | None:
        """Replace the words of a preference. None when the person declined.

        Raises NotFound unless it is a preference, Denied, Conflict when somebody changed it while the person was asked,
        InvalidInput, StoreError.
        """
        old = await self._scope.get(item_id)
        if old.kind != "preference":
            raise NotFound(f"no preference {item_id!r} in {self.namespace.path}")
        item, text = as_item(old), self._text(preference, "preference")
        question = asking.modify_question(
            str(item.payload.get("preference", "")), text, str(item.payload.get("category", ""))
        )
        if not await self._may(question, confirm):
            return None
        changed = replace(item, payload={**item.payload, "preference": text}, token_cost=estimate(text))
        said = as_memory(changed, self.namespace)
        new = replace(old, text=said.text, payload=said.payload, token_cost=said.token_cost)
        await self._parts.working.writer.update(self._scope.who, old, new, None)
        return await self.get(item_id)

    async def add_pattern(self, pattern: str, domain: str) -> ContextItem:
        """Keep a pattern that works in every project; importance 0.7. Nobody is asked."""
        return await self._add(items.pattern(None, self._text(pattern, "pattern"), check_name(domain, "domain")))

    async def query_preferences(self, category: str | None = None) -> list[ContextItem]:
        """Return preferences of a category, or all, the newest first, at most 100."""
        return await self.query(
            tags_filter("preference", None if category is None else [check_name(category, "category")])
        )

    async def remove(self, item_id: str, *, confirm: bool = False) -> bool:
        """Remove an item. Returns False when the person declined.

        Raises NotFound, Denied, Conflict when somebody changed it while the person was asked.
        """
        head = await self._parts.store.head(self.namespace)  # before the item: what changes after this is noticed
        found = await self._read_stored(item_id)
        if not await self._may(asking.remove_question(items.item_words(as_item(found))), confirm):
            return False
        return await self._parts.working.items.remove(self.namespace, [found.id], decided_at=head.rev) > 0

    async def clear_all(self, *, confirm: bool = False) -> bool:
        """Remove everything. Returns False when the person declined. Raises Denied, StoreError.

        Whatever the question says, :meth:`undo` can reverse it as long as the store keeps removed items.
        """
        if not await self._may(asking.CLEAR_QUESTION, confirm):
            return False
        found = await self._parts.store.find(self.namespace, ITEMS, limit=10**9)
        await self._parts.working.items.remove(self.namespace, [item.id for item in found])
        return True

    async def undo(self, change: int, *, confirm: bool = False) -> WriteResult | None:
        """Undo a change, whole. None when the person declined.

        See :meth:`memwarden.api.scope.AsyncScope.undo`; raises Denied as well.
        """
        if isinstance(change, bool) or not isinstance(change, int):
            raise InvalidInput(f"change is the number of a change, not {change!r:.80}")
        if not await self._may(asking.undo_question(change), confirm):
            return None
        return await self._scope.journal.undo(change)

    async def _may(self, question: str, vouched: bool, *, must_ask: bool = False) -> bool:
        return await asking.ask_confirmation(question, self.confirmation_callback, vouched, must_ask=must_ask)
