"""Three sessions of an agent of Strands; the third knows what was said in the first.

pip install . 'strands-agents[openai]'
OPENAI_API_KEY=... python examples/strands_agent.py [URL of the store]
"""

from __future__ import annotations

import sys

from strands import Agent
from strands.models.openai import OpenAIModel

from memwarden import MemwardenSessionManager, Warden

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


def main(url: str) -> None:
    with Warden.open(url) as warden:
        ana = warden.scope(user="ana")
        for day, message in SAID:
            agent = Agent(
                agent_id="helper",
                model=OpenAIModel(model_id="gpt-5-mini"),
                system_prompt=f"Be brief.\n{ana.context(message).text}",
                session_manager=MemwardenSessionManager(day, ana),
                callback_handler=None,
            )
            print(f"{day}: {message}\n  {agent(message)}")


main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///strands.db")
