"""Run as a process: moves a store as ``memwarden migrate`` does, and stops at a given trip to the server.

python migration_child.py SOURCE TARGET

Reads lines "HOW NUMBER" and answers each by "EXIT TRIPS". ``kill`` ends the process by SIGKILL before the trip of that
number. ``cut`` ends the server's side of its connection. ``run`` does neither. Each line is a process of its own, which
is forked after the imports. EXIT is its exit code, -9 after SIGKILL, and TRIPS the number of trips that it made.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

import psycopg

from memwarden.stores.postgres import PostgresStore
from memwarden.stores.sqlite import SqliteStore
from memwarden.surfaces.cli.admin import migrate
from memwarden.surfaces.cli.main import run

LOADED = (PostgresStore, SqliteStore, migrate)  # before the fork


class Trips:
    """The trips to the server, and the one at which the process stops."""

    def __init__(self, url: str, how: str, number: int) -> None:
        self._url = url
        self._how = how
        self._number = number
        self._lock = threading.Lock()
        self.made = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the trips of every connection of the block, in which statements are sent."""
        wait = psycopg.Connection.wait

        def counting(connection: psycopg.Connection[Any], *values: Any, **options: Any) -> Any:
            with self._lock:
                self.made += 1
                if self.made == self._number:
                    self._stop(connection.info.backend_pid)
            return wait(connection, *values, **options)

        with patch.object(psycopg.Connection, "wait", counting):
            yield

    def _stop(self, backend: int) -> None:
        if self._how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        # Over libpq itself, whose trips are not counted.
        pq = psycopg.pq.PGconn.connect(self._url.encode())
        pq.exec_(f"SELECT pg_terminate_backend({backend}, 5000)".encode())
        pq.finish()


def move(source: str, target: str, how: str, number: int) -> tuple[int, int]:
    """Return the exit code and the number of trips."""
    trips = Trips(target, how, number)
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), trips.counted():
        return run(["migrate", "--from", source, "--to", target]), trips.made


def main(source: str, target: str) -> None:
    for line in sys.stdin:
        how, number = line.split()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            code, made = move(source, target, how, int(number))
            os.write(writing, str(made).encode())
            os._exit(code)
        os.close(writing)
        made_trips = os.read(reading, 20).decode() or number
        os.close(reading)
        exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write(f"{exit_code} {made_trips}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
