"""ADK's ``BaseMemoryService`` on memwarden: :class:`MemwardenMemoryService`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any, Final

from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from memwarden.api.blocking import Warden
from memwarden.api.warden import AsyncWarden
from memwarden.checks import check_whole
from memwarden.errors import NotFound
from memwarden.recall.answer.frame import fit_to_show, frame_memory
from memwarden.records import Memory
from memwarden.surfaces.integrations.adk.events import make_message, read_text
from memwarden.surfaces.integrations.adk.names import bind_apps, make_scope

# Most memories of an answer, as in ADK's own services.
TOP_K: Final = 10


class MemwardenMemoryService(BaseMemoryService):  # type: ignore[misc]  # ADK is not among the development packages
    """What users and agents say in ADK's sessions, found in every later session of the user.

    >>> runner = Runner(agent=agent, app_name="shop", session_service=sessions,
    ...                 memory_service=MemwardenMemoryService(warden))

    The app is the tenant, the user of ADK the user, the session the thread. Texts of events are observed as turns, once
    for each id of an event. Calls of tools and their results are not kept.

    Args:
        warden: a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`.
        top_k: the most memories of a search, 1 to 1,000.
        threshold: the least chance, 0 to 1, that a search holds the answer. None: the calibrated bar.
    """

    def __init__(self, warden: Warden | AsyncWarden, *, top_k: int = TOP_K, threshold: float | None = None) -> None:
        self._bound = bind_apps(warden)
        self._top_k = check_whole(top_k, "top_k", 1, 1_000)
        self._threshold = threshold

    async def add_session_to_memory(self, session: Any) -> None:
        """Observe the events of a session that are not known yet. Raises InvalidInput, StoreError."""
        await self._observe(session.app_name, session.user_id, session.id, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Observe events that are not known yet; ``custom_metadata`` is kept with each. Raises as above."""
        await self._observe(app_name, user_id, session_id, events, custom_metadata)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """State memories as they are given. Raises InvalidInput, StoreError."""
        scope = make_scope(self._bound, app_name, user_id)
        for entry in memories:
            text = read_text(entry.content)
            if text:
                metadata = {**(custom_metadata or {}), **entry.custom_metadata}
                await self._bound.wait(scope.remember(text, created_at=entry.timestamp, metadata=metadata or None))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return the memories that answer a query, best first; none when none is relevant.

        Texts from outside are quoted, without the sentences that read like orders. Raises InvalidInput, StoreError.
        """
        scope = make_scope(self._bound, app_name, user_id)
        answer = await self._bound.wait(
            scope.query(query, top_k=self._top_k, threshold=self._threshold, budget_tokens=None, returns="full")
        )
        return SearchMemoryResponse(memories=[_make_entry(item.memory) for item in answer.items])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget a memory by the id of its entry. An unknown id is ignored. Raises StoreError."""
        if not memory_id:
            return
        try:
            await self._bound.wait(make_scope(self._bound, app_name, user_id).forget(memory_id))
        except NotFound:
            return

    async def _observe(
        self,
        app_name: str,
        user_id: str,
        session_id: str | None,
        events: Sequence[Any],
        metadata: Mapping[str, object] | None = None,
    ) -> None:
        messages = [message for event in events if (message := make_message(event, metadata)) is not None]
        if messages:
            await self._bound.wait(make_scope(self._bound, app_name, user_id, session_id).observe(messages))


def _make_entry(memory: Memory) -> MemoryEntry:
    said_by_user = memory.role in (None, "user")
    part = types.Part(text=frame_memory(memory, fit_to_show(memory, memory.text)))
    return MemoryEntry(
        id=memory.id,
        content=types.Content(role="user" if said_by_user else "model", parts=[part]),
        author=memory.name or ("user" if said_by_user else "model"),
        timestamp=memory.created_at.astimezone(UTC).isoformat(),
        custom_metadata=dict(memory.metadata),
    )
