"""Questions about the past: by revision what was recorded, by time what is known to have been true (F11)."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from closing import close_validity
from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.errors import CategoryDenied, InvalidInput, NotFound
from memwarden.records import Batch, Event, MemoryState, Remove
from memwarden.testing import get_runtime, get_store

QUESTION = "Where does Ana live?"
DAY = timedelta(days=1)


CONFIG = {"embedder": "none", "merging": "off"}


async def stated(me: AsyncScope, text: str, **fields: Any) -> tuple[str, int]:
    """Remember a text; its id and the revision after."""
    written = await me.remember(text, **fields)
    return written.results[0].id or "", written.rev


async def texts(me: AsyncScope, as_of: Any, question: str = QUESTION) -> list[str]:
    return [item.memory.text for item in (await me.query(question, as_of=as_of)).items]


async def test_by_time_the_fact_that_was_true_then(me: AsyncScope, async_warden: AsyncWarden) -> None:
    old, _ = await stated(me, "Ana lives in Paris.", created_at="2024-01-10")
    await stated(me, "Ana lives in Berlin.", created_at="2025-06-01", valid_from="2025-03-01")
    await close_validity(async_warden, me.who.namespace, old, datetime(2025, 3, 1, tzinfo=UTC))
    assert await texts(me, None) == ["Ana lives in Berlin."]
    assert await texts(me, "2025-03-01") == ["Ana lives in Berlin."]  # known since June, true since March
    assert await texts(me, "2025-02-28") == ["Ana lives in Paris."]
    assert await texts(me, datetime(2024, 1, 10, tzinfo=UTC)) == ["Ana lives in Paris."]
    assert await texts(me, datetime(2024, 1, 9, tzinfo=UTC).timestamp()) == []
    assert await texts(me, clock.now() + DAY) == ["Ana lives in Berlin."]
    assert [item.text for item in await me.find(as_of="2025-02-28")] == ["Ana lives in Paris."]
    ended = await me.find({"valid_to": {"$ne": None}}, as_of="2025-04-01")
    assert [item.text for item in ended] == ["Ana lives in Paris."]


async def test_by_time_the_words_that_were_in_force(me: AsyncScope, async_warden: AsyncWarden) -> None:
    old, _ = await stated(me, "Ana lives in Paris.", created_at="2024-01-10")
    before = clock.now()
    await close_validity(async_warden, me.who.namespace, old, before + DAY)
    (item,) = (await me.query(QUESTION, as_of=before)).items
    assert (item.memory.version, item.memory.valid_to) == (1, None)
    (item,) = (await me.query(QUESTION, as_of=clock.now())).items
    assert item.memory.version == 2
    assert await texts(me, before + 2 * DAY) == []


async def test_by_revision_what_was_forgotten_since_is_there(me: AsyncScope) -> None:
    first, rev = await stated(me, "Ana lives in Paris.")
    await stated(me, "Ana lives in Berlin.")
    await me.forget(first)
    result = await me.query(QUESTION, as_of=rev)
    assert [item.memory.text for item in result.items] == ["Ana lives in Paris."]
    assert (result.rev, result.items[0].memory.state) == (rev, MemoryState.ACTIVE)
    assert set(await texts(me, rev + 1)) == {"Ana lives in Berlin.", "Ana lives in Paris."}
    assert await texts(me, None) == ["Ana lives in Berlin."]
    assert await texts(me, 0) == []


async def test_the_past_stays_when_the_present_changes_between_two_questions(
    me: AsyncScope, async_warden: AsyncWarden
) -> None:
    """The second question is answered from the index that was kept, its words from the store as it is by then."""
    entry, _ = await stated(me, "Ana lives in Paris.")
    other, rev = await stated(me, "The dog eats fish.")
    assert (await texts(me, rev))[0] == "Ana lives in Paris."
    await me.forget(other)
    await close_validity(async_warden, me.who.namespace, entry, clock.now() - DAY)
    item = (await me.query("What does the dog eat?", as_of=rev)).items[0]
    assert (item.id, item.memory.version) == (other, 1)
    (memory,) = await me.find({"id": entry}, as_of=rev)
    assert (memory.version, memory.valid_to) == (1, None)


async def test_what_is_learned_later_of_a_time_is_in_the_next_answer_about_it(me: AsyncScope) -> None:
    moment = datetime(2025, 5, 1, tzinfo=UTC)
    assert await texts(me, moment) == []
    await stated(me, "Ana lives in Paris.", created_at="2025-01-01")
    assert await texts(me, moment) == ["Ana lives in Paris."]


async def test_a_merged_one_stood_there_then(me: AsyncScope) -> None:
    item, rev = await stated(me, "Ana lives in Paris.")
    await get_store(me).apply(Batch(me.who.namespace, (Remove(item, MemoryState.MERGED, Event.MERGE),), clock.now()))
    assert await texts(me, rev) == ["Ana lives in Paris."]


async def test_days_are_told_from_the_moment_that_is_asked_about() -> None:
    talk = [("Ana went sailing.", "2025-03-05"), ("Ana went climbing.", "2025-03-12"), ("Ana rested.", "2025-03-19")]
    async with AsyncWarden.open("memory://", config={"embedder": "none", "preset": "chat"}) as warden:
        me = warden.scope()
        for text, day in talk:
            await me.observe({"role": "user", "name": "Ana", "content": text, "created_at": day})
        for moment, said in (("2025-03-13", "Ana went sailing."), ("2025-03-20", "Ana went climbing.")):
            result = await me.query("What did Ana do last week?", threshold=0.0, top_k=5, as_of=moment)
            assert result.items[0].memory.text == said


@pytest.mark.parametrize("wrong", [-1, 3, True, "when", "5", object(), float("inf")])
async def test_a_point_that_there_is_not_is_refused(me: AsyncScope, wrong: Any) -> None:
    await stated(me, "Ana lives in Paris.")
    for asked in (me.query(QUESTION, as_of=wrong), me.find(as_of=wrong)):
        with pytest.raises(InvalidInput, match="as_of"):
            await asked


@pytest.mark.parametrize("number", [2**63, 2**70, 10**5000], ids=["2**63", "2**70", "10**5000"])
async def test_no_store_is_asked_for_a_number_that_none_counts_to(me: AsyncScope, number: int) -> None:
    item, _ = await stated(me, "Ana lives in Paris.")
    for asked in (
        me.query(QUESTION, as_of=number),
        me.query(QUESTION, since_rev=number),
        me.query(QUESTION, as_of=-number),
        me.find(as_of=number),
        me.find(limit=number),
        me.journal.delta(number),
        me.journal.history(since=number),
        me.journal.history(item, limit=number),
        me.journal.undo(number),
        me.update(item, importance=0.1, expected_version=number),
    ):
        with pytest.raises(InvalidInput, match="larger than any number"):
            await asked
    store, namespace = get_store(me), me.who.namespace
    with suppress(InvalidInput):  # where the engine counts further there is nothing after it
        assert await store.journal(namespace, since=2**70) == []
    assert [memory.id for memory in await me.find()] == [item]


async def test_an_agent_reads_its_categories_of_the_past(me: AsyncScope, async_warden: AsyncWarden) -> None:
    _, rev = await stated(me, "Ana lives in Paris.", category="profile")
    planner = async_warden.scope(user="ana", agent="planner")
    assert (await planner.query(QUESTION, as_of=rev)).items == ()
    assert await planner.find(as_of=rev) == []
    with pytest.raises(CategoryDenied):
        await planner.find({"category": "profile"}, as_of=rev)


async def test_what_was_moved_out_of_reach_is_not_in_reach_by_its_past(
    me: AsyncScope, async_warden: AsyncWarden
) -> None:
    entry, rev = await stated(me, "Ana is pregnant.", category="goals")
    other, later = await stated(me, "Ana wants to sail.", category="goals")
    planner, question = async_warden.scope(user="ana", agent="planner"), "What is Ana?"
    moment = clock.now()

    async def seen(agent: AsyncScope, as_of: Any) -> set[str]:
        found = await agent.find(as_of=as_of)
        answer = await agent.query(question, as_of=as_of, threshold=0.0, top_k=10, explain=True)
        assert {item.id for item in answer.items} == {memory.id for memory in found}
        assert not {cut.id for cut in answer.cut} & {entry, other}
        return {memory.id for memory in found}

    for as_of in (later, moment):
        assert await seen(planner, as_of) == {entry, other}
    assert await seen(planner, rev) == {entry}
    await me.update(entry, category="profile")
    for as_of in (later, moment):
        assert await seen(planner, as_of) == {other}  # also from the index that was kept
        assert await seen(me, as_of) == {entry, other}
    assert await seen(planner, rev) == set()
    with pytest.raises(NotFound):
        await planner.journal.history(entry)
    await me.forget(entry)  # its last category counts
    await me.forget(other)
    for as_of in (later, moment):
        assert await seen(planner, as_of) == {other}
    await me.restore(entry)
    await me.update(entry, category="goals")
    for as_of in (later, moment):
        assert await seen(planner, as_of) == {entry, other}


async def test_what_never_was_in_reach_then_is_not_told_when_it_is_now(
    me: AsyncScope, async_warden: AsyncWarden
) -> None:
    item, rev = await stated(me, "Ana is pregnant.", category="profile")
    await me.update(item, category="goals")
    planner = async_warden.scope(user="ana", agent="planner")
    assert await planner.find(as_of=rev) == []
    assert [memory.id for memory in await planner.find(as_of=rev + 1)] == [item]


async def test_by_time_a_beginning_counts_as_it_is_known_now(me: AsyncScope) -> None:
    item, _ = await stated(me, "Ana lives in Paris.", valid_from="2024-06-01")
    recorded = clock.now()
    await me.update(item, valid_from="2024-01-01")
    assert await texts(me, "2024-03-01") == ["Ana lives in Paris."]
    assert await texts(me, recorded) == ["Ana lives in Paris."]
    await me.update(item, valid_from=clock.now() + 2 * DAY)
    for moment in (recorded, clock.now(), "2024-07-01"):  # at the first it was recorded otherwise
        assert await texts(me, moment) == []
    assert await texts(me, clock.now() + 3 * DAY) == ["Ana lives in Paris."]


@pytest.mark.parametrize(("index_bytes", "kept"), [(2**24, 2), (8, 0)])
async def test_few_pasts_are_kept(index_bytes: int, kept: int) -> None:
    async with AsyncWarden.open("memory://", {**CONFIG, "index_bytes": index_bytes}) as warden:
        for number in range(5):
            await stated(warden.scope(), f"Ana has {number} boats.")
            found = await texts(warden.scope(), number, "How many boats?")
            assert len(found) == min(number, 3)
            assert set(found) <= {f"Ana has {earlier} boats." for earlier in range(number)}
        assert len(get_runtime(warden).services.recall.pasts) == kept
