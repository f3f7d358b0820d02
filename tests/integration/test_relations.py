"""Relations in answers: a small boost, and one or two related bullets (B2)."""

from __future__ import annotations

from typing import Any

import pytest

from closing import close_validity
from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.errors import NotFound
from memwarden.records import Batch, Link, QueryResult
from memwarden.testing import get_store
from memwarden.text.tokenizer import estimate

QUESTION = "Where is the greenhouse?"
FACT = "The greenhouse is behind the old barn."
OTHERS = ("Tomatoes grow best with Ida's compost.", "The key hangs in the hall.", "Ben pays the water.")


CONFIG = {"embedder": "none", "merging": "off"}


async def stated(me: AsyncScope, *texts: str, **fields: Any) -> list[str]:
    return [result.id or "" for result in (await me.remember(list(texts), **fields)).results]


async def link(me: AsyncScope, text: str, *others: str, strength: float = 0.8) -> None:
    """The first is linked the most."""
    links = tuple(Link(text, other, strength=strength - 0.1 * number) for number, other in enumerate(others))
    await get_store(me).apply(Batch(me.who.namespace, links, clock.now()))


def related(result: QueryResult) -> list[str]:
    return [item.id for item in result.related]


async def test_the_two_strongest_stand_after_the_bullets(me: AsyncScope) -> None:
    fact, *others = await stated(me, FACT, *OTHERS)
    alone = await me.query(QUESTION, top_k=1)
    assert (related(alone), [item.id for item in alone.items]) == ([], [fact])
    await link(me, fact, others[2])
    await link(me, others[1], fact, strength=0.9)  # either way
    await link(me, fact, others[0], strength=0.3)
    result = await me.query(QUESTION, top_k=1)
    assert [item.id for item in result.items] == [fact]
    assert related(result) == [others[1], others[2]]
    assert result.text.splitlines() == [
        f"- [activity] {FACT}",
        f"- related: [activity] {OTHERS[1]}",
        f"- related: [activity] {OTHERS[2]}",
    ]
    assert result.tokens == estimate(result.text)
    assert result.related[0].why.note == f"related to {fact}"
    assert not {cut.id for cut in result.cut} & {*related(result), fact}


async def test_they_need_something_relevant(me: AsyncScope) -> None:
    fact, *others = await stated(me, FACT, *OTHERS)
    await link(me, fact, others[0])
    assert related(await me.query("Which gearbox oil does a tractor need?")) == []
    assert related(await me.query(QUESTION, threshold=0.0, top_k=10)) == []  # it is an item then


async def test_they_pass_the_gates(me: AsyncScope, async_warden: AsyncWarden) -> None:
    (fact,) = await stated(me, FACT, category="tasks", tags=["x"])
    (over,) = await stated(me, OTHERS[0], category="tasks")
    (secret,) = await stated(me, OTHERS[1], category="profile")
    (good,) = await stated(me, OTHERS[2], category="tasks")
    await link(me, fact, over, secret, good)
    await close_validity(async_warden, me.who.namespace, over, clock.now())
    planner = async_warden.scope(user="ana", agent="planner")
    assert related(await planner.query(QUESTION, top_k=1)) == [good]
    assert related(await planner.query(QUESTION, top_k=1, filters={"tags": "x"})) == []
    assert [relation.to_id for relation in await planner.relations(fact)] == sorted([over, good])
    await me.forget(good)
    assert related(await planner.query(QUESTION, top_k=1)) == []
    assert [relation.to_id for relation in await planner.relations(fact)] == [over]


async def test_they_stay_within_the_budget(me: AsyncScope) -> None:
    fact, *others = await stated(me, FACT, *OTHERS)
    await link(me, fact, *others)
    whole = await me.query(QUESTION, top_k=1, budget_tokens=None)
    for budget in range(1, whole.tokens + 1):
        result = await me.query(QUESTION, top_k=1, budget_tokens=budget)
        assert estimate(result.text) == result.tokens <= budget
        assert len(result.related) == result.text.count("- related: ")
    assert related(result) == related(whole)


async def test_one_that_was_forgotten_is_gone_at_once_and_was_there_before(me: AsyncScope) -> None:
    fact, other, *_ = await stated(me, FACT, *OTHERS)
    before = (await get_store(me).head(me.who.namespace)).rev
    await link(me, fact, other)
    rev = (await me.query(QUESTION, top_k=1)).rev
    await me.forget(other)
    assert related(await me.query(QUESTION, top_k=1)) == []
    assert related(await me.query(QUESTION, top_k=1, as_of=rev)) == [other]
    assert related(await me.query(QUESTION, top_k=1, as_of=before)) == []


async def test_relations_of_what_there_is_not(me: AsyncScope) -> None:
    with pytest.raises(NotFound):
        await me.relations("nobody")
    (fact,) = await stated(me, FACT)
    assert await me.relations(fact) == []


async def test_the_edges_of_several_memories_are_read_at_once(me: AsyncScope) -> None:
    fact, *others = await stated(me, FACT, *OTHERS)
    await link(me, fact, others[0], others[1])
    await link(me, others[2], others[1])
    whole = sorted((edge.from_id, edge.to_id) for edge in await me.relations([fact, others[2], "nobody"]))
    assert whole == sorted([(fact, others[0]), (fact, others[1]), (others[2], others[1])])
    await me.forget(others[0])
    assert [edge.to_id for edge in await me.relations([fact])] == [others[1]]
    assert await me.relations([]) == []
