"""Limits the calls of a key, and of an address without a key, in a sliding window."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from memwarden.errors import InvalidConfig, RateLimited, StoreError
from memwarden.records import Namespace
from memwarden.stores.shared.counts import CallCount, SharedCounts
from memwarden.surfaces.http.sliding_window import SlidingWindow

# Seconds. Longest wait for the store's count, and the time after a failure in which the process counts by itself.
COUNT_SECONDS: Final = 3.0
FALLBACK_SECONDS: Final = 5.0
# A process reserves this part of a limit with one statement: 6 calls of 6,000. Calls that it does not use are lost.
RESERVED_PART: Final = 1_000
MAX_KNOWN_CALLERS: Final = 10_000
# Namespace that no scope and no tier can name.
_PLACE: Final = Namespace("memwarden-server", "calls")


class Allowance(NamedTuple):
    """What a call may do. left: calls after it. seconds: until the window ends, for a refused call until the next."""

    within: bool
    left: int
    seconds: float


class RateLimits:
    """Counts calls: in the store where it counts for all processes, else in this process.

    Args:
        rate: calls per time, such as ``600/minute``; None for no limit.
        counts: of the store; None for a store that shares none. While it fails, this process counts by itself.
        name: tells the counters of several limits apart.
    """

    def __init__(self, rate: str | None, counts: SharedCounts | None = None, name: str = "calls") -> None:
        try:
            self._rate = None if rate is None else parse(rate)
        except ValueError as error:
            raise InvalidConfig(f"a rate is calls per time, such as 600/minute, not {rate!r:.80}") from error
        self._own = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._shared = None if counts is None or self._rate is None else SharedLimiter(self._rate, counts, name)
        self._fails_until = 0.0

    async def count(self, caller: str, state: dict[str, Any], *, seconds: float | None = None) -> None:
        """Count a call, and leave the headers that tell of it in ``state``. Raises RateLimited.

        seconds: longest wait for the store's count; None for 3 seconds.
        """
        if self._rate is None:
            return
        allowance = await self._hit_shared(caller, seconds) or await self._hit_own(self._rate, caller)
        wait, left = max(1, ceil(allowance.seconds)), allowance.left
        headers = {"RateLimit-Limit": self._rate.amount, "RateLimit-Remaining": left, "RateLimit-Reset": wait}
        state["limit_headers"] = {name: str(value) for name, value in headers.items()}
        if not allowance.within:
            state["limit_headers"]["Retry-After"] = str(wait)
            raise RateLimited(f"more than {self._rate}; wait {wait} seconds, then repeat the call")

    async def _hit_shared(self, caller: str, seconds: float | None) -> Allowance | None:
        """Count a call in the store. None if it does not answer."""
        if self._shared is None or time.monotonic() < self._fails_until:
            return None
        try:
            async with asyncio.timeout(COUNT_SECONDS if seconds is None else min(seconds, COUNT_SECONDS)):
                return await self._shared.hit(caller)
        except (TimeoutError, StoreError):
            self._fails_until = time.monotonic() + FALLBACK_SECONDS
            return None

    async def _hit_own(self, rate: RateLimitItem, caller: str) -> Allowance:
        within = await self._own.hit(rate, caller)
        ends, left = await self._own.get_window_stats(rate, caller)
        return Allowance(within, left, int(ends - time.time()) + 1)


@dataclass(slots=True)
class Share:
    """What this process knows of a caller. left: calls that it reserved in the store and did not use yet."""

    count: CallCount
    left: int = 0


class SharedLimiter:
    """Counts the calls of all processes in a store, with one statement for several calls of a high limit.

    The store's count only grows within a period. So a process that knows of no room refuses without asking.
    """

    def __init__(self, rate: RateLimitItem, counts: SharedCounts, name: str) -> None:
        self._window = SlidingWindow(rate.amount, rate.get_expiry())
        self._counts = counts
        self._name = f"{name} {self._window.seconds}"
        self._most = max(1, rate.amount // RESERVED_PART)
        self._shares: OrderedDict[str, Share] = OrderedDict()
        # Seconds by which the store's clock is ahead of this machine's.
        self._ahead = 0.0

    async def hit(self, caller: str) -> Allowance:
        """Count a call. Raises StoreError."""
        share = self._find_share(caller)
        if not share.left and (room := self._window.find_room(share.count, self._now())) > 0:
            await self._reserve(caller, share, min(self._most, room))
        at, within = self._now(), share.left > 0
        share.left -= within
        left = max(0, self._window.find_room(share.count, at)) + share.left
        if within:
            return Allowance(True, left, (share.count.period + 1) * self._window.seconds - at)
        return Allowance(False, 0, self._window.find_wait(share.count, at))

    def _now(self) -> float:
        """Return the time of the store's clock, as far as it is known."""
        return time.time() + self._ahead

    async def _reserve(self, caller: str, share: Share, calls: int) -> None:
        """Reserve calls in the store for this process, as far as there is room."""
        counter = f"{self._name} {hashlib.sha256(caller.encode(errors='replace')).hexdigest()}"
        count, at = await self._counts.add(_PLACE, counter, self._window.seconds, calls)
        self._ahead = at - time.time()
        granted = max(0, calls + min(0, self._window.find_room(count, at)))
        if count.period == share.count.period:
            # Another call of this process may have got a later count.
            share.count, share.left = max(share.count, count), share.left + granted
        else:  # the clock of this machine was wrong, or a new period began meanwhile
            share.count, share.left = count, granted

    def _find_share(self, caller: str) -> Share:
        at = self._now()
        share = self._shares.get(caller)
        if share is None:
            share = self._shares[caller] = Share(CallCount(self._window.period_at(at)))
            if len(self._shares) > MAX_KNOWN_CALLERS:
                self._shares.popitem(last=False)
        elif (count := self._window.advance(share.count, at)) != share.count:
            share.count, share.left = count, 0
        self._shares.move_to_end(caller)
        return share
