"""Probes row security on a user's own database: raw SQL as the store's role, and misused connections.

Every attempt runs in a transaction that is rolled back, or on a connection that is thrown away afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import Connection, Error

from memwarden.records import Namespace
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.read import Reader
from memwarden.stores.postgres.sql.transaction import ROLE, scope_values
from memwarden.stores.shared.checkpoints import PathProbe

_TABLES = b"""
    SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace
    AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relname <> 'meta' ORDER BY 1
"""
_NAME_IT = b"SELECT set_config('memwarden.tenant', %s, true), set_config('memwarden.namespace', %s, true)"
_WRITES = (
    "UPDATE memwarden.memories SET text = text WHERE tenant = %(tenant)s AND namespace = %(namespace)s",
    "DELETE FROM memwarden.memories WHERE tenant = %(tenant)s AND namespace = %(namespace)s",
    "UPDATE memwarden.namespaces SET rev = rev WHERE tenant = %(tenant)s AND namespace = %(namespace)s",
    "INSERT INTO memwarden.threads VALUES (%(tenant)s, %(namespace)s, 'canary', 1)",
    "INSERT INTO memwarden.receipts VALUES (%(tenant)s, %(namespace)s, 'canary', NULL, 1, '[]', 1)",
    "UPDATE memwarden.memories SET tenant = %(tenant)s, namespace = %(namespace)s, id = 'canary', n = 2000000000",
)
_DOORS = (
    "SET LOCAL row_security = off",
    "ALTER TABLE memwarden.memories DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE memwarden.memories NO FORCE ROW LEVEL SECURITY",
    "CREATE POLICY canary ON memwarden.memories USING (true)",
    f"ALTER ROLE {ROLE} BYPASSRLS",
    "SELECT set_config('memwarden.listing', 'on', true)",
)


def probe_row_security(connections: Connections, seconds: float, own: Namespace, victim: Namespace) -> list[PathProbe]:
    """Try to reach the victim's rows from the database as a user of ``own``. The victim must have memories."""
    raw = _RawSql(connections, own, victim)
    return [
        *(raw.reads(f"raw SQL, {name}", *settings) for name, settings in _settings(own, victim)),
        raw.writes(),
        raw.doors(),
        raw.afterwards(),
        _probe_pool(connections, seconds, own, victim),
    ]


def _settings(own: Namespace, victim: Namespace) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    tenant, path = scope_values(victim)
    yield "settings unset", (None, None)
    yield "settings empty", ("", "")
    yield "only the tenant set", (tenant, None)
    yield "only the namespace set", (None, path)
    yield "tenant empty", ("", path)
    yield "settings wrong", (tenant + "x", path)
    yield "patterns", ("%", "%")
    yield "injection", (f"{tenant}' OR '1'='1", path)
    yield "settings of another", scope_values(own)


