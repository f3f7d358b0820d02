"""Three sessions of an agent of Microsoft's Agent Framework; the third knows what was said in the first.

pip install . agent-framework-core agent-framework-openai
OPENAI_API_KEY=... python examples/agent_framework_agent.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

from agent_framework import Agent, AgentSession
from agent_framework.openai import OpenAIChatCompletionClient

from memwarden import AsyncWarden, MemwardenContextProvider

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        memory = MemwardenContextProvider(warden, user_from="user_id")
        agent = Agent(OpenAIChatCompletionClient(model="gpt-5-mini"), "Be brief.", context_providers=[memory])
        for day, message in SAID:
            session = AgentSession(session_id=day)
            session.state["user_id"] = "ana"
            print(f"{day}: {message}\n  {(await agent.run(message, session=session)).text}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///agent-framework.db"))
