"""A stream of what changes, for pages and agents that would otherwise ask again and again."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from memwarden import AsyncScope, AsyncWarden
from memwarden.errors import MemwardenError, RateLimited
from memwarden.records import HistoryEntry
from memwarden.surfaces.http.access import Entrance, ReadScope

router = APIRouter(prefix="/v1", tags=["journal"])
# The store is asked so often for its revision, which other processes move too.
POLL_SECONDS = 0.25
# Seconds between checks of a stream's key, so that a revoked key ends its streams within a second.
KEY_SECONDS = 0.5
# Seconds between comments that show a waiting client that the server lives.
BEAT_SECONDS = 5.0
MAX_STREAMS = 256
MAX_STREAMS_OF_A_KEY = 32
PAGE = 200
DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events named change; the id of each is its revision, and its data tells what changed.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/changes", response_class=EventSourceResponse, responses=DOCUMENTED)
async def stream_changes(
    request: Request,
    scope: ReadScope,
    since_rev: Annotated[int | None, Query(ge=0, le=2**53, description="Default: what changes from now on.")] = None,
    last_event_id: Annotated[str | None, Header(max_length=16, description="Goes on after this revision.")] = None,
    seconds: Annotated[float, Query(ge=0, le=86_400, description="Ends the stream after so long.")] = 86_400.0,
) -> Any:
    """Tell each change of a user's memory as it happens, also by other processes. No content: read the memory."""
    open_streams: set[Stream] = request.app.state.streams
    key = request.scope["state"].get("key_id")
    if sum(stream.key == key for stream in open_streams) >= MAX_STREAMS_OF_A_KEY:
        raise RateLimited(f"{MAX_STREAMS_OF_A_KEY} streams of this key are open in this process; close some")
    if len(open_streams) >= MAX_STREAMS:
        raise RateLimited(f"{MAX_STREAMS} streams are open in this process; close some, or start more processes")
    start = int(last_event_id) if last_event_id and last_event_id.isascii() and last_event_id.isdigit() else since_rev
    if start is None:
        start = await find_revision(request, scope)
    changes = follow(request, scope, start, time.monotonic() + seconds)
    return EventSourceResponse(counted(open_streams, Stream(key), changes), ping=int(BEAT_SECONDS), sep="\n")


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """A stream that is open. key: the id of the key that opened it."""

    key: str | None


async def counted(
    open_streams: set[Stream], mark: Stream, changes: AsyncIterator[ServerSentEvent]
) -> AsyncIterator[ServerSentEvent]:
    """Count a stream while it is open."""
    open_streams.add(mark)
    try:
        async for change in changes:
            yield change
    finally:
        open_streams.discard(mark)


async def follow(request: Request, scope: AsyncScope, since: int, ends: float) -> AsyncIterator[ServerSentEvent]:
    """Yield the changes after a revision, as they happen, until the time is over or the key is."""
    told, checked = since, time.monotonic()
    while True:
        if time.monotonic() - checked > KEY_SECONDS:
            checked = time.monotonic()
            if not await still_opens(request):
                return
        now = await find_revision(request, scope)
        if now < told:  # revisions begin anew after an erasure
            told = 0
        entries = await scope.journal.history(since=told, limit=PAGE) if now > told else []
        for entry in entries:
            yield ServerSentEvent(json.dumps(describe_change(entry)), event="change", id=str(entry.seq))
        if len(entries) == PAGE:
            told = entries[-1].seq
            continue
        told = max(told, now, *(entry.seq for entry in entries))  # an agent is not told all that there is
        if time.monotonic() >= ends:
            return
        await asyncio.sleep(POLL_SECONDS)


def describe_change(entry: HistoryEntry) -> dict[str, Any]:
    """Return what changed without its content."""
    memory = entry.new or entry.old
    return {
        "rev": entry.seq,
        "event": entry.event,
        "memory_id": entry.memory_id,
        "channel": None if memory is None else memory.channel,
        "thread_id": entry.thread_id,
        "actor": entry.actor,
        "at": entry.at.isoformat(),
    }


async def find_revision(request: Request, scope: AsyncScope) -> int:
    """Return the revision of a scope's namespace."""
    warden: AsyncWarden = request.app.state.warden
    return (await warden.store.head(scope.who.namespace)).rev


async def still_opens(request: Request) -> bool:
    """Whether the key of a stream was neither revoked nor has expired."""
    entrance: Entrance = request.app.state.entrance
    key_id = request.scope["state"].get("key_id")
    try:
        if key_id is None:
            return not await entrance.keys.has_keys()
        await entrance.keys.get(key_id)
    except MemwardenError:
        return False
    return True
