"""Times as stores keep them: whole microseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970. Raises TypeError for a naive one."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def moment(microseconds: int) -> datetime:
    """Return microseconds since 1970 as an aware datetime, UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)
