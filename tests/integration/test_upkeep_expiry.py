"""Expiry: what nobody needed for long leaves, once, with a trace, and comes back when somebody wants it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.categories import categories_content, read_categories
from memwarden.errors import Conflict, InvalidInput, ModelUnavailable, NotFound
from memwarden.records import Batch, MemoryState, Put, WriteMode
from memwarden.upkeep import jobs
from memwarden.upkeep.records import JobContext, JobKind, JobReport, JobRun

DAY = timedelta(days=1)


class Calendar:
    """A clock that a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = clock.now()
        monkeypatch.setattr(clock, "now", lambda: self.time)

    def pass_days(self, days: float) -> datetime:
        self.time += days * DAY
        return self.time


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    return Calendar(monkeypatch)


async def remember(me: AsyncScope, text: str, **fields: Any) -> str:
    result = await me.remember(text, **fields)
    (written,) = result.results
    assert written.id is not None
    return written.id


async def expire(warden: AsyncWarden, **named: Any) -> list[tuple[str, str]]:
    runs: list[JobRun] = await warden.jobs.run("expire", user="ana", **named)
    return [(change.verb, change.memory_id) for item in runs for change in item.changes]


async def test_what_nobody_needed_for_two_months_expires_and_can_be_restored(
    async_warden: AsyncWarden, me: AsyncScope, calendar: Calendar
) -> None:
    small = await remember(me, "Ana saw a heron at the lake.", importance=0.3)
    kept = [
        await remember(me, "Ana is allergic to peanuts.", importance=0.9),
        await remember(me, "Ana parked on level three.", importance=0.1, pinned=True),
        await remember(me, "1. Open the valve.\n2. Wait.", importance=0.1, channel="procedural"),
    ]
    await me.observe([{"role": "user", "content": "I might buy a kayak in the spring."}])
    calendar.pass_days(59.9)
    assert await expire(async_warden) == []
    calendar.pass_days(0.2)
    rev = (await me.journal.delta(since_rev=0)).rev
    assert await expire(async_warden, dry_run=True) == [("soft_delete", small)]
    assert (await me.get(small)).state == MemoryState.ACTIVE
    assert await expire(async_warden) == [("soft_delete", small)]
    assert await expire(async_warden) == []
    with pytest.raises(NotFound):
        await me.get(small)
    assert all([(await me.get(item)).state == MemoryState.ACTIVE for item in kept])
    (entry,) = (await me.journal.history(small))[-1:]
    assert (entry.event, entry.actor, (entry.meta or {})["rule"]) == ("TTL", "upkeep", "unused")
    told = await me.journal.delta(since_rev=rev)
    assert "~soft_deleted" in told.text
    assert "heron" in told.text
    await me.journal.delta(since_rev=told.rev)
    assert "heron" not in (await me.journal.delta(since_rev=told.rev)).text
    await me.restore(small)
    assert (await me.get(small)).text == "Ana saw a heron at the lake."
    calendar.pass_days(30)
    assert await expire(async_warden) == []  # being restored counts as being needed


async def test_an_answer_keeps_what_is_in_it(async_warden: AsyncWarden, me: AsyncScope, calendar: Calendar) -> None:
    read = await remember(me, "Ana's piano teacher is called Borys.", importance=0.3)
    unread = await remember(me, "Ana's umbrella is green.", importance=0.3)
    calendar.pass_days(50)
    found = await me.query("Who is Ana's piano teacher?", top_k=1)
    assert [item.id for item in found.items if item.id == read]
    assert not [item.id for item in found.items if item.id == unread]
    calendar.pass_days(20)
    assert await expire(async_warden) == [("soft_delete", unread)]
    calendar.pass_days(41)
    assert ("soft_delete", read) in await expire(async_warden)


async def test_what_expired_is_purged_a_month_later_and_never_before(
    async_warden: AsyncWarden, me: AsyncScope, calendar: Calendar
) -> None:
    expired = await remember(me, "Ana saw a heron at the lake.", importance=0.3)
    forgotten = await remember(me, "Ana has a blue bicycle.", importance=0.9)
    await me.update(forgotten, text="Ana has a red bicycle.")
    calendar.pass_days(61)
    await expire(async_warden)
    await me.forget(forgotten)
    calendar.pass_days(29)
    assert await expire(async_warden) == []
    calendar.pass_days(2)
    assert sorted(await expire(async_warden, dry_run=True)) == sorted([("purge", expired), ("purge", forgotten)])
    assert sorted(await expire(async_warden)) == sorted([("purge", expired), ("purge", forgotten)])
    assert await expire(async_warden) == []
    with pytest.raises(NotFound):
        await me.restore(forgotten)
    with pytest.raises(NotFound):
        await me.journal.history(forgotten)
    history = [item for item in await me.journal.history() if item.memory_id == forgotten]
    assert [item.event for item in history][-1] == "PURGE"
    assert all(item.old is item.new is None for item in history)
    with pytest.raises(Conflict, match="nothing of it is left"):
        await me.journal.undo(history[-1].seq)
    page = await async_warden.store.dump_page(me.who.namespace)
    assert "bicycle" not in repr(page)
    assert "heron" not in repr(page)


