"""Work that is brought to its end although its caller is cancelled: what was said has to be stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
TRIES = 3
"""So often work is begun again that was broken off itself: a loop that ends cancels every task, once."""


async def insisted(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Do some work, which may be done twice, and return what it gives. A cancellation waits until it is done.

    Raises what the work raises; else CancelledError, when it was cancelled meanwhile.
    """
    cancelled: asyncio.CancelledError | None = None
    for _ in range(TRIES):
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
