"""Begins transactions: as the unprivileged role, for a single namespace, for a limited time.

The settings are made with ``set_config(..., true)``, so they end with the transaction however it ends: what a pooled
connection did before, and for whom, does not affect its next transaction.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from psycopg import Connection

from memwarden.records import Namespace
from memwarden.stores.postgres.sql.rows import encode_text

ROLE = "memwarden_app"
"""The role of every transaction; made by the first migration, owns nothing."""

SEARCH_ROLE = "memwarden_search"
"""The owner of the function that searches words past row security; it may read nothing else."""

_IDLE_SECONDS = 60  # a client that stalls within a transaction blocks a namespace no longer than this


class TransactionKind(Enum):
    """The BEGIN statement of a kind of transaction. A write sees what others committed while it waited."""

    WRITE = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


_SETTINGS = f"""
    SELECT set_config('role', '{ROLE}', true),
        set_config('memwarden.tenant', %s, true),
        set_config('memwarden.namespace', %s, true),
        set_config('memwarden.listing', %s, true),
        set_config('statement_timeout', %s, true),
        set_config('idle_in_transaction_session_timeout', '{_IDLE_SECONDS}s', true),
        set_config('synchronous_commit', coalesce(nullif(current_setting('synchronous_commit'), 'off'), 'on'), true)
""".encode()  # synchronous_commit: an answer means that the write is on the disk, whatever the database's default is


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
    tenant, path = ("", "") if namespace is None else scope_values(namespace)
    connection.execute(kind.value)
    connection.execute(_SETTINGS, (tenant, path, "on" if listing else "", f"{int(seconds * 1000)}ms"))
