"""The profiles of the MCP server: which tools, resources and prompts a client is offered."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Literal, get_args

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.resources import FunctionResource, Resource
from mcp.server.mcpserver.tools import Tool as ServedTool

from memwarden.agent.tools import AsyncTools, Permission
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.surfaces.mcp.graph import KnowledgeGraph, graph_tools
from memwarden.surfaces.mcp.server import INSTRUCTIONS, make_server, serve_tool
from memwarden.surfaces.mcp.tools import ANSWERS, ask_about, default_tools, full_tools

Profile = Literal["default", "full", "graph"]
DECISIONS = frozenset({"review_decide", "consent_decide"})
GRAPH_INSTRUCTIONS = "A knowledge graph of this person: entities with observations, and relations between entities."


def serve_scope(
    warden: AsyncWarden, me: AsyncScope, permission: Permission = "write", profile: str = "default"
) -> MCPServer[Any]:
    """Return a server of a scope's memory; it opens the warden when it starts, and closes it at the end.

    profile: ``default`` (three tools), ``full``, or ``graph`` (nine, as the reference memory server).

    Raises InvalidInput.
    """
    if profile not in get_args(Profile):
        raise InvalidInput(f"profile is {', '.join(get_args(Profile))}, not {quote(profile)}")
    if profile == "graph":
        graph = KnowledgeGraph(me.state)
        tools: list[ServedTool] = [*graph_tools(graph, permission)]
        return make_server(tools, lambda: warden, resources=[graph_resource(graph)], instructions=GRAPH_INSTRUCTIONS)
    registry = AsyncTools(full_tools(me) if profile == "full" else default_tools(me), permission=permission)
    asking = partial(ask_about, me)
    tools = [
        serve_tool(tool, registry, ANSWERS[tool.name], question=asking if tool.name in DECISIONS else None)
        for tool in registry.tools
    ]
    return make_server(
        tools, lambda: warden, resources=[overview_resource(me)], prompts=[recall_prompt(me)], instructions=INSTRUCTIONS
    )


def overview_resource(me: AsyncScope) -> Resource:
    """Return what is known of the person at a glance, for a client that adds resources to a conversation."""

    async def read() -> str:
        return (await me.overview()).text

    return FunctionResource(
        uri="memory://overview",
        name="overview",
        title="Overview of the person",
        description="What is known of the person: the present value of each thing, in about 150 tokens",
        fn=read,
    )


def graph_resource(graph: KnowledgeGraph) -> Resource:
    """Return the whole graph as the reference server's resource."""

    async def read() -> str:
        return json.dumps(await graph.read_graph(), ensure_ascii=False, indent=2)

    return FunctionResource(
        uri="memory://knowledge-graph",
        name="knowledge-graph",
        title="Knowledge Graph",
        description="The full knowledge graph with all entities and relations",
        mime_type="application/json",
        fn=read,
    )


def recall_prompt(me: AsyncScope) -> Prompt:
    """Return the prompt that puts memories before a message of the person."""

    async def recall(message: str) -> str:
        block = await me.context(message)
        return f"{block.text}\n\n{message}" if block.text else message

    return Prompt.from_function(
        recall, name="recall", title="Ask with memories", description="Put what is remembered before a message"
    )
