"""Measures observe and query on one PostgreSQL and on Citus with 1, 2 and 3 workers, in one run.

python bench/scripts/citus_throughput.py FOLDER [SECONDS NAMESPACES]

FOLDER holds a build of Citus and its ``lay_over.py`` (:mod:`memwarden_bench.citus_cluster`). All servers run on this
machine, and every write is synced to its disk. The placements take turns in each round.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from memwarden import AsyncWarden
from memwarden_bench import sentences
from memwarden_bench.citus_cluster import start_cluster
from memwarden_bench.metrics import percentile

CLIENTS = 8
ROUNDS = 3
SETTINGS = {"embedder": "wordllama", "extraction": "off", "events": "off"}
TURNS = [turn["content"] for turn in sentences.turns(2_000)]
QUESTIONS = sentences.questions(200)


async def observe(warden: AsyncWarden, user: str, chance: random.Random) -> None:
    said, replied = chance.choice(TURNS), chance.choice(TURNS)
    messages = [{"role": "user", "content": said}, {"role": "assistant", "content": replied}]
    await warden.scope(user=user, thread=f"t{chance.randrange(10**9)}").observe(messages)


async def query(warden: AsyncWarden, user: str, chance: random.Random) -> None:
    await warden.scope(user=user).query(chance.choice(QUESTIONS))


Call = Callable[[AsyncWarden, str, random.Random], Awaitable[None]]


async def load(warden: AsyncWarden, call: Call, seconds: float, namespaces: int, seed: int) -> list[float]:
    """Return the milliseconds of each call of some clients at once."""
    times: list[float] = []
    until = time.perf_counter() + seconds

    async def work(client: int) -> None:
        chance = random.Random(seed * CLIENTS + client)
        while (began := time.perf_counter()) < until:
            await call(warden, f"p{chance.randrange(namespaces)}", chance)
            times.append(1e3 * (time.perf_counter() - began))

    await asyncio.gather(*map(work, range(CLIENTS)))
    return times


async def measure(urls: dict[str, str], seconds: float, namespaces: int) -> None:
    rates: dict[tuple[str, str], list[str]] = {}
    for number in range(ROUNDS):
        for placement, url in urls.items():
            async with AsyncWarden.open(url, config=SETTINGS) as warden:
                if not number:
                    for person in range(namespaces):
                        await observe(warden, f"p{person}", random.Random(person))
                for name, call in (("observe", observe), ("query", query)):
                    await load(warden, call, seconds / 4, namespaces, -number - 1)
                    times = await load(warden, call, seconds, namespaces, number)
                    spread = f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f}"
                    rates.setdefault((placement, name), []).append(f"{len(times) / seconds:.0f} ({spread})")
    print(f"calls a second (p50 / p95, ms) of {CLIENTS} clients, {ROUNDS} rounds; load {os.getloadavg()[0]:.1f}")
    for (placement, name), found in rates.items():
        print(f"{placement:16} {name:8} {', '.join(found)}", flush=True)


def main(citus: Path, seconds: float = 8.0, namespaces: int = 200) -> None:
    with start_cluster(citus, workers=1) as cluster:
        urls = {"one PostgreSQL": cluster.new_database(citus=False), "Citus, 1 worker": cluster.new_database()}
        for workers in (2, 3):
            cluster.add_worker()
            urls[f"Citus, {workers} workers"] = cluster.new_database()
        asyncio.run(measure(urls, seconds, namespaces))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 8.0, int((sys.argv[3:] or ["200"])[0]))
