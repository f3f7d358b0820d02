"""The pool of connections, and what is done again when one of them breaks."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from psycopg import Connection, Error, OperationalError, ProgrammingError, connect
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from memwarden.errors import InvalidConfig, StoreUnavailable
from memwarden.stores.postgres.columns import teach
from memwarden.stores.postgres.explain import cannot_connect, explain, is_lost, is_rolled_back_by_others

T = TypeVar("T")

_TRIES = 8  # of a transaction that the server undid because of others
_PAUSE = 0.02  # seconds before the second try, doubled for each one after it

_DEFAULTS = {
    "application_name": "memwarden",
    "keepalives_idle": "30",  # seconds; a server that vanished is noticed within one or two minutes
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}


class Connections:
    """Connections to one database.

    Args:
        url: what libpq takes: ``postgresql://login@host:port/database?option=value``.
        size: how many there are at most.
        connect_seconds: how long to wait for a connection, also for a server that is being restarted.
    """

    def __init__(self, url: str, size: int, connect_seconds: float) -> None:
        try:
            given = conninfo_to_dict(url)
        except ProgrammingError as error:
            raise InvalidConfig(f"the URL of the PostgreSQL store cannot be read: {_without(url, error)}") from None
        self.place = _place(given)
        self._seconds = connect_seconds
        wait = {"connect_timeout": str(max(2, round(connect_seconds)))}
        self._conninfo = make_conninfo(url, **{k: v for k, v in {**_DEFAULTS, **wait}.items() if k not in given})
        self._pool = ConnectionPool(
            self._conninfo,
            kwargs={"autocommit": True},  # a transaction begins and ends where a statement says so
            configure=teach,
            min_size=1,
            max_size=size,
            num_workers=1,
            timeout=connect_seconds,
            open=False,
            name="memwarden",
        )

    def connect(self) -> Connection[Any]:
        """Make a connection outside the pool. Raises StoreUnavailable with the reason."""
        try:
            return connect(self._conninfo, autocommit=True)
        except OperationalError as error:
            raise cannot_connect(error, self.place) from None

    def open(self) -> None:
        self._pool.open()

    def close(self) -> None:
        self._pool.close()

    def read(self, work: Callable[[Connection[Any]], T]) -> T:
        """Run ``work``, which changes nothing, and again on another connection if one breaks.

        Raises the errors of :func:`memwarden.stores.postgres.explain.explain`.
        """
        try:
            return self.attempt(work, lambda error: True)
        except Error as error:
            raise explain(error, self.place) from None

    def attempt(self, work: Callable[[Connection[Any]], T], may_repeat: Callable[[Error], bool]) -> T:
        """Run ``work``; after the loss of a connection again, if ``may_repeat``; and after an undoing by others.

        Raises psycopg's errors, StoreUnavailable when no connection can be had.
        """
        deadline = time.monotonic() + self._seconds
        tries = 0
        while True:
            try:
                with self._borrow(max(0.1, deadline - time.monotonic())) as connection:
                    return work(connection)
            except Error as error:
                tries += 1
                if is_rolled_back_by_others(error) and tries < _TRIES:
                    time.sleep(_PAUSE * 2**tries * random.random())
                elif is_lost(error) and may_repeat(error) and time.monotonic() < deadline:
                    self._replace_the_broken(tries)
                else:
                    raise

    def _borrow(self, seconds: float) -> Any:
        return _Borrowed(self._pool, seconds, self.connect, self.place)

    def _replace_the_broken(self, tries: int) -> None:
        # What broke one has most often broken all: a server that was restarted.
        self._pool.check()
        time.sleep(min(0.5, _PAUSE * 2**tries))


class _Borrowed:
    """A connection of the pool, given back without an open transaction."""

    def __init__(
        self, pool: ConnectionPool, seconds: float, connect: Callable[[], Connection[Any]], place: str
    ) -> None:
        self._pool = pool
        self._seconds = seconds
        self._connect = connect
        self._place = place

    def __enter__(self) -> Connection[Any]:
        try:
            self._connection = self._pool.getconn(timeout=self._seconds)
        except PoolTimeout:
            self._connect().close()  # raises the reason, if there is one
            raise StoreUnavailable(
                f"no connection to {self._place} became free in time; fewer calls at once, or more connections"
            ) from None
        except PoolClosed:
            raise StoreUnavailable(f"the store at {self._place} is not open; call open() first") from None
        return self._connection

    def __exit__(self, *_: object) -> None:
        try:
            if not self._connection.closed:
                self._connection.rollback()  # nothing, unless something failed
        except Error:
            self._connection.close()
        self._pool.putconn(self._connection)


def _place(given: Any) -> str:
    host = given.get("host") or given.get("hostaddr") or "localhost"
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{host}{port}/{given.get('dbname') or ''}"


def _without(url: str, error: Error) -> str:
    """The reason, unless it repeats the URL, which may hold a password."""
    reason = " ".join(str(error).split())
    return "write postgresql://login:password@host:port/database" if url in reason or "@" in reason else reason
