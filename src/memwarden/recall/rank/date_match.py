"""Matches the days that rows name with the days of a question; days are numbers since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from memwarden.text.dates.calendar import DaySpan, day_number

Days = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


def unpack_spans(stored: Iterable[bytes], first_place: int = 0) -> tuple[Places, Days]:
    """Return the place of each stored span, and its first and last day, shape (spans, 2)."""
    blobs = list(stored)
    counts = [len(blob) // 8 for blob in blobs]
    places = np.repeat(np.arange(first_place, first_place + len(blobs), dtype=np.int64), counts)
    days = np.frombuffer(b"".join(blobs), dtype="<i4").astype(np.int32).reshape(-1, 2)
    return places, days


def find_overlaps(places: Places, days: Days, size: int, asked: Sequence[DaySpan]) -> npt.NDArray[np.bool_]:
    """Return a mask of the ``size`` rows that share a day with the question."""
    rows = np.zeros(size, np.bool_)
    for span in asked:
        first, last = day_number(span.first), day_number(span.last)
        rows[places[(days[:, 0] <= last) & (days[:, 1] >= first)]] = True
    return rows


def date_closeness(places: Places, days: Days, size: int, asked: Sequence[DaySpan]) -> npt.NDArray[np.float32]:
    """Return 0..1 a row: the largest share of any of its spans within the asked days.

    "Since 2016" meets every day after and says nothing of any; "yesterday" in an asked month is 1.
    """
    rows = np.zeros(size, np.float32)
    length = days[:, 1] - days[:, 0] + np.int32(1)
    for span in asked:
        first, last = day_number(span.first), day_number(span.last)
        common = np.minimum(days[:, 1], last) - np.maximum(days[:, 0], first) + 1
        np.maximum.at(rows, places, (np.maximum(common, 0) / length).astype(np.float32))
    return rows
