"""A server of the Model Context Protocol whose tools are those of a registry.

The official package does the protocol; the registry checks parameters and answers, as it does for every other caller.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import Resource
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, TextContent, ToolAnnotations

from memwarden import __version__
from memwarden.agent.tools import AsyncTools, Tool, parameter_schema
from memwarden.errors import Denied, NotFound

NAME = "memwarden"
# A model reads the definition of every tool in every prompt, so what holds for all of them stands here once.
INSTRUCTIONS = (
    "Long-term memory of this person. Search before you answer what may depend on earlier conversations, people, "
    "plans or preferences. Remember what will still matter in weeks: a fact, decision, preference or lesson, a "
    "sentence each; no small talk, no secrets. To correct, remember the new value: it takes the place of the old. "
    "Forget only what the person asks to forget."
)
# Tools that take something away, and those that do no more when they are called again.
DESTRUCTIVE = frozenset({"memory_forget", "memory_update", "saveState", "review_decide"})
REPEATABLE = frozenset({"memory_restore", "saveState"})
Result = dict[str, Any]


class RegistryTool(ServedTool):
    """A tool of a registry as the server offers it."""

    registry: Any
    render: Callable[[Result], str] | None = None

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> CallToolResult:
        """Call the tool; what it refuses is a result that says so, for the model to read."""
        try:
            answer = await self.registry.call_tool(self.name, arguments)
        except (NotFound, Denied) as error:
            return make_error(str(error))
        if answer.get("success") is False:
            return make_error(str(answer.get("error", "refused")))
        text = self.render(answer) if self.render else json.dumps(answer, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer)


def make_error(text: str) -> CallToolResult:
    """Return the result of a call that was refused."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def serve_tool(tool: Tool, registry: AsyncTools, output: dict[str, Any] | None = None) -> RegistryTool:
    """Return a tool of a registry as the server offers it, with the schema of its answers."""
    return RegistryTool(
        fn=tool.call,
        name=tool.name,
        title=None,
        context_kwarg=None,
        description=tool.description,
        parameters=parameter_schema(tool),
        fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=output),
        is_async=True,
        annotations=annotate(tool),
        registry=registry,
    )


def annotate(tool: Tool) -> ToolAnnotations:
    """Return what a client may tell a person about a tool before it is called."""
    if tool.permissions == "read":
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=tool.name in DESTRUCTIVE,
        idempotent_hint=tool.name in REPEATABLE,
        open_world_hint=False,
    )


def make_server(
    tools: Sequence[ServedTool],
    opened: Callable[[], AbstractAsyncContextManager[Any]],
    *,
    resources: Sequence[Resource] = (),
    prompts: Sequence[Prompt] = (),
    instructions: str = INSTRUCTIONS,
) -> MCPServer[Any]:
    """Return a server.

    opened: opens what the tools need, for as long as the server runs.
    """

    @asynccontextmanager
    async def lifespan(_: MCPServer[Any]) -> AsyncIterator[Any]:
        async with opened() as it:
            yield it

    server = MCPServer(
        NAME,
        title="memwarden",
        version=__version__,
        instructions=instructions,
        tools=list(tools),
        resources=list(resources),
        # Warnings alone: what is said more often names tools and the ids of requests.
        log_level="WARNING",
        lifespan=lifespan,
    )
    for prompt in prompts:
        server.add_prompt(prompt)
    return server
