"""Three conversations of an agent of AG2; the third knows what was said in the first.

pip install . ag2 openai
OPENAI_API_KEY=... python examples/ag2_agent.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

from ag2 import Agent
from ag2.config import OpenAIConfig

from memwarden import AsyncWarden, MemwardenTurnMiddleware

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        memory = MemwardenTurnMiddleware(warden, user_from="user_id")
        agent = Agent("helper", "Be brief.", config=OpenAIConfig("gpt-5-mini"), middleware=[memory])
        for day, message in SAID:
            reply = await agent.ask(message, variables={"user_id": "ana"})
            print(f"{day}: {message}\n  {reply.body}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///ag2.db"))
