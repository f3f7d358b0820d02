"""``memwarden migrate`` is killed before each trip to the server, and the next run makes the same tables and rows.

The target begins as an empty database, so the trips are those of the schema, of Citus' distribution, and of the rows.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.page_tests import a_long_life
from memwarden_bench.citus_cluster import CitusCluster

_CHILD = Path(__file__).with_name("migration_child.py")
_KILLED = -9
_WHILE_DISTRIBUTING = 60  # trips after which some tables are distributed

# Without shards of the coordinator, whose numbers differ from run to run.
_CATALOGUE = {
    "columns": """
        SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns
        WHERE table_schema = 'memwarden'
    """,
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'memwarden'",
    "constraints": """
        SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'memwarden'::regnamespace AND conrelid::regclass::text !~ '_[0-9]+$'
    """,
    "policies": """
        SELECT tablename, policyname, roles, cmd, qual, with_check FROM pg_policies WHERE schemaname = 'memwarden'
    """,
    "functions": """
        SELECT proname, md5(pg_get_functiondef(oid)), proacl::text FROM pg_proc
        WHERE pronamespace = 'memwarden'::regnamespace
    """,
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'memwarden'",
    "triggers": """
        SELECT tgrelid::regclass::text, tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid
        WHERE relnamespace = 'memwarden'::regnamespace AND NOT tgisinternal
    """,
    "tables": """
        SELECT relname, relrowsecurity, relforcerowsecurity, relacl::text, reloptions FROM pg_class
        WHERE relnamespace = 'memwarden'::regnamespace AND relkind IN ('r', 'v')
    """,
}
_DISTRIBUTION = "SELECT logicalrelid::text, partmethod, partkey IS NULL, repmodel FROM pg_dist_partition"
_SHARDS = """
    SELECT result FROM run_command_on_workers($$
        SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('memwarden') AND relkind = 'r'
    $$)
"""
_ROW_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r' ORDER BY relname
"""
_HAS_SCHEMA = b"SELECT to_regnamespace('memwarden') IS NOT NULL"


class Migration:
    """A process that moves a store to an empty database, again and again.

    Args:
        admin: a connection that empties the database.
    """

    def __init__(self, child: subprocess.Popen[str], admin: psycopg.Connection[Any]) -> None:
        self._child = child
        self._admin = admin

    def run(self, how: str = "run", number: int = 0) -> tuple[int, int]:
        """Return the exit code and the number of trips to the server."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(f"{how} {number}\n")
        self._child.stdin.flush()
        code, trips = self._child.stdout.readline().split()
        return int(code), int(trips)

    def empty(self) -> None:
        """Drop the schema."""
        self._admin.execute("DROP SCHEMA IF EXISTS memwarden CASCADE")

    def contents(self) -> dict[str, list[str]]:
        """Return the catalogue and the rows, as sorted lines."""
        read = {name: self._lines(sql) for name, sql in _CATALOGUE.items()}
        if self._admin.execute("SELECT FROM pg_extension WHERE extname = 'citus'").fetchone():
            read |= {"distribution": self._lines(_DISTRIBUTION), "shards": self._lines(_SHARDS)}
        for (table,) in self._admin.execute(_ROW_TABLES).fetchall():
            # The epoch counts pages, and an access is the moment of loading.
            read[table] = self._lines(f"SELECT to_jsonb(t) - 'epoch' - 'accessed_at' FROM memwarden.{table} t")
        return read

    def _lines(self, sql: str) -> list[str]:
        return sorted(str(row) for row in self._admin.execute(sql.encode()).fetchall())


@contextmanager
def migrating(source: str, target: str) -> Iterator[Migration]:
    """Start the process for the block."""
    words = [sys.executable, str(_CHILD), source, target]
    with (
        psycopg.connect(target, autocommit=True) as admin,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child,
    ):
        yield Migration(child, admin)
        assert child.stdin is not None
        child.stdin.close()


@pytest.fixture
def source(tmp_path: Path) -> str:
    """The URL of a file with two users' memories, earlier versions, links and threads."""

    async def fill() -> None:
        store = SqliteStore(tmp_path / "source.db")
        await store.open()
        await a_long_life(store)
        await store.close()

    asyncio.run(fill())
    return f"sqlite:///{tmp_path / 'source.db'}"


def check_stops(migration: Migration, which: Callable[[int], range], hows: tuple[str, ...] = ("kill", "cut")) -> None:
    """Stop a migration at trips, finish it, and compare. which: the numbers of the trips, of so many."""
    code, trips = migration.run()
    wanted = migration.contents()
    assert code == 0
    assert wanted["memories"]
    stops = 0
    for how in hows:
        for number in which(trips):
            migration.empty()
            code, made = migration.run(how, number)
            stops += code == _KILLED or code > 0
            assert made >= number, "the migration ended before the trip"
            assert migration.run()[0] == 0, (how, number)
            assert migration.contents() == wanted, (how, number)
    assert stops
    migration.empty()


def every(part: int, parts: int) -> Callable[[int], range]:
    """Return one of the parts of all trips."""
    return lambda trips: range(1 + part, trips + 1, parts)


def test_a_stopped_migration_to_postgresql_is_finished(source: str, new_database: Callable[[], str]) -> None:
    with migrating(source, new_database()) as migration:
        check_stops(migration, lambda trips: range(7, trips, trips // 3))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(6))
def test_a_migration_to_postgresql_is_stopped_at_every_trip(
    source: str, new_database: Callable[[], str], part: int
) -> None:
    with migrating(source, new_database()) as migration:
        check_stops(migration, every(part, 6))


def test_a_migration_that_is_killed_while_citus_distributes_is_rolled_back_and_finished(
    source: str, citus: CitusCluster
) -> None:
    url = citus.new_database()
    with migrating(source, url) as migration, psycopg.connect(url, autocommit=True) as db:
        assert migration.run("kill", _WHILE_DISTRIBUTING)[0] == _KILLED
        assert db.execute(_HAS_SCHEMA).fetchone() == (False,)
        assert migration.run()[0] == 0  # both sides hold the same
        (tables,) = db.execute(f"SELECT count(*) FROM ({_ROW_TABLES}) t".encode()).fetchone() or (0,)
        assert len(db.execute(_DISTRIBUTION.encode()).fetchall()) == tables > 10


@pytest.mark.soak
@pytest.mark.parametrize("part", range(40))
def test_a_migration_to_citus_is_stopped_at_every_trip(source: str, citus: CitusCluster, part: int) -> None:
    with migrating(source, citus.new_database()) as migration:
        check_stops(migration, every(part, 40))
