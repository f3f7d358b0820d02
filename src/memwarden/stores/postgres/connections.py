"""The connections, and what is done again when one of them breaks."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from psycopg import Connection, Error, ProgrammingError, connect
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memwarden.errors import InvalidConfig
from memwarden.stores.postgres.sql.columns import register_dumpers
from memwarden.stores.postgres.sql.errors import explain, is_lost, is_rolled_back_by_others

T = TypeVar("T")

# It warns of what is handled here. Who wants to read it gives the logger a handler; else it would go to stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_MAX_ATTEMPTS = 8  # of a transaction that the server undid because of others
_FIRST_PAUSE = 0.02  # seconds before the second try, doubled for each one after it
_MAX_PAUSE = 0.5

_DEFAULTS = {
    "application_name": "memwarden",
    "keepalives_idle": "30",  # seconds; a server that vanished is noticed within one or two minutes
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


class Connections:
    """Connections to one database, kept for whoever needs one next.

    There are as many as threads that use them at once. A call makes one itself when none is idle, so it knows at once
    why that fails, and when a server is back.

    Args:
        url: what libpq takes: ``postgresql://login@host:port/database?option=value``.
        connect_seconds: how long to try to get a connection, also while a server is being restarted.
    """

    def __init__(self, url: str, connect_seconds: float) -> None:
        try:
            given = conninfo_to_dict(url)
        except ProgrammingError as error:
            raise InvalidConfig(f"the URL of the PostgreSQL store cannot be read: {_hide_url(url, error)}") from None
        self.place = _place(given)
        self._seconds = connect_seconds
        wait = {"connect_timeout": str(max(2, round(connect_seconds)))}
        self._conninfo = make_conninfo(url, **{k: v for k, v in {**_DEFAULTS, **wait}.items() if k not in given})
        self._idle: list[Connection[Any]] = []

    def connect(self) -> Connection[Any]:
        """Make a connection. A transaction on it begins and ends where a statement says so."""
        connection = connect(self._conninfo, autocommit=True)
        register_dumpers(connection)
        return connection

    def close(self) -> None:
        """Close what is idle."""
        while (connection := self._take_idle()) is not None:
            connection.close()

    def run(self, work: Callable[[Connection[Any]], T], may_repeat: Callable[[Error], bool]) -> T:
        """The same as :meth:`attempt`, but raises the errors of
        :func:`memwarden.stores.postgres.sql.errors.explain`."""
        try:
            return self.attempt(work, may_repeat)
        except Error as error:
            raise explain(error, self.place) from None

    def attempt(self, work: Callable[[Connection[Any]], T], may_repeat: Callable[[Error], bool]) -> T:
        """Run ``work``; after the loss of a connection again, if ``may_repeat``; and after an undoing by others.

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
                elif is_lost(error) and may_repeat(error) and time.monotonic() < deadline:
                    self.close()  # what broke one has most often broken all: a server that was restarted
                    time.sleep(min(_MAX_PAUSE, _FIRST_PAUSE * 2**tries))
                else:
                    raise

    @contextmanager
    def borrow(self) -> Iterator[Connection[Any]]:
        """A connection, which is kept afterwards if it is whole, without an open transaction."""
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


def _end_transaction(connection: Connection[Any]) -> bool:
    """Roll back what is open, which costs nothing where nothing is, and tell whether the connection is whole."""
    try:
        connection.rollback()
    except Error:
        connection.close()
    return not connection.closed


def _place(given: Any) -> str:
    host = given.get("host") or given.get("hostaddr") or "localhost"
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{host}{port}/{given.get('dbname') or ''}"


def _hide_url(url: str, error: Error) -> str:
    """The reason, unless it repeats the URL, which may hold a password."""
    reason = " ".join(str(error).split())
    return "write postgresql://login:password@host:port/database" if url in reason or "@" in reason else reason
