"""Three sessions of an agent of Agno; the third knows what was said in the first.

pip install . agno openai
OPENAI_API_KEY=... python examples/agno_agent.py [URL of the store]
"""

from __future__ import annotations

import sys

from agno.agent import Agent
from agno.models.openai import OpenAIChat

from memwarden import MemwardenHooks, Warden

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


def main(url: str) -> None:
    with Warden.open(url) as warden:
        memory = MemwardenHooks(warden, user_from="user_id")
        agent = Agent(
            model=OpenAIChat(id="gpt-5-mini"),
            instructions=memory.instructions("Be brief."),
            pre_hooks=[memory.before_run],
            post_hooks=[memory.after_run],
        )
        for day, message in SAID:
            answer = agent.run(message, user_id="ana", session_id=day)
            print(f"{day}: {message}\n  {answer.content}")


main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///agno.db")
