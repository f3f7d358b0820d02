"""The scratch pad of one task (E2): what was thought and what tools said, gone when the task is over."""

from __future__ import annotations

import warnings
from typing import Any

from memwarden import arguments
from memwarden.errors import InvalidInput
from memwarden.records import MemoryState
from memwarden.runtime import Runtime
from memwarden.tiers import items
from memwarden.tiers.backend import ITEMS, ContextItem
from memwarden.tiers.project_store import AsyncProjectMemoryStore, check_max_items
from memwarden.tiers.store import AsyncTierStore, TierScope, check_name
from memwarden.tiers.usage import ItemUses

MAX_STAGE_OUTPUTS = 1000
RUNNING = ("pending", "running", "waiting")
TERMINAL = ("completed", "failed", "cancelled")
"""The states of a task, and those of them that it does not leave again."""


class AsyncTaskMemoryStore(AsyncTierStore):
    """A task's memory. Made by :meth:`memwarden.tiers.tiers.AsyncTiers.task`."""

    def __init__(self, parts: Runtime, place: TierScope, uses: ItemUses, task_id: str) -> None:
        super().__init__(parts, place, uses)
        self.task_id = task_id

    async def add_reasoning(self, text: str, stage_id: str) -> ContextItem:
        """Keep what was thought in a stage; importance 0.5. Raises InvalidInput, StoreError."""
        return await self._add(
            items.reasoning(self.task_id, check_name(stage_id, "stage_id"), self._text(text, "text"))
        )

    async def add_tool_output(self, tool_id: str, output: Any) -> ContextItem:
        """Keep what a tool answered, any JSON value; importance 0.7.

        An output that looks like orders for an assistant is stored apart: the item that is returned has the tag
        ``quarantined``, and no query and no context ever gives it out. Raises InvalidInput, StoreError.
        """
        item = items.tool_output(self.task_id, check_name(tool_id, "tool_id"), output)
        self._text(items.item_words(item), "output")
        return await self._add(item)

    async def get_stage_outputs(self, stage_id: str) -> list[ContextItem]:
        """Return what was kept of a stage, the newest first, at most 1,000."""
        return await self.query(
            {"source": f"task/{self.task_id}/{check_name(stage_id, 'stage_id')}"}, limit=MAX_STAGE_OUTPUTS
        )

    async def promote(self, item_id: str, project_id: str, *, max_items: int | None = None) -> str:
        """Copy an item to a project, on purpose; nothing goes there by itself. Returns the id of the copy.

        The copy says where it comes from, and both journals tell. Called twice, it copies once.

        max_items: how many items that project may hold, as in :meth:`memwarden.tiers.tiers.AsyncTiers.project`; with
            more, others are evicted for the copy. None: nothing is evicted, the project's next adding sees to it.

        Raises NotFound, InvalidInput, StoreError.
        """
        most = None if max_items is None else check_max_items(max_items)
        place = TierScope(tenant=self.namespace.tenant, path=f"project/{check_name(project_id, 'project_id')}")
        copy_id = await self._backend.promote(item_id, place.path)
        if most is not None:  # a limit that is guessed would evict from a project that may hold more
            await AsyncProjectMemoryStore(self._parts, place, self._uses, project_id, most).make_room(new=copy_id)
        return copy_id

    async def enter_state(self, state: str, *, will_retry: bool = False) -> bool:
        """Say in which state the task is now; in a terminal one it is cleared. Returns whether it was.

        Args:
            state: ``completed``, ``failed`` and ``cancelled`` are terminal; ``pending``, ``running`` and ``waiting``
                are not.
            will_retry: a task that failed is tried again, and keeps its memory.
        """
        if state not in (*RUNNING, *TERMINAL):
            raise InvalidInput(f"state is one of {', '.join((*RUNNING, *TERMINAL))}, not {state!r:.80}")
        again = arguments.truth(will_retry, "will_retry")
        if state in RUNNING or (state == "failed" and again):
            return False
        await self.clear()
        return True

    async def reached(self, state: str, *, will_retry: bool = False) -> bool:
        """Call :meth:`enter_state`, under the name that it had before; goes with the next release."""
        warnings.warn("task.reached is now task.enter_state", DeprecationWarning, stacklevel=2)
        return await self.enter_state(state, will_retry=will_retry)

    async def clear(self) -> None:
        """Take everything out; nothing of it is found again, and the next purge may remove it.

        What was held back goes too, and what was taken out before and could still be restored. Promote before what is
        worth keeping.
        """
        store = self._parts.store
        found = [item for state in (MemoryState.ACTIVE, MemoryState.QUARANTINED, MemoryState.SOFT_DELETED)
                 for item in await store.find(self.namespace, ITEMS, limit=10**9, state=state)]  # fmt: skip
        await self._parts.working.writer.clear(self.namespace, found)
