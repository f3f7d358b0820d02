"""Measures queries among a million memories in namespaces of several sizes, hot and cold.

python bench/scripts/million_rows.py URL [SIZES]    fills the empty store, unless it holds them, and asks it

URL is that of PostgreSQL or of a SQLite file. SIZES is a list of ``rows x namespaces``, such as ``300000x1,350x2000``.
All namespaces of one size hold the same made-up turns.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memwarden import AsyncWarden
from memwarden.models.wordllama import shared_embedder
from memwarden.recall.index.encode import make_signals
from memwarden.records import Batch, Memory, Namespace, Put, Signals
from memwarden_bench import sentences
from memwarden_bench.metrics import percentile

SIZES = "200000x1,20000x20,1000x200,100x2000"
AT_ONCE = 2_000
START = datetime(2024, 1, 1, 9, tzinfo=UTC)
SETTINGS = {"index_bytes": 4 * 2**30, "embedder": "wordllama"}
FIRST_QUESTION = "Who has a canoe?"
COLD_RUNS = 5

Row = tuple[str, Signals]


def read_sizes(text: str) -> dict[int, int]:
    """Return the number of namespaces by their number of rows."""
    pairs = (part.split("x") for part in text.split(","))
    return {int(size): int(namespaces) for size, namespaces in pairs}


def users(sizes: Mapping[int, int]) -> Iterator[tuple[str, int]]:
    """Yield the user of each namespace and its number of rows."""
    for size, namespaces in sizes.items():
        for number in range(namespaces):
            yield f"u{size}-{number}", size


def make_rows(count: int) -> list[Row]:
    """Return generated turns with their signals."""
    texts = [message["content"] for _, messages in sentences.threads(sentences.turns(count)) for message in messages]
    made: list[Row] = []
    for at in range(0, count, AT_ONCE):
        part = texts[at : min(at + AT_ONCE, count)]
        made += zip(part, make_signals([(text, START) for text in part], shared_embedder()), strict=True)
    return made


async def fill(warden: AsyncWarden, sizes: Mapping[int, int]) -> None:
    """Write what is missing of every namespace."""
    there = {namespace.path for namespace in await warden.store.namespaces()}
    missing = [(user, size) for user, size in users(sizes) if f"user/{user}" not in there]
    if not missing:
        return
    rows = make_rows(max(size for _, size in missing))
    start, total = time.perf_counter(), 0
    for user, size in missing:
        await fill_one(warden, user, rows[:size])
        total += size
    seconds = time.perf_counter() - start
    print(f"filled {total:,} rows in {seconds:.0f} s, {total / seconds:,.0f} a second", flush=True)


async def fill_one(warden: AsyncWarden, user: str, rows: Sequence[Row]) -> None:
    here = Namespace("default", f"user/{user}")
    for first in range(0, len(rows), AT_ONCE):
        puts = []
        for number, (text, signals) in enumerate(rows[first : first + AT_ONCE], first):
            at = START + timedelta(minutes=number)
            turn = Memory(f"{user}-{number}", here, text, at, at, channel="turn", role="user")
            puts.append(Put(replace(turn, thread_id=f"t{number // 30}"), signals))
        await warden.store.apply(Batch(here, tuple(puts), START))


async def time_query(warden: AsyncWarden, user: str, question: str) -> float:
    start = time.perf_counter()
    await warden.scope(user=user).query(question, top_k=10, threshold=0)
    return 1e3 * (time.perf_counter() - start)


async def measure(url: str, sizes: Mapping[int, int]) -> None:
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        await fill(warden, sizes)
    print(f"load {os.getloadavg()[0]:.1f}")
    for size, namespaces in sizes.items():
        await measure_size(url, size, namespaces)


async def measure_size(url: str, size: int, namespaces: int) -> None:
    """Print the times of a size: of questions to an open store, and of the first question of a new warden."""
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        user = f"u{size}-0"
        await time_query(warden, user, FIRST_QUESTION)
        start = time.perf_counter()
        await warden._runtime.services.larges.wait_idle()
        prepared = time.perf_counter() - start
        await time_query(warden, user, FIRST_QUESTION)
        hot = [await time_query(warden, user, question) for question in sentences.questions(40)]
    cold = []
    for number in range(min(COLD_RUNS, namespaces) if namespaces > 1 else COLD_RUNS):
        async with AsyncWarden.open(url, config=SETTINGS) as warden:
            await time_query(warden, "nobody", FIRST_QUESTION)  # loads the model
            cold.append(await time_query(warden, f"u{size}-{number % namespaces}", FIRST_QUESTION))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size:>8,} rows: hot {percentile(hot, 0.5):.1f} / {percentile(hot, 0.95):.1f} ms, "
        f"cold {percentile(cold, 0.5):,.0f} / {max(cold):,.0f} ms, prepared in {prepared:.0f} s, "
        f"process at most {peak:,.0f} MB",
        flush=True,
    )


def main(url: str, sizes: str = SIZES) -> None:
    asyncio.run(measure(url, read_sizes(sizes)))


if __name__ == "__main__":
    main(*sys.argv[1:])
