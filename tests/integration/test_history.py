"""The history of a memory and of a user: every change with old and new, for those who may read it (B8)."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import Batch, Event, HistoryEntry, Link, Unlink
from memwarden.testing import get_store

CONFIG = {"embedder": "none"}


@pytest.fixture
def me(async_warden: AsyncWarden) -> AsyncScope:
    return async_warden.scope(user="ana", thread="t1", actor="Ana")


async def stated(me: AsyncScope, text: str, **fields: Any) -> str:
    return (await me.remember(text, **fields)).results[0].id or ""


def told(entries: list[HistoryEntry]) -> list[tuple[str, str | None, str | None]]:
    return [
        (entry.event, entry.old.text if entry.old else None, entry.new.text if entry.new else None) for entry in entries
    ]


async def test_every_change_of_a_memory_oldest_first(me: AsyncScope) -> None:
    item = await stated(me, "Ship v1 by August.")
    await me.remember("The dog eats fish.")
    await me.update(item, text="Ship v1 by September.")
    await me.forget(item)
    await me.restore(item)
    entries = await me.journal.history(item)
    assert told(entries) == [
        ("ADD", None, "Ship v1 by August."),
        ("UPDATE", "Ship v1 by August.", "Ship v1 by September."),
        ("DELETE", "Ship v1 by September.", None),
        ("RESTORE", None, "Ship v1 by September."),
    ]
    assert [entry.seq for entry in entries] == sorted(entry.seq for entry in entries)
    assert {(entry.actor, entry.thread_id, entry.memory_id) for entry in entries} == {("Ana", "t1", item)}
    assert all(entry.at <= clock.now() for entry in entries)
    assert told(await me.journal.history(item, since=entries[1].seq, limit=1)) == told(entries)[2:3]


async def test_a_merged_one_has_a_history_and_says_why(me: AsyncScope) -> None:
    item = await stated(me, "Ana is allergic to peanuts.")
    await stated(me, "Ana is allergic to peanuts!")
    added, merged = await me.journal.history(item)
    other = (merged.meta or {})["of"]
    assert (added.event, merged.event) == ("ADD", "MERGE")
    assert (merged.meta or {})["rule"]
    assert told(await me.journal.history(other)) == [
        ("ADD", None, "Ana is allergic to peanuts!"),
        ("MERGE", "Ana is allergic to peanuts!", None),
    ]
    (gone,) = [entry for entry in await me.journal.history(other) if entry.event == Event.MERGE]
    assert gone.step == merged.step


async def test_links_have_no_contents(me: AsyncScope) -> None:
    item, other = await stated(me, "Ship v1."), await stated(me, "The dog eats fish.")
    for change in (Link(item, other, strength=0.6), Unlink(item, other)):
        await get_store(me).apply(Batch(me.who.namespace, (change,), clock.now()))
    entries = await me.journal.history(item)
    assert [(entry.event, entry.old, entry.new) for entry in entries[1:]] == [
        ("LINK", None, None),
        ("UNLINK", None, None),
    ]
    assert (entries[1].meta or {})["to"] == other


async def test_all_of_a_user_page_by_page(me: AsyncScope) -> None:
    await me.observe([{"role": "user", "content": f"turn number {number}"} for number in range(7)])
    item = await stated(me, "Ship v1 by August.")
    await me.forget(item)
    whole = await me.journal.history()
    assert [entry.seq for entry in whole] == list(range(1, (await get_store(me).head(me.who.namespace)).rev + 1))
    pages, since = [], 0
    while page := await me.journal.history(since=since, limit=2):
        pages += page
        since = page[-1].seq
    assert pages == whole


async def test_an_agent_sees_what_it_may_read(me: AsyncScope, async_warden: AsyncWarden) -> None:
    private = await stated(me, "Preferred name is Ana.", category="profile")
    goal = await stated(me, "Ship v1 by August.", category="goals")
    moved = await stated(me, "The dog eats fish.", category="profile")
    await get_store(me).apply(
        Batch(me.who.namespace, (Link(goal, private, strength=0.6), Link(goal, moved, strength=0.6)), clock.now())
    )
    await me.update(moved, category="goals")
    await me.update(moved, text="The dog eats meat.")
    planner = async_warden.scope(user="ana", agent="planner")
    with pytest.raises(NotFound):
        await planner.journal.history(private)
    assert told(await planner.journal.history(moved)) == [("UPDATE", "The dog eats fish.", "The dog eats meat.")]
    seen = await planner.journal.history()
    assert {entry.memory_id for entry in seen} == {goal, moved}
    assert [(entry.meta or {})["to"] for entry in seen if entry.event == "LINK"] == [moved]
    one_by_one: list[HistoryEntry] = []
    while page := await planner.journal.history(since=one_by_one[-1].seq if one_by_one else 0, limit=1):
        one_by_one += page
    assert one_by_one == seen


@pytest.mark.parametrize("agent", [None, "planner"])
async def test_the_newest_first(
    me: AsyncScope, async_warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch, agent: str | None
) -> None:
    monkeypatch.setattr("memwarden.recall.time.past.HISTORY_PAGE", 2)
    for number in range(9):
        await stated(me, f"Goal {'abcdefghi'[number] * 5}.", category="profile" if number % 3 else "goals")
    item = await stated(me, "Ship v1 by August.", category="goals")
    await me.update(item, text="Ship v1 by September.")
    await stated(me, "Preferred name is Ana.", category="profile")
    asking = async_warden.scope(user="ana", agent=agent)
    whole = await asking.journal.history()
    assert len(whole) > 4
    assert await asking.journal.history(descending=True) == whole[::-1]
    assert await asking.journal.history(descending=True, limit=1) == whole[-1:]
    assert await asking.journal.history(descending=True, since=whole[2].seq, limit=2) == whole[:-3:-1]
    assert await asking.journal.history(item, descending=True) == (await asking.journal.history(item))[::-1]
    with pytest.raises(InvalidInput, match="descending"):
        await me.journal.history(descending=1)  # type: ignore[arg-type]


async def test_what_names_a_hidden_one_says_nothing(me: AsyncScope, async_warden: AsyncWarden) -> None:
    old = await stated(me, "Ana lives in Paris.", category="goals")
    new = await stated(me, "Ana lives in Berlin now.", category="goals")
    planner = async_warden.scope(user="ana", agent="planner")
    (_, closing) = await planner.journal.history(old)
    assert (closing.meta or {})["by"] == new
    await me.update(new, category="profile")
    (added, closing) = await planner.journal.history(old)
    assert (added.event, closing.event, closing.meta) == ("ADD", "SUPERSEDE", None)
    assert closing.new
    assert (await me.journal.history(old))[1].meta
    everything = await planner.journal.history()
    assert {entry.memory_id for entry in everything} == {old}
    assert new not in repr(everything)


async def test_undo_does_not_find_what_history_does_not_show(me: AsyncScope, async_warden: AsyncWarden) -> None:
    """Both contents of each entry and both ends of each link of the decision have to be readable."""
    plan = await stated(me, "The shop opens in May.", category="tasks")
    private = await stated(me, "The owner of the shop fears dogs.", category="preferences")
    moved = (await me.update(private, category="tasks")).rev
    for change in (Link(plan, private, strength=0.6), Unlink(plan, private)):
        await get_store(me).apply(Batch(me.who.namespace, (change,), clock.now()))
    linked = [entry.seq for entry in await me.journal.history(plan)][-2:]
    away = (await me.update(private, category="preferences")).rev
    await me.forget(private)
    planner = async_warden.scope(user="ana", agent="planner")
    before = await me.journal.history()
    for hidden in (moved, *linked, away):
        with pytest.raises(NotFound) as error:
            await planner.journal.undo(hidden)
        assert str(error.value) == f"no change {hidden} in user/ana; history lists them"
    with pytest.raises(Conflict, match=private):
        await me.journal.undo(linked[-1])  # whoever may read the end is told which one to restore
    assert await me.journal.history() == before
    shown = (await planner.update(plan, text="The shop opens in June.")).rev
    await planner.journal.undo(shown)
    assert (await planner.get(plan)).text == "The shop opens in May."


async def test_what_there_is_not(me: AsyncScope) -> None:
    assert await me.journal.history() == []
    with pytest.raises(NotFound):
        await me.journal.history("nobody")
    for wrong in ({"since": -1}, {"limit": 0}, {"limit": True}):
        with pytest.raises(InvalidInput):
            await me.journal.history(**wrong)


async def test_an_undo_says_in_words_what_it_did(me: AsyncScope) -> None:
    (added,) = (await me.remember("Ana keeps bees.")).results
    changed = await me.update(str(added.id), text="Ana keeps two hives of bees.")
    await me.forget(str(added.id))
    last = (await me.journal.history(descending=True))[0].seq
    told = [(await me.journal.undo(number)).results[0].reason for number in (last, changed.rev, 1)]
    assert told == [
        f"change {last} had taken it out of answers; it is back",
        f"its content is as it was before change {changed.rev}",
        "change 1 had added it; it is forgotten",
    ]
