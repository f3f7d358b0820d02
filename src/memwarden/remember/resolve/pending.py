"""Lists what is pending, candidates and quarantined texts, without what a decision loads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memwarden import filters
from memwarden.errors import Denied
from memwarden.records import Memory, MemoryState, Namespace, PendingReview, Scope
from memwarden.remember.ingest.screening import UNSEEN
from memwarden.stores.protocol import StoreReader

# Proposals for the user context are pending as well, but need the person's consent instead.
REVIEWED_STATES = (MemoryState.QUARANTINED, MemoryState.CANDIDATE)


async def list_pending(
    store: StoreReader,
    namespace: Namespace,
    states: Sequence[MemoryState],
    readable: Collection[str] | None,
    limit: int,
) -> list[PendingReview]:
    """Return the memories in these states, the newest first, at most ``limit``. readable: categories; None for all."""
    where = () if readable is None else filters.parse({"category": sorted(readable)})
    found = [item for state in states for item in await store.find(namespace, where, limit=limit, state=state)]
    found.sort(key=lambda item: (item.created_at, item.id), reverse=True)
    return [PendingReview(item, await _why_pending(store, item)) for item in found[:limit]]


async def _why_pending(store: StoreReader, memory: Memory) -> str:
    """Why it was stored as pending, as its first journal entry says."""
    born = await store.journal(memory.namespace, memory_id=memory.id, limit=1)
    told = (born[0].meta or {}) if born else {}
    if told.get("kinds") == list(UNSEEN):
        return "it comes from outside"
    if "kinds" in told:
        return f"it looks like orders for an assistant ({', '.join(told['kinds'])})"
    return str(told.get("why", ""))


def check_agent(scope: Scope, state: str) -> None:
    """Raise Denied for an agent that would decide on a text that was held back: it may be meant for that agent."""
    if scope.agent is not None and state == MemoryState.QUARANTINED:
        raise Denied(
            f"agent {scope.agent!r} neither sees what was held back nor decides on it; a person does, in a scope "
            "without an agent"
        )
