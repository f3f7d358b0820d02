"""Examines and repairs the database as its owner (:mod:`memwarden.stores.shared.checkpoints`).

Contents of indexes are checked where the extension amcheck is installed in the database: PostgreSQL has no other way to
see them. Rows are removed and recounted in a single transaction, each under row security for its own namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier

from memwarden.errors import InvalidInput, NotFound
from memwarden.records import Namespace
from memwarden.stores.postgres import backup, schema
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.sql.transaction import explain_errors
from memwarden.stores.shared.checkpoints import HealthFinding, RepairReport
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
_HERE = b"SELECT set_config('memwarden.tenant', %s, true), set_config('memwarden.namespace', %s, true)"


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
        f"WHERE {_no('memories', 'm.id = one.memory_id')}",
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
    """Return the damage of index contents that amcheck finds; empty where it is not installed."""
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
                db.execute(_HERE, (tenant, namespace))
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
        db.execute(b"SET LOCAL memwarden.whole = 'on'")
        db.execute(b"SET LOCAL statement_timeout = 0")
        yield
        db.execute(b"COMMIT")
    except BaseException:
        db.rollback()
        raise
