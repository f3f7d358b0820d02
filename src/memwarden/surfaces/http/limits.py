"""Limits the calls of a key, and of an address without a key, in a sliding window of this process."""

from __future__ import annotations

import time
from typing import Any

from limits import parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from memwarden.errors import InvalidConfig, RateLimited


class RateLimits:
    """Counts calls. Every process counts for itself.

    Args:
        rate: so many calls in so long a time, such as ``600/minute``; None for no limit.
    """

    def __init__(self, rate: str | None) -> None:
        try:
            self._rate = None if rate is None else parse(rate)
        except ValueError as error:
            raise InvalidConfig(f"a rate is calls per time, such as 600/minute, not {rate!r:.80}") from error
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def count(self, caller: str, state: dict[str, Any]) -> None:
        """Count a call, and leave the headers that tell of it in ``state``. Raises RateLimited."""
        if self._rate is None:
            return
        within = await self._limiter.hit(self._rate, caller)
        ends, left = await self._limiter.get_window_stats(self._rate, caller)
        seconds = max(1, int(ends - time.time()) + 1)
        headers = {"RateLimit-Limit": self._rate.amount, "RateLimit-Remaining": left, "RateLimit-Reset": seconds}
        state["limit_headers"] = {name: str(value) for name, value in headers.items()}
        if not within:
            state["limit_headers"]["Retry-After"] = str(seconds)
            raise RateLimited(f"more than {self._rate}; wait {seconds} seconds, then repeat the call")
