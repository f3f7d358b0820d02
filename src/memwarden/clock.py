"""Times and ids: aware UTC datetimes in records, integer microseconds since 1970 in stores and indexes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import uuid_utils

from memwarden.checks import quote
from memwarden.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

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
    """Read a time that a caller gave: a datetime, ISO text or seconds since 1970. Naive times are UTC.

    Raises InvalidInput that names ``what``.
    """
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = datetime.fromtimestamp(value, UTC)
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidInput(
        f"{what} is a datetime, ISO 8601 text such as 2026-05-08T13:56:00Z or seconds since 1970, not {quote(value)}"
    )


DEFAULT_THREAD = "default"


def new_id() -> str:
    """A UUIDv7: sorted by time, made without asking the store."""
    return str(uuid_utils.uuid7())
