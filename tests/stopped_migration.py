"""``memwarden migrate`` to an empty database, in a process that stops at a given trip to the server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.page_tests import a_long_life

_CHILD = Path(__file__).parent / "faults" / "migration_child.py"
KILLED = -9

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
DISTRIBUTION = "SELECT logicalrelid::text, partmethod, partkey IS NULL, repmodel FROM pg_dist_partition"
_SHARDS = """
    SELECT result FROM run_command_on_workers($$
        SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('memwarden') AND relkind = 'r'
    $$)
"""
ROW_TABLES = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r' ORDER BY relname
"""


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
            read |= {"distribution": self._lines(DISTRIBUTION), "shards": self._lines(_SHARDS)}
        for (table,) in self._admin.execute(ROW_TABLES).fetchall():
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


def fill_source(folder: Path) -> str:
    """Write a file with two users' memories, earlier versions, links and threads, and return its URL."""

    async def fill() -> None:
        store = SqliteStore(folder / "source.db")
        await store.open()
        await a_long_life(store)
        await store.close()

    asyncio.run(fill())
    return f"sqlite:///{folder / 'source.db'}"
