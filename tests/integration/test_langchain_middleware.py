"""The middleware inside agents of ``create_agent``, with LangChain's own client of a model and aimock as the model."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from openai import DefaultAsyncHttpxClient
from pydantic import SecretStr

from memwarden import AsyncWarden, MemwardenMiddleware, MemwardenStore, Warden
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import InvalidInput
from upstream import Upstream

CONFIG = {"embedder": "none"}
FACT, OTHER, QUESTION = "I am allergic to peanuts.", "My sister Maria lives in Lyon.", "What am I allergic to?"


@pytest_asyncio.fixture
async def model(upstream: Upstream) -> AsyncIterator[ChatOpenAI]:
    # A client of its own, because LangChain keeps one for the whole process, and each test has its own event loop.
    async with DefaultAsyncHttpxClient() as client:
        url, key = upstream.url + "/v1", SecretStr("none")
        yield ChatOpenAI(model="gpt-5-mini", base_url=url, api_key=key, max_retries=0, http_async_client=client)


@pytest.fixture
def warden(tmp_path: Path) -> Iterator[Warden]:
    with Warden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
        yield warden


def asking(text: str) -> Any:
    return {"messages": [{"role": "user", "content": text}]}


def run_of(user: str, thread: str) -> Any:
    return {"configurable": {"user_id": user, "thread_id": thread}}


def texts(messages: list[BaseMessage]) -> list[str]:
    return [str(message.text) for message in messages]


def turns_of(warden: Warden, user: str) -> list[tuple[str | None, str, str | None]]:
    turns = warden.scope(user=user).find({"channel": "turn"}, order_by="written", descending=False)
    return [(turn.role, turn.text, turn.thread_id) for turn in turns]


@pytest.mark.parametrize("mode", ["system_append", "context_message", "user_prefix", "cache_stable"])
def test_the_first_session_is_in_the_prompt_of_the_third(
    tmp_path: Path, model: ChatOpenAI, upstream: Upstream, mode: str
) -> None:
    upstream.says("Noted.")
    settings = ChatSettings(use_memory=True, memory_injection_mode=mode)
    for day, text in (("monday", FACT), ("tuesday", OTHER), ("friday", QUESTION)):
        with Warden.open(f"sqlite:///{tmp_path / 'm.db'}", config=CONFIG) as warden:
            memory = MemwardenMiddleware(warden, user_from="user_id", settings=settings)
            agent = create_agent(model, middleware=[memory], system_prompt="Be brief.")
            answer = agent.invoke(asking(text), run_of("ana", day))
            assert texts(answer["messages"]) == [text, "Noted."]
            agent.invoke(asking(QUESTION), run_of("bob", day))
            assert turns_of(warden, "ana")[-2:] == [("user", text, day), ("assistant", "Noted.", day)]
    prompts = [str(prompt) for prompt in upstream.prompts()]
    assert all("Be brief." in prompt for prompt in prompts)
    assert FACT in prompts[4]
    assert "<memories>" not in prompts[0]
    assert not [prompt for prompt in prompts[1::2] if "peanuts" in prompt or "Lyon" in prompt]


async def test_calls_of_tools_between_are_one_conversation(
    warden: Warden, model: ChatOpenAI, upstream: Upstream
) -> None:
    @tool
    def nuts_in(cake: str) -> str:
        """Nuts in a cake."""
        return f"No peanuts in {cake} cake."

    upstream.script(
        {
            "match": {"hasToolResult": False},
            "response": {
                "content": "Let me look.",
                "toolCalls": [{"name": "nuts_in", "arguments": {"cake": "almond"}, "id": "call_1"}],
            },
        },
        {"match": {"hasToolResult": True}, "response": {"content": "Take the almond cake."}},
    )
    memory = MemwardenMiddleware(warden, user_from="user_id")
    agent = create_agent(model, [nuts_in], middleware=[memory], checkpointer=InMemorySaver())
    run = run_of("ana", "monday")
    answer = await agent.ainvoke(asking("Which cake may I eat?"), run)
    assert texts(answer["messages"])[1:] == ["Let me look.", "No peanuts in almond cake.", "Take the almond cake."]
    said = ["Which cake may I eat?", "Let me look.", "Take the almond cake."]
    assert [text for _, text, _ in turns_of(warden, "ana")] == said
    await agent.ainvoke(asking("Which cake may I eat?"), run)
    asked_again = [text for _, text, _ in turns_of(warden, "ana")]
    assert asked_again[:3] == said
    assert asked_again[3] == said[0]


@dataclass
class Context:
    user_id: str


async def test_many_users_at_once_over_an_async_warden(model: ChatOpenAI, upstream: Upstream) -> None:
    upstream.says("Noted.")
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        memory = MemwardenMiddleware(warden, user_from="user_id")
        agent: Any = create_agent(model, middleware=[memory], context_schema=Context)
        users = [f"user{number}" for number in range(8)]
        runs = (agent.ainvoke(asking(f"My code is {user}."), context=Context(user)) for user in users)
        await asyncio.gather(*runs)
        for user in users:
            turns = await warden.scope(user=user).find({"channel": "turn"})
            assert sorted(turn.text for turn in turns) == [f"My code is {user}.", "Noted."]
        with pytest.raises(InvalidInput, match="names no user"):
            await agent.ainvoke(asking("Who am I?"))


def test_a_failed_call_of_the_model_keeps_what_the_user_said(
    warden: Warden, model: ChatOpenAI, upstream: Upstream
) -> None:
    upstream.fails(500)
    agent = create_agent(model, middleware=[MemwardenMiddleware(warden.scope(user="ana"))])
    with pytest.raises(Exception, match="not now"):
        agent.invoke(asking(FACT), {"configurable": {"thread_id": "monday"}})
    assert turns_of(warden, "ana") == [("user", FACT, "monday")]


def test_pictures_reach_the_model_as_they_were(warden: Warden, model: ChatOpenAI, upstream: Upstream) -> None:
    upstream.says("A cake.")
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": "What is this?"}, picture]
    agent = create_agent(model, middleware=[MemwardenMiddleware(warden.scope(user="ana", thread="t"))])
    agent.invoke({"messages": [{"role": "user", "content": content}]})
    assert upstream.prompts()[0]["messages"][-1]["content"] == content
    assert turns_of(warden, "ana") == [("user", "What is this?", "t"), ("assistant", "A cake.", "t")]


def test_langmems_tools_keep_each_users_memories_in_our_store(
    tmp_path: Path, model: ChatOpenAI, upstream: Upstream
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangMem imports a name of LangGraph from its former place
        from langmem import create_manage_memory_tool, create_search_memory_tool
    calls = {"manage_memory": {"content": "Ana is allergic to peanuts."}, "search_memory": {"query": "peanuts"}}
    for name, arguments in calls.items():
        called = {"name": name, "arguments": arguments, "id": f"call_{name}"}
        upstream.script({"match": {"userMessage": name, "hasToolResult": False}, "response": {"toolCalls": [called]}})
    upstream.script({"match": {"hasToolResult": True}, "response": {"content": "Done."}})
    space = ("memories", "{user_id}")
    tools = [create_manage_memory_tool(space), create_search_memory_tool(space)]
    for user, name, expected in (
        ("ana", "manage_memory", "created memory"),
        ("bob", "search_memory", "[]"),
        ("ana", "search_memory", "Ana is allergic to peanuts."),
    ):
        with Warden.open(f"sqlite:///{tmp_path / 'm.db'}") as warden:
            store = MemwardenStore(warden, user_from="user_id", index={"fields": ["content"]})
            agent = create_agent(model, tools, store=store)
            messages = agent.invoke(asking(name), run_of(user, "t"))["messages"]
            assert expected in str(messages[-2].content)
            assert messages[-2].type == "tool"
