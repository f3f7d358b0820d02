"""What was changed and done: history, undo, deltas, conversations, events, audits, decisions in review."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

from memwarden.errors import NotFound
from memwarden.records import CARD, Channel
from memwarden.surfaces.http.access import DecideScope, Reader, ReadScope, WriteScope, WritingCaller
from memwarden.surfaces.http.answers import (
    AuditView,
    DeltaView,
    EventCountView,
    EventView,
    HistoryView,
    MemoryView,
    PendingView,
    ThreadView,
    WriteView,
)
from memwarden.surfaces.http.bodies import Moment, Name, ReviewDecision
from memwarden.surfaces.http.paths import WHOLE_NAME
from memwarden.surfaces.http.routes.memories import Limit, MemoryId

router = APIRouter(prefix="/v1", tags=["journal"])
Revision = Annotated[int, Query(ge=0, le=2**53)]
Thread = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]
Time = Annotated[Moment | None, Query()]
Word = Annotated[str | None, Query(max_length=32)]
MAX_FACTS = 1_000


@router.get("/journal", response_model=list[HistoryView])
async def list_changes(scope: ReadScope, since: Revision = 0, limit: Limit = 100, descending: bool = False) -> Any:
    """Tell what happened to everything of a user; pass the last seq as since for more."""
    return await scope.journal.history(since=since, limit=limit, descending=descending)


@router.post("/journal/{rev}/undo", response_model=WriteView)
async def undo_change(rev: Annotated[int, Path(ge=1, le=2**53)], scope: WriteScope) -> Any:
    """Take a decision back, whole: everything that was changed together with this revision."""
    return await scope.journal.undo(rev)


@router.get("/trash", response_model=list[MemoryView])
async def list_forgotten(
    scope: ReadScope, memory_id: Annotated[Name | None, Query()] = None, limit: Limit = 100
) -> Any:
    """List what was forgotten and can still be restored; purge_at tells until when."""
    return await scope.journal.forgotten(memory_id, limit=limit)


@router.get("/threads/{thread}", response_model=ThreadView)
async def get_thread(thread: Thread, scope: ReadScope, limit: Limit = 50) -> Any:
    """Return the last turns of a conversation, and the facts that were made of it."""
    turns = await scope.find({"thread_id": thread, "channel": Channel.TURN}, limit=limit, order_by="written")
    if not turns:
        raise NotFound(f"no conversation {thread!r} that this key may see")
    where = {"thread_id": thread, "channel": {"$ne": Channel.TURN}}
    made = await scope.find(where, limit=MAX_FACTS, order_by="written", descending=False)
    return {"turns": turns[::-1], "facts": [item for item in made if CARD not in item.tags]}


@router.delete("/threads/{thread}", response_model=WriteView)
async def forget_thread(thread: Thread, scope: WriteScope) -> Any:
    """Forget everything of a conversation. Each memory can be restored for 30 days."""
    return await scope.reset(confirm=scope.who.user, filters={"thread_id": thread})


@router.post("/threads/{thread}/extract", response_model=WriteView)
async def extract_thread(
    thread: Thread,
    caller: WritingCaller,
    user_id: Annotated[Name | None, Query()] = None,
    agent: Annotated[Name | None, Query()] = None,
    again: Annotated[bool, Query(description="Begin at the first turn; what is known is merged.")] = False,
) -> Any:
    """Look through what is new in a conversation, for what is worth keeping."""
    return await caller.open_user(user_id, agent=agent, thread=thread).extract_pending(again=again)


@router.get("/threads/{thread}/delta", response_model=DeltaView)
async def thread_delta(
    thread: Thread,
    caller: Reader,
    user_id: Annotated[Name | None, Query()] = None,
    agent: Annotated[Name | None, Query()] = None,
    since_rev: Annotated[int | None, Query(ge=0, le=2**53)] = None,
) -> Any:
    """Tell what changed since a thread looked last, or since a revision: facts, not turns."""
    return await caller.open_user(user_id, agent=agent, thread=thread).journal.delta(since_rev)


@router.get("/events", response_model=list[EventView])
async def list_events(
    scope: ReadScope,
    since: Time = None,
    until: Time = None,
    node: Word = None,
    op: Word = None,
    status: Word = None,
    thread: Annotated[Name | None, Query()] = None,
    memory_id: Annotated[Name | None, Query()] = None,
    limit: Limit = 100,
    descending: bool = True,
) -> Any:
    """List what was done with a user's memory: writes, searches, skips and failures. No content."""
    return await scope.journal.events(
        since=since, until=until, node=node, op=op, status=status, thread=thread, memory_id=memory_id,
        limit=limit, descending=descending,
    )  # fmt: skip


@router.get("/events/counts", response_model=list[EventCountView])
async def count_events(
    scope: ReadScope,
    seconds: Annotated[int, Query(ge=1, le=31_622_400, description="The length of a span of time.")] = 86_400,
    since: Time = None,
    until: Time = None,
    node: Word = None,
    op: Word = None,
    status: Word = None,
) -> Any:
    """Tell how often what was done, over time."""
    return await scope.journal.event_counts(seconds=seconds, since=since, until=until, node=node, op=op, status=status)


@router.get("/audit", response_model=AuditView)
async def audit(scope: ReadScope, limit: Annotated[int, Query(ge=1, le=100_000)] = 10_000) -> Any:
    """Say what is wrong with what is remembered, and what would mend it. Changes nothing."""
    return await scope.audit(limit=limit)


@router.get("/review", response_model=list[PendingView])
async def list_pending(
    scope: ReadScope, state: Literal["candidate", "quarantined", "all"] = "all", limit: Limit = 100
) -> Any:
    """List what waits for somebody's decision. It is for a person's eyes: keep it out of prompts."""
    return await scope.review.pending(None if state == "all" else state, limit=limit)


@router.post("/review/{memory_id}/decision", response_model=WriteView)
async def decide_review(memory_id: MemoryId, body: ReviewDecision, scope: DecideScope) -> Any:
    """Make a memory of what is pending, or give it up."""
    if body.approve:
        return await scope.review.approve(memory_id, vouch=body.vouch)
    return await scope.review.reject(memory_id)
