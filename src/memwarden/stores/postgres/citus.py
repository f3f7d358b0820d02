"""Distributes the schema over the nodes of Citus, where the database has that extension.

The tables are distributed by the path of the namespace, with rows of the same path on the same node. Every key holds
the path and every statement binds it, so a statement is one task of one node. ``meta`` is copied to every node.
"""

from __future__ import annotations

from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Literal

from memwarden.stores.postgres.transaction import ROLE

_COLUMN = "namespace"
_FIRST = "namespaces"  # the table with which the others share their placement
_EVERYWHERE = "meta"

_HAS_CITUS = b"SELECT FROM pg_extension WHERE extname = 'citus'"
_LOCAL_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
    ORDER BY relname <> %s, relname <> %s, relname
"""
# Citus takes no subquery in a policy. A writer says that it purges, and its statement names purged memories alone.
_DELETE_VERSIONS = (
    "DROP POLICY only_what_ends ON memwarden.versions",
    f"""
    CREATE POLICY only_what_ends ON memwarden.versions AS RESTRICTIVE FOR DELETE TO {ROLE}
        USING (channel = 'state' OR namespace LIKE 'task/%' OR current_setting('memwarden.purging', true) = 'on')
    """,
)


def has_citus(db: Connection[Any]) -> bool:
    """Return whether the database has the extension."""
    return db.execute(_HAS_CITUS).fetchone() is not None


def is_placed(db: Connection[Any]) -> bool:
    """Return whether every table is where it belongs: without Citus, or distributed."""
    return not (has_citus(db) and _local_tables(db))


def distribute(db: Connection[Any]) -> None:
    """Distribute the tables that are not yet, in a transaction that has locked the schema. Rows move along."""
    tables = _local_tables(db)
    if "versions" in tables:
        for statement in _DELETE_VERSIONS:
            db.execute(statement.encode())
    for table in tables:
        name = Literal(f"memwarden.{table}")
        if table == _EVERYWHERE:
            db.execute(SQL("SELECT create_reference_table({})").format(name))
        else:
            beside = Literal("default" if table == _FIRST else f"memwarden.{_FIRST}")
            distributed = SQL("SELECT create_distributed_table({}, {}, colocate_with => {})")
            db.execute(distributed.format(name, Literal(_COLUMN), beside))
    # The nodes connect to each other as the role of the transaction.
    db.execute(f"ALTER ROLE {ROLE} LOGIN".encode())


def _local_tables(db: Connection[Any]) -> list[str]:
    """Return the tables that are not distributed: that of all nodes, the first, then the others."""
    return [str(name) for (name,) in db.execute(_LOCAL_TABLES.encode(), (_EVERYWHERE, _FIRST)).fetchall()]
