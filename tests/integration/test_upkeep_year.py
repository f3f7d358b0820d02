"""A year with a worker: memory stays bounded, loses nothing that it may not, and every change is told once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from memwarden import AsyncWarden, clock

WEEKS = 52
BIRDS = "heron crane stork swift eagle robin raven finch goose gull kite lark owl wren dove duck swan jay".split()
PLACES = "lake bridge harbour forest meadow river tower garden canal island orchard quarry".split()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def url(request: pytest.FixtureRequest, tmp_path: object) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path}/store.db"


async def test_a_year_of_small_facts_stays_bounded_and_loses_nothing_that_matters(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now)
    counts: Counter[str] = Counter()
    most = 0
    async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
        me = warden.scope(user="ana", thread="t1")
        kept = [
            await me.remember("Ana has the bank box 4711.", pinned=True, importance=0.1),
            await me.remember("1. Open the valve.\n2. Wait.", channel="procedural", importance=0.1),
            await me.remember("Ana is allergic to peanuts.", importance=0.9),
        ]
        for week in range(WEEKS):
            now += timedelta(days=7)
            bird, place = BIRDS[week % len(BIRDS)], PLACES[week % len(PLACES)]
            await me.remember(f"Ana saw a {bird} at the {place} in week {week}.", importance=0.2)
            before = (await me.journal.delta(since_rev=0)).rev
            changed = [change for run in await warden.jobs.run_due() for change in run.changes]
            counts.update(change.verb for change in changed)
            noted = [item for item in await me.journal.history(since=before, limit=500) if item.actor == "upkeep"]
            assert sorted(item.memory_id for item in noted) == sorted(change.memory_id for change in changed)
            told = await me.journal.delta(since_rev=before)
            assert len(told.bullets) + told.more == sum(change.verb == "soft_delete" for change in changed)
            assert not await me.journal.delta(since_rev=told.rev)
            most = max(most, len(await me.find(limit=500)))
        there = {item.id for item in await me.find(limit=500)}
        assert {result.id for written in kept for result in written.results} <= there
        found = await me.query("What is Ana allergic to?")
        assert "peanuts" in found.items[0].text
    assert most <= 3 + 10  # what is younger than 60 days
    assert counts["soft_delete"] >= 40
    assert counts["purge"] >= 35
    assert set(counts) == {"soft_delete", "purge"}
