"""How every transaction begins: as the role that owns nothing, for one namespace, for a limited time.

The settings are made with ``set_config(..., true)``, so they end with the transaction, whatever becomes of it: what a
pooled connection did before, and for whom, is without meaning for what it does next.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from psycopg import Connection

from memwarden.records import Namespace
from memwarden.stores.postgres.sql.rows import encode_text

ROLE = "memwarden_app"
"""Takes part in every transaction; made by the first migration, owns nothing."""

SEARCH_ROLE = "memwarden_search"
"""Owns the one function that looks for words past row security, and may read nothing else (second migration)."""

_IDLE_SECONDS = 60  # a client that stops in the midst of a transaction holds a namespace up for this long at most


class TransactionKind(Enum):
    """What a transaction is for, in the words of BEGIN. A write sees what others committed while it waited."""

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
""".encode()  # the last one: an answer means that the write is on the disk, whatever the database's default is


def scope_values(namespace: Namespace) -> tuple[str, str]:
    """Return the two names that every statement begins with."""
    return encode_text(namespace.tenant), encode_text(namespace.path)


def begin(
    connection: Connection[Any],
    namespace: Namespace | None,
    seconds: float,
    kind: TransactionKind = TransactionKind.WRITE,
    *,
    listing: bool = False,
) -> None:
    """Begin a transaction for the rows of a namespace, or without one for facts about the database.

    Args:
        seconds: how long one statement may take. listing: let it see the names of all namespaces.
    """
    tenant, path = ("", "") if namespace is None else scope_values(namespace)
    connection.execute(kind.value)
    connection.execute(_SETTINGS, (tenant, path, "on" if listing else "", f"{int(seconds * 1000)}ms"))
