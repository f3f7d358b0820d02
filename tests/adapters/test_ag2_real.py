"""Our middleware in agents of AG2. Run by ``make adapters``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ag2")

from ag2 import Agent, Context, MemoryStream
from ag2.config import OpenAIConfig
from ag2.middleware import HistoryLimiter

from memwarden import AsyncWarden, InvalidInput, MemwardenTurnMiddleware, Warden
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"
MakeAgent = Callable[..., Any]


@pytest.fixture
def make_agent(upstream: Upstream) -> MakeAgent:
    def make(*middleware: Any, streaming: bool = False, **given: Any) -> Agent:
        config = OpenAIConfig(
            "gpt-5-mini", api_key="none", base_url=f"{upstream.url}/v1", max_retries=0, streaming=streaming
        )
        return Agent("helper", "Be brief.", config=config, middleware=middleware, **given)

    return make


async def turns_of(warden: AsyncWarden, user: str) -> list[tuple[str | None, str]]:
    turns = await warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text) for turn in turns]


async def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, make_agent: MakeAgent, upstream: Upstream
) -> None:
    upstream.says("Noted.")
    for text in (FACT, OTHER, QUESTION):
        async with AsyncWarden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            agent = make_agent(MemwardenTurnMiddleware(warden, user_from="user_id"))
            assert (await agent.ask(text, variables={"user_id": "ana"})).body == "Noted."
            await agent.ask(QUESTION, variables={"user_id": "bob"})
            assert (await turns_of(warden, "ana"))[-2:] == [("user", text), ("assistant", "Noted.")]
            threads = {turn.thread_id for turn in await warden.scope(user="ana").find({"channel": "turn"})}
    assert len(threads) == 3
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert all("Be brief." in prompt for prompt in prompts)
    assert FACT in prompts[4]
    assert "<memories>" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


@pytest.mark.parametrize("limited", [False, True])
async def test_a_conversation_is_stored_once(make_agent: MakeAgent, upstream: Upstream, limited: bool) -> None:
    upstream.says("Noted.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        layers = [HistoryLimiter(2)] if limited else []
        agent = make_agent(MemwardenTurnMiddleware(warden.scope(user="ana")), *layers)
        reply = await agent.ask(FACT)
        for text in (OTHER, QUESTION):
            reply = await reply.ask(text)
        said = [text for _, text in await turns_of(warden, "ana")]
        assert said == [FACT, "Noted.", OTHER, "Noted.", QUESTION, "Noted."]
        assert "<memories>" not in str(list(await reply.context.stream.history.get_events()))
        assert reply.context.prompt == ["Be brief."]


async def test_a_stream_is_stored_when_it_is_over(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("No peanuts for you, Ana.", letters=3)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenTurnMiddleware(warden.scope(user="ana")), streaming=True)
        stream, chunks = MemoryStream(), []
        stream.subscribe(lambda event: chunks.append(event))
        await agent.ask(FACT, stream=stream)
        assert len(chunks) > 5
        assert await turns_of(warden, "ana") == [("user", FACT), ("assistant", "No peanuts for you, Ana.")]


async def test_a_failed_call_keeps_what_the_user_said(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.fails(500)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenTurnMiddleware(warden.scope(user="ana")))
        with pytest.raises(Exception, match="not now"):
            await agent.ask(FACT)
        assert await turns_of(warden, "ana") == [("user", FACT)]


async def test_many_agents_at_once_over_a_blocking_warden(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenTurnMiddleware(warden, user_from="user_id"))
        users = [f"user{number}" for number in range(8)]
        await asyncio.gather(*(agent.ask(f"My code is {user}.", variables={"user_id": user}) for user in users))
        for user in users:
            turns = warden.scope(user=user).find({"channel": "turn"})
            assert sorted(turn.text for turn in turns) == [f"My code is {user}.", "Noted."]


async def test_calls_of_tools_are_one_conversation_and_a_call_names_its_user(
    make_agent: MakeAgent, upstream: Upstream
) -> None:
    async def nuts_in(cake: str, context: Context) -> str:
        """Nuts in a cake."""
        return f"No peanuts in {cake} cake."

    called = {"name": "nuts_in", "arguments": {"cake": "almond"}, "id": "call_1"}
    upstream.script(
        {"match": {"hasToolResult": False}, "response": {"content": "Let me look.", "toolCalls": [called]}},
        {"match": {"hasToolResult": True}, "response": {"content": "Take the almond cake."}},
    )
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenTurnMiddleware(warden, user_from="user_id"), tools=[nuts_in])
        await agent.ask("Which cake may I eat?", variables={"user_id": "ana"})
        said = ["Which cake may I eat?", "Let me look.", "Take the almond cake."]
        assert [text for _, text in await turns_of(warden, "ana")] == said
        with pytest.raises(InvalidInput, match="names no user"):
            await agent.ask("Who am I?")
