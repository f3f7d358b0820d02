"""Measures how fast the SQLite store is on this machine: python bench/scripts/speed_stores.py [rows]"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from uuid_utils import uuid7

from memwarden.filters import parse
from memwarden.records import Batch, Memory, Namespace, Put, Signals
from memwarden.stores.sqlite import SqliteStore

NAMESPACE = Namespace("bench", "user/ann")
START = datetime(2026, 1, 1, tzinfo=UTC)
SIGNALS = Signals(b"\x01\x02\x03\x04" * 30, b"\x00\x3c" * 256, 1)


def turn(number: int) -> Put:
    """Return a turn of 180 characters with 30 terms and a vector of 256 numbers."""
    at = START + timedelta(seconds=number)
    memory = Memory(
        str(uuid7()),
        NAMESPACE,
        f"turn number {number} about something quite long and usual, as people say it. " * 3,
        at,
        at,
        channel="turn",
        tags=("a", "b"),
        sources=(f"m{number}",),
        role="user",
        name="Ann",
        thread_id=f"t{number % 50}",
    )
    return Put(memory, SIGNALS, source_key=f"s{number}")


def a_batch(*puts: Put) -> Batch:
    return Batch(NAMESPACE, puts, START, key=str(uuid7()))


async def each(name: str, times: int, call: Callable[[], Awaitable[object]]) -> None:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        await call()
        taken.append(time.perf_counter() - started)
    print(f"{name:42} {median(taken) * 1e6:12,.0f} µs at the median, {max(taken) * 1e6:,.0f} at most")


def rate(name: str, count: int, seconds: float) -> None:
    print(f"{name:42} {count / seconds:12,.0f} a second")


async def main(rows: int, folder: Path) -> None:
    store = SqliteStore(folder / "memory.db")
    await store.open()
    batches = [a_batch(*(turn(start + number) for number in range(1000))) for start in range(0, rows, 1000)]
    started = time.perf_counter()
    for batch in batches:
        await store.apply(batch)
    rate("puts in batches of 1,000", rows, time.perf_counter() - started)
    singles = [a_batch(turn(rows + number)) for number in range(3000)]
    started = time.perf_counter()
    await asyncio.gather(*map(store.apply, singles))
    rate("3,000 single puts at once", 3000, time.perf_counter() - started)
    lone = iter([a_batch(turn(rows + 3000 + number)) for number in range(300)])
    await each("puts in sequence", 300, lambda: store.apply(next(lone)))
    scan = await store.scan(NAMESPACE)
    ids = [row.id for row in scan.rows[:: max(1, len(scan.rows) // 10)]][:10]
    await each("head", 3000, lambda: store.head(NAMESPACE))
    await each("get of 10", 1000, lambda: store.get(NAMESPACE, ids))
    thread = parse({"thread_id": "t3"})
    await each("last 10 of a thread", 1000, lambda: store.find(NAMESPACE, thread, order_by="written", limit=10))
    await each("newest 10", 1000, lambda: store.find(NAMESPACE, limit=10))
    await each("10 by importance (a sort of all)", 20, lambda: store.find(NAMESPACE, order_by="importance", limit=10))
    await each("scan of a single change", 1000, lambda: store.scan(NAMESPACE, since=scan.head.rev - 1))
    await each(f"scan of {len(scan.rows):,} rows", 7, lambda: store.scan(NAMESPACE))
    same = replace(turn(0), source_key="s1")
    await each("a duplicate by source key", 300, lambda: store.apply(Batch(NAMESPACE, (same,), START)))
    await store.close()
    print(f"file: {(folder / 'memory.db').stat().st_size / len(scan.rows):,.0f} bytes a memory")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000, Path(temporary)))
