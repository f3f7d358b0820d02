"""Three kickoffs of a crew of CrewAI; the third knows what was said in the first.

pip install . crewai
OPENAI_API_KEY=... python examples/crewai_crew.py [URL of the store]
"""

from __future__ import annotations

import sys

from crewai import Agent, Crew, Task

from memwarden import MemwardenCrewCallbacks, Warden

SAID = (
    ("monday", "I am allergic to peanuts."),
    ("tuesday", "My sister Maria lives in Lyon."),
    ("friday", "What must I not eat when I visit my sister?"),
)


def main(url: str) -> None:
    with Warden.open(url) as warden:
        memory = MemwardenCrewCallbacks(warden, user_from="user_id")
        agent = Agent(role="Assistant", goal="Be brief.", backstory="You know the user well.", llm="openai/gpt-5-mini")
        task = Task(description="Answer: {message}\n{memories}", expected_output="A short answer.", agent=agent)
        crew = Crew(
            agents=[agent],
            tasks=[task],
            before_kickoff_callbacks=[memory.before_kickoff],
            after_kickoff_callbacks=[memory.after_kickoff],
        )
        for day, message in SAID:
            answer = crew.kickoff({"message": message, "user_id": "ana", "thread_id": day})
            print(f"{day}: {message}\n  {answer.raw}")


main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///crewai.db")
