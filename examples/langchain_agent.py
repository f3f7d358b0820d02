"""Three conversations of a LangChain agent; the third knows what was said in the first.

pip install . langchain langchain-openai
OPENAI_API_KEY=... python examples/langchain_agent.py [URL of the store]
"""

from __future__ import annotations

import sys

from langchain.agents import create_agent

from memwarden import MemwardenMiddleware, Warden

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


def main(url: str) -> None:
    with Warden.open(url) as warden:
        memory = MemwardenMiddleware(warden, user_from="user_id")
        agent = create_agent("openai:gpt-5-mini", middleware=[memory], system_prompt="Be brief.")
        for day, message in SAID:
            config = {"configurable": {"user_id": "ana", "thread_id": day}}
            answer = agent.invoke({"messages": [{"role": "user", "content": message}]}, config)
            print(f"{day}: {message}\n  {answer['messages'][-1].text}")


main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///langchain.db")
