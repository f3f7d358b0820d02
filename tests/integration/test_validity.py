"""What is no longer true answers nothing about now: it is kept, and found by whoever asks for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from closing import close_validity
from memwarden import AsyncWarden
from memwarden.recall.answer.gates import GATES
from memwarden.testing import get_runtime

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
QUESTION = "Where does Ana live?"


@pytest.fixture
async def warden(url: str) -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open(url, config={"embedder": "none", "merging": "off"}) as opened:
        yield opened


async def stated(warden: AsyncWarden, text: str, **fields: object) -> str:
    (written,) = (await warden.scope().remember(text, **fields)).results  # type: ignore[arg-type]
    assert written.id is not None
    return written.id


async def test_a_closed_memory_is_in_no_answer_and_named_as_such(warden: AsyncWarden) -> None:
    me = warden.scope()
    old = await stated(warden, "Ana lives in Paris.")
    new = await stated(warden, "Ana lives in Berlin.")
    assert {item.id for item in (await me.query(QUESTION)).items} == {old, new}
    await close_validity(warden, me.who.namespace, old, NOW - DAY)
    result = await me.query(QUESTION, explain=True)
    assert [item.id for item in result.items] == [new]
    assert [(cut.id, cut.gate, cut.reason) for cut in result.cut] == [(old, "validity", GATES["validity"])]
    block = await me.context([{"role": "user", "content": QUESTION}], threshold=0.0)
    assert [item.id for item in block.items] == [new]


async def test_one_that_ends_later_still_holds_and_one_that_begins_later_is_found(warden: AsyncWarden) -> None:
    me = warden.scope()
    ends = await stated(warden, "Ana lives in Paris.")
    await close_validity(warden, me.who.namespace, ends, NOW + DAY)
    begins = await stated(warden, "Ana lives in Berlin.", valid_from=NOW + DAY)
    assert {item.id for item in (await me.query(QUESTION)).items} == {ends, begins}
    assert {memory.id for memory in await me.find()} == {ends, begins}


async def test_context_all_items_end_too(warden: AsyncWarden) -> None:
    me = warden.scope()
    old = await stated(warden, "Ana lives in Paris.", category="profile")
    assert [item.id for item in (await me.query("Where does Ana live?")).items] == [old]
    await close_validity(warden, me.who.namespace, old, NOW - DAY)
    assert (await me.query("gearbox oil")).items == ()


async def test_an_ended_fact_goes_on_covering_its_turn(warden: AsyncWarden) -> None:
    """Else the turn would say in a new answer what no longer holds."""
    me = warden.scope(thread="t1")
    await me.observe({"role": "user", "content": "I live in Paris, by the canal.", "id": "m1"})
    (fact,) = (await me.remember("Ana lives in Paris.", sources=["m1"])).results
    assert [item.id for item in (await me.query("live in Paris")).items] == [fact.id]
    assert fact.id is not None
    await close_validity(warden, me.who.namespace, fact.id, NOW - DAY)
    assert [item.id for item in (await me.query("live in Paris")).items] == []


async def test_find_lists_what_holds_and_get_answers_always(warden: AsyncWarden) -> None:
    me = warden.scope()
    old = await stated(warden, "Ana lives in Paris.")
    new = await stated(warden, "Ana lives in Berlin.")
    await close_validity(warden, me.who.namespace, old, NOW - DAY)
    assert [memory.id for memory in await me.find()] == [new]
    assert [memory.id for memory in await me.find({"valid_to": {"$ne": None}})] == [old]
    assert (await me.get(old)).valid_to == NOW - DAY


async def test_a_namespace_without_ends_makes_no_mask(warden: AsyncWarden) -> None:
    me = warden.scope()
    old = await stated(warden, "Ana lives in Paris.")

    assert (await get_runtime(warden).services.indexes.current(me.who.namespace)).valid(NOW) is None
    await close_validity(warden, me.who.namespace, old, NOW)
    mask = (await get_runtime(warden).services.indexes.current(me.who.namespace)).valid(NOW)
    assert mask is not None
    assert mask.tolist() == [True, False]  # the place of the version before, which is dead, and the one after
