"""Times and ids: aware UTC datetimes in records, integer microseconds since 1970 in stores and indexes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import uuid_utils

from memwarden.checks import quote
from memwarden.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

# As seconds this number is the year 5138, so a larger one counts milliseconds, as JavaScript does.
_MILLISECONDS_FROM = 100_000_000_000

# Stands for "no time" in an integer column.
UNSET = -(2**62)


def now() -> datetime:
    """The present moment, UTC."""
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """An aware datetime as microseconds since 1970, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(microseconds: int) -> datetime:
    """Microseconds since 1970 as an aware datetime, exactly."""
    return _EPOCH + timedelta(microseconds=microseconds)


def parse(value: Any, what: str) -> datetime:
    """Read a time that a caller gave, as UTC: a datetime, ISO text or seconds since 1970. Naive times are UTC.

    Raises InvalidInput that names ``what``.
    """
    return parse_local(value, what).astimezone(UTC)


def parse_local(value: Any, what: str) -> datetime:
    """Read a time as :func:`parse` does, and keep the offset from UTC in which it is given, in whole minutes."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
        if isinstance(value, datetime):
            minutes = offset_of(value)
            there = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return there.astimezone(timezone(timedelta(minutes=minutes))) if minutes else there
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(
        f"{what} is a datetime, ISO 8601 text such as 2026-05-08T13:56:00Z or seconds since 1970, not {quote(value)}"
    )


def as_utc(moment: datetime) -> datetime:
    """Return an aware moment as UTC; a day that has no year there, such as 1 January 1 in Asia, as that day in UTC."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)


def offset_of(moment: datetime) -> int:
    """Return by how many whole minutes the clock that shows a moment is ahead of UTC; 0 for a naive one."""
    return (moment.utcoffset() or timedelta()) // timedelta(minutes=1)


DEFAULT_THREAD = "default"


def new_id() -> str:
    """A UUIDv7: sorted by time, made without asking the store."""
    return str(uuid_utils.uuid7())
