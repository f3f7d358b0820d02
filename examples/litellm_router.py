"""Three conversations over a router of LiteLLM; the third knows what was said in the first.

pip install . litellm
OPENAI_API_KEY=... python examples/litellm_router.py [URL of the store]
"""

from __future__ import annotations

import asyncio
import sys

import litellm

from memwarden import AsyncWarden, MemwardenCallback

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)
MODELS = [{"model_name": "small", "litellm_params": {"model": "openai/gpt-5-mini"}}]


async def main(url: str) -> None:
    async with AsyncWarden.open(url) as warden:
        memory = MemwardenCallback(warden, user_from="user")
        litellm.callbacks = [memory]
        router = litellm.Router(model_list=MODELS)
        for day, message in SAID:
            said = [{"role": "user", "content": message}]
            answer = await router.acompletion("small", messages=said, user="ana", litellm_session_id=day)
            print(f"{day}: {message}\n  {answer.choices[0].message.content}")
        await memory.wait_for_answers()


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///litellm.db"))
