"""The profiles of the MCP server: which tools a client is offered."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer

from memwarden.agent.tools import AsyncTools, Permission
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.surfaces.mcp.server import make_server, serve_tool
from memwarden.surfaces.mcp.tools import ANSWERS, default_tools


def serve_scope(warden: AsyncWarden, me: AsyncScope, permission: Permission = "write") -> MCPServer[Any]:
    """Return a server of a scope's memory; it opens the warden when it starts, and closes it at the end."""
    registry = AsyncTools(default_tools(me), permission=permission)
    tools = [serve_tool(tool, registry, ANSWERS.get(tool.name)) for tool in registry.tools]
    return make_server(tools, lambda: warden)
