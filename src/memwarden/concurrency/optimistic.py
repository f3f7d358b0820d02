"""Changes that read, decide and write, repeated until no other writer came in between."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Hashable, MutableMapping
from typing import Final, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from memwarden.errors import Stale, StoreUnavailable

T = TypeVar("T")

# Seconds. Longest time that a change is repeated. Each round commits some writer's change, so none waits that long
# unless another process writes without a pause.
MAX_SECONDS: Final = 60.0
# Seconds. Longest pause before a repetition: the first, doubled each time up to the last.
_FIRST_PAUSE: Final = 0.002
_LAST_PAUSE: Final = 0.05

_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, MutableMapping[Hashable, asyncio.Lock]] = WeakKeyDictionary()


async def change_atomically(place: Hashable, attempt: Callable[[], Awaitable[T]]) -> T:
    """Run a change that reads, decides and writes, until its write is not refused as stale.

    The first attempt runs at once. Repetitions for the same place run one after another within an event loop, so that
    only other processes get in their way.

    Args:
        place: what the change is about: a namespace, or a namespace and the id of an item. Changes of one place must
            not be nested, because the inner change would wait for the outer.
        attempt: reads, decides and writes anew each time. Raises Stale when another writer came in between.

    Raises what the attempt raises except Stale; StoreUnavailable after 60 seconds of repetitions. A cancellation ends
    it between or within attempts: an attempt that the store acknowledged stays.
    """
    try:
        return await attempt()
    except Stale:
        pass
    async with _lock_of(place):
        return await _repeat(attempt)


async def _repeat(attempt: Callable[[], Awaitable[T]]) -> T:
    ends, pause = time.monotonic() + MAX_SECONDS, _FIRST_PAUSE
    while True:
        try:
            return await attempt()
        except Stale as error:
            if time.monotonic() > ends:
                raise StoreUnavailable(
                    f"other writers kept changing the same memories for {MAX_SECONDS:g} seconds; try again later"
                ) from error
        await asyncio.sleep(random.uniform(0, pause))  # not a secret
        pause = min(2 * pause, _LAST_PAUSE)


def _lock_of(place: Hashable) -> asyncio.Lock:
    locks = _locks.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    return locks.setdefault(place, asyncio.Lock())
