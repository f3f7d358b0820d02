"""A text made to be slow costs time in proportion to its length, to be stored and to be asked."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from memwarden import Warden

# Each leads some reader to look far ahead or back: days, addresses, names, clauses, secrets, orders, codes, marks.
UNITS = (
    "1/2/", "1 ", "2020-01-", "from 3 to ", "last week ", "May ", "@a.b ", "http://a.", "key=", "ba64/+", "BEGIN ",
    "${", "<a>", "(", "'", "-", "\\", "my sister's ", "Ana and ", "moved to ", "I live in ", "no ", "A. ", "aé",
    "\u0301", "\u200b", "月", "a",
)  # fmt: skip
SHORT, LONG = 4_000, 64_000


def seconds(warden: Warden, user: str, text: str) -> float:
    """Processor time to store a text and to ask it, so that other work on the machine does not count."""
    me = warden.scope(user=user, thread="t")
    start = time.process_time()
    me.observe(text)
    me.query(text)
    return time.process_time() - start


@pytest.fixture(scope="module")
def warden() -> Iterator[Warden]:
    with Warden.open("memory://") as opened:
        seconds(opened, "warm", "I live in Ghent since May 2020, and my sister's name is Ana.")
        yield opened


@pytest.mark.parametrize("unit", UNITS)
def test_a_text_sixteen_times_as_long_takes_about_sixteen_times_as_long(warden: Warden, unit: str) -> None:
    short, long = (seconds(warden, f"{unit!r}-{length}", (unit * length)[:length]) for length in (SHORT, LONG))
    # Sixteen for what is linear, 256 for what is quadratic; a tenth of a second is noise.
    assert long <= 50 * short + 0.1
