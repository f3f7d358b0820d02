"""Ask and write at a steady rate while jobs run beside it, and without them, in turn; compare the times.

A SQLite store holds a person with many turns and others with facts, some of them twice. A process asks ten questions
and writes a turn each second. In every other span of time a child of low priority runs all jobs on all users, again
and again, each time as if another day had come, so that limits of a day do not end its work. Printed are the times of
questions and writes of both kinds of spans. Spans alternate, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median

from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.upkeep.jobs import JOBS
from memwarden.upkeep.worker import lower_priority

PEOPLE = ("Ana", "Tom", "Mia", "Ben", "Eva", "Jon", "Ida", "Max", "Lea", "Kai")
DOINGS = ("keeps", "paints", "repairs", "collects", "sells", "borrows", "polishes", "draws", "counts")
THINGS = ("bees", "clocks", "kites", "maps", "boats", "stamps", "lamps", "violins", "tents", "coins", "shells", "bikes")
PLACES = ("behind the barn", "in Graz", "at the harbour", "by the lake", "in the attic", "on the balcony", "near Oslo")
SETTINGS = {"embedder": "wordllama", "merging": "off"}
FACTS, USERS = 150, 20


def texts(number: int, seed: int) -> list[str]:
    """Return made-up statements."""
    chance = random.Random(seed)
    return [
        " ".join(map(chance.choice, (PEOPLE, DOINGS, THINGS, PLACES))) + f", since {1900 + each % 120}."
        for each in range(number)
    ]


async def fill(url: str, turns: int) -> None:
    """Write turns of a person, and facts of many, a fifth of them said again in another order."""
    async with AsyncWarden.open(url, SETTINGS) as warden:
        me = warden.scope(user="ana", thread="t")
        said = texts(turns, 7)
        for start in range(0, len(said), 2_000):
            await me.observe([{"role": "user", "content": text} for text in said[start : start + 2_000]])
        for number in range(USERS):
            user = warden.scope(user="ana" if not number else f"u{number}")
            facts = texts(FACTS, 100 + number)
            again = [f"Since {fact[-5:-1]} {fact[:-13]}." for fact in facts[: FACTS // 5]]
            await user.remember(facts + again)


async def keep_clean(url: str) -> None:
    """Run all jobs on all users until the end; print what was changed."""
    lower_priority()
    real, days = clock.now, 0
    clock.now = lambda: real() + timedelta(days=days)  # type: ignore[assignment]
    changed = runs = 0
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with AsyncWarden.open(url, {**SETTINGS, "merging": "auto"}) as warden:
        while not stop.is_set():
            for name in JOBS:
                for number in range(USERS):
                    done = await warden.jobs.run(name, user="ana" if not number else f"u{number}")
                    if not runs:
                        print("at work", flush=True)
                    runs += len(done)
                    changed += sum(len(run.changes) for run in done)
                    if stop.is_set():
                        break
            days += 1
    print(json.dumps({"runs": runs, "changed": changed}))


class Times:
    """The times of questions and writes of a kind of spans, in milliseconds."""

    def __init__(self) -> None:
        self.questions: list[float] = []
        self.writes: list[float] = []

    async def take(self, me: AsyncScope, seconds: float, rate: float) -> None:
        """Ask and write for so long. A late answer holds up none of the others."""
        begun, number = time.perf_counter(), 0
        tasks = []
        while time.perf_counter() - begun < seconds:
            tasks.append(asyncio.create_task(self._ask(me, number)))
            if number % int(rate) == 0:
                tasks.append(asyncio.create_task(self._write(me)))
            number += 1
            await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        await asyncio.gather(*tasks)

    async def _ask(self, me: AsyncScope, number: int) -> None:
        begun = time.perf_counter()
        await me.query(f"Who {DOINGS[number % len(DOINGS)]} {THINGS[number % len(THINGS)]}?")
        self.questions.append(1000 * (time.perf_counter() - begun))

    async def _write(self, me: AsyncScope) -> None:
        begun = time.perf_counter()
        await me.observe([{"role": "user", "content": f"Now it is {time.time_ns()}."}])
        self.writes.append(1000 * (time.perf_counter() - begun))


def p95(times: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(times)[int(0.95 * len(times))]


async def measure(url: str, chosen: argparse.Namespace) -> None:
    """Alternate spans with and without jobs, and print the times."""
    calm, busy = Times(), Times()
    ratios, done = [], []
    async with AsyncWarden.open(url, SETTINGS) as warden:
        me = warden.scope(user="ana", thread="t")
        await Times().take(me, 5, chosen.rate)
        for number in range(chosen.rounds):
            spans = [Times(), Times()]
            for busy_now in (True, False) if number % 2 else (False, True):
                child = await start_child(url) if busy_now else None
                await spans[busy_now].take(me, chosen.seconds, chosen.rate)
                if child is not None:
                    child.terminate()
                    out, _ = await child.communicate()
                    done.append(json.loads(out))
            for into, span in zip((calm, busy), spans, strict=True):
                into.questions += span.questions
                into.writes += span.writes
            ratios.append(p95(spans[1].questions) / p95(spans[0].questions))
    for name in ("questions", "writes"):
        one, other = getattr(calm, name), getattr(busy, name)
        print(
            f"{name}: {len(one)} without, {len(other)} with jobs; p50 {median(one):.1f}, {median(other):.1f} ms; "
            f"p95 {p95(one):.1f}, {p95(other):.1f} ms ({p95(other) / p95(one):.2f} x)"
        )
    by_round = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"p95 of questions by round: {by_round}; median {median(ratios):.2f}")
    print(f"runs of jobs: {sum(item['runs'] for item in done)}, changes: {sum(item['changed'] for item in done)}")


async def start_child(url: str) -> asyncio.subprocess.Process:
    """Begin a child that runs jobs, and wait until it does."""
    words = (sys.executable, __file__, "--keep-clean", url)
    child = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    await child.stdout.readline()
    return child


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=6)
    options.add_argument("--seconds", type=float, default=15.0, help="of a span")
    options.add_argument("--rate", type=float, default=10.0, help="questions a second")
    options.add_argument("--keep-clean", metavar="URL", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.keep_clean:
        asyncio.run(keep_clean(chosen.keep_clean))
        return
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'store.db'}"
        asyncio.run(fill(url, chosen.turns))
        asyncio.run(measure(url, chosen))


if __name__ == "__main__":
    main()
