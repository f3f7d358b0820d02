"""Runs work to its end, for a limited time, or again when others changed what it was decided on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Hashable, MutableMapping
from typing import Any, TypeVar

from memwarden.errors import Conflict, Stale

T = TypeVar("T")


# A loop that ends cancels every task once, so that a second run is enough; the third is to be safe.
MAX_CANCELLED_RUNS = 3
# Maximum tries of an optimistic write.
MAX_TRIES = 5


async def shielded(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run work to its end although the caller is cancelled, and return what it gives.

    The work may run twice: when its own task is cancelled, it is begun again. Raises what the work raises; else
    CancelledError, when the caller was cancelled meanwhile.
    """
    cancelled: asyncio.CancelledError | None = None
    for _ in range(MAX_CANCELLED_RUNS):
        task = asyncio.ensure_future(work())
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
        if not task.cancelled():
            break
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result


async def with_deadline(
    overdue: MutableMapping[Any, asyncio.Task[Any]],
    place: Hashable,
    work: Callable[[], Coroutine[Any, Any, T]],
    seconds: float,
) -> T:
    """Return what some work gives, or raise TimeoutError after so many seconds; the work goes on beside.

    Work that took too long stays in ``overdue`` by its place until it ends. Meanwhile other work of that place is not
    begun and TimeoutError is raised at once. A cancellation cancels the work. Raises what the work raises.
    """
    # A store that hangs must not gather tasks: it holds up a single turn, and later turns go on without it.
    if place in overdue:
        raise TimeoutError
    task = asyncio.ensure_future(work())
    try:
        await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.done():
        return task.result()

    def forget_task(ended: asyncio.Task[T]) -> None:
        del overdue[place]
        if not ended.cancelled():
            ended.exception()  # else Python logs that nobody retrieved it

    overdue[place] = task
    task.add_done_callback(forget_task)
    raise TimeoutError


async def retry_on_stale(
    attempt: Callable[[bool], Awaitable[T]],
    *,
    tries: int = MAX_TRIES,
    on: type[Conflict] = Stale,
    max_pause: float = 0.0,
) -> T:
    """Run an optimistic write until nobody changed what it read, and return what it gives.

    Args:
        attempt: reads, decides and writes anew each time. Its argument says whether this is the last try.
        tries: how often it runs at most. on: the error that begins it anew.
        max_pause: seconds; each pause before another try is drawn between 0 and this, so that writers get out of step.

    Raises that error when the last try raises it, and whatever else the attempt raises at once. A cancellation ends it
    between or within tries: a try that was acknowledged by the store stays.
    """
    for tries_left in range(tries - 1, -1, -1):
        try:
            return await attempt(not tries_left)
        except on:
            if not tries_left:
                raise
        if max_pause:
            await asyncio.sleep(random.uniform(0, max_pause))  # no secret
    raise AssertionError  # the last try returns or raises
