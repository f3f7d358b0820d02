"""Measures writes: observing, remembering, merging, superseding and linking."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from memwarden import clock
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.clock import new_id
from memwarden.recall.index.encode import make_signals
from memwarden.records import Batch, BatchChange, Channel, Link, Memory, Put
from memwarden.remember.resolve.resolution import MAX_LINKS
from memwarden_bench.marks import grid, number
from memwarden_bench.metrics import percentile
from memwarden_bench.replay import Tick
from memwarden_bench.sentences import Fact, facts

SIZES = (100, 10_000)
WARM_UP_ROUNDS = 3
"""So many rounds come before those that count."""


@dataclass(frozen=True, slots=True)
class CallFigures:
    """Figures of a sort of call.

    Milliseconds; syncs: the median of its time over that of a sync in the same round.

    edges: links that such a call made, on average.
    """

    calls: int
    p50_ms: float
    p95_ms: float
    syncs: float
    edges: float


@dataclass(frozen=True, slots=True)
class WriteFigures:
    """Figures of a namespace of ``rows`` memories.

    Attributes:
        sync_p50_ms, sync_p95_ms: what the disk takes to sync 4 KB, measured in every round.
        calls: by what became of a call: observed, created, merged, superseded.
        edge_p50_ms, edge_p95_ms: what an edge adds to a write that is made anyway.
        batch_ms: a call that remembers ``batch`` statements, for each of them.
    """

    rows: int
    sync_p50_ms: float
    sync_p95_ms: float
    calls: Mapping[str, CallFigures]
    edge_p50_ms: float
    edge_p95_ms: float
    batch: int
    batch_ms: float


@dataclass(frozen=True, slots=True)
class WritesReport:
    """The results of a run of ``bench writes``."""

    circumstances: Mapping[str, str]
    embedder: str
    rounds: int
    sizes: Sequence[WriteFigures]


@dataclass(slots=True)
class _Times:
    calls: dict[str, list[float]]
    ratios: dict[str, list[float]]
    edges: dict[str, list[int]]
    syncs: list[float]
    one_edge: list[float]


def measure(rows: int, embedder: str, *, folder: Path | None, rounds: int, batch: int, tick: Tick) -> WriteFigures:
    """Fill a SQLite store with this many memories and make each sort of call once a round."""
    with TemporaryDirectory(prefix="memwarden-bench-", dir=folder) as place:
        return asyncio.run(_measure(Path(place), rows, embedder, rounds, batch, tick))


async def _measure(place: Path, rows: int, embedder: str, rounds: int, batch: int, tick: Tick) -> WriteFigures:
    url, known = f"sqlite:///{place / 'bench.db'}", facts(rows + rounds + WARM_UP_ROUNDS + batch)
    async with AsyncWarden.open(url, {"embedder": embedder, "merging": "off"}) as warden:
        me = warden.scope(user="bench")
        for start in range(0, rows, 1_000):
            await me.remember([item.text for item in known[start : min(start + 1_000, rows)]])
    tick(f"{rows:,} memories written")
    times = _Times(defaultdict(list), defaultdict(list), defaultdict(list), [], [])
    async with AsyncWarden.open(url, {"embedder": embedder}) as warden:
        me = warden.scope(user="bench")
        with (place / "sync.bin").open("wb", buffering=0) as file:
            for turn in range(-WARM_UP_ROUNDS, rounds):
                await _round(me, known, rows, turn, file, times)
                tick(f"{rows:,} memories, round {turn}")
        began = time.perf_counter()
        await me.remember([item.text for item in known[-batch:]])
        batch_ms = 1_000 * (time.perf_counter() - began) / batch
    return _figures(rows, times, batch, batch_ms)


async def _round(me: AsyncScope, known: Sequence[Fact], rows: int, turn: int, file: BinaryIO, times: _Times) -> None:
    """Make each sort of call, in a different order each round.

    What was slow meanwhile was slow for all.
    """
    chance = random.Random(turn)
    item, other = chance.sample(range(rows), 2)
    said = {"role": "user", "content": f"By the way: {known[item].text}", "id": f"turn {turn}"}
    calls = [
        lambda: me.observe([said]),
        lambda: me.remember(known[rows + WARM_UP_ROUNDS + turn].text),
        lambda: me.remember(known[item].text),
        lambda: me.remember(known[other].changed),
    ]
    sync = _sync(file)
    for sort in chance.sample(range(len(calls)), len(calls)):
        before = await me._runtime.store.head(me.who.namespace)
        start = time.perf_counter()
        result = await calls[sort]()
        spent = 1_000 * (time.perf_counter() - start)
        entries = await me._runtime.store.journal(me.who.namespace, since=before.rev)
        if turn >= 0:
            became = "observed" if sort == 0 else result.results[0].outcome
            times.calls[became].append(spent)
            times.ratios[became].append(spent / sync)
            times.edges[became].append(sum(entry.event == "LINK" for entry in entries))
    edge = await _edge(me, turn)
    if turn >= 0:
        times.syncs.append(sync)
        times.one_edge.append(edge)


async def _edge(me: AsyncScope, turn: int) -> float:
    """Return milliseconds that an edge adds to a write."""
    store, namespace = me._runtime.store, me.who.namespace
    others = [item.id for item in await store.find(namespace, limit=MAX_LINKS)]
    spent = {}
    for links in (0, MAX_LINKS) if turn % 2 else (MAX_LINKS, 0):
        memory = Memory(new_id(), namespace, f"note {turn} {links}", clock.now(), clock.now(), channel=Channel.STATE)
        put = Put(memory, make_signals([(memory.text, memory.created_at)], None)[0])
        changes: tuple[BatchChange, ...] = (put, *(Link(memory.id, other, strength=0.7) for other in others[:links]))
        start = time.perf_counter()
        await store.apply(Batch(namespace, changes, clock.now()))
        spent[links] = 1_000 * (time.perf_counter() - start)
    return (spent[MAX_LINKS] - spent[0]) / MAX_LINKS


def _sync(file: BinaryIO) -> float:
    start = time.perf_counter()
    file.write(bytes(4096))
    os.fsync(file.fileno())
    return 1_000 * (time.perf_counter() - start)


def _figures(rows: int, times: _Times, batch: int, batch_ms: float) -> WriteFigures:
    calls = {
        name: CallFigures(
            len(spent),
            percentile(spent, 0.5),
            percentile(spent, 0.95),
            percentile(times.ratios[name], 0.5),
            sum(times.edges[name]) / len(spent),
        )
        for name, spent in sorted(times.calls.items())
    }
    return WriteFigures(
        rows,
        percentile(times.syncs, 0.5),
        percentile(times.syncs, 0.95),
        calls,
        percentile(times.one_edge, 0.5),
        percentile(times.one_edge, 0.95),
        batch,
        batch_ms,
    )


def markdown(report: WritesReport) -> str:
    """Return the report as Markdown."""
    columns = ("call", "calls", "p50, ms", "p95, ms", "p50 in syncs", "edges a call")
    parts = ["# What writing costs", grid(("what", "value"), list(report.circumstances.items()))]
    parts.append(f"Embedder {report.embedder}, {report.rounds} rounds; every call is durable when it returns.")
    for siz in report.sizes:
        lines = [
            (name, str(call.calls), number(call.p50_ms, 2), number(call.p95_ms, 2), number(call.syncs, 1),
             number(call.edges, 1))
            for name, call in siz.calls.items()
        ]  # fmt: skip
        parts += [
            f"## {siz.rows:,} memories",
            grid(columns, lines),
            f"The disk syncs 4 KB in {number(siz.sync_p50_ms, 2)} ms (p95 {number(siz.sync_p95_ms, 2)}). An edge adds "
            f"{number(siz.edge_p50_ms)} ms (p95 {number(siz.edge_p95_ms)}). A call that remembers {siz.batch:,} "
            f"statements takes {number(siz.batch_ms, 2)} ms for each.",
        ]
    return "\n\n".join(parts) + "\n"
