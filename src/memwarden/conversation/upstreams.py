"""The models that a chat asks: a callable, or the client of an API. No package of an API is imported.

>>> chat = me.chat(openai_chat(OpenAI(), model="gpt-4o-mini"))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from memwarden.agent.tools import Tool, describe_tool, parameter_schema
from memwarden.concurrency.isolation import call_user_code
from memwarden.conversation.formats.editing import append_text
from memwarden.errors import InvalidInput

Message = dict[str, Any]


class Upstream(Protocol):
    """A model that a chat asks.

    Attributes:
        form: the form of its requests and responses (:mod:`memwarden.conversation.formats`).
    """

    form: str

    def request(self, messages: Sequence[Message]) -> Any:
        """Return the request for messages ``{role, content}``, system messages among them."""

    def with_tools(self, request: Any, tools: Sequence[Tool]) -> Any:
        """Return a request that offers tools, beside those that it offers already. Raises InvalidInput if it cannot."""

    async def ask(self, request: Any, *, stream: bool) -> Any:
        """Send a request. Return the response, None for no answer, or an iterator of events, asynchronous or not."""


class CallableUpstream:
    """A callable that takes messages and returns a text, an iterator of pieces, None, or an awaitable.

    form: the form of its result, when that is a response of an API.
    """

    def __init__(self, function: Callable[[list[Message]], Any], form: str = "plain") -> None:
        self.form = form
        self._function = function

    def request(self, messages: Sequence[Message]) -> Any:
        return list(messages)

    def with_tools(self, request: Any, tools: Sequence[Tool]) -> Any:
        raise InvalidInput(
            "a callable is given messages alone; a chat with tools needs openai_chat, openai_responses or anthropic of "
            "memwarden.conversation.upstreams"
        )

    async def ask(self, request: Any, *, stream: bool) -> Any:
        return await call_user_code(self._function, request)


class _Client(ABC):
    """A method of a client, with the arguments of every call."""

    def __init__(self, create: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self._create = create
        self._options = dict(options)

    async def ask(self, request: Any, *, stream: bool) -> Any:
        return await call_user_code(self._create, **request, **({"stream": True} if stream else {}))

    def with_tools(self, request: Any, tools: Sequence[Tool]) -> Any:
        return {**request, "tools": [*request.get("tools", ()), *map(self._tool_entry, tools)]}

    @abstractmethod
    def _tool_entry(self, tool: Tool) -> dict[str, Any]:
        """Return a tool as the API takes it."""


class _OpenAIChat(_Client):
    form = "openai_chat"

    def request(self, messages: Sequence[Message]) -> Any:
        return {**self._options, "messages": list(messages)}

    def _tool_entry(self, tool: Tool) -> dict[str, Any]:
        about = {"name": tool.name, "description": describe_tool(tool), "parameters": parameter_schema(tool)}
        return {"type": "function", "function": about}


class _OpenAIResponses(_Client):
    form = "openai_responses"

    def request(self, messages: Sequence[Message]) -> Any:
        return {**self._options, "input": list(messages)}

    def _tool_entry(self, tool: Tool) -> dict[str, Any]:
        about = {"name": tool.name, "description": describe_tool(tool), "parameters": parameter_schema(tool)}
        return {"type": "function", **about, "strict": False}  # there are parameters that may be left out


class _Anthropic(_Client):
    form = "anthropic"

    def request(self, messages: Sequence[Message]) -> Any:
        system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
        said = [message for message in messages if message["role"] != "system"]
        whole = {"system": append_text(self._options.get("system"), system, "text")} if system else {}
        return {**self._options, "messages": said, **whole}

    def _tool_entry(self, tool: Tool) -> dict[str, Any]:
        return {"name": tool.name, "description": describe_tool(tool), "input_schema": parameter_schema(tool)}


def openai_chat(client: Any, **options: Any) -> Upstream:
    """Return an upstream for chat completions of an ``OpenAI`` or ``AsyncOpenAI`` client, or a compatible endpoint.

    options: arguments of every call, such as ``model`` and ``temperature``.
    """
    return _OpenAIChat(client.chat.completions.create, options)


def openai_responses(client: Any, **options: Any) -> Upstream:
    """Return an upstream for Responses of an ``OpenAI`` or ``AsyncOpenAI`` client. options: see :func:`openai_chat`."""
    return _OpenAIResponses(client.responses.create, options)


def anthropic(client: Any, **options: Any) -> Upstream:
    """Return an upstream for messages of an ``Anthropic`` or ``AsyncAnthropic`` client.

    options: arguments of every call, ``model`` and ``max_tokens`` among them. A ``system`` of theirs stands before the
    chat's.
    """
    return _Anthropic(client.messages.create, options)


def as_upstream(given: Any) -> Upstream:
    """Return the caller's value as an upstream. Raises InvalidInput."""
    if hasattr(given, "ask") and hasattr(given, "request") and hasattr(given, "form"):
        upstream: Upstream = given
        return upstream
    if callable(given):
        return CallableUpstream(given)
    raise InvalidInput(
        "upstream is a callable that takes messages, or one of openai_chat(client, model=...), openai_responses(...) "
        f"and anthropic(...) of memwarden.conversation.upstreams, not {given!r:.80}"
    )
