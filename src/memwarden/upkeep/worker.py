"""The embedded worker: looks for due jobs again and again, beside the calls."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, BinaryIO, Final

from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.records import JobRun

# How long a worker rests between two looks at what is due.
DEFAULT_EVERY_SECONDS: Final = 300.0
# Calls that somebody waits for go first.
NICENESS: Final = 15


def lower_priority() -> None:
    """Let other processes go first, as far as the system can."""
    with suppress(AttributeError, OSError):
        os.nice(NICENESS)


async def work(
    jobs: AsyncJobs, stop: asyncio.Event, every: float = DEFAULT_EVERY_SECONDS, *, once: bool = False
) -> AsyncIterator[list[JobRun]]:
    """Run what is due, rest, and begin again, until told to stop. Yields the runs of each look."""
    while not stop.is_set():
        yield await jobs.run_due()
        if once:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), every)


def wait_for_end(stream: BinaryIO, stop: asyncio.Event) -> None:
    """Tell the running loop to stop when the other side of a stream is gone."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        while stream.read(1):
            pass
        _tell(loop, stop.set)

    threading.Thread(target=read, name="memwarden-parent", daemon=True).start()


def _tell(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    with suppress(RuntimeError):  # the loop is over
        loop.call_soon_threadsafe(call)
