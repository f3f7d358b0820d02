"""A window of calls that slides over two periods."""

from __future__ import annotations

import pytest

from memwarden.stores.shared.counts import CallCount
from memwarden.surfaces.http.sliding_window import SlidingWindow

WINDOW = SlidingWindow(amount=10, seconds=60)


@pytest.mark.parametrize(
    ("calls", "earlier", "second", "room", "wait"),
    [
        (0, 0, 0, 10, 0),
        (4, 0, 30, 6, 0),
        (10, 0, 30, 0, 36),  # in the next period 10 calls weigh 9 after 6 seconds
        (0, 10, 0, 0, 6),
        (0, 10, 30, 5, 0),
        (5, 10, 30, 0, 6),
        (0, 5_000, 30, 5, 0),  # refused calls were counted
        (5_000, 0, 30, -4_990, 36),
    ],
)
def test_the_period_before_counts_as_far_as_the_window_covers_it(
    calls: int, earlier: int, second: int, room: int, wait: int
) -> None:
    count, at = CallCount(100, calls, earlier), 6_000.0 + second
    assert WINDOW.find_room(count, at) == room
    assert WINDOW.find_wait(count, at) == pytest.approx(wait)
    later = at + WINDOW.find_wait(count, at) + 0.01
    assert WINDOW.find_room(WINDOW.advance(count, later), later) >= 1


def test_a_count_moves_to_the_period_of_a_later_time() -> None:
    count = CallCount(100, 7, 3)
    assert WINDOW.advance(count, 6_059.9) == count
    assert WINDOW.advance(count, 6_060.0) == CallCount(101, 0, 7)
    assert WINDOW.advance(count, 6_120.0) == CallCount(102, 0, 0)
    assert WINDOW.advance(count, 5_000.0) == count, "a clock that goes back gives no calls"
