"""Checks and migrates the schema: its owner, its version, its row security."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from psycopg import Connection, errors

from memwarden.errors import StoreCorrupt, StoreTooNew, StoreUnavailable
from memwarden.stores.postgres.citus import HERE_ALONE, distribute, has_citus, is_placed, make_role_on_nodes
from memwarden.stores.postgres.read import refuse_older_sessions, renew_terms
from memwarden.stores.postgres.transaction import ROLE, SEARCH_ROLE
from memwarden.stores.transfer.backup import Tick, ignore_tick

_MIN_SERVER_VERSION = 160_000
MIGRATION_LOCK = 0x6D776472  # "mwdr", the advisory lock that a migration holds
SEARCH_MIGRATION = 5  # the migration that needs the role for search
_SEARCH_ON_CITUS = 20  # the migration from which on that role logs in to the nodes of Citus
_MIGRATION_TIMEOUT = "10min"  # a migration waits this long for another process's

_STATE = f"""
    SELECT current_setting('server_version_num')::int,
        current_setting('server_encoding'),
        to_regnamespace('memwarden') IS NOT NULL,
        to_regclass('memwarden.meta') IS NOT NULL,
        coalesce((SELECT pg_has_role(oid, 'SET') FROM pg_roles WHERE rolname = '{ROLE}'), false)
""".encode()

# Conditions under which a transaction of the role would see rows of other namespaces.
_OPEN_DOORS = f"""
    SELECT 'the role {ROLE} is a superuser or may bypass row security'
        FROM pg_roles WHERE rolname = '{ROLE}' AND (rolsuper OR rolbypassrls)
    UNION ALL SELECT 'the role {ROLE} may take on {SEARCH_ROLE}'
        FROM pg_roles WHERE rolname = '{SEARCH_ROLE}' AND pg_has_role('{ROLE}', oid, 'MEMBER')
    UNION ALL SELECT format('the role {ROLE} owns %s', oid::regclass)
        FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND pg_has_role('{ROLE}', relowner, 'MEMBER')
    UNION ALL SELECT format('row security is not forced on %s', oid::regclass)
        FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'meta'
        AND NOT (relrowsecurity AND relforcerowsecurity)
    LIMIT 1
""".encode()


# Backup and repair read whole tables, as the owner and with an explicit setting. The store's role is no member of the
# owner, so it sees no more than before. The policy is made here, not by a migration, so that no table is forgotten.
_WHOLE = """
    SELECT c.oid::regclass::text, pg_get_userbyid(c.relowner) FROM pg_class c
    WHERE c.relnamespace = 'memwarden'::regnamespace AND c.relkind IN ('r', 'p') AND c.relrowsecurity
    AND NOT EXISTS (SELECT FROM pg_policy p
        WHERE p.polrelid = c.oid AND p.polname = 'whole' AND p.polroles @> ARRAY[c.relowner])
"""
_LET_OWNER_READ = f"""
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN {_WHOLE.replace("::text", " AS name").replace("(c.relowner) FROM", "(c.relowner) AS owner FROM")} LOOP
        EXECUTE format('DROP POLICY IF EXISTS whole ON %s', one.name);
        EXECUTE format(
            'CREATE POLICY whole ON %s FOR SELECT TO %I USING (current_setting(''memwarden.whole'', true) = ''on'')',
            one.name, one.owner);
    END LOOP;
END
$$
""".encode()
_NOT_OWNED = b"""
    SELECT oid::regclass::text, pg_get_userbyid(relowner) FROM pg_class
    WHERE relnamespace = 'memwarden'::regnamespace AND relkind IN ('r', 'p') AND NOT pg_has_role(relowner, 'USAGE')
    LIMIT 1
"""
_LOCK_TIMEOUT = "10s"


class PostgresMigration(NamedTuple):
    number: int
    script: bytes


class SchemaState(NamedTuple):
    """Facts about server, database and login."""

    server: int
    encoding: str
    has_namespace: bool
    has_meta: bool
    may_take_role: bool


def make_ready(db: Connection[Any], place: str, tick: Tick = ignore_tick) -> None:
    """Upgrade the schema and check that it is closed. Several processes may do so at once.

    tick: told of how many namespaces the terms were made anew, and of how many they have to be.
    Raises StoreUnavailable, StoreTooNew, StoreCorrupt, psycopg's errors.
    """
    state = check_server(db, place)
    if not state.may_take_role or _schema(db, state, place) != migrations()[-1].number or not is_placed(db):
        _migrate(db, place)
    door = db.execute(_OPEN_DOORS).fetchone()
    if door is not None:
        raise StoreUnavailable(f"{place} would not keep namespaces apart: {door[0]}. Undo that, then open it again")
    renew_terms(db, place, tick)


def check_server(db: Connection[Any], place: str) -> SchemaState:
    """Return the schema's state. Raises StoreUnavailable for an unsupported server or database."""
    state = read_state(db)
    if state.server < _MIN_SERVER_VERSION:
        raise StoreUnavailable(f"{place} is PostgreSQL {state.server // 10_000}; memwarden needs 16 or later")
    if state.encoding != "UTF8":
        raise StoreUnavailable(f"{place} has the encoding {state.encoding}; make a database with ENCODING 'UTF8'")
    return state


