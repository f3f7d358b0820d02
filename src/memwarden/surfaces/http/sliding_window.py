"""The window of a rate limit, which slides over two periods."""

from __future__ import annotations

from typing import NamedTuple

from memwarden.stores.shared.counts import CallCount


class SlidingWindow(NamedTuple):
    """A limit of calls in a window that slides: the period before counts as far as the window still covers it.

    Args:
        amount: calls that the limit allows.
        seconds: length of the window and of a period.
    """

    amount: int
    seconds: int

    def period_at(self, at: float) -> int:
        """Return the number of the period at a time, seconds since 1970."""
        return int(at // self.seconds)

    def advance(self, count: CallCount, at: float) -> CallCount:
        """Return a count as it is in the period of a later time, without further calls."""
        passed = self.period_at(at) - count.period
        if passed <= 0:
            return count
        return CallCount(count.period + passed, 0, count.calls if passed == 1 else 0)

    def find_room(self, count: CallCount, at: float) -> int:
        """Return the calls that are left in the period of a count; negative after too many."""
        covered = min(1.0, max(0.0, 1 - (at - count.period * self.seconds) / self.seconds))
        # Refused calls may have been counted as well. They do not delay later periods.
        return int((self.amount - count.calls - min(count.earlier, self.amount) * covered) // 1)

    def find_wait(self, count: CallCount, at: float) -> float:
        """Return the seconds until there is room for a call, if none comes meanwhile."""
        for calls, earlier, start in (
            (count.calls, min(count.earlier, self.amount), count.period),
            (0, min(count.calls, self.amount), count.period + 1),
        ):
            free = self.amount - 1 - calls
            if free >= 0:
                covered = min(1.0, free / earlier) if earlier else 1.0
                return max(0.0, (start + 1 - covered) * self.seconds - at)
        return float(self.seconds)  # of a limit of no calls
