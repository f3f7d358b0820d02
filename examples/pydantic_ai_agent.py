"""Three conversations of a Pydantic AI agent; the third knows what was said in the first.

pip install . 'pydantic-ai-slim[openai]'
OPENAI_API_KEY=... python examples/pydantic_ai_agent.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

from pydantic_ai import Agent

from memwarden import AsyncWarden, MemwardenCapability

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


@dataclass
class Deps:
    user_id: str


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        memory = MemwardenCapability(warden, user_from="user_id")
        agent = Agent("openai-chat:gpt-5-mini", deps_type=Deps, instructions="Be brief.", capabilities=[memory])
        for day, message in SAID:
            result = await agent.run(message, deps=Deps("ana"), conversation_id=day)
            print(f"{day}: {message}\n  {result.output}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///pydantic-ai.db"))
