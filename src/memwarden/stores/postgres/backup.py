"""Backup and restore of the PostgreSQL database (:mod:`memwarden.stores.transfer.backup`).

Whole tables travel through COPY, read from a single snapshot by the login that owns the schema: reading namespace by
namespace would miss rows of a namespace missing from the list. The tables are listed by the database, so that new
tables are included by themselves. Other relations that hold data are refused (:data:`DERIVED`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from psycopg import Connection
from psycopg.sql import SQL, Composed, Identifier

from memwarden.errors import Conflict, NotFound, StoreCorrupt, StoreUnavailable
from memwarden.stores.postgres import schema
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.rows import decode_text
from memwarden.stores.postgres.transaction import PROPAGATE, explain_errors
from memwarden.stores.transfer import backup
from memwarden.stores.transfer.backup import Manifest, NamespaceRevision, TableContents, Tick, ignore_tick

ENGINE = "postgres"
TABLES = "rp"
# Kinds of relations (``pg_class.relkind``) without data of their own: views, indexes, toast, types.
DERIVED = "vitcI"

_KINDS = b"""
    SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace ORDER BY relname
"""
_TABLES = """
    SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attgenerated = ''
    WHERE c.relnamespace = 'memwarden'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND c.relname NOT IN ('digests', 'vectors')  -- made of the others, when a large namespace is asked
    GROUP BY c.relname ORDER BY c.relname
