"""Three conversations of an agent of the OpenAI Agents SDK; the third knows what was said in the first.

pip install openai-agents
OPENAI_API_KEY=... python examples/openai_agents_session.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, Runner

from memwarden import AsyncScope, AsyncWarden, MemwardenSession


async def say(scope: AsyncScope, thread: str, message: str) -> None:
    block = await scope.context(message)
    agent = Agent(name="helper", instructions=f"Be brief.\n{block.text}", model="gpt-5-mini")
    result = await Runner.run(agent, message, session=MemwardenSession(thread, scope))
    print(f"{thread}: {message}\n  {result.final_output}")


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        ana = warden.scope(user="ana")
        await say(ana, "monday", "I am allergic to peanuts.")
        await say(ana, "tuesday", "My sister Maria lives in Lyon.")
        await say(ana, "friday", "What must I not eat when I visit my sister?")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///agents.db"))
