"""A server of the Model Context Protocol whose tools are those of a registry.

The official package does the protocol; the registry checks parameters and answers, as it does for every other caller.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Self

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import Resource
from mcp.server.mcpserver.tools import Tool as ServedTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    InputRequiredResult,
    JSONRPCError,
    TextContent,
    ToolAnnotations,
    jsonrpc_message_adapter,
)
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, ValidationError

from memwarden import __version__
from memwarden.agent.tools import AsyncTools, Tool, parameter_schema
from memwarden.errors import Denied, MemwardenError
from memwarden.surfaces.mcp.schemas import Schema
from memwarden.text.language import repair_json

NAME = "memwarden"
# Escape of half a surrogate pair, or of a whole one.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
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


class PipeServer(MCPServer[Any]):
    """A server that answers malformed lines and unknown prompts with the errors of JSON-RPC."""

    async def run_stdio_async(self) -> None:
        """Serve over stdin and stdout until the client closes the pipe."""
        server = self._lowlevel_server
        async with stdio_server() as (lines, answers):
            valid = _ValidMessages(lines, answers)
            await server.run(valid, answers, server.create_initialization_options())

    async def get_prompt(self, name: str, *given: Any, **named: Any) -> Any:
        """Return a prompt. Raises MCPError for an unknown name."""
        known = [prompt.name for prompt in await self.list_prompts()]
        if name not in known:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {name!r:.80}; there are: {', '.join(known) or 'none'}")
        return await super().get_prompt(name, *given, **named)


class _ValidMessages:
    """Messages of a pipe. A malformed line is answered by an error without id, and is not among them."""

    def __init__(self, lines: Any, answers: Any) -> None:
        self._lines, self._answers = lines, answers

    @property
    def last_context(self) -> Any:
        """Context of the task that sent the last message."""
        return self._lines.last_context

    async def receive(self) -> Any:
        """Return the next message. Raises anyio.EndOfStream."""
        while isinstance(item := await self._lines.receive(), Exception):
            if (repaired := repair_line(item)) is not None:
                return repaired
            await self._answers.send(SessionMessage(describe_malformed(item)))
        return item

    async def aclose(self) -> None:
        """Close the pipe."""
        await self._lines.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def repair_line(error: Exception) -> SessionMessage | None:
    """Return the message of a line that begins with a byte order mark or holds half a surrogate pair; else None.

    Pipes of Windows put the mark there, JavaScript cuts emoji, and the package's parser refuses both.
    """
    if not isinstance(error, ValidationError):
        return None
    line = error.errors(include_url=False)[0]["input"]
    if not isinstance(line, str) or not (line.startswith("\ufeff") or _SURROGATE.search(line)):
        return None
    try:
        value = repair_json(json.loads(line.removeprefix("\ufeff")))
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except (ValueError, RecursionError):
        return None


def describe_malformed(error: Exception) -> JSONRPCError:
    """Return the answer to a line that is not a message."""
    kinds = {item["type"] for item in error.errors()} if isinstance(error, ValidationError) else set()
    is_json = "json_invalid" not in kinds
    code, words = (INVALID_REQUEST, "not a JSON-RPC message") if is_json else (PARSE_ERROR, "not valid JSON")
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=words))


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

    server = PipeServer(
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
