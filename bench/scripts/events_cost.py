"""Measures what operational events add to a call: python bench/scripts/events_cost.py [memories] [rounds]

Two wardens on two files hold the same; one writes events. They are asked in turn, one question each, so that whatever
else the machine does meets both. A round's figure is the ratio of the two medians.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope

QUESTIONS = 400
WRITES = 60


async def main(memories: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        urls = [f"sqlite:///{Path(folder) / name}" for name in ("on.db", "off.db")]
        async with (
            AsyncWarden.open(urls[0], config={}) as on,
            AsyncWarden.open(urls[1], config={"events": "off"}) as off,
        ):
            pair = (on.scope(user="ana"), off.scope(user="ana"))
            for me in pair:
                await me.observe([message_of(number) for number in range(memories)])
                await me.query("Where does person 7 keep the bees?")
            print(f"{memories:,} memories; medians in ms with events and without, and their ratio")
            await both("a hot query", pair, rounds, QUESTIONS, ask)
            await both("observing a turn", pair, rounds, WRITES, observe)


def message_of(number: int) -> dict[str, str]:
    text = f"Person {number} keeps {number % 97} bees behind barn {number % 13} and waters {number % 29} plants."
    return {"role": "user", "content": text, "id": f"m{number}"}


async def ask(me: AsyncScope, number: int) -> object:
    return await me.query(f"Where does person {number % 50} keep the bees?")


async def observe(me: AsyncScope, number: int) -> object:
    return await me.observe([message_of(1_000_000 + number)])


async def both(
    what: str,
    pair: tuple[AsyncScope, AsyncScope],
    rounds: int,
    calls: int,
    call: Callable[[AsyncScope, int], Awaitable[object]],
) -> None:
    ratios, times = [], []
    for number in range(rounds):
        taken: tuple[list[float], list[float]] = ([], [])
        for place in range(calls):
            for which in (0, 1) if place % 2 else (1, 0):
                began = time.perf_counter()
                await call(pair[which], number * calls + place)
                taken[which].append((time.perf_counter() - began) * 1000)
        medians = (median(taken[0]), median(taken[1]))
        times.append(medians)
        ratios.append(medians[0] / medians[1])
    on, off = (median(times_of[which] for times_of in times) for which in (0, 1))
    print(f"{what:18} {on:8.3f} {off:8.3f} {median(ratios):6.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    asyncio.run(main(*(given + [100, 7][len(given) :])))
