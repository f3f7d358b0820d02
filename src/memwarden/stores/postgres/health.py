"""Examines and repairs the database as its owner (:mod:`memwarden.stores.shared.checkpoints`).

Contents of indexes are checked where the extension amcheck is installed in the database: PostgreSQL has no other way to
see them. Rows are removed and recounted in a single transaction, each under row security for its own namespace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import Connection, Error, errors
from psycopg.sql import SQL, Identifier

from memwarden.errors import InvalidInput, NotFound
from memwarden.records import Namespace
from memwarden.stores.postgres import backup, schema
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.read import Reader
from memwarden.stores.postgres.transaction import PROPAGATE, ROLE, explain_errors, name_scope, scope_values
from memwarden.stores.shared.checkpoints import HealthFinding, PathProbe, RepairReport
from memwarden.stores.transfer.erasure import ERASED
from memwarden.stores.transfer.move import NamespaceExtras

_MADE = re.compile(r"CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?(\w+)\s+ON [^;]+;")
_DROPPED = re.compile(r"DROP INDEX (?:IF EXISTS )?(?:memwarden\.)?(\w+)")
_COMMENT = re.compile(r"--[^\n]*")

_INDEXES = rb"""
    SELECT c.relname, i.indisvalid AND i.indisready FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'memwarden'::regnamespace AND c.relkind = 'i'
    AND c.relname NOT LIKE 'search\_%'  -- of large namespaces: who makes them puts them right
    ORDER BY c.relname
"""
_CHECKABLE = b"""
    SELECT c.oid, c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE c.relnamespace = 'memwarden'::regnamespace AND c.relkind = 'i' AND a.amname = 'btree'
    AND i.indisvalid AND i.indisready ORDER BY c.relname
"""
_AMCHECK = b"SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'amcheck'"
_BLOATED = b"""
    SELECT relname, n_dead_tup FROM pg_stat_user_tables
    WHERE schemaname = 'memwarden' AND n_dead_tup > 10000 AND n_dead_tup > n_live_tup / 4 ORDER BY relname
"""
_BESIDE = b"""
    SELECT tenant, namespace, count(*) FILTER (WHERE item), count(*) FILTER (WHERE NOT item) FROM (
        SELECT tenant, namespace, true AS item FROM memwarden.items
        UNION ALL SELECT tenant, namespace, false FROM memwarden.checkpoints
    ) AS one GROUP BY tenant, namespace
