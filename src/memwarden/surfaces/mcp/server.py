"""A server of the Model Context Protocol whose tools are those of a registry.

The official package does the protocol; the registry checks parameters and answers, as it does for every other caller.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import Resource
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import is_version_at_least
from pydantic import BaseModel

from memwarden import __version__
from memwarden.agent.tools import AsyncTools, Tool, parameter_schema
from memwarden.errors import Denied, MemwardenError
from memwarden.surfaces.mcp.schemas import Schema

NAME = "memwarden"
# A model reads the definition of every tool in every prompt, so what holds for all of them stands here once.
INSTRUCTIONS = (
    "Long-term memory of this person. Search before you answer what may depend on earlier conversations, people, "
    "plans or preferences. Remember what will still matter in weeks: a fact, decision, preference or lesson, a "
    "sentence each; no small talk, no secrets. To correct, remember the new value: it takes the place of the old. "
    "Forget only what the person asks to forget."
)
# Tools that take something away, and those that do no more when they are called again.
DELETIONS = frozenset({"delete_entities", "delete_observations", "delete_relations"})
DESTRUCTIVE = (
    frozenset({"memory_forget", "memory_update", "memory_erase", "memory_import", "saveState", "review_decide"})
    | DELETIONS
)
REPEATABLE = frozenset({"memory_restore", "memory_import", "saveState"}) | DELETIONS
# Since this version of the protocol a server asks a person by a result, and the client calls again with the answer.
ASKED_BY_RESULT = "2026-07-28"
Result = dict[str, Any]


class RegistryTool(ServedTool):
    """A tool of a registry as the server offers it.

    registry: finds the registry at each call. render: writes an answer as text; None: as JSON. question: words the
    question to a person, who has to say yes before the tool is called; the client asks them, and no model answers.
    """

    registry: Callable[[], AsyncTools]
    render: Callable[[Result], str] | None = None
    question: Callable[[str, dict[str, Any]], Awaitable[str]] | None = None

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        """Call the tool; what it refuses is a result that says so, for the model to read."""
        try:
            if self.question is not None:
                said = await ask_person(context, await self.question(self.name, arguments))
                if isinstance(said, InputRequiredResult):
                    return said
                if said != "accept":
                    return make_error("the person did not say yes; nothing was changed")
            answer = await self.registry().call_tool(self.name, arguments)
        except MemwardenError as error:
            return make_error(str(error))
        if answer.get("success") is False:
            return make_error(str(answer.get("error", "refused")))
        text = self.render(answer) if self.render else json.dumps(answer, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer)


class Confirmation(BaseModel):
    """The form that a person is shown: it has no fields, accepting it is the answer."""


async def ask_person(context: Context[Any, Any], question: str) -> str | InputRequiredResult:
    """Return what the person did: accept, decline or cancel; or the request that the client has to answer first.

    Raises Denied for a client that cannot ask a person.
    """
    can = context.client_capabilities
    if can is None or can.elicitation is None:
        raise Denied(
            "this client cannot ask the person; they decide with: memwarden review, memwarden consent, "
            "memwarden import, memwarden erase"
        )
    if not is_version_at_least(context.protocol_version or "", ASKED_BY_RESULT):
        return str((await context.elicit(question, Confirmation)).action)
    answered = (context.input_responses or {}).get("person")
    if isinstance(answered, ElicitResult):
        return str(answered.action)
    form = ElicitRequestFormParams(message=question, requested_schema={"type": "object", "properties": {}})
    return InputRequiredResult(input_requests={"person": ElicitRequest(params=form)})


def make_error(text: str) -> CallToolResult:
    """Return the result of a call that was refused."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def serve_tool(
    tool: Tool,
    registry: Callable[[], AsyncTools],
    answers: Schema,
    *,
    takes: Schema | None = None,
    render: Callable[[Result], str] | None = None,
    question: Callable[[str, dict[str, Any]], Awaitable[str]] | None = None,
) -> RegistryTool:
    """Return a tool of a registry as the server offers it.

    answers: the schema of its answers. takes: that of its parameters, where it says more than the registry.
    """
    return RegistryTool(
        fn=tool.call,
        name=tool.name,
        title=None,
        context_kwarg=None,
        description=tool.description,
        parameters=takes or parameter_schema(tool),
        fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=answers),
        is_async=True,
        annotations=annotate(tool),
        registry=registry,
        render=render,
        question=question,
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
