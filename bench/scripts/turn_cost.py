"""Measures what a turn and a query cost on a SQLite file, one PostgreSQL and Citus: bytes, and processor time by part.

python bench/scripts/turn_cost.py FOLDER [TURNS]

FOLDER holds a build of Citus and its ``lay_over.py`` (:mod:`memwarden_bench.citus_cluster`). The turns are made up, of
four people, with the default models. A cluster has a coordinator and two workers, the time of all of them counts.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import psutil
import psycopg

from memwarden import AsyncWarden
from memwarden_bench import sentences
from memwarden_bench.citus_cluster import start_cluster
from memwarden_bench.metrics import percentile

PEOPLE = 4
QUESTIONS = 100
TOGETHER = 20  # turns of a conversation
SETTINGS = {"embedder": "auto", "extraction": "off", "events": "off", "vector_seconds": 120}


def database_seconds(servers: Sequence[psutil.Process]) -> float:
    """Return the processor time of servers. Ended processes count as time of the server's children."""
    total: float = 0.0
    for process in chain(servers, *(server.children(recursive=True) for server in servers)):
        times = process.cpu_times()
        total += float(times.user + times.system)
    return total + sum(float(part) for server in servers for part in server.cpu_times()[2:4])


async def measure(name: str, url: str, turns: int, servers: Sequence[psutil.Process]) -> None:
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        empty, texts = (await warden.store.about()).bytes or 0, list(sentences.turns(turns))
        await warden.scope(user="p0").query("Who has a canoe?")  # loads the models
        before = database_seconds(servers)
        for number in range(0, turns, TOGETHER):
            thread, user = f"t{number}", f"p{number // TOGETHER % PEOPLE}"
            await warden.scope(user=user, thread=thread).observe(texts[number : number + TOGETHER])
        filler = warden._runtime.services.filler
        assert filler is not None
        await filler.wait(None, None)
        written = database_seconds(servers) - before
        for person in range(PEOPLE):
            await warden.scope(user=f"p{person}").query("Who has a canoe?")
        before, own, times = database_seconds(servers), time.process_time(), []
        for number, question in enumerate(sentences.questions(QUESTIONS)):
            start = time.perf_counter()
            await warden.scope(user=f"p{number % PEOPLE}").query(question)
            times.append(1e3 * (time.perf_counter() - start))
        own, asked = time.process_time() - own, database_seconds(servers) - before
    compact(url)
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        full = (await warden.store.about()).bytes or 0
    print(
        f"{name}: {(full - empty) / turns:,.0f} bytes a turn; of the database {1e3 * written / turns:.2f} ms of the "
        f"processor a turn and {1e3 * asked / QUESTIONS:.2f} a query; of the program {1e3 * own / QUESTIONS:.1f} a "
        f"query; query {percentile(times, 0.5):.1f} ms",
        flush=True,
    )


def compact(url: str) -> None:
    """Give back the room of replaced rows."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("VACUUM FULL")


def main(citus: Path, turns: int = 1_000) -> None:
    with tempfile.TemporaryDirectory() as folder, start_cluster(citus) as cluster:
        servers = [psutil.Process(node.process_id) for node in cluster.nodes]
        asyncio.run(measure("SQLite", f"sqlite:///{folder}/m.db", turns, []))
        asyncio.run(measure("one PostgreSQL", cluster.new_database(citus=False), turns, servers[:1]))
        asyncio.run(measure("Citus, 2 workers", cluster.new_database(), turns, servers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
