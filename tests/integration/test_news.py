"""What changed since a thread looked stands before the answer: exactly when something did, and at least once (B1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.records import Batch, Event, JournalEntry, Link, Memory, Namespace, Remove, ThreadMarks
from memwarden.settings import Settings
from memwarden.stores.memory.store import MemoryStore
from memwarden.text.tokenizer import estimate

QUESTION = "Where is the key?"
SETTINGS: dict[str, Any] = {"embedder": "none"}


@pytest.fixture
async def warden(url: str) -> AsyncIterator[AsyncWarden]:
    async with AsyncWarden.open(url, config=SETTINGS) as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
def stored_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store that outlives a warden."""
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"


def scope(warden: AsyncWarden, thread: str | None = "t1", **who: Any) -> AsyncScope:
    return warden.scope(user="ana", thread=thread, **who)


async def say(me: AsyncScope, *texts: str) -> None:
    await me.observe([{"role": "user", "content": text, "id": text} for text in texts])


async def test_the_header_stands_first_exactly_when_something_changed(warden: AsyncWarden) -> None:
    me = scope(warden)
    await say(me, "The key hangs in the hall.")
    first = await me.query(QUESTION, top_k=1)
    assert (first.delta, first.text) == (None, "- [activity] user, " + first.text.split("user, ")[1])
    await scope(warden, "elsewhere").remember("Ben pays the water.", category="tasks", importance=0.4)
    second = await me.query(QUESTION, top_k=1)
    assert second.delta
    assert second.text == (
        f"Memory updates since rev {first.rev}:\n- +created: [Tasks] Ben pays the water. (imp=2)\n\n{first.text}"
    )
    assert (second.delta.since, second.delta.rev, second.delta.more) == (first.rev, second.rev, 0)
    assert second.tokens == estimate(second.text)
    third = await me.query(QUESTION, top_k=1)
    assert (third.delta, third.text) == (None, first.text)
    nothing = await me.query("gearbox oil")
    assert (nothing.text, bool(nothing)) == ("", False)


async def test_news_stand_alone_when_nothing_is_relevant(warden: AsyncWarden) -> None:
    me = scope(warden)
    await me.query(QUESTION)
    await me.remember("Ben pays the water.")
    result = await me.query("Which gearbox oil does a tractor need?")
    assert result.delta
    assert (result.text, bool(result), result.items) == (result.delta.text, False, ())
    assert result.tokens == estimate(result.text)


async def test_a_fact_that_took_the_place_of_another_is_one_update(warden: AsyncWarden) -> None:
    me = scope(warden)
    await me.remember("Ana lives in Paris.")
    await me.journal.delta()
    written = await me.remember("Ana lives in Berlin now.")
    assert written.results[0].outcome == "superseded"
    assert (await me.journal.delta()).bullets == ("↑updated: [Activity] Ana lives in Berlin now.",)
    change = (await warden.store.journal(me.who.namespace, descending=True, limit=1))[0].seq
    await me.journal.undo(change)
    assert (await me.journal.delta()).bullets == ("↑updated: [Activity] Ana lives in Paris.",)


async def test_forgotten_restored_and_merged(warden: AsyncWarden) -> None:
    me = scope(warden)
    written = await me.remember("Ana is allergic to peanuts.")
    item = written.results[0].id or ""
    await me.journal.delta()
    await me.forget(item)
    assert (await me.journal.delta()).bullets == ("−deleted: [Activity] Ana is allergic to peanuts.",)
    await me.restore(item)
    assert (await me.journal.delta()).bullets == ("↺restored: [Activity] Ana is allergic to peanuts.",)
    merged = await me.remember("Ana is allergic to peanuts")
    assert merged.results[0].outcome == "merged"
    assert (await me.journal.delta()).bullets == ("↔merged: Combined 2 notes: Ana is allergic to peanuts.",)
    assert not await me.journal.delta()


async def test_what_is_older_than_a_thread_is_no_news_to_it(warden: AsyncWarden) -> None:
    await scope(warden, "t0").remember("Ben pays the water.")
    silent = scope(warden, None)
    assert (await silent.query(QUESTION)).delta is None
    begun = scope(warden, "t1")
    await say(begun, "The key hangs in the hall.")
    await scope(warden, "t0").remember("Ida waters the tomatoes.")
    assert (await begun.journal.delta()).bullets == ("+created: [Activity] Ida waters the tomatoes. (imp=3)",)
    assert (await silent.journal.delta()).bullets == ("+created: [Activity] Ida waters the tomatoes. (imp=3)",)


