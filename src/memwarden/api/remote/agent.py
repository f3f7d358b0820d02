"""What an agent works with, over HTTP: values saved by key, and stored sessions."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from memwarden.agent.plain_sessions import ProactiveTools
from memwarden.agent.session_rules import DEFAULT_WINDOW_TOKENS, MEMORY, check_window
from memwarden.agent.state import AsyncState, StateKey
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.api.remote.connection import path_part, read_record, sent_as
from memwarden.api.remote.handles import RemoteHandle
from memwarden.errors import InvalidInput, NotFound


class RemoteState(RemoteHandle, AsyncState):
    """Values saved by key, over HTTP."""

    def __init__(self) -> None: ...

    @sent_as(AsyncState.save)
    async def save(self, given: dict[str, Any]) -> StateKey:
        key, expires_in = given.pop("key"), given.get("expires_in")
        if isinstance(expires_in, timedelta):
            given["expires_in"] = expires_in.total_seconds()
        return read_record(await self.send("PUT", f"/v1/state/{path_part(key)}", given), StateKey)

    @sent_as(AsyncState.load)
    async def load(self, given: dict[str, Any]) -> Any:
        return (await self.read(f"/v1/state/{path_part(given['key'])}"))["value"]

    @sent_as(AsyncState.list_keys)
    async def list_keys(self, given: dict[str, Any]) -> list[StateKey]:
        return read_record((await self.read("/v1/state", **given))["keys"], list[StateKey])

    @sent_as(AsyncState.search)
    async def search(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = (await self.read("/v1/state", **given, include_values=True))["results"]
        return found

    @sent_as(AsyncState.clear)
    async def clear(self, given: dict[str, Any]) -> list[str]:
        names = [item["key"] for item in (await self.read("/v1/state", pattern=given.get("pattern", "*")))["keys"]]
        for name in names if not given.get("dry_run", False) else []:
            await self.send("DELETE", f"/v1/state/{path_part(name)}")
        return names

    @sent_as(AsyncState.load_for_model)
    async def load_for_model(self, given: dict[str, Any]) -> dict[str, Any]:
        given["keys"] = list(given["keys"])
        found: dict[str, Any] = await self.send("POST", "/v1/state/values", given)
        return found

    @sent_as(AsyncState.find_for_goal)
    async def find_for_goal(self, given: dict[str, Any]) -> list[StateKey]:
        return read_record(await self.send("POST", "/v1/state/relevant", given), list[StateKey])

    @sent_as(AsyncState.save_from_tool)
    async def save_from_tool(self, given: dict[str, Any]) -> StateKey:
        path = f"/v1/state/{path_part(given.pop('key'))}"
        return read_record(await self.send("PUT", path, given), StateKey)


class RemoteSessions(RemoteHandle, AsyncSessions):
    """Stored sessions, over HTTP."""

    def __init__(self, *, tools: ProactiveTools | None = None, window_tokens: int | None = None) -> None:
        self._proactive = tools
        self._window_tokens = window_tokens

    def with_options(
        self,
        *,
        get_proactive_tool_messages: ProactiveTools | None = None,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> AsyncSessions:
        checked = RemoteSessions(tools=get_proactive_tool_messages, window_tokens=check_window(window_tokens))
        return checked.join(self._connection, self.who, self._parts)

    @sent_as(AsyncSessions.initialize_session_memory)
    async def initialize_session_memory(self, given: dict[str, Any]) -> None:
        await self.send("POST", "/v1/sessions", given)

    @sent_as(AsyncSessions.prepare_messages_for_agent)
    async def prepare_messages_for_agent(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        path = f"/v1/sessions/{path_part(given.pop('session_id'))}/messages"
        if self._window_tokens is not None:
            given["window_tokens"] = self._window_tokens
        found: list[dict[str, Any]] = (await self.send("POST", path, given))["messages"]
        return found

    @sent_as(AsyncSessions.finalize_current_cycle)
    async def finalize_current_cycle(self, given: dict[str, Any]) -> None:
        given.pop("channel_logger", None)
        await self.send("POST", f"/v1/sessions/{path_part(given.pop('session_id'))}/exchanges", given)

    @sent_as(AsyncSessions.add_tool_to_cache)
    async def add_tool_to_cache(self, given: dict[str, Any]) -> None:
        given.pop("channel_logger", None)
        await self.send("POST", "/v1/tool-cache/store", given)

    @sent_as(AsyncSessions.lookup_tool_in_cache)
    async def lookup_tool_in_cache(self, given: dict[str, Any]) -> dict[str, Any] | None:
        found: dict[str, Any] | None = (await self.send("POST", "/v1/tool-cache/lookup", given))["entry"]
        return found

    @sent_as(AsyncSessions.inject_screen_context)
    async def inject_screen_context(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        session_id = given["session_id"]
        if (await self.load(session_id))[MEMORY]["screen_injection_done"]:
            return []
        if self._proactive is None:
            raise InvalidInput("there are no tools for screens; give with_options get_proactive_tool_messages")
        messages, sentence = await asyncio.to_thread(self._proactive, given["json_data"])
        body = {"screen": given["json_data"], "messages": [dict(item) for item in messages], "sentence": sentence}
        found: list[dict[str, Any]] = (await self.send("POST", f"/v1/sessions/{path_part(session_id)}/screen", body))[
            "messages"
        ]
        return found

    @sent_as(AsyncSessions.load)
    async def load(self, given: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = await self.read(f"/v1/sessions/{path_part(given['session_id'])}")
        return found

    @sent_as(AsyncSessions.list_ids)
    async def list_ids(self, given: dict[str, Any]) -> list[str]:
        found: list[str] = (await self.read("/v1/sessions"))["items"]
        return found

    @sent_as(AsyncSessions.clear)
    async def clear(self, given: dict[str, Any]) -> bool:
        try:
            await self.send("DELETE", f"/v1/sessions/{path_part(given['session_id'])}")
        except NotFound:
            return False
        return True
