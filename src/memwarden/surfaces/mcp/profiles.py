"""The profiles of the MCP server: which tools, resources and prompts a client is offered."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, get_args

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import FunctionResource, Resource

from memwarden.agent.tools import AsyncTools, Permission
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.surfaces.mcp.carry import ANSWERS as CARRIED_ANSWERS
from memwarden.surfaces.mcp.carry import ask_about_carrying, carry_tools
from memwarden.surfaces.mcp.graph import KnowledgeGraph, graph_tools
from memwarden.surfaces.mcp.server import INSTRUCTIONS, RegistryTool, make_server, serve_tool
from memwarden.surfaces.mcp.tools import ANSWERS, ask_about, default_tools, full_tools

Profile = Literal["default", "full", "graph"]
# A person says yes to these, and a key needs the right to decide.
CARRIED = frozenset({"memory_import", "memory_erase"})
DECISIONS = frozenset({"review_decide", "consent_decide"}) | CARRIED
GRAPH_INSTRUCTIONS = "A knowledge graph of this person: entities with observations, and relations between entities."


# Finds whose memory a call is about: a fixed scope over a pipe, that of the key over HTTP.
FindScope = Callable[[], AsyncScope]


def serve_scope(
    warden: AsyncWarden,
    me: AsyncScope,
    permission: Permission = "write",
    profile: str = "default",
    *,
    personal: bool = False,
) -> MCPServer[Any]:
    """Return a server of a scope's memory; it opens the warden when it starts, and closes it at the end.

    profile: ``default`` (three tools), ``full``, or ``graph`` (nine, as the reference memory server). personal: what a
    model remembers counts as the person's words.

    Raises InvalidInput.
    """
    return make_profile(warden, lambda: me, lambda: warden, permission, profile, personal=personal)


def make_profile(
    warden: AsyncWarden,
    find: FindScope,
    opened: Callable[[], AbstractAsyncContextManager[Any]],
    permission: Permission,
    profile: str,
    *,
    decides: bool = True,
    personal: bool = False,
) -> MCPServer[Any]:
    """Return a server whose calls are about the scope that ``find`` returns at each of them.

    decides: whether a person may decide through it on what was held back and on their consent. personal: see
    :func:`serve_scope`.
    """
    if profile not in get_args(Profile):
        raise InvalidInput(f"profile is {', '.join(get_args(Profile))}, not {quote(profile)}")
    if profile == "graph":

        def graph() -> KnowledgeGraph:
            return KnowledgeGraph(find().state)

        return make_server(
            graph_tools(graph, permission), opened, resources=[graph_resource(graph)], instructions=GRAPH_INSTRUCTIONS
        )
    tools = memory_tools(warden, find, permission, profile, personal=personal)
    return make_server(
        [tool for tool in tools if decides or tool.name not in DECISIONS],
        opened,
        resources=[overview_resource(find)],
        prompts=[recall_prompt(find)],
        instructions=INSTRUCTIONS,
    )


def memory_tools(
    warden: AsyncWarden, find: FindScope, permission: Permission, profile: str, *, personal: bool = False
) -> list[RegistryTool]:
    """Return the tools over a person's memory."""

    def registry() -> AsyncTools:
        me = find()
        tools = default_tools(me, personal=personal)
        if profile == "full":
            tools = (*full_tools(me, permission, personal=personal), *carry_tools(warden, me))
        return AsyncTools(tools, permission=permission)

    async def ask(tool: str, arguments: dict[str, Any]) -> str:
        if tool in CARRIED:
            return await ask_about_carrying(warden, find(), tool, arguments)
        return await ask_about(find(), tool, arguments)

    answers = {**ANSWERS, **CARRIED_ANSWERS}
    return [
        serve_tool(tool, registry, answers[tool.name], question=ask if tool.name in DECISIONS else None)
        for tool in registry().tools
    ]


def overview_resource(find: FindScope) -> Resource:
    """Return what is known of the person at a glance, for a client that adds resources to a conversation."""

    async def read() -> str:
        return (await find().overview()).text

    return FunctionResource(
        uri="memory://overview",
        name="overview",
        title="Overview of the person",
        description="What is known of the person: the present value of each thing, in about 150 tokens",
        fn=read,
    )


def graph_resource(graph: Callable[[], KnowledgeGraph]) -> Resource:
    """Return the whole graph as the reference server's resource."""

    async def read() -> str:
        return json.dumps(await graph().read_graph(), ensure_ascii=False, indent=2)

    return FunctionResource(
        uri="memory://knowledge-graph",
        name="knowledge-graph",
        title="Knowledge Graph",
        description="The full knowledge graph with all entities and relations",
        mime_type="application/json",
        fn=read,
    )


def recall_prompt(find: FindScope) -> Prompt:
    """Return the prompt that puts memories before a message of the person."""

    async def recall(message: str) -> str:
        block = await find().context(message)
        return f"{block.text}\n\n{message}" if block.text else message

    return Prompt.from_function(
        recall, name="recall", title="Ask with memories", description="Put what is remembered before a message"
    )
