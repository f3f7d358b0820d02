"""Runs work to its end, or for a limited time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")


# A loop that ends cancels every task once, so that a second run is enough; the third is to be safe.
MAX_CANCELLED_RUNS = 3


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
