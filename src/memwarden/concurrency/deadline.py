"""Work that somebody waits for only so long, and that goes on beside: an index that is read once stays read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")


async def in_time(
    late: MutableMapping[Any, asyncio.Task[Any]],
    place: Hashable,
    work: Callable[[], Coroutine[Any, Any, T]],
    seconds: float,
) -> T:
    """Return what some work gives. Raises what it raises, and TimeoutError when it takes longer.

    late: work that took too long and still goes on, by its place. While there is some, other work of the place is not
    begun, and TimeoutError is raised at once: a store that hangs gathers no tasks, and holds up one turn, not each.
    """
    if place in late:
        raise TimeoutError
    task = asyncio.ensure_future(work())
    try:
        await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.done():
        return task.result()

    def over(ended: asyncio.Task[T]) -> None:
        del late[place]
        if not ended.cancelled():
            ended.exception()  # nobody waits for it; to ask for it keeps Python from telling it

    late[place] = task
    task.add_done_callback(over)
    raise TimeoutError
