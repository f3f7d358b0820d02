"""Asks a model until it has answered, and calls the tools that it wants in between."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

from memwarden.agent.sessions.stored_sessions import AsyncSessions
from memwarden.agent.tools import AsyncTools, Tool
from memwarden.concurrency.isolation import is_stream, iterate_user_stream
from memwarden.conversation.formats import FORMATS
from memwarden.conversation.formats.base import ToolCall
from memwarden.conversation.stream_assembly import assemble_response, ensure_call_ids
from memwarden.conversation.turn import AsyncTurn
from memwarden.conversation.upstreams import Upstream
from memwarden.errors import MemwardenError, ModelUnavailable

# Maximum model calls for a message: each may call tools, read their results and call others.
MAX_ROUNDS: Final = 8

log = logging.getLogger(__name__)


class ModelLoop:
    """The loop that answers a message.

    Args:
        tools: what the model may call. cached: for how many exchanges a tool's result is used again, by its name.
        seconds: time limit of an answer, of each piece of a stream, and of a tool.
    """

    def __init__(
        self,
        upstream: Upstream,
        tools: AsyncTools,
        sessions: AsyncSessions,
        session: str,
        cached: Mapping[str, int],
        seconds: float,
    ) -> None:
        self._upstream = upstream
        self._form = FORMATS[upstream.form]
        self._tools = tools
        self._sessions = sessions
        self._session = session
        self._cached = cached
        self._seconds = seconds

    async def words(self, turn: AsyncTurn, *, stream: bool) -> AsyncGenerator[str]:
        """Yield the words of the answer and record them in the turn. Raises ModelUnavailable when it takes too long."""
        offered = self._tools.tools
        request = self._upstream.with_tools(turn.request, offered) if offered else turn.request
        for _ in range(MAX_ROUNDS):
            events: list[Any] = []
            try:
                async with asyncio.timeout(self._seconds):
                    response = await self._upstream.ask(request, stream=stream)
                if is_stream(response):
                    async with aclosing(iterate_user_stream(response, self._seconds)) as passing:
                        async for words in turn.words(_collect(passing, events) if offered else passing):
                            yield words
                    response = assemble_response(self._upstream.form, events)
                elif response is not None and (words := turn.record_response(response)):
                    yield words
            except TimeoutError:
                raise ModelUnavailable(f"the model took longer than {self._seconds:g} seconds") from None
            response = ensure_call_ids(response) if offered and self._form.name == "openai_chat" else response
            calls = self._calls(response) if offered else ()
            if not calls:
                return
            request = self._form.with_results(request, response, await self._call_tools(calls))
        log.warning("the model called tools %d times for a message, and is not asked again", MAX_ROUNDS)

    def _calls(self, response: Any) -> Sequence[ToolCall]:
        try:
            return () if response is None or isinstance(response, str) else self._form.calls(response)
        except MemwardenError:  # no response of the form, which the turn noted
            return ()

    async def _call_tools(self, calls: Sequence[ToolCall]) -> dict[str, str]:
        """Call the tools in order, since a call may need an earlier result; return JSON by call id."""
        return {call.id: await self._result(call) for call in calls}

    async def _result(self, call: ToolCall) -> str:
        duration = self._cached.get(call.name, 0)
        usable = duration > 0 and isinstance(call.arguments, Mapping)
        if usable and (entry := await self._look_up(call)) is not None:
            return entry
        succeeded, result = await self._call(call)
        # A failure is not cached: the next call may succeed.
        if usable and succeeded:
            try:
                await self._sessions.add_tool_to_cache(self._session, call.name, call.arguments, result, duration)
            except MemwardenError as error:
                log.warning("a result of the tool %s is not used again: %s", call.name, type(error).__name__)
        return result

    async def _look_up(self, call: ToolCall) -> str | None:
        try:
            entry = await self._sessions.lookup_tool_in_cache(self._session, call.name, call.arguments)
        except MemwardenError as error:
            log.warning("results of the tool %s are not looked up: %s", call.name, type(error).__name__)
            return None
        return None if entry is None else str(entry["result"])

    async def _call(self, call: ToolCall) -> tuple[bool, str]:
        """Call a tool and return its success and result. An error goes to the model as text."""
        try:
            async with asyncio.timeout(self._seconds):
                answer: Any = await self._tools.call_tool(call.name, call.arguments)
            if not isinstance(answer, Mapping):
                return _failure(f"it returned no JSON object but {type(answer).__name__}")
            return bool(answer.get("success", True)), _as_json(answer)
        except TimeoutError:
            return _failure(f"it took longer than {self._seconds:g} seconds")
        except MemwardenError as error:
            return _failure(str(error))
        except Exception as error:  # a tool of somebody else's, or what it returned
            log.warning("the tool %s failed: %s", call.name, type(error).__name__)
            return _failure(f"it failed ({type(error).__name__})")


def _as_json(answer: Mapping[str, Any]) -> str:
    """Return a tool's result as JSON. Raises TypeError and ValueError for values that cannot be sent."""
    result = json.dumps(answer, ensure_ascii=False, default=str)
    result.encode()  # half a character
    return result


def _failure(why: str) -> tuple[bool, str]:
    return False, json.dumps({"success": False, "error": why.encode(errors="replace").decode()}, ensure_ascii=False)


def add_missing_tools(tools: AsyncTools | None, more: Sequence[Tool]) -> AsyncTools:
    """Return the tools, and those of ``more`` whose names are free."""
    own = () if tools is None else tools.tools
    names = {item.name for item in own}
    return AsyncTools((*own, *(item for item in more if item.name not in names)))


async def _collect(events: AsyncIterator[Any], into: list[Any]) -> AsyncIterator[Any]:
    async for event in events:
        into.append(event)
        yield event
