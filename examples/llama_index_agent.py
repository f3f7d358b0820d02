"""Three conversations of a LlamaIndex agent; the third knows what was said in the first.

pip install . llama-index-core llama-index-llms-openai
OPENAI_API_KEY=... python examples/llama_index_agent.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.memory import Memory
from llama_index.llms.openai import OpenAI

from memwarden import AsyncWarden, MemwardenMemoryBlock

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        agent = FunctionAgent(llm=OpenAI(model="gpt-5-mini"), tools=[], system_prompt="Be brief.")
        block = MemwardenMemoryBlock(warden.scope(user="ana"))
        for day, message in SAID:
            memory = Memory.from_defaults(session_id=day, memory_blocks=[block])
            print(f"{day}: {message}\n  {await agent.run(message, memory=memory)}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///llama-index.db"))
