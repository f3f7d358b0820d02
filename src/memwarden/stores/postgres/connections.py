"""Pools connections and repeats work when a connection breaks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from psycopg import Connection, Error, ProgrammingError, connect
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memwarden.errors import InvalidConfig
from memwarden.stores.postgres.citus import on_citus
from memwarden.stores.postgres.read import APPLICATION
from memwarden.stores.postgres.rows import register_dumpers
from memwarden.stores.postgres.transaction import explain, is_lost, is_node_lost, is_rolled_back_by_others

T = TypeVar("T")

# psycopg warns of errors that are handled here. Without a handler the warnings would go to stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_MAX_ATTEMPTS = 8  # of a transaction that the server undid because of others
_FIRST_PAUSE = 0.02  # seconds before the second attempt, doubled for each further attempt
_MAX_PAUSE = 0.5
# Repetitions after a node of Citus was lost: the server may have kept a connection from before the node's restart. Not
# for long, because a waiting call takes a thread from the namespaces of other nodes.
_NODE_REPEATS = 2

# Executions after which psycopg prepares a statement. Its own default.
_PREPARE_AFTER = 5
# The same on Citus: only statements are prepared that say so.
_PREPARE_NAMED_ALONE = 2**31
_DEFAULTS = {
    "application_name": APPLICATION,
    "keepalives_idle": "30",  # seconds; a server that vanished is noticed within two minutes
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


class Connections:
    """A pool of connections to a database.

    It grows to the number of threads that use it at once. A call connects by itself when no connection is idle, so it
    learns at once why that fails, and when a server is back.

    Args:
        url: what libpq takes: ``postgresql://login@host:port/database?option=value``. With ``pgbouncer=true`` no
            statement is prepared on the server, whose connection a pool of transactions may change at any time.
        connect_seconds: how long to try to get a connection, also while a server is being restarted.
        address: ``host`` or ``host:port`` of a server to take in place of the URL's.
    """

    def __init__(self, url: str, connect_seconds: float, address: str | None = None) -> None:
        url, pooled, _ = read_url(url)
        self._prepare_after = None if pooled else _PREPARE_AFTER
        try:
            given = conninfo_to_dict(url)
            other = _server(address)
        except ProgrammingError as error:
            raise InvalidConfig(f"the URL of the PostgreSQL store cannot be read: {_hide_url(url, error)}") from None
        self.place = _place({**given, **other})
        self._seconds = connect_seconds
        wait = {"connect_timeout": str(max(2, round(connect_seconds)))}
        free = {name: value for name, value in {**_DEFAULTS, **wait}.items() if name not in given}
        # Neither PGCLIENTENCODING nor the URL may choose another: words would be refused, or read as bytes.
        self._conninfo = make_conninfo(url, **free, **other, client_encoding="UTF8")
        self._idle: list[Connection[Any]] = []

    def connect(self) -> Connection[Any]:
        """Open a connection in autocommit mode: statements begin and end transactions."""
        connection = connect(self._conninfo, autocommit=True, prepare_threshold=self._prepare_after)
        register_dumpers(connection)
        try:
            if on_citus(connection) and self._prepare_after is not None:
                # A prepared statement is planned for all values, hence for all nodes, unless it names its namespace.
                connection.prepare_threshold = _PREPARE_NAMED_ALONE
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close all idle connections."""
        while (connection := self._take_idle()) is not None:
            connection.close()

    def run(self, work: Callable[[Connection[Any]], T], may_repeat: Callable[[Error], bool]) -> T:
        """Run work as :meth:`attempt` does, but raise memwarden's errors."""
        try:
            return self.attempt(work, may_repeat)
        except Error as error:
            raise explain(error, self.place) from None

    def attempt(self, work: Callable[[Connection[Any]], T], may_repeat: Callable[[Error], bool]) -> T:
        """Run ``work``. Repeat it after a rollback by others, and after a lost connection if ``may_repeat``.

        Raises psycopg's errors.
        """
        deadline = time.monotonic() + self._seconds
        tries = 0
        while True:
            try:
                with self.borrow() as connection:
                    return work(connection)
            except Error as error:
                tries += 1
                if is_rolled_back_by_others(error) and tries < _MAX_ATTEMPTS:
                    time.sleep(_FIRST_PAUSE * 2**tries * random.random())
                elif is_node_lost(error):
                    if tries > _NODE_REPEATS or not may_repeat(error):
                        raise
                elif is_lost(error) and may_repeat(error) and time.monotonic() < deadline:
                    self.close()  # mostly the server was restarted, which broke the idle connections too
                    time.sleep(min(_MAX_PAUSE, _FIRST_PAUSE * 2**tries))
                else:
                    raise

    @contextmanager
    def borrow(self) -> Iterator[Connection[Any]]:
        """Lend a connection. Afterwards it is rolled back and kept, unless it is broken."""
        connection = self._take_idle() or self.connect()
        try:
            yield connection
        finally:
            if _end_transaction(connection):
                self._idle.append(connection)

    def _take_idle(self) -> Connection[Any] | None:
        while self._idle:
            with suppress(IndexError):  # another thread may have been faster
                connection = self._idle.pop()
                if _end_transaction(connection):
                    return connection
        return None


class StoreUrl(NamedTuple):
    """A URL of a store, taken apart.

    Attributes:
        libpq: the URL without memwarden's own options. pooled: whether a pool of transactions is between.
        replicas: ``host`` or ``host:port`` of each server that may answer reads.
    """

    libpq: str
    pooled: bool
    replicas: tuple[str, ...]


def read_url(url: str) -> StoreUrl:
    """Take apart a URL with the options ``pgbouncer`` and ``replicas``, which libpq does not know.

    Raises InvalidConfig for another ``pgbouncer`` than true or false, and for a replica without a host.
    """
    base, mark, query = url.partition("?")
    options = query.split("&") if mark else []
    pooled = [option.partition("=")[2] for option in options if option.startswith("pgbouncer=")]
    if any(value not in ("true", "false") for value in pooled):
        raise InvalidConfig("the option pgbouncer of a PostgreSQL URL is true or false")
    named = [option.partition("=")[2] for option in options if option.startswith("replicas=")]
    replicas = tuple(address for value in named for address in value.split(","))
    if not all(replicas):
        raise InvalidConfig("the option replicas of a PostgreSQL URL is a list such as db-2,db-3:5433")
    kept = "&".join(option for option in options if not option.startswith(("pgbouncer=", "replicas=")))
    return StoreUrl(f"{base}?{kept}" if kept else base, "true" in pooled, replicas)


def _end_transaction(connection: Connection[Any]) -> bool:
    """Roll back an open transaction, free when there is none. Return whether the connection works."""
    try:
        connection.rollback()
    except Error:
        connection.close()
    return not connection.closed


def _server(address: str | None) -> dict[str, str]:
    """Return libpq's values for a server that may be a standby. Raises ProgrammingError for a malformed address."""
    if address is None:
        return {}
    given = conninfo_to_dict(f"postgresql://{address}")
    server = {"host": str(given["host"]), "port": str(given.get("port", ""))}
    return {**server, "hostaddr": "", "target_session_attrs": "any"}


def _place(given: Any) -> str:
    host = given.get("host") or given.get("hostaddr") or "localhost"
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{host}{port}/{given.get('dbname') or ''}"


def _hide_url(url: str, error: Error) -> str:
    """Return the reason, unless it repeats the URL, which may hold a password."""
    reason = " ".join(str(error).split())
    return "write postgresql://login:password@host:port/database" if url in reason or "@" in reason else reason