"""


class RowCheck(NamedTuple):
    """A consistency check. wrong: FROM and WHERE of the wrong rows. mend: SQL that repairs those of a namespace."""

    kind: str
    where: str
    wrong: str
    said: str
    mend: str | None = None


def _orphans(table: str, condition: str, said: str) -> RowCheck:
    wrong = f"memwarden.{table} AS one WHERE {condition}"
    return RowCheck("orphans", table, wrong, said, f"DELETE FROM {wrong} AND {_SAME.format('one')}")


def _no(table: str, *pairs: str) -> str:
    same = " AND ".join(("m.tenant = one.tenant", "m.namespace = one.namespace", *pairs))
    return f"NOT EXISTS (SELECT FROM memwarden.{table} m WHERE {same})"


_THREAD = "m.thread_id = one.thread_id"
_SAME = "{0}.tenant = %(tenant)s AND {0}.namespace = %(namespace)s"
_OF_SPACE = "WHERE {0}.tenant = one.tenant AND {0}.namespace = one.namespace"
_LAST = f"(SELECT coalesce(max(seq), 0) FROM memwarden.journal j {_OF_SPACE.format('j')})"
_HIGHEST = f"(SELECT coalesce(max(m.n), 0) FROM memwarden.memories m {_OF_SPACE.format('m')})"
_TOLD = (
    f"{_LAST} = (SELECT count(*) FROM memwarden.journal j {_OF_SPACE.format('j')}) AND "
    f"{_LAST} >= (SELECT coalesce(max(m.rev), 0) FROM memwarden.memories m {_OF_SPACE.format('m')})"
)
_ENDS = f"({_no('memories', 'm.id = one.from_id')} OR {_no('memories', 'm.id = one.to_id')})"


def _counter(column: str, right: str, condition: str, said: str) -> RowCheck:
    wrong = f"memwarden.namespaces AS one WHERE {condition}"
    mend = f"UPDATE memwarden.namespaces AS one SET {column} = {right} WHERE {condition} AND {_SAME.format('one')}"
    return RowCheck("counter", "namespaces", wrong, said, mend)


CHECKS = (
    _orphans("signals", _no("memories", "m.n = one.n"), "signals of no memory"),
    _orphans("versions", _no("memories", "m.id = one.id"), "earlier contents of no memory"),
    _orphans("relations", _ENDS, "links from or to no memory"),
    *(_orphans(table, _no("namespaces"), "rows of no namespace") for table in ("threads", "receipts")),
    _orphans("item_vectors", _no("items", "m.path = one.path", "m.key = one.key"), "vectors of no item"),
    # Writes may come before their checkpoint (PendingWrite), so writes without a checkpoint are no orphans.
    _orphans(
        "checkpoint_blobs",
        f"{_no('checkpoints', _THREAD)} AND {_no('checkpoint_writes', _THREAD)}",
        "values of no saved state",
    ),
    _counter("rev", _LAST, f"one.rev <> {_LAST} AND {_TOLD}", "namespaces with another revision than their journal"),
    _counter("rows", _HIGHEST, f"one.rows < {_HIGHEST}", "namespaces that would give a number away twice"),
    RowCheck(
        "content",
        "journal",
        f"memwarden.namespaces AS one WHERE NOT ({_TOLD})",
        "namespaces whose journal has gaps, or ends too early",
    ),
    *(
        RowCheck("content", table, f"memwarden.{table} AS one WHERE {_no('namespaces')}", "rows of no namespace")
        for table in ("memories", "journal")
    ),
    RowCheck(
        "content",
        "memories",
        f"memwarden.memories AS one WHERE {_no('signals', 'm.n = one.n')}",
        "memories without signals, which no query finds",
    ),
    RowCheck(
        "content",
        "memories",
        # a proposed or quarantined memory is version 1 and has no version in the journal yet
        "memwarden.memories AS one WHERE one.version <> (SELECT CASE count(*) WHEN 0 THEN 0 ELSE "
        f"coalesce(max(new_version), 1) END FROM memwarden.journal j {_OF_SPACE.format('j')} AND j.memory_id = one.id)",
        "memories of another version than the journal tells",
    ),
    RowCheck(
        "content",
        "memories",
        f"(SELECT DISTINCT tenant, namespace, memory_id FROM memwarden.journal) AS one "
        f"WHERE {_no('memories', 'm.id = one.memory_id')} AND one.memory_id <> '{ERASED}'",
        "memories that the journal tells of are gone",
    ),
)


def examine(connections: Connections) -> list[HealthFinding]:
    """Return the defects of the database, changing nothing. Raises StoreError."""
    with explain_errors(connections.place), closing(connections.connect()) as db:
        _ready(db, connections)
        return _find_problems(db)


def repair(connections: Connections, copy: Path | None) -> RepairReport:
    """Mend the database. See :class:`memwarden.stores.shared.checkpoints.HealthCheck`."""
    with explain_errors(connections.place):
        with closing(connections.connect()) as db:
            _ready(db, connections)
            found = _find_problems(db)
        if not any(item.mend for item in found):
            return RepairReport(None, (), tuple(found))
        if copy is None:
            raise InvalidInput(
                f"{connections.place}: {found[0].said}. A copy is made before anything is mended; say where to, with "
                "--backup FILE"
            )
        backup.back_up(connections, copy)
        with closing(connections.connect()) as db:
            _make_indexes(db, found)
            _mend_rows(db)
            _vacuum(db, found)
            return RepairReport(copy, tuple(item for item in found if item.mend), tuple(_find_problems(db)))


def count_extras(connections: Connections) -> list[NamespaceExtras]:
    """Return the counts of items and checkpoints of namespaces that hold any. Raises StoreError."""
    with explain_errors(connections.place), closing(connections.connect()) as db:
        _ready(db, connections)
        with _whole(db, b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
            rows = db.execute(_BESIDE).fetchall()
    return sorted(NamespaceExtras(Namespace(tenant, path), items, states) for tenant, path, items, states in rows)


def _ready(db: Connection[Any], connections: Connections) -> None:
    if not schema.schema_number(db, connections.place):
        raise NotFound(f"{connections.place} holds no store of memwarden")
    schema.let_owner_read(db, connections.place)


def _find_problems(db: Connection[Any]) -> list[HealthFinding]:
    found = [*_check_index_names(db), *_check_index_contents(db)]
    with _whole(db, b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"):
        if found:  # a damaged index would give wrong counts
            db.execute(b"SET LOCAL enable_indexscan = off")
            db.execute(b"SET LOCAL enable_indexonlyscan = off")
            db.execute(b"SET LOCAL enable_bitmapscan = off")
        for item in CHECKS:
            ((number,),) = db.execute(f"SELECT count(*) FROM {item.wrong}".encode()).fetchall()
            if number:
                doing = {"orphans": "removed", "counter": "counted anew"}[item.kind] if item.mend else ""
                found.append(HealthFinding(item.kind, item.where, number, f"{number:,} {item.said}", doing))
    for name, dead in db.execute(_BLOATED).fetchall():
        found.append(HealthFinding("bloat", name, dead, f"{dead:,} rows of {name} are dead", "vacuumed"))
    return found


def _check_index_names(db: Connection[Any]) -> list[HealthFinding]:
    there = dict(db.execute(_INDEXES).fetchall())
    broken = [name for name, valid in there.items() if not valid]
    missing = [name for name in _expected_indexes() if name not in there]
    return [HealthFinding("index", item, 1, f"the index {item} is invalid", "made anew") for item in broken] + [
        HealthFinding("index", item, 1, f"the index {item} is missing", "made anew") for item in missing
    ]


def _check_index_contents(db: Connection[Any]) -> list[HealthFinding]:
    """Return the damage of index contents that amcheck finds. Empty where it is not installed."""
    installed = db.execute(_AMCHECK).fetchone()
    found: list[HealthFinding] = []
    for oid, name in db.execute(_CHECKABLE).fetchall() if installed else ():
        try:
            check = SQL("SELECT {}.bt_index_check(%s::oid::regclass, true)")
            db.execute(check.format(Identifier(str(installed and installed[0]))), (oid,))
        except (errors.IndexCorrupted, errors.DataCorrupted) as error:
            said = f"the index {name} is damaged: {error.diag.message_primary}"
            found.append(HealthFinding("index", name, 1, said, "made anew"))
        except errors.InsufficientPrivilege:
            break  # this login may not call amcheck
    return found


def _make_indexes(db: Connection[Any], found: Sequence[HealthFinding]) -> None:
    there = {name for name, _ in db.execute(_INDEXES).fetchall()}
    for item in found:
        if item.kind == "index" and item.where in there:
            db.execute(SQL("REINDEX INDEX {}").format(Identifier("memwarden", item.where)))
        elif item.kind == "index":
            db.execute(_expected_indexes()[item.where].encode())


def _mend_rows(db: Connection[Any]) -> None:
    with _whole(db, b"BEGIN ISOLATION LEVEL REPEATABLE READ"):
        for check in CHECKS:
            if check.mend is None:
                continue
            spaces = db.execute(f"SELECT DISTINCT one.tenant, one.namespace FROM {check.wrong}".encode()).fetchall()
            for tenant, namespace in spaces:
                names = {"tenant": tenant, "namespace": namespace}
                name_scope(db, tenant, namespace)
                db.execute(check.mend.encode(), names)
                db.execute(  # whoever holds an index in memory builds it anew
                    f"UPDATE memwarden.namespaces SET epoch = epoch + 1 WHERE {_SAME.format('namespaces')}".encode(),
                    names,
                )


def _vacuum(db: Connection[Any], found: Sequence[HealthFinding]) -> None:
    for item in found:
        if item.kind == "bloat":
            db.execute(SQL("VACUUM (ANALYZE) {}").format(Identifier("memwarden", item.where)))


@cache
def _expected_indexes() -> dict[str, str]:
    """Return the SQL of the present schema's named indexes, by name."""
    made: dict[str, str] = {}
    for migration in schema.migrations():
        script = _COMMENT.sub("", migration.script.decode())
        made.update({match[1]: match[0] for match in _MADE.finditer(script)})
        for dropped in _DROPPED.findall(script):
            made.pop(dropped, None)
    return made


