"""The embedded worker: looks for due jobs again and again, beside the calls."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.records import JobRun

# How long a worker rests between two looks at what is due.
DEFAULT_EVERY_SECONDS: Final = 300.0
# After each run a worker rests as long as the run took, and so long at most: calls share the caches and the disk with
# it, whatever its priority is.
MAX_REST_SECONDS: Final = 1.0
# Calls that somebody waits for go first.
NICENESS: Final = 15


def lower_priority() -> None:
    """Let other processes go first, as far as the system can."""
    with suppress(AttributeError, OSError):
        os.nice(NICENESS)


@contextmanager
def only_worker(place: Path | None) -> Iterator[bool]:
    """Yield whether this process may work on a store's file. The system ends the right of a process that dies.

    place: the file; None: no other process has the store.
    """
    if place is None:
        yield True
        return
    lock = FileLock(place.with_name(f"{place.name}-upkeep"), timeout=0, thread_local=False, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


async def work(
    jobs: AsyncJobs,
    stop: asyncio.Event,
    every: float = DEFAULT_EVERY_SECONDS,
    *,
    place: Path | None = None,
    once: bool = False,
) -> AsyncIterator[list[JobRun]]:
    """Run what is due, rest, and begin again, until told to stop: then no other run begins. Yields each look's runs.

    place: the store's file, on which one worker works at a time; another finds nothing due when it looks again.
    """
    while not stop.is_set():
        with only_worker(place) as alone:
            runs = await _run_due(jobs, stop) if alone else []
        yield runs
        if once:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), every)


async def _run_due(jobs: AsyncJobs, stop: asyncio.Event) -> list[JobRun]:
    runs: list[JobRun] = []
    async for job, namespace in jobs.due():
        if stop.is_set():
            break
        begun = time.monotonic()
        runs.append(await jobs.run_one(job, namespace))
        await rest_after(time.monotonic() - begun, stop)
    return runs


async def rest_after(seconds: float, stop: asyncio.Event) -> None:
    """Rest after a run that took so long, unless told to stop."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), min(seconds, MAX_REST_SECONDS))


def wait_for_end(descriptor: int, stop: asyncio.Event) -> None:
    """Tell the running loop to stop when the other side of an open descriptor is gone."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        # Not of a buffered stream: its lock, held by a thread, aborts an interpreter that ends.
        with suppress(OSError):
            while os.read(descriptor, 1):
                pass
        _tell(loop, stop.set)

    threading.Thread(target=read, name="memwarden-parent", daemon=True).start()


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    with suppress(RuntimeError):  # the loop is over
        loop.call_soon_threadsafe(call)
