"""Spans of days that a text names, and the form in which a memory keeps them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

MOST_STORED: Final = 4
"""A memory keeps at most this many of the spans that its text names."""

_EPOCH: Final = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, slots=True)
class DaySpan:
    """Days that a text names.

    Attributes:
        first, last: both days belong to it.
        text: the words that name it.
        exact: False for "a few days ago", "the other day" and the like, where the borders are a guess.
    """

    first: date
    last: date
    text: str
    exact: bool


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return day.toordinal() - _EPOCH


def encode(spans: Sequence[DaySpan]) -> bytes:
    """First and last day of up to four spans, as days since 1970 in little-endian int32; the widest are left out."""
    pairs = list(dict.fromkeys((day_number(span.first), day_number(span.last)) for span in spans))
    kept = set(sorted(pairs, key=lambda pair: pair[1] - pair[0])[:MOST_STORED])
    return b"".join(struct.pack("<ii", *pair) for pair in pairs if pair in kept)


def decode(stored: bytes) -> tuple[tuple[date, date], ...]:
    """What :func:`encode` made."""
    return tuple(
        (date.fromordinal(first + _EPOCH), date.fromordinal(last + _EPOCH))
        for first, last in struct.iter_unpack("<ii", stored)
    )
