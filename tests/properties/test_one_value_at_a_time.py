"""As of a time a single-valued fact has one value, whenever it was told and however it was corrected (F11)."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memwarden import AsyncWarden
from memwarden.testing import get_runtime

CITIES = ("Paris", "Berlin", "Lisbon")
DAYS = 12
Correction = tuple[int, int]


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)


@st.composite
def lives(draw: st.DrawFn) -> tuple[list[int], list[int], list[Correction]]:
    """Days on which moves are told, days on which they happened, both in order; and days put right afterwards."""
    count = draw(st.integers(1, len(CITIES)))
    days = st.lists(st.integers(1, DAYS), min_size=count, max_size=count, unique=True).map(sorted)
    corrections = st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, DAYS)), max_size=4)
    return draw(days), draw(days), draw(corrections)


async def check(url: str, told: list[int], moved: list[int], corrections: list[Correction]) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        me, now = warden.scope(user="ana"), day(0)

        get_runtime(warden).services.writer.now = lambda: now
        ids = []
        for city, written, since in zip(CITIES, told, moved, strict=False):
            now = day(written)
            (item,) = (await me.remember(f"Ana lives in {city}.", valid_from=day(since))).results
            ids.append(item.id or "")
        begins = list(moved)
        for number, (which, since) in enumerate(corrections):
            now = day(told[-1]) + timedelta(hours=number + 1)
            before = begins[which - 1] if which else -1
            after = begins[which + 1] if which + 1 < len(begins) else DAYS + 1
            if before < since < after:
                begins[which] = since
                await me.update(ids[which], valid_from=day(since))
                if which:
                    await me.update(ids[which - 1], valid_to=day(since))
        known = list(zip(pairwise([*begins, DAYS + 9]), CITIES, strict=False))
        for number in range(DAYS + 3):
            for moment in (day(number), day(number) + timedelta(hours=12)):
                values = [memory.text for memory in await me.find(as_of=moment)]
                assert values == [f"Ana lives in {city}." for (begin, end), city in known if begin <= number < end]


@settings(max_examples=15, deadline=None)
@given(lives())
def test_one_value_at_any_time(life: tuple[list[int], list[int], list[Correction]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check("memory://", *life))
        asyncio.run(check(f"sqlite:///{Path(folder) / 's.db'}", *life))