def schema_number(db: Connection[Any], place: str) -> int:
    """Return the number of the last migration, 0 without a schema. Raises StoreTooNew, StoreCorrupt."""
    return _schema(db, read_state(db), place)


@cache
def migrations() -> tuple[PostgresMigration, ...]:
    """Return the numbered SQL files, in order."""
    folder = resources.files("memwarden.stores") / "migrations" / "postgres"
    files = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return tuple(PostgresMigration(int(file.name.split("_")[0]), file.read_bytes()) for file in files)


def read_state(db: Connection[Any]) -> SchemaState:
    """Read the facts about server, database and login."""
    found = db.execute(_STATE).fetchone()
    assert found is not None
    return SchemaState(*found)


def _schema(db: Connection[Any], state: SchemaState, place: str) -> int:
    """Return the number of the last migration, 0 without a schema."""
    if not state.has_namespace:
        return 0
    if not state.has_meta:
        raise StoreCorrupt(f"{place} has a schema named memwarden that is another program's; it was left alone")
    found = db.execute(b"SELECT value::int FROM memwarden.meta WHERE key = 'schema'").fetchone()
    number, known = int(found[0]) if found else 0, migrations()[-1].number
    if number > known:
        raise StoreTooNew(f"{place} has schema {number}, this memwarden knows up to {known}; upgrade memwarden")
    return number


def _migrate(db: Connection[Any], place: str) -> None:
    with db.transaction(), explain_missing_rights(place):
        lock_schema(db)
        number = _schema(db, read_state(db), place)
        refuse_older_sessions(db, place, number)
        migrate_schema(db, number, migrations()[-1].number)
        if not is_placed(db):
            _make_role(db, SEARCH_ROLE)  # a store of one server had it on that server alone
            distribute(db)


def lock_schema(db: Connection[Any]) -> None:
    """Lock the schema against changes until the transaction ends, and make the store's role."""
    db.execute(f"SET LOCAL statement_timeout = '{_MIGRATION_TIMEOUT}'".encode())
    db.execute(b"SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
    _make_role(db, ROLE)


def let_owner_read(db: Connection[Any], place: str) -> None:
    """Check that this login owns the schema, and let it read whole tables with ``memwarden.whole``.

    Raises StoreUnavailable for another login.
    """
    other = db.execute(_NOT_OWNED).fetchone()
    if other is not None:
        raise StoreUnavailable(
            f"{place}: this takes the login that owns the schema memwarden ({other[1]}), since it reads every namespace"
        )
    if db.execute(_WHOLE.encode()).fetchone():
        with db.transaction():
            db.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'".encode())
            db.execute(_LET_OWNER_READ)


def hold_schema(db: Connection[Any]) -> None:
    """Lock the schema against changes until the connection ends."""
    db.execute(b"SELECT pg_advisory_lock_shared(%s)", (MIGRATION_LOCK,))


def migrate_schema(db: Connection[Any], number: int, to: int) -> None:
    """Run the migrations after ``number`` up to ``to``, in a transaction that has locked the schema."""
    if number < SEARCH_MIGRATION <= to or number < _SEARCH_ON_CITUS <= to:
        _make_role(db, SEARCH_ROLE)
    for migration in migrations():
        if number < migration.number <= to:
            db.execute(migration.script)
    db.execute(_LET_OWNER_READ)
    db.execute(
        b"INSERT INTO memwarden.meta (key, value) VALUES ('schema', %s::text) "
        b"ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE meta.value <> excluded.value",
        (to,),
    )


def _make_role(db: Connection[Any], role: str) -> None:
    """Create a role if missing, and let this login act as it and grant to it."""
    for setting in HERE_ALONE:
        db.execute(setting)
    if db.execute(b"SELECT FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is None:
        try:
            with db.transaction():
                db.execute(f"CREATE ROLE {role} NOLOGIN NOINHERIT".encode())
        except (errors.DuplicateObject, errors.UniqueViolation):
            pass  # another database of this server has just made it
    (may_take,) = db.execute(b"SELECT pg_has_role(%s, 'SET')", (role,)).fetchone() or (False,)
    if not may_take:
        # Without inheritance: else every member could read what only the search role may read.
        db.execute(f"GRANT {role} TO CURRENT_USER{' WITH INHERIT FALSE' if role == SEARCH_ROLE else ''}".encode())
    if has_citus(db):
        make_role_on_nodes(db, role)


@contextmanager
def explain_missing_rights(place: str) -> Iterator[None]:
    """Explain missing rights by what the administrator has to do."""
    try:
        yield
    except errors.InsufficientPrivilege:
        raise StoreUnavailable(
            f"{place} is not set up for this memwarden, and this login may not do it. Open it once with a login that "
            f"may create schemas and roles; or have an administrator run CREATE ROLE {ROLE} NOLOGIN, CREATE ROLE "
            f"{SEARCH_ROLE} NOLOGIN, GRANT {ROLE} TO the login, GRANT {SEARCH_ROLE} TO the login WITH INHERIT "
            "FALSE, and let it create schemas in the database"
        ) from None
