"""Explains errors of PostgreSQL. No message holds a stored value, a bound value or a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import DataError, Error, InterfaceError, OperationalError, ProgrammingError, errors

from memwarden.errors import InvalidInput, MemwardenError, StoreCorrupt, StoreFull, StoreUnavailable

_GONE = ("08", "57P01", "57P02", "57P03", "57P05")
_DAMAGE = ("XX001", "XX002", "42P01", "42703", "3F000")
_SEVERAL_WRITERS = ("40001", "40P01")


def is_lost(error: Error) -> bool:
    """Return whether the connection or the server went away, so that another connection may succeed."""
    if error.sqlstate is None:
        return isinstance(error, OperationalError)
    return error.sqlstate.startswith(_GONE)


def is_rolled_back_by_others(error: Error) -> bool:
    """Return whether the server rolled back because of other transactions, so that a repetition may succeed."""
    return error.sqlstate in _SEVERAL_WRITERS


def is_callers_fault(error: Error) -> bool:
    """Return whether a value of the call cannot be stored."""
    if error.sqlstate is None:  # psycopg could not even send it
        return isinstance(error, DataError | ProgrammingError | InterfaceError)
    return error.sqlstate.startswith(("22", "54")) or isinstance(error, errors.NotNullViolation)


@contextmanager
def explain_errors(place: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into memwarden's: what happened at ``place`` and what to do."""
    try:
        yield
    except Error as error:
        raise explain(error, place) from None


def explain(error: Error, place: str) -> MemwardenError:
    """Return memwarden's error for an error of PostgreSQL at ``place``."""
    state = error.sqlstate or ""
    if is_callers_fault(error):
        return InvalidInput(f"a value cannot be stored in {place}: {_kind(error)}")
    if is_lost(error):
        return StoreUnavailable(
            f"{place} cannot be reached ({_reason(error)}); see that the server runs and repeat the call"
        )
    if state == "57014":
        return StoreUnavailable(f"{place} did not answer within the time-out and the call was stopped; repeat it later")
    if state in ("53100", "53400"):
        return StoreFull(f"no room left on the disk of {place}; nothing of this call was kept. Make room and repeat it")
    if state.startswith("53"):
        return StoreUnavailable(
            f"{place} is out of memory or connections ({_kind(error)}); allow it more, or repeat later"
        )
    if state in ("25006", "25P02"):
        return StoreUnavailable(f"{place} is read-only, perhaps a standby; connect to the primary")
    if state in _SEVERAL_WRITERS:
        return StoreUnavailable(f"{place} undid this call because of others, again and again; repeat it later")
    if state.startswith(_DAMAGE):
        return StoreCorrupt(
            f"{place} is damaged, or its schema was changed by hand ({_kind(error)}); restore a copy of it"
        )
    if state == "42501":
        return StoreUnavailable(
            f"{place}: this login lacks rights on the schema memwarden or the role memwarden_app; open the store once "
            "with the login that owns the schema, and GRANT memwarden_app TO this login"
        )
    return StoreUnavailable(f"{place} refused the call ({_kind(error)}); look at the server's log")


def _reason(error: Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _kind(error: Error) -> str:
    return f"{type(error).__name__}, {error.sqlstate}" if error.sqlstate else type(error).__name__
