"""Two sessions of an agent of Google's ADK; the second knows what was said in the first.

pip install . google-adk
GOOGLE_API_KEY=... python examples/adk_memory.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from memwarden import AsyncWarden, MemwardenMemoryService

AGENT = LlmAgent(name="helper", model="gemini-flash-latest", instruction="Be brief.", tools=[PreloadMemoryTool()])


async def say(memory: MemwardenMemoryService, message: str) -> None:
    sessions = InMemorySessionService()
    runner = Runner(agent=AGENT, app_name="shop", session_service=sessions, memory_service=memory)
    session = await sessions.create_session(app_name="shop", user_id="ana")
    content = types.Content(role="user", parts=[types.Part(text=message)])
    async for event in runner.run_async(user_id="ana", session_id=session.id, new_message=content):
        if event.is_final_response() and event.content:
            print(f"{message}\n  {event.content.parts[0].text}")
    session = await sessions.get_session(app_name="shop", user_id="ana", session_id=session.id)
    await memory.add_session_to_memory(session)


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        memory = MemwardenMemoryService(warden)
        await say(memory, "I am allergic to peanuts.")
        await say(memory, "What must I not eat?")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///adk.db"))
