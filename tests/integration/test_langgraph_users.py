"""A graph that is compiled once serves many users: its store and its saver ask the run's config whose the call is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from memwarden import AsyncWarden, Warden
from memwarden.errors import InvalidInput
from memwarden.surfaces.integrations.langgraph import MemwardenSaver, MemwardenStore

CONFIG = {"embedder": "none"}


@pytest.fixture
def warden(items_url: str) -> Iterator[Warden]:
    with Warden.open(items_url, config=CONFIG) as opened:
        yield opened


def run_of(user: str | None, thread: str = "t1") -> Any:
    named = {} if user is None else {"user_id": user}
    return {"configurable": {"thread_id": thread, **named}}


def keep(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
    said = str(state["messages"][-1].content)
    store.put(("notes",), said, {"text": said})
    return {"messages": [("ai", ", ".join(sorted(item.key for item in store.search(("notes",)))))]}


async def akeep(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
    said = str(state["messages"][-1].content)
    await store.aput(("notes",), said, {"text": said})
    return {"messages": [("ai", ", ".join(sorted(item.key for item in await store.asearch(("notes",)))))]}


def compiled(warden: Warden | AsyncWarden, node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("keep", node)
    builder.add_edge(START, "keep")
    return builder.compile(
        checkpointer=MemwardenSaver(warden, user_from="user_id"), store=MemwardenStore(warden, user_from="user_id")
    )


def test_a_graph_serves_many_users(warden: Warden) -> None:
    graph = compiled(warden, keep)
    for user, said in (("ana", "bees"), ("bo", "cats"), ("ana", "honey")):
        answer = graph.invoke({"messages": [("user", said)]}, run_of(user))["messages"]
    assert [str(message.content) for message in answer] == ["bees", "bees", "honey", "bees, honey"]
    assert [str(item.content) for item in graph.get_state(run_of("bo")).values["messages"]] == ["cats", "cats"]
    assert [item.key for item in MemwardenStore(warden.scope(user="bo")).search(("notes",))] == ["cats"]
    for nobody in (None, ""):
        with pytest.raises(InvalidInput, match="user_id"):
            graph.invoke({"messages": [("user", "dogs")]}, run_of(nobody))


async def test_users_at_once_keep_apart(items_url: str) -> None:
    async with AsyncWarden.open(items_url, config=CONFIG) as warden:
        graph = compiled(warden, akeep)
        users = [f"u{number}" for number in range(8)]
        calls = [graph.ainvoke({"messages": [("user", user)]}, run_of(user)) for user in users]
        answers = await asyncio.gather(*calls)
        assert [str(answer["messages"][-1].content) for answer in answers] == users


def test_calls_outside_of_a_run_name_their_user(warden: Warden) -> None:
    graph, saver = compiled(warden, keep), MemwardenSaver(warden, user_from="user_id")
    store = MemwardenStore(warden, user_from="user_id", ttl={"default_ttl": 0.0})
    for user in ("ana", "bo"):
        graph.invoke({"messages": [("user", user)]}, run_of(user))
    with pytest.raises(InvalidInput, match="for_user"):
        store.search(("notes",))
    with pytest.raises(InvalidInput, match="for_user"):
        saver.delete_thread("t1")
    assert [item.key for item in store.for_user("bo").search(("notes",))] == ["bo"]
    saver.for_user("bo").delete_thread("t1")
    assert list(saver.for_user("bo").list(None)) == []
    assert saver.get_tuple(run_of("bo")) is None
    assert saver.get_tuple(run_of("ana")) is not None
    store.for_user("ana").put(("notes",), "old", {"text": "old"})
    assert store.sweep_ttl() == 1
    assert [item.key for item in store.for_user("ana").search(("notes",))] == ["ana"]
