"""The store inside LangGraph's own agent loop, with the tools and the scripted model of the example."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from langchain_core.messages import HumanMessage
from langgraph_ways import Letters

from memwarden import AsyncWarden, Warden
from memwarden.surfaces.integrations.langgraph import MemwardenStore

EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_memory.py"
CONFIG = {"embedder": "none"}


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("langgraph_memory", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def warden(items_url: str) -> Iterator[Warden]:
    with Warden.open(items_url, config=CONFIG) as warden:
        yield warden


@pytest_asyncio.fixture
async def async_warden(items_url: str) -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open(items_url, config=CONFIG) as warden:
        yield warden


def a_store(warden: Warden | AsyncWarden, user: str) -> MemwardenStore:
    return MemwardenStore(warden.scope(user=user), index={"embed": Letters(), "fields": ["text"]})


def said(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text)]}


def test_an_agent_finds_by_tools_what_it_kept_by_tools(warden: Warden, example: Any) -> None:
    graph = example.build(a_store(warden, "ana"))
    for text in ("Ana loves pasta.", "Ana works at a bank.", "Ana has two zebras."):
        assert graph.invoke(said(text))["messages"][-1].content == f"Kept: {text}"
    messages = graph.invoke(said("zebras?"))["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert messages[-1].content.startswith("Ana has two zebras.")
    other = example.build(a_store(warden, "bob"))
    assert other.invoke(said("zebras?"))["messages"][-1].content == "Nothing is known."


async def test_an_async_agent_runs_blocking_tools(async_warden: AsyncWarden, example: Any) -> None:
    """LangGraph runs blocking tools in threads, where the blocking methods hand over to the warden's loop."""
    graph = example.build(a_store(async_warden, "ana"))
    await asyncio.gather(*(graph.ainvoke(said(f"Ana has {number} zebras.")) for number in range(5)))
    answer = await graph.ainvoke(said("zebras?"))
    assert answer["messages"][-1].content.count("zebras.") == 2
    assert len(await a_store(async_warden, "ana").asearch(example.MEMORIES)) == 5


async def test_an_async_agent_over_a_blocking_warden(warden: Warden, example: Any) -> None:
    graph = example.build(a_store(warden, "ana"))
    assert (await graph.ainvoke(said("Ana loves pasta.")))["messages"][-1].content == "Kept: Ana loves pasta."
    assert (await graph.ainvoke(said("pasta?")))["messages"][-1].content == "Ana loves pasta."
