"""Weaves a stored session into requests: its summary, its last exchanges and cached results of tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from memwarden import AsyncScope
from memwarden.checks import whole
from memwarden.conversation.formats import FORMATS
from memwarden.conversation.formats.editing import append_text, leading_system_places
from memwarden.conversation.formats.reading import as_list, field, words
from memwarden.errors import InvalidInput

MAX_EXCHANGES: Final = 1_000
_ANTHROPIC: Final = "anthropic"


class ToolResult(NamedTuple):
    """What a tool of the caller's gave for its parameters."""

    name: str
    parameters: Mapping[str, Any]
    result: str


def read_durations(text: str) -> dict[str, int]:
    """Return for how many exchanges results of tools are kept, from ``weather=3, search=5``. Raises InvalidInput."""
    found = {}
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, sign, number = part.partition("=")
        if not sign or not name.strip():
            raise InvalidInput(f"X-Memory-Tool-Cache lists tools such as weather=3, search=5, not {part!r:.80}")
        found[name.strip()] = whole(1, MAX_EXCHANGES).check(number.strip(), "X-Memory-Tool-Cache", from_text=True)
    return found


class SessionWeave:
    """A stored session in a request that is passed on.

    Args:
        form: of the request. durations: for how many exchanges the results of tools are kept, by name.
    """

    def __init__(self, scope: AsyncScope, session: str, form: str, durations: Mapping[str, int]) -> None:
        self._sessions = scope.sessions
        self._session = session
        self._form = form
        self._durations = durations
        self._question = ""

    async def weave(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request with the session in it, after the results of tools in it were cached.

        Raises InvalidInput, Conflict, StoreError.
        """
        for result in read_last_results(self._form, request):
            if result.name in self._durations:
                duration = self._durations[result.name]
                await self._sessions.add_tool_to_cache(self._session, *result, duration)
        said = FORMATS[self._form].read_turns(request)
        asked = [turn["content"] for turn in said if turn["role"] == "user"]
        if not asked:
            return dict(request)
        self._question = asked[-1]
        prepared = await self._sessions.prepare_messages_for_agent(self._session, self._question)
        has_history = any(turn["role"] == "assistant" for turn in said)
        return put_in(self._form, request, prepared[:-1], has_history=has_history)

    async def end(self, answer: str | None) -> None:
        """Take the exchange in; a round that only calls tools ends none. Raises Conflict, StoreError."""
        if self._question and answer and answer.strip():
            await self._sessions.finalize_current_cycle(self._session, self._question, answer)


def put_in(
    form: str, request: Mapping[str, Any], prepared: Sequence[Mapping[str, Any]], *, has_history: bool
) -> dict[str, Any]:
    """Return a request with prepared messages before what it says.

    has_history: whether the request holds its conversation itself; then only what the system says is put in.
    """
    system = [message for message in prepared if message["role"] == "system"]
    talk = [] if has_history else [message for message in prepared if message["role"] in ("user", "assistant")]
    if form == _ANTHROPIC:
        text = "\n\n".join(message["content"] for message in system)
        whole = {"system": append_text(request.get("system"), text, "text")} if text else {}
        return {**request, **whole, "messages": [*talk, *request["messages"]]}
    name = "input" if form == "openai_responses" else "messages"
    given = request[name]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
    if not system and not talk:
        return dict(request)
    at = max(leading_system_places(items), default=-1) + 1
    return {**request, name: [*items[:at], *system, *talk, *items[at:]]}


def read_last_results(form: str, request: Mapping[str, Any]) -> Iterator[ToolResult]:
    """Yield the results of tools at the end of a request, with what their tools were called with."""
    calls = dict(_read_calls(form, request))
    for id, content in _read_outputs(form, request):
        if id in calls:
            name, parameters = calls[id]
            yield ToolResult(name, parameters, words(content))


def _read_outputs(form: str, request: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    items = as_list(request.get("input" if form == "openai_responses" else "messages"))
    if form == _ANTHROPIC:
        blocks = as_list(field(items[-1], "content")) if items else ()
        yield from ((field(b, "tool_use_id"), field(b, "content")) for b in blocks if field(b, "type") == "tool_result")
        return
    for item in reversed(items):
        if field(item, "type") == "function_call_output":
            yield field(item, "call_id"), field(item, "output")
        elif field(item, "role") == "tool":
            yield field(item, "tool_call_id"), field(item, "content")
        else:
            return


def _read_calls(form: str, request: Mapping[str, Any]) -> Iterator[tuple[Any, tuple[str, Mapping[str, Any]]]]:
    items = as_list(request.get("input" if form == "openai_responses" else "messages"))
    for item in items:
        parts = [item, *as_list(field(item, "tool_calls")), *as_list(field(item, "content"))]
        for part in parts:
            id = field(part, "call_id") if form == "openai_responses" else field(part, "id")
            called = field(part, "function") or part
            name, given = field(called, "name"), field(called, "arguments", field(called, "input"))
            parameters = _read_arguments(given)
            if isinstance(id, str) and isinstance(name, str) and parameters is not None:
                yield id, (name, parameters)


def _read_arguments(given: Any) -> Mapping[str, Any] | None:
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, Mapping) else None
