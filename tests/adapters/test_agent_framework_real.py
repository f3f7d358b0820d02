"""Our context provider in agents of Microsoft's Agent Framework. Run by ``make adapters``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agent_framework.openai")

from agent_framework import Agent, AgentSession, InMemoryHistoryProvider, Message
from agent_framework.openai import OpenAIChatCompletionClient

from memwarden import AsyncWarden, InvalidInput, MemwardenContextProvider, Warden
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"
MakeAgent = Callable[..., Any]


@pytest.fixture
def make_agent(upstream: Upstream) -> MakeAgent:
    def make(*providers: Any, **given: Any) -> Agent:
        client = OpenAIChatCompletionClient(model="gpt-5-mini", api_key="none", base_url=f"{upstream.url}/v1")
        return Agent(client, "Be brief.", context_providers=providers, **given)

    return make


def session_of(user: str | None, name: str) -> AgentSession:
    session = AgentSession(session_id=name)
    if user is not None:
        session.state["user_id"] = user
    return session


async def turns_of(warden: AsyncWarden, user: str) -> list[tuple[str | None, str, str | None]]:
    turns = await warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text, turn.thread_id) for turn in turns]


async def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, make_agent: MakeAgent, upstream: Upstream
) -> None:
    upstream.says("Noted.")
    for day, text in (("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION)):
        async with AsyncWarden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            agent = make_agent(MemwardenContextProvider(warden, user_from="user_id"))
            assert (await agent.run(text, session=session_of("ana", day))).text == "Noted."
            await agent.run(QUESTION, session=session_of("bob", day))
            assert (await turns_of(warden, "ana"))[-2:] == [("user", text, day), ("assistant", "Noted.", day)]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert all("Be brief." in prompt for prompt in prompts)
    assert FACT in prompts[4]
    assert "<memories>" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_a_session_with_a_history_is_stored_once(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("Noted.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(InMemoryHistoryProvider(), MemwardenContextProvider(warden.scope(user="ana")))
        session = session_of(None, "monday")
        for text in (FACT, OTHER, FACT):
            await agent.run(text, session=session)
        said = [text for _, text, _ in await turns_of(warden, "ana")]
        assert said == [FACT, "Noted.", OTHER, "Noted.", FACT, "Noted."]
        history = upstream.prompts()[2]["messages"][1:-1]
        assert [message["content"] for message in history] == [FACT, "Noted.", OTHER, "Noted."]
        assert "<memories>" not in str(session.to_dict())


async def test_a_stream_is_stored_when_it_is_over(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("No peanuts for you, Ana.", letters=3)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenContextProvider(warden.scope(user="ana", thread="t")))
        pieces = [update.text async for update in agent.run(FACT, stream=True)]
        assert len(pieces) > 3
        assert await turns_of(warden, "ana") == [("user", FACT, "t"), ("assistant", "No peanuts for you, Ana.", "t")]


async def test_a_failed_run_keeps_what_the_user_said(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.fails(400)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenContextProvider(warden.scope(user="ana", thread="t")))
        with pytest.raises(Exception, match="not now"):
            await agent.run(FACT)
        assert await turns_of(warden, "ana") == [("user", FACT, "t")]


async def test_many_runs_at_once_over_a_blocking_warden(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenContextProvider(warden, user_from="user_id"))
        users = [f"user{number}" for number in range(8)]
        runs = (agent.run(f"My code is {user}.", session=session_of(user, "t")) for user in users)
        await asyncio.gather(*runs)
        for user in users:
            turns = warden.scope(user=user).find({"channel": "turn"})
            assert sorted(turn.text for turn in turns) == [f"My code is {user}.", "Noted."]


async def test_calls_of_tools_are_not_stored_and_a_run_names_its_user(
    make_agent: MakeAgent, upstream: Upstream
) -> None:
    def nuts_in(cake: str) -> str:
        """Nuts in a cake."""
        return f"No peanuts in {cake} cake."

    called = {"name": "nuts_in", "arguments": {"cake": "almond"}, "id": "call_1"}
    upstream.script(
        {"match": {"hasToolResult": False}, "response": {"content": "Let me look.", "toolCalls": [called]}},
        {"match": {"hasToolResult": True}, "response": {"content": "Take the almond cake."}},
    )
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenContextProvider(warden, user_from="user_id"), tools=[nuts_in])
        await agent.run("Which cake may I eat?", session=session_of("ana", "t"))
        said = ["Which cake may I eat?", "Let me look.", "Take the almond cake."]
        assert [text for _, text, _ in await turns_of(warden, "ana")] == said
        with pytest.raises(InvalidInput, match="names no user"):
            await agent.run([Message("user", ["Who am I?"])], session=session_of(None, "t"))
