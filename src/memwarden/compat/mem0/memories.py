"""Lists, changes and extraction of the memories behind mem0's calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memwarden.api.scope import AsyncScope
from memwarden.categories import OWN_RECORDS
from memwarden.compat.mem0.conditions import FilterParts, holds
from memwarden.compat.mem0.items import NO_USER, make_fields, make_item
from memwarden.conversation.recording import TurnLog
from memwarden.errors import NotFound
from memwarden.records import CARD, Channel, Memory, Outcome, WriteResult

# Memories that mem0 would list: no turns, no saved state, no records of memwarden's own.
_STATED = [str(channel) for channel in (Channel.SEMANTIC, Channel.EPISODIC, Channel.INSIGHT, Channel.PROCEDURAL)]
_STORED = (Outcome.CREATED, Outcome.SUPERSEDED)
# Every end of validity, set or not: a list with this filter contains expired memories too.
_ANY_END: dict[str, Any] = {"valid_to": {"$ne": "0001-01-01"}}


async def make_filter(scope: AsyncScope, selection: FilterParts) -> dict[str, Any] | None:
    """Return a selection as a filter of a query; None when no memory fits."""
    if not selection.rest:
        return _make_prefilter(selection)
    # The query knows no OR, NOT and substrings: the memories that fit are named by their ids.
    ids = [memory.id for memory in await list_memories(scope, selection, None)]
    return {"id": ids} if ids else None


async def list_memories(
    scope: AsyncScope, selection: FilterParts, limit: int | None, *, show_expired: bool = False
) -> list[Memory]:
    """List memories that a selection means, newest first. limit: the most; None for all."""
    if limit == 0:
        return []
    where = _make_prefilter(selection)
    if show_expired:
        where.update(_ANY_END)
    most = 2**31 if limit is None else limit
    while True:
        candidates = await scope.find(where, limit=most)
        memories = [memory for memory in candidates if _is_meant(memory, selection)]
        if len(candidates) < most or (limit is not None and len(memories) >= limit):
            return memories[:limit]
        most *= 4  # some were left out, and there may be more


async def list_events(scope: AsyncScope, written: WriteResult) -> list[dict[str, Any]]:
    """Return what a write stored as mem0's events. Rejected and quarantined texts have none."""
    events = []
    for result in written.results:
        known = result.outcome == Outcome.MERGED
        if result.id is None or not (known or result.outcome in _STORED):
            continue
        try:
            memory = await scope.get(result.id)
        except NotFound:  # forgotten meanwhile
            continue
        if CARD in memory.tags:
            continue
        item = make_item(memory, scope.who.user)
        event = {name: item[name] for name in ("id", "memory", "actor_id", "role") if name in item}
        events.append(event | {"event": "NONE" if known else "ADD"})
    return events


async def infer_memories(
    thread: AsyncScope,
    messages: Sequence[Mapping[str, Any]],
    metadata: Mapping[str, Any],
    said_at: datetime | str | float | None,
    expires_at: datetime | None,
) -> list[dict[str, Any]]:
    """Store messages as turns, extract memories from them with the chat model, and label the new ones."""
    dated = {} if said_at is None else {"created_at": said_at}
    turn_log = TurnLog.of_scope(thread)
    await turn_log.store([{**message, **dated, "metadata": dict(metadata)} for message in messages], None)
    extraction = await turn_log.look_now()
    for result in extraction.results:
        if result.outcome in _STORED and result.id is not None and (metadata or expires_at):
            memory = await thread.get(result.id)
            await thread.update(result.id, metadata={**memory.metadata, **metadata}, valid_to=expires_at)
    return await list_events(thread, extraction)


async def forget_all(scope: AsyncScope, labels: Mapping[str, str]) -> None:
    """Forget what is remembered with an agent and a run, and the turns that it was extracted from. No labels: all."""
    where: dict[str, Any] = {"channel": [*_STATED, str(Channel.TURN)]}
    if labels:
        where["metadata"] = dict(labels)
    await scope.reset(confirm=scope.who.user, filters=where)


def _make_prefilter(selection: FilterParts) -> dict[str, Any]:
    where: dict[str, Any] = {"channel": _STATED, "category": {"$ne": OWN_RECORDS}}
    if selection.metadata:
        where["metadata"] = dict(selection.metadata)
    return where


def _is_meant(memory: Memory, selection: FilterParts) -> bool:
    if CARD in memory.tags:
        return False
    return not selection.rest or holds(selection.rest, make_fields(make_item(memory, selection.user or NO_USER)))