async def test_values_by_key_end_at_their_date_and_lose_old_versions(
    async_warden: AsyncWarden, me: AsyncScope, calendar: Calendar
) -> None:
    await me.state.save("parking", "level 3", expires_in=DAY)
    for number in range(4):
        await me.state.save("cities", ["Graz", number])
    calendar.pass_days(2)
    (ended,) = await expire(async_warden)
    assert ended[0] == "soft_delete"
    calendar.pass_days(27)
    assert await expire(async_warden) == []
    calendar.pass_days(2)
    assert [verb for verb, _ in await expire(async_warden)] == ["drop_versions"]
    assert await me.state.load("cities") == ["Graz", 3]
    assert [verb for verb, _ in await expire(async_warden)] == []
    page = await async_warden.store.dump_page(me.who.namespace)
    assert page.earlier == ()


async def test_sessions_lose_old_versions_and_a_pinned_value_outlives_its_date(
    async_warden: AsyncWarden, me: AsyncScope, calendar: Calendar
) -> None:
    for number in range(4):
        await me.sessions.finalize_current_cycle("s1", f"Question {number}?", f"Answer {number}.")
    saved = await me.state.save("parking", "level 3", expires_in=DAY)
    (value,) = await async_warden.store.get(me.who.namespace, [f"state:{saved.key}"])
    pinned = Put(replace(value, pinned=True), None, WriteMode.UPDATE)
    await async_warden.store.apply(Batch(me.who.namespace, (pinned,), clock.now()))
    assert (await async_warden.store.dump_page(me.who.namespace)).earlier != ()
    calendar.pass_days(31)
    assert {verb for verb, _ in await expire(async_warden)} == {"drop_versions"}
    assert (await async_warden.store.dump_page(me.who.namespace)).earlier == ()
    assert "Answer 3." in str(await me.sessions.load("s1"))


@pytest.mark.parametrize("embedded_url", ["memory"], indirect=True)
async def test_what_matters_less_than_two_of_five_expires(embedded_url: str, calendar: Calendar) -> None:
    async with AsyncWarden.open(embedded_url, {"embedder": "none"}) as warden:
        me = warden.scope(user="ana")
        less = await remember(me, "Ana saw a heron.", importance=0.39)
        await remember(me, "Ana keeps bees.", importance=0.4)
        calendar.pass_days(61)
        assert await expire(warden) == [("soft_delete", less)]


@pytest.mark.parametrize("embedded_url", ["memory"], indirect=True)
async def test_a_category_has_a_policy_of_its_own(embedded_url: str, calendar: Calendar) -> None:
    categories = {
        "categories": {
            "custom": [
                {"name": "weather", "expire_days": 7, "expire_below": 1.0},
                {"name": "medical", "expire_days": "never"},
                {"name": "news", "half_life_days": 30},
            ]
        }
    }
    async with AsyncWarden.open(embedded_url, {"categories": categories}) as warden:
        me = warden.scope(user="ana")
        weather = await remember(me, "It rains in Graz.", category="weather", importance=0.8)
        await remember(me, "Ana broke her left arm once.", category="medical", importance=0.1)
        news = await remember(me, "The library moved to Ring Street.", category="news", importance=0.8)
        calendar.pass_days(8)
        assert await expire(warden) == [("soft_delete", weather)]
        calendar.pass_days(50)
        assert await expire(warden) == [("purge", weather)]
        calendar.pass_days(5)
        assert await expire(warden) == [("soft_delete", news)]  # .8 after two half-lives is .2


@pytest.mark.parametrize("embedded_url", ["memory"], indirect=True)
async def test_runs_leave_an_event_and_tell_when_they_are_due(embedded_url: str, calendar: Calendar) -> None:
    async with AsyncWarden.open(embedded_url, {"events": "off"}) as warden:
        me = warden.scope(user="ana")
        small = await remember(me, "Ana saw a heron at the lake.", importance=0.3)
        (before,) = [item for item in await warden.jobs.status() if item.job == "expire"]
        assert before.last is None
        assert before.due == calendar.time
        calendar.pass_days(61)
        (run,) = [item for item in await warden.jobs.run_due() if item.job == "expire"]
        assert (run.status, [change.memory_id for change in run.changes]) == ("ok", [small])
        assert [item for item in await warden.jobs.run_due() if item.job == "expire"] == []
        (after,) = [item for item in await warden.jobs.status() if item.job == "expire"]
        assert (after.last, after.status, after.changed) == (calendar.time, "ok", 1)
        assert after.due is not None
        assert calendar.time < after.due <= calendar.time + DAY
        with pytest.raises(InvalidInput, match="jobs are: expire, "):
            await warden.jobs.run("expier")