async def test_a_revision_of_the_callers_overrides(warden: AsyncWarden) -> None:
    me = scope(warden)
    await say(me, "The key hangs in the hall.")
    rev = (await me.remember("Ben pays the water.")).rev
    await me.query(QUESTION)
    again = await me.query(QUESTION, since_rev=0)
    assert again.delta
    assert again.delta == await me.journal.delta(0)
    assert (await me.query(QUESTION, since_rev=rev)).delta is None
    for wrong in (-1, rev + 1, "0", True):
        with pytest.raises(InvalidInput, match="since_rev"):
            await me.query(QUESTION, since_rev=wrong)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="since_rev"):
            await me.journal.delta(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not both"):
        await me.query(QUESTION, since_rev=0, as_of=0)


async def test_an_answer_from_the_past_tells_nothing_and_takes_nothing(warden: AsyncWarden) -> None:
    me = scope(warden)
    await say(me, "The key hangs in the hall.")
    await me.query(QUESTION)
    rev = (await me.remember("Ben pays the water.")).rev
    assert (await me.query(QUESTION, as_of=rev)).delta is None
    assert (await me.query(QUESTION, as_of=clock.now() + timedelta(1))).delta is None
    assert (await me.query(QUESTION)).delta


async def test_each_agent_is_told_what_it_may_read(warden: AsyncWarden) -> None:
    planner, supervisor = scope(warden, agent="planner"), scope(warden, agent="supervisor")
    await say(supervisor, "The key hangs in the hall.")
    for agent in (planner, supervisor):
        await agent.journal.delta()
    writer = scope(warden)
    await writer.remember("Preferred name is Ana.", category="profile")
    await writer.remember("Ship v1 by Sep.", category="goals", importance=0.2)
    assert (await planner.journal.delta()).bullets == ("+created: [Goals] Ship v1 by Sep. (imp=1)",)
    assert len((await supervisor.journal.delta()).bullets) == 2  # the planner's look took nothing from it


async def test_a_deleted_one_is_told_in_its_last_words(warden: AsyncWarden) -> None:
    me = scope(warden)
    item = (await me.remember("Ship v1 by Sep.")).results[0].id or ""
    await me.journal.delta()
    await me.update(item, text="Ship v1 by Oct.")
    await me.forget(item)
    assert (await me.journal.delta()).bullets == ("−deleted: [Activity] Ship v1 by Oct.",)


async def test_nobody_is_told_the_words_of_what_was_moved_away(warden: AsyncWarden) -> None:
    me, planner = scope(warden), scope(warden, agent="planner")
    item = (await me.remember("Ana is pregnant.", category="goals")).results[0].id or ""
    other = (await me.remember("Ana fears dogs.", category="goals")).results[0].id or ""
    rev = (await planner.journal.delta(0)).rev
    await me.update(item, category="profile")
    await me.forget(item)
    await me.forget(other)
    assert (await planner.journal.delta(rev)).bullets == ("−deleted: [Goals] Ana fears dogs.",)
    assert (await planner.journal.delta(0)).bullets == ()
    assert len((await me.journal.delta(rev)).bullets) == 2


async def test_one_that_may_not_be_told_stands_behind_no_other(warden: AsyncWarden) -> None:
    me, planner = scope(warden), scope(warden, agent="planner")
    old = (await me.remember("Ana lives in Paris.", category="goals")).results[0].id or ""
    rev = (await planner.journal.delta(0)).rev
    written = await me.remember("Ana lives in Berlin now.", category="goals")
    assert written.results[0].outcome == "superseded"
    assert (await planner.journal.delta(rev)).bullets == ("↑updated: [Goals] Ana lives in Berlin now.",)
    await me.update(old, category="profile")
    assert (await planner.journal.delta(rev)).bullets == ("+created: [Goals] Ana lives in Berlin now. (imp=3)",)
    await me.update(old, category="goals")
    await me.update(written.results[0].id or "", category="profile")
    (line,) = (await planner.journal.delta(rev)).bullets
    assert line.startswith("↑updated: [Goals] Ana lives in Paris. (until ")


async def test_what_had_its_time_is_told_apart_from_what_was_forgotten(warden: AsyncWarden) -> None:
    me = scope(warden)
    item = (await me.remember("Ben pays the water.")).results[0].id or ""
    await me.journal.delta()
    gone = Remove(item, event=Event.TTL, purge_at=clock.now() + timedelta(30))
    await warden.store.apply(Batch(me.who.namespace, (gone,), clock.now()))
    assert (await me.journal.delta()).bullets == ("~soft_deleted: [Activity] Ben pays the water.",)
    await me.journal.undo((await me.journal.history(item))[-1].seq)
    assert (await me.journal.delta()).bullets == ("↺restored: [Activity] Ben pays the water.",)


async def test_an_agent_that_was_not_there_yet_loses_nothing(stored_url: str) -> None:
    """The mark of the agents that asked in an earlier process is theirs alone."""
    async with AsyncWarden.open(stored_url, config=SETTINGS) as warden:
        me = scope(warden)
        await say(me, "The key hangs in the hall.")
        await me.remember("Ship v1 by Sep.", category="goals")
        assert await scope(warden, agent="supervisor").journal.delta()
        assert await me.journal.delta()
        await say(me, "Thanks, and who has the other key?")
    async with AsyncWarden.open(stored_url, config=SETTINGS) as warden:
        assert not await scope(warden).journal.delta()
        assert not await scope(warden, agent="supervisor").journal.delta()
        late = scope(warden, agent="planner")
        assert (await late.journal.delta()).bullets == ("+created: [Goals] Ship v1 by Sep. (imp=3)",)
        assert not await late.journal.delta()


async def test_an_answer_that_never_left_has_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store goes away at each call that an answer makes, one after another."""
    async with AsyncWarden.open("memory://", config=SETTINGS) as warden:
        me = scope(warden)
        await me.query(QUESTION)
        entry = (await me.remember("The key hangs in the hall.")).results[0].id or ""
        other = (await me.remember("Blueberry pancakes need buttermilk.")).results[0].id or ""
        await warden.store.apply(Batch(me.who.namespace, (Link(entry, other, strength=0.9),), clock.now()))
        left = iter([False])

        def failing(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def answer(*given: Any, **named: Any) -> Any:
                if next(left, False):
                    raise StoreUnavailable("away for a moment")
                return await call(*given, **named)

            return answer

        for name in ("head", "scan", "get", "versions", "journal", "relations"):
            monkeypatch.setattr(warden.store, name, failing(getattr(warden.store, name)))
        failures = 0
        for number in range(20):
            left = iter([*[False] * number, True])
            try:
                result = await me.query(QUESTION, top_k=1)
                break
            except StoreUnavailable:
                failures += 1
        assert 3 <= failures < 20
        assert [item.id for item in result.related] == [other]
        assert result.delta
        assert len(result.delta.bullets) == 2


async def test_a_header_that_does_not_fit_is_told_by_the_next_answer(warden: AsyncWarden) -> None:
    me = scope(warden)
    await say(me, "The key hangs in the hall.")
    first = await me.query(QUESTION)
    for number in range(5):
        await me.remember(f"{'abcde'[number] * 9} pays the water.")
    assert (await me.query(QUESTION, budget_tokens=5)).delta is None
    small = await me.query(QUESTION, budget_tokens=12)
    assert small.delta
    assert (small.delta.bullets, small.delta.more) == ((), 5)
    assert small.text == f"Memory updates since rev {first.rev}:\n(+5 more)"
    assert (await me.query(QUESTION)).delta is None


@pytest.mark.parametrize("categories", [None, {"categories": {"system": [{"name": "activity", "context": "all"}]}}])
async def test_the_budget_holds_with_news(categories: Any) -> None:
    config = {**SETTINGS, "merging": "off", **({"categories": categories} if categories else {})}
    async with AsyncWarden.open("memory://", config=config) as warden:
        me = scope(warden)
        await say(me, "The key hangs in the hall.", "The spare key lies under the stone.")
        await me.remember([f"{name} keeps a key to the shed." for name in ("Ana", "Ben", "Ida", "Tom")])
        whole = await me.query(QUESTION, budget_tokens=None, since_rev=0)
        assert whole.delta
        for budget in range(1, whole.tokens + 1):
            result = await me.query(QUESTION, budget_tokens=budget, since_rev=0)
            assert estimate(result.text) == result.tokens <= budget
            assert result.delta is None or result.text.startswith(result.delta.text)
        assert result.delta == whole.delta


async def test_what_was_told_is_stored_with_the_next_turn(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        me = scope(warden)
        await say(me, "The key hangs in the hall.")
        await me.remember("Ben pays the water.")
        assert await me.journal.delta()
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        me = scope(warden)
        assert await me.journal.delta()  # told once more: no turn was observed after it was told
        await say(me, "Thanks, and who has the other key?")
        await me.remember("Ida has the other key.")
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        assert (await scope(warden).journal.delta()).bullets == ("+created: [Activity] Ida has the other key. (imp=3)",)


async def test_it_is_not_told_further_back_than_twenty_turns(warden: AsyncWarden) -> None:
    me = scope(warden)
    await say(me, "The key hangs in the hall.")
    await me.remember("Ben pays the water.")
    await say(me, *(f"turn {number}" for number in range(10)))
    await me.remember("Ida waters the tomatoes.")
    await say(me, *(f"turn {number}" for number in range(10, 25)))
    assert (await me.journal.delta()).bullets == ("+created: [Activity] Ida waters the tomatoes. (imp=3)",)


class Counting(MemoryStore):
    """A store that counts how often it is asked for news."""

    asked = 0

    async def journal(self, namespace: Namespace, **what: Any) -> list[JournalEntry]:
        self.asked += 1
        return await super().journal(namespace, **what)

    async def thread(self, namespace: Namespace, thread_id: str, *, turns: int = 20) -> ThreadMarks:
        self.asked += 1
        return await super().thread(namespace, thread_id, turns=turns)

    async def versions(self, namespace: Namespace, wanted: Any) -> list[Memory]:
        self.asked += 1
        return await super().versions(namespace, wanted)


async def test_the_store_is_asked_only_when_there_may_be_news() -> None:
    store = Counting()
    async with AsyncWarden(store, Settings(embedder="none")) as warden:
        me = scope(warden)
        for number in range(3):
            await say(me, f"The key number {number} hangs in the hall.")
            await me.query(QUESTION)
        assert store.asked == 0
        await me.remember("Ben pays the water.")
        await me.query(QUESTION)
        asked = store.asked
        assert asked > 0
        for number in range(3):
            await me.query(QUESTION)
            await say(me, f"The bell number {number} hangs in the hall.")
        assert store.asked == asked