class _RawSql:
    """Raw SQL as the store's role, bypassing memwarden."""

    def __init__(self, connections: Connections, own: Namespace, victim: Namespace) -> None:
        self._connections = connections
        self._own = own
        self._victim = dict(zip(("tenant", "namespace"), scope_values(victim), strict=True))
        with self._as_app() as db:
            self._tables = [str(name) for (name,) in db.execute(_TABLES).fetchall()]

    def reads(self, path: str, tenant: str | None, namespace: str | None) -> PathProbe:
        with self._as_app() as db:
            self._name(db, tenant, namespace)
            leaks = [f"{table}: {found} rows" for table in self._tables if (found := self._rows(db, table))]
        return PathProbe("database", path, len(self._tables), tuple(leaks))

    def writes(self) -> PathProbe:
        leaks = []
        for statement in _WRITES:
            with self._as_app() as db:
                self._name(db, *scope_values(self._own))
                if (changed := _count_changed(db, statement, self._victim)) > 0:
                    leaks.append(f"{statement.partition(' (')[0][:60]}: {changed} rows")
        return PathProbe("database", "raw SQL that writes", len(_WRITES), tuple(leaks))

    def doors(self) -> PathProbe:
        """Try to switch row security off as the store's role, then read the victim's rows."""
        leaks = []
        for statement in _DOORS:
            with self._as_app() as db:
                self._name(db, *scope_values(self._own))
                try:
                    db.execute(statement.encode())
                    found = self._rows(db, "memwarden.memories")
                except Error:
                    continue
                if found:
                    leaks.append(f"{statement}: {found} rows")
        return PathProbe("database", "raw SQL that opens the wall", len(_DOORS), tuple(leaks))

    def afterwards(self) -> PathProbe:
        """Check that a transaction's namespace does not apply to the next transaction."""
        leaks = []
        for ending in ("COMMIT", "ROLLBACK"):
            with self._connections.borrow() as db:
                db.execute(b"BEGIN")
                db.execute(_NAME_IT, [self._victim["tenant"], self._victim["namespace"]])
                db.execute(ending.encode())
                db.execute(b"BEGIN")
                db.execute(f"SET LOCAL ROLE {ROLE}".encode())
                found = {table: self._rows(db, table) for table in self._tables}
                db.execute(b"ROLLBACK")
            leaks += [f"after {ending} {table}: {rows} rows" for table, rows in found.items() if rows]
        return PathProbe("database", "the same connection afterwards", 2 * len(self._tables), tuple(leaks))

    @contextmanager
    def _as_app(self) -> Iterator[Connection[Any]]:
        """Run the block in a transaction of the role, with a short lock timeout; it is rolled back."""
        with self._connections.borrow() as db:
            db.execute(b"BEGIN")
            db.execute(f"SET LOCAL ROLE {ROLE}".encode())
            db.execute(b"SET LOCAL lock_timeout = '2s'")
            yield db

    def _name(self, db: Connection[Any], tenant: str | None, namespace: str | None) -> None:
        for name, value in (("tenant", tenant), ("namespace", namespace)):
            if value is not None:
                db.execute(b"SELECT set_config(%s, %s, true)", [f"memwarden.{name}", value])

    def _rows(self, db: Connection[Any], table: str) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE tenant = %(tenant)s AND namespace = %(namespace)s"
        return int((db.execute(sql.encode(), self._victim).fetchone() or (0,))[0])


def _count_changed(db: Connection[Any], statement: str, names: dict[str, str]) -> int:
    try:
        return db.execute(statement.encode(), names).rowcount
    except Error:
        return 0


def _probe_pool(connections: Connections, seconds: float, own: Namespace, victim: Namespace) -> PathProbe:
    """Leave connections in bad states in the pool; the next call must still see its own namespace alone."""
    tenant, path = scope_values(victim)

    def session(db: Connection[Any]) -> None:
        db.execute(b"SELECT set_config('memwarden.tenant', %s, false)", [tenant])
        db.execute(b"SELECT set_config('memwarden.namespace', %s, false)", [path])
        db.execute(b"SET memwarden.listing = 'on'")

    def open_transaction(db: Connection[Any]) -> None:
        db.execute(b"BEGIN")
        db.execute(_NAME_IT, [tenant, path])

    def aborted_transaction(db: Connection[Any]) -> None:
        open_transaction(db)
        try:
            db.execute(b"SELECT 1 / 0")
        except Error:
            return

    def shadowed_table(db: Connection[Any]) -> None:
        db.execute(b"CREATE TEMP TABLE memories AS SELECT 1 AS n")
        db.execute(b"SET search_path = pg_temp")

    def closed(db: Connection[Any]) -> None:
        db.close()

    leaks: list[str] = []

    def ids() -> set[str]:
        return {row.id for row in connections.run(lambda db: Reader(db, seconds).scan(own, 0).rows, lambda error: True)}

    mine = ids()
    poisons: tuple[Callable[[Connection[Any]], None], ...] = (
        session,
        open_transaction,
        aborted_transaction,
        shadowed_table,
        closed,
    )
    for poison in poisons:
        with connections.borrow() as db:
            poison(db)
        if ids() != mine:
            leaks.append(f"a connection left as {poison.__name__}")
        connections.close()
    return PathProbe("database", "poisoned, aborted and cut connections", len(poisons), tuple(leaks))
