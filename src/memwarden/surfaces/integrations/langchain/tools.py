"""The tools of a scope as LangChain tools, for agents of LangChain and LangGraph."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool, StructuredTool

from memwarden.agent.tools import AsyncTools, Permission, Tool, describe_tool, parameter_schema
from memwarden.api.blocking import Tools
from memwarden.api.scope import AsyncScope
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding


def as_langchain_tools(
    tools: Tools | AsyncTools | AnyWarden,
    *,
    user_from: str | None = None,
    permission: Permission = "write",
    only: Sequence[str] | None = None,
) -> list[BaseTool]:
    """Return tools as an agent of LangChain takes them: of a user, or of whom each run names.

    >>> agent = create_agent(model, tools=as_langchain_tools(me.tools()))
    >>> agent = create_agent(model, tools=as_langchain_tools(warden, user_from="user_id"))

    A tool answers with the JSON text of its result, also when it failed: the model reads what was wrong. Tools of a
    blocking scope or warden are for agents that are invoked and for those that are awaited; tools of an async one are
    awaited, on the event loop of their warden.

    Args:
        tools: what :meth:`memwarden.api.scope.AsyncScope.tools` made. With ``user_from`` a warden or a scope.
        user_from: serves many users with an agent that is made once: a name under ``configurable`` of the run's
            config, such as ``user_id``, that says whose a call is. ``thread_id`` there is the thread. A run that
            names no user is an error.
        permission, only: with ``user_from``, as for :meth:`memwarden.api.scope.AsyncScope.tools`.

    Raises InvalidInput for anything else.
    """
    if user_from is not None:
        return _make_for_many(StoreBinding(_checked_warden(tools), user_from), permission, only)
    if isinstance(tools, Tools):
        return [_make(tool, _blocking_call(tools, tool), _awaited_call(tools, tool)) for tool in tools.tools]
    if isinstance(tools, AsyncTools):
        return [_make(tool, None, _async_call(tools, tool)) for tool in tools.tools]
    raise InvalidInput(f"give what scope.tools() returned, or a warden with user_from=, not {quote(tools)}")


def _checked_warden(given: Any) -> AnyWarden:
    if isinstance(given, Tools | AsyncTools):
        raise InvalidInput("user_from needs a warden or a scope: tools of scope.tools() are of a single user")
    checked: AnyWarden = given
    return checked


def _make_for_many(bound: StoreBinding, permission: Permission, only: Sequence[str] | None) -> list[BaseTool]:
    shown = AsyncScope(bound.runtime, bound.who).tools(permission, only=only).tools

    def call_of(name: str) -> tuple[Callable[..., str] | None, Callable[..., Coroutine[Any, Any, str]]]:
        def begin(given: dict[str, Any]) -> Coroutine[Any, Any, dict[str, Any]]:
            return bound.scope(ensure_config()).tools(permission, only=only).call_tool(name, given)

        def call(**given: Any) -> str:
            return _as_text(bound.run(begin(given)))

        async def awaited(**given: Any) -> str:
            return _as_text(await bound.wait(begin(given)))

        return (call if bound.blocking else None), awaited

    return [_make(tool, *call_of(tool.name)) for tool in shown]


def _make(
    tool: Tool, call: Callable[..., str] | None, awaited: Callable[..., Coroutine[Any, Any, str]]
) -> StructuredTool:
    return StructuredTool(
        name=tool.name,
        description=describe_tool(tool),
        args_schema=parameter_schema(tool),
        func=call,
        coroutine=awaited,
        metadata={"permission": tool.permissions},
    )


def _blocking_call(tools: Tools, tool: Tool) -> Callable[..., str]:
    def call(**given: Any) -> str:
        return _as_text(tools.call_tool(tool.name, given))

    return call


def _awaited_call(tools: Tools, tool: Tool) -> Callable[..., Coroutine[Any, Any, str]]:
    async def call(**given: Any) -> str:
        # The warden has a loop of its own, in another thread; the agent's loop goes on meanwhile.
        return _as_text(await tools._loop.wait(tools._inner.call_tool(tool.name, given)))

    return call


def _async_call(tools: AsyncTools, tool: Tool) -> Callable[..., Coroutine[Any, Any, str]]:
    async def call(**given: Any) -> str:
        return _as_text(await tools.call_tool(tool.name, given))

    return call


def _as_text(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)
