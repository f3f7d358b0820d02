"""A chat in the terminal with tools: Anthropic's SDK in asyncio code, with memory woven in.

The model gets memwarden's own tools as well: it may make memories and save values by itself, and search when the turn
found too little. Each line is a message; the end of the input ends the chat.

    pip install . anthropic
    ANTHROPIC_API_KEY=... python examples/anthropic_loop.py chat.db

ANTHROPIC_BASE_URL names another server that speaks Anthropic's protocol, MODEL another model.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any
from uuid import uuid4

from anthropic import AnthropicError, AsyncAnthropic

from memwarden import AsyncScope, AsyncTools, AsyncWarden, MemwardenError

MODEL = os.environ.get("MODEL", "claude-haiku-4-5")
SYSTEM = "You help in the kitchen. Answer in one sentence."
MOST_ROUNDS = 5
"""So often the model may call tools before it has to answer."""


async def called(tools: AsyncTools, name: str, given: Any) -> dict[str, Any]:
    """What a tool answers; a model may also have invented its name."""
    try:
        return await tools.call_tool(name, given)
    except MemwardenError as error:
        return {"success": False, "error": str(error)}


async def answer(me: AsyncScope, client: AsyncAnthropic, talk: list[Any]) -> None:
    """Ask the model until it calls no tool any more; all of that is one turn. The talk gets what was said in it."""
    given = {"model": MODEL, "max_tokens": 1000, "system": SYSTEM, "messages": talk}
    async with me.turn(given, form="anthropic") as turn:
        tools = me.tools(block=turn.block)
        said: list[Any] = []
        for _ in range(MOST_ROUNDS):
            request = {**turn.request, "messages": [*turn.messages, *said], "tools": tools.anthropic()}
            async with client.messages.stream(**request) as events:
                async for piece in turn.words(events):
                    print(piece, end="", flush=True)
                message = await events.get_final_message()
            said.append({"role": "assistant", "content": message.content})
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": block.id,
                    "content": json.dumps(await called(tools, block.name, block.input)),
                }
                for block in message.content
                if block.type == "tool_use"
            ]
            if not results:
                break
            said.append({"role": "user", "content": results})
    print()
    talk += said


async def main(file: str) -> None:
    """Talk until the input ends."""
    async with AsyncWarden.open(f"sqlite:///{file}") as warden, AsyncAnthropic() as client:
        me = warden.scope(user="ana", thread=str(uuid4()))
        talk: list[Any] = []
        while line := await asyncio.to_thread(sys.stdin.readline):
            if not line.strip():
                continue
            talk.append({"role": "user", "content": line.strip()})
            try:
                await answer(me, client, talk)
            except AnthropicError as error:  # what was said until then is stored
                print(f"\n(no answer: {error})")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.environ.get("ANTHROPIC_API_KEY"):
        sys.exit("usage: ANTHROPIC_API_KEY=... python examples/anthropic_loop.py FILE")
    try:
        asyncio.run(main(sys.argv[1]))
    except KeyboardInterrupt:  # Ctrl-C; what was shown of an answer is stored
        sys.exit(130)
