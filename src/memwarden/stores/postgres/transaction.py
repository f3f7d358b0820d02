"""Begins transactions: as the unprivileged role, for a single namespace, for a limited time.

The settings are made with ``SET LOCAL`` or ``set_config(..., true)``, so they end with the transaction however it ends:
what a pooled connection did before, and for whom, does not affect its next transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from psycopg import Connection, DataError, Error, InterfaceError, OperationalError, ProgrammingError, errors

from memwarden.errors import InvalidInput, MemwardenError, StoreCorrupt, StoreFull, StoreUnavailable
from memwarden.records import Namespace
from memwarden.stores.postgres.rows import encode_text

# The role of every transaction. Made by the first migration, owns nothing.
ROLE = "memwarden_app"

# The owner of the function that searches words past row security. It may read nothing else.
SEARCH_ROLE = "memwarden_search"

_IDLE_SECONDS = 60  # a client that stalls within a transaction blocks a namespace no longer than this


class TransactionKind(Enum):
    """The BEGIN statement of a kind of transaction. A write sees what others committed while it waited."""

    WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


# Passes SET LOCAL on to the nodes of Citus. Without Citus it is a setting that nothing reads.
PROPAGATE = b"SET LOCAL citus.propagate_set_commands = 'local'"

_SETTINGS = f"""
    SELECT set_config('role', '{ROLE}', true),
        set_config('citus.propagate_set_commands', 'local', true),
        set_config('memwarden.listing', '', true),
        set_config('statement_timeout', %s, true),
        set_config('idle_in_transaction_session_timeout', '{_IDLE_SECONDS}s', true),
        set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)
""".encode()  # synchronous_commit: an answer means that the write is on the disk, whatever the database's default is

_TENANT, _NAMESPACE = b"SET LOCAL memwarden.tenant = ", b"SET LOCAL memwarden.namespace = "


def scope_values(namespace: Namespace) -> tuple[str, str]:
    """Return the tenant and path that every statement binds first."""
    return encode_text(namespace.tenant), encode_text(namespace.path)


def begin(
    connection: Connection[Any],
    namespace: Namespace | None,
    seconds: float,
    kind: TransactionKind = TransactionKind.WRITE,
    *,
    listing: bool = False,
) -> None:
    """Begin a transaction for the rows of a namespace; None: for facts about the database.

    Args:
        seconds: time limit of a statement. listing: let it see the names of all namespaces.
    """
    connection.execute(kind.value)
    connection.execute(_SETTINGS, (f"{int(seconds * 1000)}ms",))
    set_names(connection, *(("", "") if namespace is None else scope_values(namespace)))
    if listing:
        connection.execute(b"SET LOCAL memwarden.listing = 'on'")


def name_scope(connection: Connection[Any], tenant: str | None, path: str | None) -> None:
    """Show the rows of a namespace to the present transaction.

    Args:
        tenant, path: as of :func:`scope_values`. None leaves the setting as it is.
    """
    connection.execute(PROPAGATE)
    set_names(connection, tenant, path)


def set_names(connection: Connection[Any], tenant: str | None, path: str | None) -> None:
    """Name the namespace that row security shows.

    By SET LOCAL, which Citus passes on to its nodes, unlike set_config. It takes no parameters.
    """
    for setting, value in ((_TENANT, tenant), (_NAMESPACE, path)):
        if value is not None:
            connection.execute(setting + quote_text(value).encode(), prepare=False)


def quote_text(text: str) -> str:
    """Return a text as a literal, valid with every setting of the server."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


_GONE = ("08", "57P01", "57P02", "57P03", "57P05")
_DAMAGE = ("XX001", "XX002", "42P01", "42703", "3F000")
_SEVERAL_WRITERS = ("40001", "40P01")


def is_lost(error: Error) -> bool:
    """Return whether the connection or the server went away, so that another connection may succeed."""
    if error.sqlstate is None:
        return isinstance(error, OperationalError)
    return error.sqlstate.startswith(_GONE)


def is_node_lost(error: Error) -> bool:
    """Return whether the server reports that it lost a node of Citus. Its own connection goes on."""
    return is_lost(error) and error.diag.severity_nonlocalized == "ERROR"


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
    if is_node_lost(error):
        return StoreUnavailable(
            f"the node of {place} that holds this namespace cannot be reached ({_reason(error)}); other namespaces are "
            "served, repeat the call when the node is back"
        )
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
