"""Distributes the schema over the nodes of Citus, where the database has that extension.

The tables are distributed by the path of the namespace, with rows of the same path on the same node. Every key holds
the path and every statement binds it, so a statement is one task of one node. ``meta`` is copied to every node.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from psycopg import Connection
from psycopg.sql import SQL, Literal

from memwarden.errors import StoreUnavailable
from memwarden.stores.postgres.transaction import ROLE, SEARCH_ROLE, TransactionKind, begin
from memwarden.stores.shared.checkpoints import NodeShare

_COLUMN = "namespace"
_FIRST = "namespaces"  # the table with which the others share their placement
_EVERYWHERE = "meta"
# Whether the database of a connection has the extension, so that it is asked for once.
_known: WeakKeyDictionary[Connection[Any], bool] = WeakKeyDictionary()

_HAS_CITUS = b"SELECT FROM pg_extension WHERE extname = 'citus'"
_LOCAL_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
    ORDER BY relname <> %s, relname <> %s, relname
"""
# Roles belong to a server, which makes them in a transaction of its own. Passed on by Citus they would wait for others.
HERE_ALONE = (
    b"SET LOCAL citus.enable_create_role_propagation = off",
    b"SET LOCAL citus.enable_alter_role_propagation = off",
)
_MAKE_ROLE = """
    DO $$ BEGIN
        PERFORM set_config('citus.enable_create_role_propagation', 'off', true),
            set_config('citus.enable_alter_role_propagation', 'off', true);
        BEGIN
            CREATE ROLE {role} NOLOGIN NOINHERIT;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
        {login};
    END $$
"""
_ON_WORKERS = b"""
    SELECT nodename || ':' || nodeport, result FROM run_command_on_workers(%s) WHERE NOT success
"""
_SIZE = b"""
    SELECT coalesce(sum(citus_total_relation_size(logicalrelid)), 0) FROM pg_dist_partition
    WHERE logicalrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace)
"""
_PATHS = b"SELECT namespace FROM memwarden.namespaces WHERE rev > 0"
_SHARES = """
    WITH shard AS (
        SELECT shardid, nodename, nodeport, shard_size FROM citus_shards WHERE citus_table_type = 'distributed'
        AND table_name IN (SELECT oid FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace)
    ), held AS (
        SELECT get_shard_id_for_distribution_column('memwarden.namespaces', path) AS shardid, count(*) AS namespaces
        FROM unnest(%s::text[]) AS path GROUP BY 1
    )
    SELECT node.nodename, node.nodeport, coalesce(sum(held.namespaces), 0), coalesce(sum(shard.shard_size), 0)
    FROM pg_dist_node node LEFT JOIN shard USING (nodename, nodeport) LEFT JOIN held USING (shardid)
    WHERE node.shouldhaveshards GROUP BY 1, 2 ORDER BY 1, 2
"""
# Citus takes no subquery in a policy. A writer says that it purges, and its statement names purged memories alone.
_DELETE_VERSIONS = (
    "DROP POLICY only_what_ends ON memwarden.versions",
    f"""
    CREATE POLICY only_what_ends ON memwarden.versions AS RESTRICTIVE FOR DELETE TO {ROLE}
        USING (channel = 'state' OR namespace LIKE 'task/%' OR current_setting('memwarden.purging', true) = 'on')
    """,
)
# Triggers that a store of one server with large namespaces has. On Citus a writer calls memwarden.keep_vectors_of.
_DROP_TRIGGERS = (
    "DROP TRIGGER IF EXISTS keep_new_vectors ON memwarden.signals",
    "DROP TRIGGER IF EXISTS keep_changed_vectors ON memwarden.signals",
)


def has_citus(db: Connection[Any]) -> bool:
    """Return whether the database has the extension."""
    return db.execute(_HAS_CITUS).fetchone() is not None


def on_citus(db: Connection[Any]) -> bool:
    """Return whether the database has the extension, as it was when the connection was first asked."""
    if db not in _known:
        _known[db] = has_citus(db)
    return _known[db]


def is_placed(db: Connection[Any]) -> bool:
    """Return whether every table is where it belongs: without Citus, or distributed."""
    return not (has_citus(db) and _local_tables(db))


def distribute(db: Connection[Any]) -> None:
    """Distribute the tables that are not yet, in a transaction that has locked the schema. Rows move along."""
    tables = _local_tables(db)
    if "versions" in tables:
        for statement in (*_DELETE_VERSIONS, *_DROP_TRIGGERS):
            db.execute(statement.encode())
    if not {"versions", "vectors"}.isdisjoint(tables):
        # Vectors of large namespaces are copied on their node. What an index needs, Citus makes on the nodes by itself.
        db.execute(b"SELECT create_distributed_function('memwarden.floats(bytea)')")
    for table in tables:
        name = Literal(f"memwarden.{table}")
        if table == _EVERYWHERE:
            db.execute(SQL("SELECT create_reference_table({})").format(name))
        else:
            beside = Literal("default" if table == _FIRST else f"memwarden.{_FIRST}")
            distributed = SQL("SELECT create_distributed_table({}, {}, colocate_with => {})")
            db.execute(distributed.format(name, Literal(_COLUMN), beside))


def make_role_on_nodes(db: Connection[Any], role: str) -> None:
    """Create a role on the workers if missing, and let the nodes connect to each other as the store's two roles.

    Citus itself passes on a new role alone, and only to the nodes of the database in which it was made. The role exists
    here, made with :data:`HERE_ALONE`. Raises StoreUnavailable.
    """
    login = f"ALTER ROLE {role} LOGIN" if role in (ROLE, SEARCH_ROLE) else "NULL"
    failed = db.execute(_ON_WORKERS, (_MAKE_ROLE.format(role=role, login=login),)).fetchone()
    if failed is not None:
        raise StoreUnavailable(f"the node {failed[0]} of Citus does not make the role {role}: {failed[1]}")
    if role in (ROLE, SEARCH_ROLE):
        db.execute(login.encode())


def count_bytes(db: Connection[Any]) -> int:
    """Return the size of the distributed tables with their indexes, on all nodes."""
    ((size,),) = db.execute(_SIZE).fetchall()
    return int(size)


def read_shares(db: Connection[Any], seconds: float) -> list[NodeShare]:
    """Return the share of each node. Empty without Citus."""
    if not has_citus(db):
        return []
    begin(db, None, seconds, TransactionKind.READ, listing=True)
    paths = [path for (path,) in db.execute(_PATHS).fetchall()]
    db.execute(b"COMMIT")
    rows = db.execute(_SHARES, (paths,)).fetchall()
    return [NodeShare(f"{host}:{port}", int(namespaces), int(size)) for host, port, namespaces, size in rows]


def _local_tables(db: Connection[Any]) -> list[str]:
    """Return the tables that are not distributed: that of all nodes, the first, then the others."""
    return [str(name) for (name,) in db.execute(_LOCAL_TABLES.encode(), (_EVERYWHERE, _FIRST)).fetchall()]
