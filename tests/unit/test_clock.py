"""Times: microseconds, texts, offsets and the ends of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memwarden import clock
from memwarden.errors import InvalidInput

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
VIENNA = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("moment", "microseconds"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 2, 0, 0, 0, 1, tzinfo=UTC), 86_400_000_001),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        (datetime(1, 1, 1, tzinfo=UTC), -62_135_596_800_000_000),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799_999_999),
    ],
)
def test_microseconds_are_exact_both_ways(moment: datetime, microseconds: int) -> None:
    assert clock.microseconds(moment) == microseconds
    assert clock.moment(microseconds) == moment


@pytest.mark.parametrize(
    "value",
    [
        NOON,
        datetime(2026, 5, 8, 12),
        "2026-05-08T12:00:00Z",
        "2026-05-08T14:00+02:00",
        "2026-05-08 12:00",
        1_778_241_600,
        1_778_241_600_000,  # milliseconds, as JavaScript counts
    ],
)
def test_times_are_read_as_utc(value: Any) -> None:
    assert clock.parse(value, "at") == NOON
    assert clock.parse(value, "at").tzinfo == UTC


@pytest.mark.parametrize("value", [None, True, "yesterday", "", float("nan"), 1e30, "2026-13-01", [2026]])
def test_other_values_are_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^at is a datetime, ISO 8601 text"):
        clock.parse(value, "at")


def test_a_local_time_keeps_its_offset() -> None:
    local = clock.parse_local("2026-05-08T14:00+02:00", "at")
    assert (local, clock.offset_of(local)) == (NOON, 120)
    assert clock.offset_of(datetime(2026, 5, 8, tzinfo=timezone(-timedelta(hours=3, minutes=30)))) == -210
    assert clock.offset_of(datetime(2026, 5, 8)) == 0


def test_the_first_day_of_the_calendar_has_no_time_before() -> None:
    assert clock.as_utc(datetime(1, 1, 1, tzinfo=VIENNA)) == datetime(1, 1, 1, tzinfo=UTC)
    assert clock.as_utc(datetime(2026, 5, 8, 14, tzinfo=VIENNA)) == NOON


def test_ids_are_sorted_by_time() -> None:
    ids = [clock.new_id() for _ in range(100)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 100
