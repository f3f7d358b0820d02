"""The tools of a scope as LangChain tools, for agents of LangChain and LangGraph."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from memwarden.agent.tools import AsyncTools, Tool, describe_tool, parameter_schema
from memwarden.api.blocking import Tools
from memwarden.checks import quote
from memwarden.errors import InvalidInput


def as_langchain_tools(tools: Tools | AsyncTools) -> list[BaseTool]:
    """Return the tools that :meth:`memwarden.api.scope.AsyncScope.tools` made, as an agent of LangChain takes them.

    >>> agent = create_agent(model, tools=as_langchain_tools(me.tools()))

    A tool answers with the JSON text of its result, also when it failed: the model reads what was wrong. Tools of a
    blocking scope are for agents that are invoked and for those that are awaited; tools of an async scope are awaited,
    on the event loop of their warden.

    Raises InvalidInput for anything else.
    """
    if isinstance(tools, Tools):
        return [_make(tool, _blocking_call(tools, tool), _awaited_call(tools, tool)) for tool in tools.tools]
    if isinstance(tools, AsyncTools):
        return [_make(tool, None, _async_call(tools, tool)) for tool in tools.tools]
    raise InvalidInput(f"give what scope.tools() returned, not {quote(tools)}")


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
