"""What an agent may not read is not there for it, and what people said is no item of a backend (B5, E1, E9)."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import Warden
from memwarden.api.blocking import BoundScope
from memwarden.errors import NotFound
from memwarden.models import wordllama
from memwarden.tiers.backend import ContextItem


def shop(warden: Warden, agent: str | None = None) -> BoundScope:
    return warden.scope(user="shop", agent=agent)


def remembered(warden: Warden, text: str, **fields: Any) -> str:
    (result,) = shop(warden).remember(text, **fields).results
    return str(result.id)


def test_get_does_not_find_what_the_agent_may_not_read(warden: Warden) -> None:
    private = remembered(warden, "The owner of the shop fears dogs.", category="preferences")
    plan = remembered(warden, "The shop opens in May.", category="tasks")
    planner = shop(warden, "planner")
    assert planner.get(plan).id == plan
    with pytest.raises(NotFound) as hidden:
        planner.get(private)
    with pytest.raises(NotFound) as unknown:
        planner.get("nonsense")
    assert str(hidden.value).replace(private, "nonsense") == str(
        unknown.value
    )  # it does not even tell that it is there
    assert shop(warden).get(private).id == private


def test_forget_does_not_find_what_the_agent_may_not_read(warden: Warden) -> None:
    private = remembered(warden, "The owner of the shop fears dogs.", category="preferences")
    plan = remembered(warden, "The shop opens in May.", category="tasks")
    with pytest.raises(NotFound):
        shop(warden, "planner").forget([plan, private])
    assert {memory.id for memory in shop(warden).find()} == {plan, private}
    shop(warden, "planner").forget(plan)
    assert [memory.id for memory in shop(warden).find()] == [private]


def test_context_keeps_to_the_agents_allowlist(warden: Warden) -> None:
    remembered(warden, "The owner of the web shop fears dogs.", category="preferences")
    remembered(warden, "The web shop opens in May.", category="tasks")
    remembered(warden, "The owner of the web shop is called Kari.", category="profile")  # context: all, but not for all
    message = [{"role": "user", "content": "What about the owner of the web shop?"}]
    everything = shop(warden).context(message, threshold=0.0)
    assert {item.category for item in everything.items} == {"preferences", "tasks", "profile"}
    block = shop(warden, "planner").context(message, threshold=0.0)
    assert [item.category for item in block.items] == ["tasks"]
    assert "dogs" not in block.text
    assert "Kari" not in block.text


def test_a_fact_hides_turns_of_its_own_thread_only(warden: Warden) -> None:
    here, there = warden.scope(user="ana", thread="t1"), warden.scope(user="ana", thread="t2")
    here.observe({"role": "user", "content": "The door of our new house is red.", "id": "m1"})
    there.observe({"role": "user", "content": "The door of the holiday house is red and old.", "id": "m1"})
    here.remember("The house has a red door.", sources=["m1"])
    result = here.query("What colour is the door of the house?", threshold=0.0, top_k=10)
    shown = {(item.channel, item.memory.thread_id) for item in result.items}
    assert shown == {("semantic", "t1"), ("turn", "t2")}
    assert [cut.gate for cut in result.cut] == ["covered"]


def bees(warden: Warden) -> list[str]:
    """Ana says three things and an item is added; the ids of the turns."""
    said = ["I keep bees.", "The bees live behind the barn.", "Bees need water."]
    talk = [{"role": "user", "content": text} for text in said]
    turns = warden.scope(user="ana").observe(talk)
    warden.backend("user/ana").add(ContextItem("item-1", "note", payload={"text": "The barn is painted red."}))
    return [str(result.id) for result in turns.results]


def test_what_people_said_is_no_item(warden: Warden) -> None:
    turns = bees(warden)
    backend = warden.backend("user/ana")
    assert [item.context_item_id for item in backend.list_all()] == ["item-1"]
    assert [item.context_item_id for item in backend.query({})] == ["item-1"]
    assert backend.query({"context_item_id": turns}) == []
    assert backend.query({"channel": "turn"}) == []
    assert backend.count() == 1
    backend.clear()
    assert [memory.id for memory in warden.scope(user="ana").find(order_by="written", descending=False)] == turns


def test_a_search_by_embedding_finds_items_and_no_turns(warden: Warden) -> None:
    bees(warden)
    question = wordllama.shared_embedder().embed(["Where do the bees live?"])[0].tolist()
    found = warden.backend("user/ana").query_semantic(question, 1)
    assert [item.context_item_id for item in found] == ["item-1"]
    assert len(warden.backend("user/ana").query_semantic(question, 10)) == 1
