"""Our memory service beside ADK's own, and inside its runner. Run by ``make adapters``."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types
from pydantic import Field

from memwarden import AsyncWarden, InvalidInput, MemwardenMemoryService, MemwardenSessionService, Warden

CONFIG = {"embedder": "none"}
NAMES = ("zebra", "lion", "otter", "heron", "beaver", "falcon", "badger", "lizard")


def say(text: str, author: str = "user", event_id: str = "") -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=text)])
    return Event(author=author, content=content, **({"id": event_id} if event_id else {}))


def texts(answer: Any) -> list[str]:
    return [part.text for memory in answer.memories for part in memory.content.parts]


@pytest.mark.parametrize(("engine", "steps"), [("sqlite", 2_000), ("memory", 250), ("postgresql", 250)])
async def test_each_event_is_found_once_where_adks_own_service_finds_it(engine_url: str, steps: int) -> None:
    chance = random.Random(7)
    async with AsyncWarden.open(engine_url, config=CONFIG) as warden:
        ours, theirs = MemwardenMemoryService(warden, top_k=1_000, threshold=0), InMemoryMemoryService()
        sessions: dict[tuple[str, str, str], list[Event]] = {}
        for step in range(steps):
            place = (chance.choice(("shop", "bank")), chance.choice(("ana", "bob")), chance.choice(("s1", "s2")))
            event = say(f"The {chance.choice(NAMES)} number{step} came.", event_id=f"e{step}")
            sessions.setdefault(place, []).append(event)
            app, user, name = place
            for service in (ours, theirs):
                if chance.random() < 0.5:
                    session = Session(id=name, app_name=app, user_id=user, events=sessions[place])
                    await service.add_session_to_memory(session)
                else:
                    await service.add_events_to_memory(
                        app_name=app, user_id=user, session_id=name, events=sessions[place][-2:]
                    )
        for app in ("shop", "bank"):
            for user in ("ana", "bob"):
                for step in chance.sample(range(steps), 60):
                    query = {"app_name": app, "user_id": user, "query": f"number{step}"}
                    expected = texts(await theirs.search_memory(**query))
                    found = [text for text in texts(await ours.search_memory(**query)) if f"number{step} " in text]
                    assert found == expected


class EchoModel(BaseLlm):  # type: ignore[misc]
    """Stands in for a paid model: it keeps what it was given."""

    model: str = "echo"
    prompts: list[str] = Field(default_factory=list)

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> AsyncIterator[LlmResponse]:
        self.prompts.append(str(llm_request.contents))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="Noted.")]))


async def run(model: EchoModel, service: Any, user: str, message: str) -> None:
    agent = LlmAgent(name="helper", model=model, tools=[PreloadMemoryTool()])
    sessions = InMemorySessionService()
    runner = Runner(agent=agent, app_name="shop", session_service=sessions, memory_service=service)
    session = await sessions.create_session(app_name="shop", user_id=user)
    content = types.Content(role="user", parts=[types.Part(text=message)])
    async for _ in runner.run_async(user_id=user, session_id=session.id, new_message=content):
        pass
    done = await sessions.get_session(app_name="shop", user_id=user, session_id=session.id)
    await service.add_session_to_memory(done)


async def test_the_first_session_is_in_the_prompt_of_the_third(tmp_path: Path) -> None:
    url, model = f"sqlite:///{tmp_path / 'm.db'}", EchoModel()
    for said in ("I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"):
        async with AsyncWarden.open(url, config=CONFIG) as warden:
            service = MemwardenMemoryService(warden)
            await run(model, service, "ana", said)
            await run(model, service, "bob", "What is Ana allergic to?")
    assert "I am allergic to peanuts." in model.prompts[4]
    assert not [prompt for prompt in model.prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_an_entry_names_who_said_it_and_a_deleted_memory_stays_away() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        service = MemwardenMemoryService(warden)
        place: dict[str, Any] = {"app_name": "shop", "user_id": "ana"}
        events = [say("I keep two zebras.", event_id="e1"), say("Two zebras, noted.", "helper", "e2")]
        await service.add_events_to_memory(**place, session_id="s", events=events, custom_metadata={"topic": "pets"})
        found = (await service.search_memory(**place, query="How many zebras?")).memories
        mine = next(entry for entry in found if "I keep" in entry.content.parts[0].text)
        assert (mine.author, mine.content.role, mine.custom_metadata) == ("user", "user", {"topic": "pets"})
        await service.delete_memory(**place, memory_id=mine.id)
        await service.delete_memory(**place, memory_id="unknown")
        await service.add_events_to_memory(**place, session_id="s", events=events)
        assert "I keep two zebras." not in texts(await service.search_memory(**place, query="How many zebras?"))
        note = MemoryEntry(content=types.Content(parts=[types.Part(text="Ana's zebra is called Ada.")]))
        await service.add_memory(**place, memories=[note])
        assert "Ana's zebra is called Ada." in texts(
            await service.search_memory(**place, query="What is the zebra called?")
        )
        other = {"app_name": "bank", "user_id": "ana"}
        assert texts(await service.search_memory(**other, query="What is the zebra called?")) == []


async def test_thoughts_calls_and_empty_events_are_not_kept() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        parts = [types.Part(text="hidden", thought=True), types.Part(function_call=types.FunctionCall(name="look"))]
        events = [Event(author="helper", content=types.Content(parts=parts)), Event(author="helper")]
        service = MemwardenMemoryService(warden)
        await service.add_events_to_memory(app_name="shop", user_id="ana", events=events)
        assert await warden.scope(user="ana", tenant="shop").find() == []


@pytest.mark.parametrize("service", [MemwardenMemoryService, MemwardenSessionService])
def test_a_scope_is_refused_because_adk_names_tenant_and_user(service: Any) -> None:
    with (
        Warden.open("memory://", config={"embedder": "none"}) as warden,
        pytest.raises(InvalidInput, match="AsyncWarden"),
    ):
        service(warden.scope(tenant="acme", user="bob"))