async def test_a_job_that_fails_on_a_person_spares_the_others_and_is_tried_again(
    calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    async def fail_on_ana(context: JobContext) -> JobReport:
        ran.append(context.namespace.path)
        if context.namespace.path == "user/ana":
            raise ModelUnavailable("nobody answers")
        return JobReport()

    monkeypatch.setattr(jobs, "JOBS", {"one": JobKind("one", "", DAY, False, lambda: fail_on_ana)})
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        for user in ("ana", "ben"):
            await remember(warden.scope(user=user), "There is a heron.")
        runs = {run.namespace.path: (run.status, run.reason) for run in await warden.jobs.run_due()}
        assert runs == {"user/ana": ("failed", "ModelUnavailable"), "user/ben": ("skipped", "")}
        assert await warden.jobs.run_due() == []
        calendar.pass_days(1)
        await warden.jobs.run_due()
        assert sorted(ran) == ["user/ana", "user/ana", "user/ben", "user/ben"]


@pytest.mark.parametrize("name", ["expire", "retain", "weigh", "consolidate", "insights", "clean"])
async def test_each_job_leaves_an_event_of_a_run_and_none_of_a_dry_run(name: str) -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none", "events": "off"}) as warden:
        me = warden.scope(user="ana")
        await remember(me, "Ana keeps bees.")
        rev = (await warden.store.head(me.who.namespace)).rev
        (tried,) = await warden.jobs.run(name, user="ana", dry_run=True)
        assert tried.dry_run
        assert await me.journal.events(node="worker", op="job") == []
        assert (await warden.store.head(me.who.namespace)).rev == rev
        await warden.jobs.run(name, user="ana")
        (event,) = await me.journal.events(node="worker", op="job")
        assert (event.reason.partition(":")[0], event.status, event.user_id) == (name, "skipped", "ana")


async def test_tenants_are_spread_over_the_day(calendar: Calendar) -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        for number in range(40):
            await remember(warden.scope(user="ana", tenant=f"t{number}"), "Ana keeps bees.")
        await warden.jobs.run_due()
        due = [
            item.due
            for number in range(40)
            for item in await warden.jobs.status(tenant=f"t{number}")
            if item.job == "expire"
        ]
        hours = {(at - calendar.time) // timedelta(hours=1) for at in due if at is not None}
        assert len(hours) >= 12
        assert hours <= set(range(24))


def test_a_policy_stands_when_allowlists_are_written_again() -> None:
    """What a server keeps of its categories makes the same categories of it."""
    custom = [
        {"name": "weather", "expire_days": 7, "expire_below": 1.0},
        {"name": "medical", "expire_days": "never"},
        {"name": "news", "half_life_days": 30},
    ]
    known = read_categories({"categories": {"custom": custom}})
    assert read_categories(categories_content(known)).declared == known.declared
    with pytest.raises(InvalidInput, match="expire_days is a whole number of at least 1, or never"):
        read_categories({"categories": {"custom": [{"name": "a", "expire_days": 0}]}})
    with pytest.raises(InvalidInput, match="expire_below is a number from 0 to 1"):
        read_categories({"categories": {"custom": [{"name": "a", "expire_below": 2}]}})


async def test_index_cards_live_for_a_year(embedded_url: str, calendar: Calendar) -> None:
    """Turns are found by them, so that a year's talk is not found worse while it is looked after."""
    async with AsyncWarden.open(embedded_url, {"extraction": "every_turn"}) as warden:
        me = warden.scope(user="ana", thread="garten")
        said = "Heute habe ich im Schrebergarten Tomaten und Kürbisse gepflanzt."
        await me.observe([{"role": "user", "content": said}, {"role": "assistant", "content": "Viel Erfolg damit!"}])
        (card,) = await me.find({"tags": ["card"]})
        calendar.pass_days(364.9)
        assert card.id not in {memory for _, memory in await expire(warden)}
        calendar.pass_days(0.2)
        assert await expire(warden) == [("soft_delete", card.id)]
        calendar.pass_days(31)
        assert await expire(warden) == [("purge", card.id)]