@contextmanager
def _whole(db: Connection[Any], begin: bytes) -> Iterator[None]:
    """Run the block in a transaction that sees the rows of every namespace, without a time limit."""
    db.execute(begin)
    try:
        db.execute(PROPAGATE)
        db.execute(b"SET LOCAL memwarden.whole = 'on'")
        db.execute(b"SET LOCAL statement_timeout = 0")
        yield
        db.execute(b"COMMIT")
    except BaseException:
        db.rollback()
        raise


_TABLES = b"""
    SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace
    AND relkind IN ('r', 'p', 'v', 'm', 'f') AND relname <> 'meta' ORDER BY 1
"""
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
    "SET LOCAL memwarden.listing = 'on'",
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
            name_scope(db, tenant, namespace)
            leaks = [f"{table}: {found} rows" for table in self._tables if (found := self._rows(db, table))]
        return PathProbe("database", path, len(self._tables), tuple(leaks))

    def writes(self) -> PathProbe:
        leaks = []
        for statement in _WRITES:
            with self._as_app() as db:
                name_scope(db, *scope_values(self._own))
                if (changed := _count_changed(db, statement, self._victim)) > 0:
                    leaks.append(f"{statement.partition(' (')[0][:60]}: {changed} rows")
        return PathProbe("database", "raw SQL that writes", len(_WRITES), tuple(leaks))

    def doors(self) -> PathProbe:
        """Try to switch row security off as the store's role, then read the victim's rows."""
        leaks = []
        for statement in _DOORS:
            with self._as_app() as db:
                name_scope(db, *scope_values(self._own))
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
                name_scope(db, self._victim["tenant"], self._victim["namespace"])
                db.execute(ending.encode())
                db.execute(b"BEGIN")
                db.execute(f"SET LOCAL ROLE {ROLE}".encode())
                found = {table: self._rows(db, table) for table in self._tables}
                db.execute(b"ROLLBACK")
            leaks += [f"after {ending} {table}: {rows} rows" for table, rows in found.items() if rows]
        return PathProbe("database", "the same connection afterwards", 2 * len(self._tables), tuple(leaks))

    @contextmanager
    def _as_app(self) -> Iterator[Connection[Any]]:
        """Run the block in a transaction of the role, with a short lock timeout. It is rolled back."""
        with self._connections.borrow() as db:
            db.execute(b"BEGIN")
            db.execute(f"SET LOCAL ROLE {ROLE}".encode())
            db.execute(b"SET LOCAL lock_timeout = '2s'")
            yield db

    def _rows(self, db: Connection[Any], table: str) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE tenant = %(tenant)s AND namespace = %(namespace)s"
        return int((db.execute(sql.encode(), self._victim).fetchone() or (0,))[0])


def _count_changed(db: Connection[Any], statement: str, names: dict[str, str]) -> int:
    try:
        return db.execute(statement.encode(), names).rowcount
    except Error:
        return 0


def _probe_pool(connections: Connections, seconds: float, own: Namespace, victim: Namespace) -> PathProbe:
    """Leave connections in bad states in the pool. The next call must still see its own namespace alone."""
    tenant, path = scope_values(victim)

    def session(db: Connection[Any]) -> None:
        db.execute(b"SELECT set_config('memwarden.tenant', %s, false)", [tenant])
        db.execute(b"SELECT set_config('memwarden.namespace', %s, false)", [path])
        db.execute(b"SET memwarden.listing = 'on'")

    def open_transaction(db: Connection[Any]) -> None:
        db.execute(b"BEGIN")
        name_scope(db, tenant, path)

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
