"""Feedback moves importance: bounded, told in the journal, taken back with what was judged, and never twice."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.observability.records import MemoryUse
from memwarden.upkeep.importance import find_shift
from memwarden.upkeep.records import JobRun

MAX_SHIFT = 0.2
FACTS = ("Mia is allergic to peanuts.", "Mia plays the cello.", "Tom's bike is red.", "Rosa grows tomatoes.")


@pytest.fixture(params=["memory", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else str(request.getfixturevalue("postgres_url"))


async def weigh(warden: AsyncWarden, *, dry_run: bool = False) -> JobRun:
    (run,) = await warden.jobs.run("weigh", user="ana", dry_run=dry_run)
    return run


async def remember(me: AsyncScope) -> list[str]:
    return [str(item.id) for text in FACTS for item in (await me.remember(text)).results]


async def judge(me: AsyncScope, verdicts: dict[str, str], prompts: range) -> None:
    for rev in prompts:
        for memory_id, verdict in verdicts.items():
            await me.usage.feedback(memory_id, verdict, rev=rev)


async def test_use_moves_importance_and_all_of_it_can_be_taken_back(url: str) -> None:
    async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        used, idle, wrong, other = await remember(me)
        rev = (await me.journal.delta(since_rev=0)).rev
        before = [await me.get(item) for item in (used, idle, wrong, other)]
        await judge(me, {used: "used", idle: "unused"}, range(1, 9))
        await judge(me, {wrong: "wrong"}, range(1, 2))
        tried = await weigh(warden, dry_run=True)
        assert {change.memory_id for change in tried.changes} == {used, idle, wrong}
        assert [await me.get(item) for item in (used, idle, wrong, other)] == before
        run = await weigh(warden)
        assert run.changes == tried.changes
        moved = [(await me.get(item)).importance for item in (used, idle, wrong, other)]
        assert moved[0] > 0.5 > moved[1]
        assert moved[2] < 0.5 == moved[3]
        assert max(abs(item - 0.5) for item in moved) <= MAX_SHIFT
        assert any("used in 8 of 8 prompts" in change.why for change in run.changes)
        (entry,) = (await me.journal.history(used))[-1:]
        told = entry.meta or {}
        assert (entry.actor, told["rule"], told["given"], told["used"]) == ("upkeep", "use", 0.5, 8)
        assert not await me.journal.delta(since_rev=rev)  # no words changed
        assert (await weigh(warden)).changes == ()  # the same judgements move nothing twice
        # What was judged is taken back, and one of the moves itself.
        await judge(me, {used: "withdrawn"}, range(1, 9))
        (down,) = [item for item in await me.journal.history(idle) if (item.meta or {}).get("rule") == "use"]
        await me.journal.undo(down.seq)
        await weigh(warden)
        assert [(await me.get(item)).importance for item in (used, idle)] == [0.5, 0.5]
        await judge(me, {idle: "unused"}, range(20, 29))
        await weigh(warden)
        assert (await me.get(idle)).importance == 0.5  # what somebody undid is not done again


async def test_what_a_person_sets_is_given_and_its_change_can_still_be_undone() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        used, idle, other, _ = await remember(me)
        seq = max(item.seq for item in await me.journal.history())
        await me.update(used, importance=0.9)
        await judge(me, {used: "used", idle: "unused"}, range(1, 9))
        await weigh(warden)
        assert (await me.get(used)).importance > 0.9
        await me.update(used, importance=0.3)
        await weigh(warden)
        assert 0.3 < (await me.get(used)).importance <= 0.5
        await me.update(idle, text="Mia plays the violin.")
        last = (await me.journal.history(idle))[-1].seq
        await judge(me, {idle: "used", other: "unused"}, range(20, 90))
        await weigh(warden)
        assert (await me.get(idle)).importance > 0.5  # of the 0.5 that was given, not of where it stood
        await me.journal.undo(last)  # the move stands in nobody's way
        assert (await me.get(idle)).text == "Mia plays the cello."
        assert seq < last


async def test_a_long_journal_hides_no_move_and_no_undo() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        _, used, idle, _ = await remember(me)
        await judge(me, {used: "used", idle: "unused"}, range(1, 9))
        await weigh(warden)
        (down,) = [item for item in await me.journal.history(idle) if (item.meta or {}).get("rule") == "use"]
        await me.journal.undo(down.seq)
        for year in range(1960, 2020):
            await me.update(used, text=f"Mia plays the cello since {year}.")
            await me.update(idle, text=f"Tom's bike is of {year}.")
        await judge(me, {used: "used", idle: "unused"}, range(20, 40))
        await weigh(warden)
        assert 0.5 < (await me.get(used)).importance <= 0.5 + MAX_SHIFT  # of what was given, not of where it stood
        assert (await me.get(idle)).importance == 0.5


async def test_what_weigh_moved_makes_no_other_job_run_again() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        used, idle, *_ = await remember(me)
        await judge(me, {used: "used", idle: "unused"}, range(1, 9))
        runs = await warden.jobs.run_due()
        assert [run.job for run in runs if run.changes] == ["weigh"]
        due = {item.job: item.due for item in await warden.jobs.status(user="ana")}
        assert due["consolidate"] is None  # insights need a model: without one they stay due
        assert due["weigh"] is not None


async def test_a_move_is_no_need_of_a_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.now() - timedelta(days=50)  # events have the time of the machine
    monkeypatch.setattr(clock, "now", lambda: now)
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        used, idle, *_ = await remember(me)
        await me.get(idle)
        now += timedelta(days=50)
        await judge(me, {used: "used", idle: "unused"}, range(1, 20))
        await weigh(warden)
        assert (await me.get(idle)).importance < 0.4
        now += timedelta(days=11)
        (run,) = await warden.jobs.run("expire", user="ana")
        assert [change.memory_id for change in run.changes] == [idle]


def test_a_simulated_year_of_noisy_judgements_tells_what_is_of_use_and_stays_within_bounds() -> None:
    """Rules judge wrongly now and then; on seeds that nothing was chosen on, what is of use comes out ahead."""
    at, right, pairs = datetime(2026, 5, 1, tzinfo=UTC), 0, 0
    for seed in range(100, 120):
        draw = random.Random(seed)
        worth = [draw.random() for _ in range(30)]
        uses = []
        for number, chance in enumerate(worth):
            shown = draw.randint(5, 40)
            used = sum(draw.random() < 0.1 + 0.6 * chance for _ in range(shown))
            uses.append(MemoryUse(str(number), None, used, shown - used, 0, at))
        usual = sum(use.used for use in uses) / sum(use.used + use.unused for use in uses)
        shifts = [find_shift(use, usual) for use in uses]
        assert max(map(abs, shifts)) < MAX_SHIFT
        for first in range(30):
            for second in range(first):
                if abs(worth[first] - worth[second]) > 0.4:
                    pairs += 1
                    right += (shifts[first] > shifts[second]) == (worth[first] > worth[second])
    assert right / pairs > 0.9, (right, pairs)


def test_few_judgements_move_little_and_a_word_of_somebody_more() -> None:
    at = datetime(2026, 5, 1, tzinfo=UTC)
    once, often = MemoryUse("a", None, 1, 0, 0, at), MemoryUse("a", None, 20, 0, 0, at)
    assert 0 < find_shift(once, 0.4) < 0.05 < find_shift(often, 0.4) < MAX_SHIFT
    wrong = MemoryUse("a", None, 0, 0, 1, at)
    assert find_shift(wrong, 0.4) <= -0.1
    assert find_shift(wrong, 0.0) < 0 == find_shift(MemoryUse("a", None, 0, 9, 0, at), 0.0)
