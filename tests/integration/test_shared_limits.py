"""Limits of calls that several processes share in PostgreSQL."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest
from limits import parse

from memwarden.errors import RateLimited
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.shared.counts import CallCount
from memwarden.surfaces.http.limits import RateLimits, SharedLimiter

PLACE = Namespace("memwarden-server", "calls")


async def test_counts_of_the_database_move_on_with_the_latest_clock(postgres_url: str) -> None:
    store, end = PostgresStore(postgres_url), datetime.fromisoformat("2100-01-01T00:00:00Z")
    await store.open()
    assert await store.counts.add(PLACE, "a", 5, 2, end) == CallCount(5, 2, 0)
    assert await store.counts.add(PLACE, "a", 5, 3, end) == CallCount(5, 5, 0)
    assert await store.counts.add(PLACE, "b", 5, 1, end) == CallCount(5, 1, 0)
    assert await store.counts.add(PLACE, "a", 6, 1, end) == CallCount(6, 1, 5)
    assert await store.counts.add(PLACE, "a", 5, 1, end) == CallCount(6, 2, 5), "from a machine whose clock is late"
    assert await store.counts.add(PLACE, "a", 8, 1, end) == CallCount(8, 1, 0)
    await store.close()


async def test_limiters_of_two_processes_admit_one_limit_with_few_statements(postgres_url: str) -> None:
    rate, store = parse("2000/day"), PostgresStore(postgres_url)
    await store.open()
    limiters = [SharedLimiter(rate, store.counts, "calls") for _ in range(2)]
    added: list[int] = []
    add = store.counts.add

    async def count_statements(
        place: Namespace, counter: str, period: int, calls: int, expires_at: datetime
    ) -> CallCount:
        added.append(calls)
        return await add(place, counter, period, calls, expires_at)

    store.counts.add = count_statements  # type: ignore[method-assign]
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
