"""The scratch pad of a task: thoughts and tool outputs, removed when the task is over."""

from __future__ import annotations

from typing import Any

from memwarden import arguments
from memwarden.deprecation import add_old_names
from memwarden.errors import InvalidInput
from memwarden.records import MemoryState
from memwarden.runtime import Runtime
from memwarden.tiers import items
from memwarden.tiers.backend import ITEMS, ContextItem
from memwarden.tiers.project_store import AsyncProjectMemoryStore, check_max_items
from memwarden.tiers.store import AsyncTierStore, TierScope, check_name
from memwarden.tiers.usage import ItemUses

MAX_STAGE_OUTPUTS = 1000
# The states of a task, and those among them that it never leaves.
RUNNING = ("pending", "running", "waiting")
TERMINAL = ("completed", "failed", "cancelled")


@add_old_names("task", {"reached": "enter_state"})
class AsyncTaskMemoryStore(AsyncTierStore):
    """A task's memory. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.task`."""

    def __init__(self, parts: Runtime, place: TierScope, uses: ItemUses, task_id: str) -> None:
        super().__init__(parts, place, uses)
        self.task_id = task_id

    async def add_reasoning(self, text: str, stage_id: str) -> ContextItem:
        """Keep a thought of a stage; importance 0.5. Raises InvalidInput, StoreError."""
        return await self._add(
            items.reasoning(self.task_id, check_name(stage_id, "stage_id"), self._text(text, "text"))
        )

    async def add_tool_output(self, tool_id: str, output: Any) -> ContextItem:
        """Keep a tool's answer, any JSON value; importance 0.7.

        An output that looks like orders for an assistant is quarantined: the returned item has the tag ``quarantined``,
        and no query or context ever returns it. Raises InvalidInput, StoreError.
        """
        item = items.tool_output(self.task_id, check_name(tool_id, "tool_id"), output)
        self._text(items.item_words(item), "output")
        return await self._add(item)

    async def get_stage_outputs(self, stage_id: str) -> list[ContextItem]:
        """Return the items of a stage, the newest first, at most 1,000."""
        return await self.query(
            {"source": f"task/{self.task_id}/{check_name(stage_id, 'stage_id')}"}, limit=MAX_STAGE_OUTPUTS
        )

    async def promote(self, item_id: str, project_id: str, *, max_items: int | None = None) -> str:
        """Copy an item to a project; nothing goes there by itself. Returns the id of the copy.

        The copy says where it comes from, and both journals record it. Called twice, it copies once.

        max_items: maximum items of that project, as in :meth:`memwarden.tiers.tiers.AsyncTiers.project`; with more,
        others are evicted for the copy. None: nothing is evicted until the project's next addition.

        Raises NotFound, InvalidInput, StoreError.
        """
        most = None if max_items is None else check_max_items(max_items)
        place = TierScope(tenant=self.namespace.tenant, path=f"project/{check_name(project_id, 'project_id')}")
        copy_id = await self._backend.promote(item_id, place.path)
        if most is not None:  # a limit that is guessed would evict from a project that may hold more
            await AsyncProjectMemoryStore(self._parts, place, self._uses, project_id, most).make_room(new=copy_id)
        return copy_id

    async def enter_state(self, state: str, *, will_retry: bool = False) -> bool:
        """Record the task's state; a terminal state clears its memory. Returns whether it was cleared.

        Args:
            state: ``completed``, ``failed`` and ``cancelled`` are terminal; ``pending``, ``running`` and ``waiting``
                are not.
            will_retry: a failed task is tried again, and keeps its memory.
        """
        if state not in (*RUNNING, *TERMINAL):
            raise InvalidInput(f"state is one of {', '.join((*RUNNING, *TERMINAL))}, not {state!r:.80}")
        again = arguments.check_truth(will_retry, "will_retry")
        if state in RUNNING or (state == "failed" and again):
            return False
        await self.clear()
        return True

    async def clear(self) -> None:
        """Remove everything; its contents leave the store with this call, and no history shows them.

        Quarantined and restorable items go too, and it cannot be undone. Promote items worth keeping before.
        """
        store = self._parts.store
        found = [item for state in (MemoryState.ACTIVE, MemoryState.QUARANTINED, MemoryState.SOFT_DELETED)
                 for item in await store.find(self.namespace, ITEMS, limit=10**9, state=state)]  # fmt: skip
        await self._parts.working.items.clear(self.namespace, found)
