"""Our hooks in agents and teams of Agno. Run by ``make adapters``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agno")

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.exceptions import ModelProviderError
from agno.models.message import Message
from agno.models.openai import OpenAIChat
from agno.team import Team

from memwarden import AsyncWarden, MemwardenHooks, Warden
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"
MakeAgent = Callable[..., Any]


@pytest.fixture
def model(upstream: Upstream) -> OpenAIChat:
    return OpenAIChat(id="gpt-5-mini", api_key="none", base_url=f"{upstream.url}/v1", max_retries=0)


@pytest.fixture
def make_agent(model: OpenAIChat) -> MakeAgent:
    def make(memory: MemwardenHooks, kind: Any = Agent, **given: Any) -> Any:
        instructions = memory.instructions("Be brief.")
        hooks: dict[str, Any] = {"pre_hooks": [memory.before_run], "post_hooks": [memory.after_run]}
        return kind(model=model, instructions=instructions, telemetry=False, **hooks, **given)

    return make


def turns_of(warden: Warden, user: str) -> list[tuple[str | None, str, str | None]]:
    turns = warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text, turn.thread_id) for turn in turns]


@pytest.mark.parametrize("kind", [Agent, Team])
def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, make_agent: MakeAgent, upstream: Upstream, kind: Any
) -> None:
    upstream.says("Noted.")
    given: dict[str, Any] = {"members": []} if kind is Team else {}
    for day, text in (("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION)):
        with Warden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            agent = make_agent(MemwardenHooks(warden, user_from="user_id"), kind, **given)
            assert agent.run(text, user_id="ana", session_id=day).content == "Noted."
            agent.run(QUESTION, user_id="bob", session_id=day)
            assert turns_of(warden, "ana")[-2:] == [("user", text, day), ("assistant", "Noted.", day)]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert all("Be brief." in prompt for prompt in prompts)
    assert FACT in prompts[4]
    assert "Known from earlier" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_an_async_warden_is_awaited_and_a_stream_is_stored(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("No peanuts for you, Ana.", letters=3)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenHooks(warden.scope(user="ana", thread="t")))
        pieces = [event async for event in agent.arun(FACT, stream=True)]
        assert len(pieces) > 3
        turns = await warden.scope(user="ana").find({"channel": "turn"}, order_by="written", descending=False)
        assert [(turn.text, turn.thread_id) for turn in turns] == [(FACT, "t"), ("No peanuts for you, Ana.", "t")]


async def test_many_runs_at_once_and_agnos_own_history(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("Noted.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        memory = MemwardenHooks(warden, user_from="user_id")
        database = InMemoryDb()
        agent = make_agent(memory, db=database, add_history_to_context=True)
        users = [f"user{number}" for number in range(8)]
        for text in ("My code is {}.", "Yes.", "Yes."):
            await asyncio.gather(*(agent.arun(text.format(user), user_id=user, session_id=user) for user in users))
        for user in users:
            turns = await warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
            said = [turn.text for turn in turns]
            assert said == [f"My code is {user}.", "Noted.", "Yes.", "Noted.", "Yes.", "Noted."]
        sessions = database.get_sessions(deserialize=False)
        assert "Noted." in str(sessions)


def test_a_failed_run_and_its_retries_keep_what_the_user_said_once(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.fails(500)
    with Warden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenHooks(warden.scope(user="ana", thread="t")), retries=1, delay_between_retries=0)
        try:
            agent.run(FACT)
        except ModelProviderError as error:
            assert "not now" in str(error)  # noqa: PT017  # Agno raises it or gives it in the answer, by its version
        assert turns_of(warden, "ana") == [("user", FACT, "t")]
        assert len(upstream.prompts()) > 1


def test_messages_are_read_and_a_run_names_its_user(make_agent: MakeAgent, upstream: Upstream) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        agent = make_agent(MemwardenHooks(warden, user_from="user_id"))
        agent.run([Message(role="user", content=FACT)], user_id="ana", session_id="t")
        agent.run({"role": "user", "content": QUESTION}, user_id="bob", session_id="t")
        assert turns_of(warden, "ana") == [("user", FACT, "t"), ("assistant", "Noted.", "t")]
        assert turns_of(warden, "bob") == [("user", QUESTION, "t"), ("assistant", "Noted.", "t")]
        before = len(upstream.prompts())
        answer = agent.run("Who am I?")
        assert "names no user" in str(answer.content)
        assert len(upstream.prompts()) == before
