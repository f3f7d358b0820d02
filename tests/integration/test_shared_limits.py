"""Limits of calls that several processes share in PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
import pytest
from limits import parse

from memwarden.errors import RateLimited
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.shared.counts import CallCount
from memwarden.surfaces.http.limits import RateLimits, SharedLimiter

PLACE = Namespace("memwarden-server", "calls")


async def test_counts_of_the_database_follow_its_clock(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    await store.open()

    async def add(calls: int, *, moved: int = 0, counter: str = "a") -> tuple[int, int]:
        """Move the stored period, then add calls. Return the calls of the period and of the one before."""
        with psycopg.connect(postgres_url) as db:
            db.execute("UPDATE memwarden.call_counts SET period = period + %s", [moved])
        count, at = await store.counts.add(PLACE, counter, 86_400, calls)
        assert abs(at - time.time()) < 60
        assert count.period - (moved == 1) == int(at // 86_400)
        return count.calls, count.earlier

    assert await add(2) == (2, 0)
    assert await add(3) == (5, 0)
    assert await add(1, counter="b") == (1, 0)
    assert await add(1, moved=-1) == (1, 5)
    assert await add(1, moved=-2) == (1, 0)
    assert await add(1, moved=1) == (2, 0), "the clock was set back by a moment"
    assert await add(1, moved=9) == (1, 0), "the clock was wrong"
    await store.close()


async def test_the_clock_of_a_machine_may_be_wrong(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PostgresStore(postgres_url)
    await store.open()
    wrong, right = (SharedLimiter(parse("10/day"), store.counts, "calls") for _ in range(2))
    own_time = time.time

    async def hit(limiter: SharedLimiter, ahead: float) -> bool:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: own_time() + ahead)
            return (await limiter.hit("key 1")).within

    hits = [(await hit(wrong, 3e5), await hit(right, 0)) for _ in range(7)]
    assert hits == [(True, True)] * 5 + [(False, False)] * 2
    await store.close()


async def test_limiters_of_two_processes_admit_one_limit_with_few_statements(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rate, store = parse("2000/day"), PostgresStore(postgres_url)
    await store.open()
    limiters = [SharedLimiter(rate, store.counts, "calls") for _ in range(2)]
    added: list[int] = []
    add = store.counts.add

    async def count_statements(namespace: Namespace, counter: str, seconds: int, calls: int) -> tuple[CallCount, float]:
        added.append(calls)
        return await add(namespace, counter, seconds, calls)

    monkeypatch.setattr(store.counts, "add", count_statements)
    admitted = 0
    for _ in range(110):
        some = await asyncio.gather(*(limiters[number % 2].hit("key 1") for number in range(20)))
        admitted += sum(allowance.within for allowance in some)
    await store.close()
    assert 2_000 - 2 * 20 <= admitted <= 2_000
    assert len(added) < 1_100, (
        "a limit of 2,000 is reserved in twos, and a process that knows it is reached asks no more"
    )


async def test_a_process_counts_by_itself_while_the_database_is_away(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    limits, state = RateLimits("3/day", store.counts), dict[str, Any]()
    for left in (2, 1, 0):
        await limits.count("key 1", state)
        assert state["limit_headers"]["RateLimit-Remaining"] == str(left)
    with pytest.raises(RateLimited):
        await limits.count("key 1", state)
