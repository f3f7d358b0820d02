"""Measures queries among a million memories in namespaces of 100 to 200,000, hot and cold.

python bench/scripts/million_postgres.py URL [SHARE]    fills the empty store (SHARE of a million, else 1) and asks it

URL may be that of PostgreSQL or of a SQLite file, to compare. All namespaces of one size hold the same made-up turns.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memwarden import AsyncWarden
from memwarden.models.wordllama import shared_embedder
from memwarden.recall.index.encode import make_signals
from memwarden.records import Batch, Memory, Namespace, Put, Signals
from memwarden_bench import sentences
from memwarden_bench.metrics import percentile

SIZES = {200_000: 1, 20_000: 20, 1_000: 200, 100: 2_000}
"""Rows in a namespace, and how many such namespaces there are: a million in all."""
AT_ONCE = 2_000
START = datetime(2024, 1, 1, 9, tzinfo=UTC)
SETTINGS = {"index_bytes": 4 * 2**30}

Row = tuple[str, Signals]


def rows(count: int) -> list[Row]:
    """Yield generated turns with their signals."""
    texts = [message["content"] for _, messages in sentences.threads(sentences.turns(count)) for message in messages][
        :count
    ]
    made: list[Row] = []
    for at in range(0, len(texts), AT_ONCE):
        part = texts[at : at + AT_ONCE]
        made += zip(part, make_signals([(text, START) for text in part], shared_embedder()), strict=True)
    return made


async def fill(warden: AsyncWarden, user: str, some: Sequence[Row]) -> None:
    here = Namespace("default", f"user/{user}")
    for first in range(0, len(some), AT_ONCE):
        puts = []
        for number, (text, signals) in enumerate(some[first : first + AT_ONCE], first):
            at = START + timedelta(minutes=number)
            turn = Memory(f"{user}-{number}", here, text, at, at, channel="turn", role="user")
            puts.append(Put(replace(turn, thread_id=f"t{number // 30}"), signals))
        await warden.store.apply(Batch(here, tuple(puts), START))


async def time_query(warden: AsyncWarden, user: str, question: str) -> float:
    start = time.perf_counter()
    await warden.scope(user=user).query(question, top_k=10, threshold=0)
    return 1e3 * (time.perf_counter() - start)


async def measure(url: str, share: float) -> None:
    sizes = {size: max(1, round(many * share)) for size, many in SIZES.items()}
    made = rows(max(int(max(sizes) * min(1, share)), 20_000))
    questions = list(sentences.questions(40))
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        start, total = time.perf_counter(), 0
        for size, many in sizes.items():
            for number in range(many):
                some = made[: min(size, len(made))]
                await fill(warden, f"u{size}-{number}", some)
                total += len(some)
        seconds = time.perf_counter() - start
        print(f"filled {total:,} rows in {seconds:.0f} s, {total / seconds:,.0f} a second")
        for size in sizes:
            user = f"u{size}-0"
            await time_query(warden, user, "Who has a canoe?")
            larges = warden._runtime.services.larges
            start = time.perf_counter()
            await larges.wait_idle()
            built = time.perf_counter() - start
            hot = [await time_query(warden, user, question) for question in questions]
            ms = f"{percentile(hot, 0.5):.1f} / {percentile(hot, 0.95):.1f} ms"
            print(f"{size:>8,} rows, hot: {ms}; made ready in {built:.0f} s")
    cold = []
    for number in range(min(5, sizes[20_000])):
        async with AsyncWarden.open(url, config=SETTINGS) as warden:
            await time_query(warden, "nobody", "Who has a canoe?")  # loads the model
            cold.append(await time_query(warden, f"u20000-{number}", "Who has a canoe?"))
    print(f"  20,000 rows, cold: {percentile(cold, 0.5):,.0f} / {max(cold):,.0f} ms")


def main(url: str, share: str = "1") -> None:
    asyncio.run(measure(url, float(share)))


if __name__ == "__main__":
    main(*sys.argv[1:])
