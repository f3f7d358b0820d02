"""Backup and restore of the PostgreSQL database (:mod:`memwarden.stores.backup`).

Rows travel through COPY, read from one snapshot, table by table and namespace by namespace: the store's role sees one
at a time, and a backup opens no way around that. Which tables there are is asked of the database, so that a new one
comes along by itself; one that does not belong to a namespace has to be named in :data:`WHOLE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from psycopg import Connection, Error
from psycopg.sql import SQL, Composed, Identifier

from memwarden.errors import Conflict, NotFound, StoreCorrupt, StoreUnavailable
from memwarden.stores import backup
from memwarden.stores.manifest import Manifest, Stand, Table, Tick, no_tick
from memwarden.stores.postgres import schema
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.explain import explain
from memwarden.stores.postgres.rows import told
from memwarden.stores.postgres.transaction import Kind, begin

ENGINE = "postgres"
WHOLE = ("meta",)
"""Tables that belong to no namespace: they are copied whole. Every other one has the columns tenant and namespace."""

_FOR_EVER = 10**6  # seconds; a large table takes its time
_TABLES = """
    SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND a.attgenerated = ''
    WHERE c.relnamespace = 'memwarden'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    GROUP BY c.relname ORDER BY c.relname
"""
_SPACES = "SELECT tenant, namespace, rev FROM memwarden.namespaces ORDER BY tenant, namespace"
_UTF8 = b"SET LOCAL client_encoding = 'UTF8'"
_NAME = b"SELECT set_config('memwarden.tenant', %s, true), set_config('memwarden.namespace', %s, true)"

Columns = tuple[str, ...]
Owner = tuple[str, str]
"""Tenant and namespace, as they are stored."""


def back_up(connections: Connections, target: Path, tick: Tick = no_tick) -> Manifest:
    """Copy a store as it stands now into a new file, while others write to it; it is not migrated.

    Raises Conflict when ``target`` is there, StoreFull, StoreUnavailable, StoreCorrupt.
    """
    with backup.unfinished(target) as folder, _explained(connections):
        packed = folder / "packed"
        with backup.packing(packed) as archive, closing(connections.connect()) as db:
            schema.hold(db)
            if not schema.schema_number(db, connections.place):
                raise NotFound(f"{connections.place} holds no store of memwarden; there is nothing to back up")
            begin(db, None, _FOR_EVER, Kind.READ, listing=True)
            db.execute(_UTF8)
            manifest = _pack(db, archive, tick)
            db.execute(b"COMMIT")
            backup.add_manifest(archive, manifest)
        backup.place(packed, target)
    return manifest


def restore(path: Path, connections: Connections, tick: Tick = no_tick) -> Manifest:
    """Write a backup into a database that has no store yet, in one transaction, and bring it up to date.

    Raises Conflict when there is one or the backup is of another engine, StoreCorrupt, StoreTooNew, StoreUnavailable.
    """
    with backup.unpacking(path) as (archive, manifest), _explained(connections), connections.borrowed() as db:
        backup.refuse_foreign(manifest, archive, ENGINE, path, *map(_member, manifest.tables))
        backup.refuse_newer(manifest.schema, schema.migrations()[-1].number, path)
        schema.check_server(db, connections.place)
        with db.transaction(), schema.with_advice(connections.place):
            schema.lock(db)
            db.execute(b"SET LOCAL statement_timeout = 0")
            db.execute(_UTF8)
            if schema.look(db).has_namespace:
                raise Conflict(
                    f"{connections.place} has a schema named memwarden already, and nothing is overwritten; restore "
                    "into a new database, such as one made with createdb"
                )
            schema.build(db, 0, manifest.schema)
            db.execute(b"DELETE FROM memwarden.meta")
            _fill(db, archive, manifest, path, tick)
            schema.build(db, manifest.schema, schema.migrations()[-1].number)
        db.execute(b"SELECT memwarden.gather_statistics()")
    return manifest


def decided(tables: dict[str, Columns]) -> dict[str, Columns]:
    """Return the tables with their columns. Raises StoreUnavailable for one that nobody decided how to copy."""
    for name, columns in tables.items():
        if name not in WHOLE and not {"tenant", "namespace"} <= set(columns):
            raise StoreUnavailable(
                f"the table memwarden.{name} belongs to no namespace, and this memwarden does not know how to copy it; "
                "use pg_dump, or upgrade memwarden"
            )
    return tables


def _pack(db: Connection[Any], archive: ZipFile, tick: Tick) -> Manifest:
    facts = dict(db.execute(b"SELECT key, value FROM memwarden.meta").fetchall())
    stands = db.execute(_SPACES.encode()).fetchall()
    spaces = [(tenant, path) for tenant, path, _ in stands]
    tables = decided(dict(_tables(db)))
    rows: dict[str, int] = {}
    for number, (name, columns) in enumerate(tables.items()):
        with archive.open(_member(name), "w", force_zip64=True) as out:
            rows[name] = sum(_copy_out(db, name, columns, owner, out) for owner in _owners(db, name, spaces))
        tick(number + 1, len(tables))
    return Manifest(
        ENGINE,
        datetime.now(UTC).isoformat(timespec="seconds"),
        int(facts["schema"]),
        told(facts.get("model")),
        _stands(stands),
        {name: Table(columns, rows[name]) for name, columns in tables.items()},
    )


def _owners(db: Connection[Any], name: str, spaces: Sequence[Owner]) -> Sequence[Owner | None]:
    """Whose rows there are: the known namespaces, and others where a policy of the table lists them as well."""
    if name in WHOLE:
        return [None]
    db.execute(_NAME, ("", ""))
    listed = db.execute(SQL("SELECT DISTINCT tenant, namespace FROM {}").format(_name(name))).fetchall()
    return sorted({*spaces, *listed})


def _copy_out(db: Connection[Any], name: str, columns: Columns, owner: Owner | None, out: IO[bytes]) -> int:
    where = SQL("")
    if owner is not None:
        db.execute(_NAME, owner)
        where = SQL(" WHERE tenant = %s AND namespace = %s")
    with db.cursor() as cursor:
        sql = SQL("COPY (SELECT {} FROM {}{}) TO STDOUT").format(_names(columns), _name(name), where)
        with cursor.copy(sql, owner) as copy:
            for block in copy:
                out.write(block)
        return cursor.rowcount


def _fill(db: Connection[Any], archive: ZipFile, manifest: Manifest, path: Path, tick: Tick) -> None:
    tables = dict(_tables(db))
    theirs = {name: one.columns for name, one in manifest.tables.items()}
    if {name: sorted(one) for name, one in tables.items()} != {name: sorted(one) for name, one in theirs.items()}:
        raise StoreCorrupt(
            f"{path} has other tables than schema {manifest.schema} of memwarden; nothing was restored. Use another one"
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
    """Let the owner of a table write rows of every namespace, in a transaction that nobody sees into yet."""
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


def _stands(rows: Sequence[tuple[str, str, int]]) -> tuple[Stand, ...]:
    return tuple(Stand(told(tenant), told(path), rev) for tenant, path, rev in rows)


def _member(table: str) -> str:
    return f"{table}.copy"


def _name(table: str) -> Identifier:
    return Identifier("memwarden", table)


def _names(columns: Columns) -> Composed:
    return SQL(", ").join(map(Identifier, columns))


@contextmanager
def _explained(connections: Connections) -> Iterator[None]:
    """Let an error say what happened, and close the connections at the end."""
    try:
        yield
    except Error as error:
        raise explain(error, connections.place) from None
    finally:
        connections.close()
