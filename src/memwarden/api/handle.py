"""A handle of a scope."""

from __future__ import annotations

from memwarden import arguments
from memwarden.categories import Categories
from memwarden.errors import NotFound
from memwarden.records import Memory, Scope
from memwarden.runtime.services import Runtime


class ScopeHandle:
    """Base of a scope and of its handles: the runtime and the identity of the caller. Cheap, holds nothing open."""

    def __init__(self, runtime: Runtime, who: Scope) -> None:
        self._runtime = runtime
        self.who = who

    @property
    def _categories(self) -> Categories:
        return self._runtime.settings.categories

    @property
    def _readable(self) -> tuple[str, ...] | None:
        """The categories that the agent may read. None for all."""
        return self._categories.readable(self.who.agent, None)

    async def _get(self, memory_id: str) -> Memory:
        """Return a memory. Raises NotFound, also for a memory that the agent may not read."""
        found = await self._runtime.store.get(self.who.namespace, [arguments.check_memory_id(memory_id)])
        if not found or (self._readable is not None and found[0].category not in self._readable):
            raise NotFound(f"no memory {memory_id!r} in {self.who.namespace.path}")
        return found[0]
