"""What agents keep for themselves: state by key, stored sessions, cached results of tools, checkpoints of graphs."""

from __future__ import annotations

import glob
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from memwarden.errors import NotFound
from memwarden.surfaces.http.access import ReadScope, WriteScope
from memwarden.surfaces.http.answers import (
    CachedResult,
    CheckpointView,
    PreparedMessages,
    SessionList,
    StateKeyView,
    StateList,
    StateValue,
)
from memwarden.surfaces.http.bodies import (
    CopyBody,
    ExchangeBody,
    GoalBody,
    KeysBody,
    ScreenBody,
    SessionBody,
    StateBody,
    ToolCallBody,
    ToolResultBody,
    UserMessageBody,
)
from memwarden.surfaces.http.paths import WHOLE_NAME

router = APIRouter(prefix="/v1", tags=["state"])
Key = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]
SessionId = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]


@router.get("/state", response_model=StateList)
async def list_state(
    scope: ReadScope,
    pattern: Annotated[str, Query(min_length=1, max_length=256, description="A glob, such as kudos_*.")] = "*",
    include_values: Annotated[bool, Query(description="With the values, and previews of them.")] = False,
) -> Any:
    """List saved keys that match a glob, sorted."""
    keys = await scope.state.list_keys(pattern, include_values=include_values)
    results = await scope.state.search(pattern) if include_values else None
    return {"count": len(keys), "keys": keys, "results": results}


@router.get("/state/{key:path}", response_model=StateValue)
async def load_state(key: Key, scope: ReadScope) -> Any:
    """Return the value that is saved under a key."""
    return {"key": key, "value": await scope.state.load(key)}


@router.put("/state/{key:path}", response_model=StateKeyView)
async def save_state(key: Key, body: StateBody, scope: WriteScope) -> Any:
    """Save a value under a key, in place of an earlier value."""
    if body.tool is not None:
        return await scope.state.save_from_tool(body.tool, key, body.value, description=body.description)
    return await scope.state.save(
        key, body.value, description=body.description, expires_in=body.expires_in, trust=body.trust
    )


@router.delete("/state/{key:path}", status_code=204)
async def clear_state(key: Key, scope: WriteScope) -> None:
    """Remove a key and its value."""
    if not await scope.state.clear(glob.escape(key)):
        raise NotFound(f"no state is saved under {key!r}")


@router.post("/state/relevant", response_model=list[StateKeyView])
async def find_state_for_goal(body: GoalBody, scope: ReadScope) -> Any:
    """Find the saved keys that are relevant to a goal, the best first."""
    return await scope.state.find_for_goal(body.goal, most=body.most, bar=body.bar, described=body.described)


@router.post("/state/values", response_model=dict[str, Any])
async def show_state_values(body: KeysBody, scope: ReadScope) -> Any:
    """Return the values of keys that exist, fit for a model to read."""
    return await scope.state.load_for_model(body.keys, marked=body.marked)


@router.get("/sessions", response_model=SessionList)
async def list_sessions(scope: ReadScope) -> Any:
    """List the ids of stored sessions, the last changed first."""
    return {"items": await scope.sessions.list_ids()}


@router.post("/sessions", response_model=dict[str, Any], status_code=201)
async def make_session(body: SessionBody, scope: WriteScope) -> Any:
    """Make a session unless it exists, and return it."""
    await scope.sessions.initialize_session_memory(body.session_id)
    return await scope.sessions.load(body.session_id)


@router.get("/sessions/{session_id}", response_model=dict[str, Any])
async def get_session(session_id: SessionId, scope: ReadScope) -> Any:
    """Return a session: exchanges, summary, current cycle, cached results. A new session if there is none."""
    return await scope.sessions.load(session_id)


@router.delete("/sessions/{session_id}", status_code=204)
async def clear_session(session_id: SessionId, scope: WriteScope) -> None:
    """Remove a session."""
    if not await scope.sessions.clear(session_id):
        raise NotFound(f"there is no session {session_id!r}")


@router.post("/sessions/{session_id}/messages", response_model=PreparedMessages)
async def prepare_messages(session_id: SessionId, body: UserMessageBody, scope: WriteScope) -> Any:
    """Return the messages for an agent, the user's last, and begin the cycle of this message."""
    sessions = scope.sessions
    if body.window_tokens is not None:
        sessions = sessions.with_options(window_tokens=body.window_tokens)
    return {"messages": await sessions.prepare_messages_for_agent(session_id, body.user_message)}


@router.post("/sessions/{session_id}/screen", response_model=PreparedMessages)
async def take_in_screen(session_id: SessionId, body: ScreenBody, scope: WriteScope) -> Any:
    """Take in what an application's tools answered for a screen, once for a session; later calls return none."""
    sessions = scope.sessions.with_options(get_proactive_tool_messages=lambda _: (body.messages, body.sentence))
    return {"messages": await sessions.inject_screen_context(session_id, body.screen)}


@router.post("/sessions/{session_id}/exchanges", status_code=204)
async def finish_cycle(session_id: SessionId, body: ExchangeBody, scope: WriteScope) -> None:
    """Take an exchange in and end its cycle."""
    await scope.sessions.finalize_current_cycle(session_id, body.user_question, body.final_answer, key=body.key)


@router.post("/tool-cache/lookup", response_model=CachedResult)
async def lookup_tool(body: ToolCallBody, scope: WriteScope) -> Any:
    """Return the cached entry of a call. A hit renews its duration, which is a write."""
    return {"entry": await scope.tool_cache.lookup(body.session_id, body.tool_name, body.parameters)}


@router.post("/tool-cache/store", status_code=204)
async def store_tool(body: ToolResultBody, scope: WriteScope) -> None:
    """Keep a tool's result for so many exchanges of a session."""
    await scope.tool_cache.store(body.session_id, body.tool_name, body.parameters, body.result, body.llm_cache_duration)


@router.get("/checkpoints/{thread}", response_model=list[CheckpointView])
async def list_checkpoints(thread: Key, scope: ReadScope) -> Any:
    """List the checkpoints that LangGraph's saver keeps of a thread, without their values, the oldest first."""
    return await scope.checkpoints.outlines(thread)


@router.put("/checkpoints/{thread}", status_code=204)
async def copy_checkpoints(thread: Key, body: CopyBody, scope: WriteScope) -> None:
    """Copy all checkpoints of another thread to this thread, replacing what has the same keys."""
    await scope.checkpoints.copy_thread(body.copy_of, thread)


@router.delete("/checkpoints/{thread}", status_code=204)
async def delete_checkpoints(thread: Key, scope: WriteScope) -> None:
    """Remove all checkpoints of a thread; an unknown thread is no error."""
    await scope.checkpoints.delete_thread(thread)
