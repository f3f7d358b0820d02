"""The capability inside agents of Pydantic AI, with its own client of a model and aimock as the model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from pydantic_ai import Agent, ImageUrl, ModelHTTPError
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from memwarden import AsyncWarden, MemwardenCapability, Warden
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import InvalidInput
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"


@dataclass
class Deps:
    user_id: str | None


@pytest_asyncio.fixture
async def model(upstream: Upstream) -> AsyncIterator[OpenAIChatModel]:
    async with AsyncOpenAI(base_url=upstream.url + "/v1", api_key="none", max_retries=0) as client:
        yield OpenAIChatModel("gpt-5-mini", provider=OpenAIProvider(openai_client=client))


async def turns_of(warden: AsyncWarden, user: str) -> list[tuple[str | None, str]]:
    turns = await warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text) for turn in turns]


@pytest.mark.parametrize("mode", ["system_append", "context_message", "user_prefix", "cache_stable"])
async def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, model: OpenAIChatModel, upstream: Upstream, mode: str
) -> None:
    upstream.says("Noted.")
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
    for text in (FACT, OTHER, QUESTION):
        async with AsyncWarden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            memory = MemwardenCapability(warden, user_from="user_id", settings=settings)
            agent = Agent(model, deps_type=Deps, instructions="Be brief.", capabilities=[memory])
            result = await agent.run(text, deps=Deps("ana"))
            assert "<memories>" not in str(result.all_messages())
            await agent.run(QUESTION, deps=Deps("bob"))
            assert (await turns_of(warden, "ana"))[-2:] == [("user", text), ("assistant", "Noted.")]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert all("Be brief." in prompt for prompt in prompts)
    assert FACT in prompts[4]
    assert "<memories>" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_a_conversation_that_is_handed_over_again_is_stored_once(
    model: OpenAIChatModel, upstream: Upstream
) -> None:
    upstream.says("Noted.")

    def keep_last(messages: list[ModelMessage]) -> list[ModelMessage]:
        return messages[-1:]

    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        capabilities = [MemwardenCapability(warden.scope(user="ana")), ProcessHistory(keep_last)]
        agent = Agent(model, capabilities=capabilities)
        history: list[ModelMessage] = []
        for text in (FACT, OTHER, QUESTION):
            result = await agent.run(text, message_history=history, conversation_id="monday")
            history = result.all_messages()
        said = [text for _, text in await turns_of(warden, "ana")]
        assert said == [FACT, "Noted.", OTHER, "Noted.", QUESTION, "Noted."]
        (thread,) = {turn.thread_id for turn in await warden.scope(user="ana").find({"channel": "turn"})}
        assert thread == "monday"
        assert "<memories>" not in str(history)


async def test_a_stream_is_stored_when_it_is_over(model: OpenAIChatModel, upstream: Upstream) -> None:
    upstream.says("No peanuts for you, Ana.", letters=3)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = Agent(model, capabilities=[MemwardenCapability(warden.scope(user="ana"))])
        async with agent.run_stream(FACT) as stream:
            pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        assert len(pieces) > 1
        assert await turns_of(warden, "ana") == [("user", FACT), ("assistant", "No peanuts for you, Ana.")]


async def test_the_model_keeps_and_finds_by_tools_of_each_user(model: OpenAIChatModel, upstream: Upstream) -> None:
    for name, arguments in (
        ("createMemory", {"content": "Ana keeps two zebras."}),
        ("searchMemories", {"query": "zebras"}),
    ):
        called = {"name": name, "arguments": arguments, "id": f"call_{name}"}
        upstream.script({"match": {"userMessage": name, "hasToolResult": False}, "response": {"toolCalls": [called]}})
    upstream.script({"match": {"hasToolResult": True}, "response": {"content": "Done."}})
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        memory = MemwardenCapability(
            warden, user_from="user_id", tools="write", only=["createMemory", "searchMemories"]
        )
        agent = Agent(model, deps_type=Deps, capabilities=[memory])
        for user, name, expected in (
            ("ana", "createMemory", "created"), ("bob", "searchMemories", None), ("ana", "searchMemories", "two zebras")
        ):  # fmt: skip
            result = await agent.run(name, deps=Deps(user))
            answer = str(result.all_messages()[2])
            assert ("zebras" in answer) is (expected == "two zebras")
            assert expected is None or expected in answer
        assert {tool["function"]["name"] for tool in upstream.prompts()[0]["tools"]} == {
            "createMemory",
            "searchMemories",
        }
        with pytest.raises(InvalidInput, match="deps of this run names no user"):
            await agent.run(FACT, deps=Deps(None))


async def test_a_failed_request_keeps_what_the_user_said(model: OpenAIChatModel, upstream: Upstream) -> None:
    upstream.fails(500)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = Agent(model, capabilities=[MemwardenCapability(warden.scope(user="ana"))])
        with pytest.raises(ModelHTTPError):
            await agent.run(FACT)
        assert await turns_of(warden, "ana") == [("user", FACT)]


async def test_many_runs_at_once_over_a_blocking_warden(model: OpenAIChatModel, upstream: Upstream) -> None:
    upstream.says("Noted.")
    with Warden.open("memory://", config=CONFIG) as warden:
        agent = Agent(model, deps_type=Deps, capabilities=[MemwardenCapability(warden, user_from="user_id")])
        users = [f"user{number}" for number in range(8)]
        await asyncio.gather(*(agent.run(f"My code is {user}.", deps=Deps(user)) for user in users))
        for user in users:
            turns = warden.scope(user=user).find({"channel": "turn"})
            assert sorted(turn.text for turn in turns) == [f"My code is {user}.", "Noted."]


async def test_pictures_reach_the_model_as_they_were(model: OpenAIChatModel, upstream: Upstream) -> None:
    upstream.says("A cake.")
    picture: Any = ImageUrl("https://example.com/cake.png")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        await warden.scope(user="ana").observe("The cake in the picture has no peanuts.")
        settings = ChatSettings(use_memory=True, memory_injection_mode="user_prefix")
        agent = Agent(
            model, capabilities=[MemwardenCapability(warden.scope(user="ana", thread="t"), settings=settings)]
        )
        await agent.run(["Has the cake in this picture peanuts?", picture])
        *_, question, shown = upstream.prompts()[0]["messages"][-1]["content"]
        assert question == {"type": "text", "text": "Has the cake in this picture peanuts?"}
        assert shown["image_url"]["url"] == "https://example.com/cake.png"
        assert ("user", "Has the cake in this picture peanuts?") in await turns_of(warden, "ana")


async def test_a_history_that_begins_with_an_answer_is_given_memories(
    model: OpenAIChatModel, upstream: Upstream
) -> None:
    upstream.says("Peanuts.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        await warden.scope(user="ana").observe(FACT)
        agent = Agent(model, capabilities=[MemwardenCapability(warden.scope(user="ana"))])
        greeting: list[ModelMessage] = [ModelResponse([TextPart("Hello! How can I help?")])]
        await agent.run(QUESTION, message_history=greeting)
        roles = [message["role"] for message in upstream.prompts()[0]["messages"]]
        assert roles == ["system", "assistant", "user"]
        assert FACT in upstream.prompts()[0]["messages"][0]["content"]


@pytest.mark.parametrize(
    "history", [[], [ModelRequest([UserPromptPart(FACT)]), ModelResponse([TextPart("Noted.")])]], ids=["none", "some"]
)
async def test_a_run_without_a_prompt_keeps_its_instructions(history: list[ModelMessage]) -> None:
    given: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        given.append(messages)
        return ModelResponse([TextPart("Yes.")])

    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        agent = Agent(FunctionModel(answer), instructions="Be brief.", capabilities=[MemwardenCapability(warden)])
        await agent.run(message_history=history)
    (request,) = given[0][len(history) :]
    assert isinstance(request, ModelRequest)
    assert request.instructions == "Be brief."
