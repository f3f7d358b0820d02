"""How many tokens the tools and instructions of MCP servers take in every prompt, by the counter of the product.

Each server is started over a pipe and asked for its instructions and its list of tools; what a model reads of a tool is
its name, its description and the schema of its parameters.
``python bench/scripts/measure_mcp_tokens.py [NAME=COMMAND ...]`` beside the three profiles, such as
``"reference=npx @modelcontextprotocol/server-memory"``.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from memwarden.text.tokenizer import estimate

MEMWARDEN = str(Path(sys.executable).with_name("memwarden"))
PROFILES = ("default", "full", "graph")


async def measure(command: list[str], folder: str) -> tuple[int, int]:
    """Return how many tools a server has, and how many tokens they and its instructions take."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMWARDEN_")}
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=folder)
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        texts = [json.dumps([tool.name, tool.description, tool.input_schema], ensure_ascii=False) for tool in tools]
        return len(tools), estimate("\n".join([client.instructions or "", *texts]))


async def main(others: list[str]) -> None:
    """Print a line for each server."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/memory.db"
        commands = {f"memwarden, {name}": [MEMWARDEN, "mcp", "--db", store, "--profile", name] for name in PROFILES}
        commands |= {name: shlex.split(command) for name, _, command in (each.partition("=") for each in others)}
        for name, command in commands.items():
            tools, tokens = await measure(command, folder)
            print(f"{name}: {tools} tools, {tokens:,} tokens")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