"""
_SPACES = "SELECT tenant, namespace, rev FROM memwarden.namespaces ORDER BY tenant, namespace"
_BEGIN = (
    b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    PROPAGATE,
    b"SET LOCAL citus.max_adaptive_executor_pool_size = 1",  # one snapshot of each node, hence of each namespace
    b"SET LOCAL memwarden.whole = 'on'",
    b"SET LOCAL statement_timeout = 0",  # a large table takes its time
    b"SET LOCAL client_encoding = 'UTF8'",
)
_UTF8 = _BEGIN[-1]

Columns = tuple[str, ...]


def back_up(connections: Connections, target: Path, tick: Tick = ignore_tick) -> Manifest:
    """Copy a snapshot of a store into a new backup, while others write to it. Nothing is migrated.

    Raises Conflict when ``target`` is there, StoreFull, StoreUnavailable, StoreCorrupt.
    """
    with backup.make_work_folder(target) as folder, _closing(connections):
        packed = folder / "packed"
        with backup.pack(packed) as archive, closing(connections.connect()) as db:
            schema.hold_schema(db)
            if not schema.schema_number(db, connections.place):
                raise NotFound(f"{connections.place} holds no store of memwarden; there is nothing to back up")
            schema.let_owner_read(db, connections.place)
            for statement in _BEGIN:
                db.execute(statement)
            manifest = _pack(db, archive, tick)
            db.execute(b"COMMIT")
            backup.add_manifest(archive, manifest)
        tick(1, 1)  # who is gone by now is left no file
        backup.publish(packed, target)
    return manifest


def restore(path: Path, connections: Connections, tick: Tick = ignore_tick) -> Manifest:
    """Restore a backup to a database without a store, in a single transaction, and bring it up to date.

    Raises Conflict when there is a store or the backup is of another engine, StoreCorrupt, StoreTooNew,
    StoreUnavailable.
    """
    with backup.unpack(path) as (archive, manifest), _closing(connections), connections.borrow() as db:
        backup.refuse_foreign(manifest, archive, ENGINE, path, *map(_member, manifest.tables))
        backup.refuse_newer(manifest.schema, schema.migrations()[-1].number, path)
        schema.check_server(db, connections.place)
        with db.transaction(), schema.explain_missing_rights(connections.place):
            schema.lock_schema(db)
            db.execute(b"SET LOCAL statement_timeout = 0")
            db.execute(_UTF8)
            if schema.read_state(db).has_namespace:
                raise Conflict(
                    f"{connections.place} has a schema named memwarden already, and nothing is overwritten; restore "
                    "into a new database, for example made with createdb"
                )
            schema.migrate_schema(db, 0, manifest.schema)
            db.execute(b"DELETE FROM memwarden.meta")
            # Filled at the backup's schema, then migrated: the migrations convert the old rows.
            _fill(db, archive, manifest, path, tick)
            schema.migrate_schema(db, manifest.schema, schema.migrations()[-1].number)
        db.execute(b"SELECT memwarden.gather_statistics()")
    return manifest


def refuse_undecided(kinds: Iterable[tuple[str, str]]) -> None:
    """Raise StoreUnavailable for a relation of a kind that this version cannot copy."""
    for name, kind in kinds:
        if kind not in TABLES + DERIVED:
            raise StoreUnavailable(
                f"memwarden.{name} (of the kind {kind!r}) holds data that this memwarden does not know how to copy; "
                "use pg_dump, or upgrade memwarden"
            )


def _pack(db: Connection[Any], archive: ZipFile, tick: Tick) -> Manifest:
    facts = dict(db.execute(b"SELECT key, value FROM memwarden.meta").fetchall())
    stands = db.execute(_SPACES.encode()).fetchall()
    refuse_undecided(db.execute(_KINDS).fetchall())
    tables = dict(_tables(db))
    rows: dict[str, int] = {}
    for number, (name, columns) in enumerate(tables.items()):
        with archive.open(_member(name), "w", force_zip64=True) as out:
            rows[name] = _copy_out(db, name, columns, out)
        tick(number + 1, len(tables))
    return Manifest(
        ENGINE,
        datetime.now(UTC).isoformat(timespec="seconds"),
        int(facts["schema"]),
        decode_text(facts.get("model")),
        _stands(stands),
        {name: TableContents(columns, rows[name]) for name, columns in tables.items()},
    )


def _copy_out(db: Connection[Any], name: str, columns: Columns, out: IO[bytes]) -> int:
    with db.cursor() as cursor:
        with cursor.copy(SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(_names(columns), _name(name))) as copy:
            for block in copy:
                out.write(block)
        return cursor.rowcount


def _fill(db: Connection[Any], archive: ZipFile, manifest: Manifest, path: Path, tick: Tick) -> None:
    tables = dict(_tables(db))
    theirs = {name: item.columns for name, item in manifest.tables.items()}
    if {name: sorted(item) for name, item in tables.items()} != {name: sorted(item) for name, item in theirs.items()}:
        raise StoreCorrupt(
            f"{path} has other tables than schema {manifest.schema} of memwarden; nothing was restored. "
            "Use another backup"
        )
    for number, (name, columns) in enumerate(theirs.items()):
        with _wall_open(db, name):
            found = _copy_in(db, name, columns, archive)
            if found != manifest.tables[name].rows:
                raise StoreCorrupt(f"{path} does not hold what its manifest says of {name}; nothing was restored")
            if name == "namespaces":
                spaces = _stands(db.execute(_SPACES.encode()).fetchall())
        tick(number + 1, len(theirs))
    if spaces != manifest.namespaces:
        raise StoreCorrupt(f"{path} does not hold the revisions that its manifest says; nothing was restored")


def _copy_in(db: Connection[Any], name: str, columns: Columns, archive: ZipFile) -> int:
    with db.cursor() as cursor, archive.open(_member(name)) as packed:
        with cursor.copy(SQL("COPY {} ({}) FROM STDIN").format(_name(name), _names(columns))) as copy:
            while chunk := packed.read(backup.CHUNK):
                copy.write(chunk)
        return cursor.rowcount


@contextmanager
def _wall_open(db: Connection[Any], name: str) -> Iterator[None]:
    """Let a table's owner write rows of every namespace, in a transaction invisible to others."""
    forced = db.execute(
        b"SELECT relforcerowsecurity FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relname = %s",
        (name,),
    ).fetchone()
    change = SQL("ALTER TABLE {} {} ROW LEVEL SECURITY")
    if forced == (True,):
        db.execute(change.format(_name(name), SQL("NO FORCE")))
    yield
    if forced == (True,):
        db.execute(change.format(_name(name), SQL("FORCE")))


def _tables(db: Connection[Any]) -> Iterator[tuple[str, Columns]]:
    for name, columns in db.execute(_TABLES.encode()).fetchall():
        yield name, tuple(columns)


def _stands(rows: Sequence[tuple[str, str, int]]) -> tuple[NamespaceRevision, ...]:
    return tuple(NamespaceRevision(decode_text(tenant), decode_text(path), rev) for tenant, path, rev in rows)


def _member(table: str) -> str:
    return f"{table}.copy"


def _name(table: str) -> Identifier:
    return Identifier("memwarden", table)


def _names(columns: Columns) -> Composed:
    return SQL(", ").join(map(Identifier, columns))


@contextmanager
def _closing(connections: Connections) -> Iterator[None]:
    """Explain errors of PostgreSQL, and close the connections at the end."""
    try:
        with explain_errors(connections.place):
            yield
    finally:
        connections.close()
