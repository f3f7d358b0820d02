"""Three sessions of an agent of the Claude Agent SDK; the third knows what was said in the first.

pip install . claude-agent-sdk
ANTHROPIC_API_KEY=... python examples/claude_agent_session.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, TextBlock, query

from memwarden import AsyncScope, AsyncWarden, MemwardenSessionStore

SAID = (
    "I am allergic to peanuts.",
    "My sister Maria lives in Lyon.",
    "What must I not eat when I visit my sister?",
)


async def say(scope: AsyncScope, message: str) -> None:
    block = await scope.context(message)
    options = ClaudeAgentOptions(
        session_store=MemwardenSessionStore(scope), system_prompt=f"Be brief.\n{block.text}", allowed_tools=[]
    )
    async for answer in query(prompt=message, options=options):
        if isinstance(answer, AssistantMessage):
            texts = [part.text for part in answer.content if isinstance(part, TextBlock)]
            print(f"{message}\n  {' '.join(texts)}")


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        ana = warden.scope(user="ana")
        for message in SAID:
            await say(ana, message)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///claude-agent.db"))
