"""Answers reads on streaming replicas that have replayed what the primary holds of a namespace.

Before each such read the primary gives the namespace's revision and epoch. A replica of the same server and timeline
with that epoch and revision may answer. Otherwise the primary does. So an answer is never older than the primary's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar

from psycopg import Connection, Error

from memwarden.records import Head, Namespace
from memwarden.stores.postgres.connections import Connections
from memwarden.stores.postgres.read import Reader
from memwarden.stores.postgres.transaction import is_lost

T = TypeVar("T")

# Seconds that a replica which cannot be reached is left alone.
REST_SECONDS = 10.0
_CONNECT_SECONDS = 2.0  # libpq's shortest
# A server that was left behind by a promotion goes on along the earlier timeline. Of a replica, the timeline is that of
# its last restart point, so it answers again some minutes after a promotion.
_COURSE = b"""
    SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())
        ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END
    FROM pg_control_system()
"""

log = logging.getLogger(__name__)


class Position(NamedTuple):
    """What a server holds of a namespace.

    Attributes:
        course: identifier of the server's data and its timeline. head: of the namespace.
    """

    course: tuple[int, int]
    head: Head

    def reaches(self, other: Position) -> bool:
        """Return whether everything of another server's namespace is here, too."""
        return (self.course, self.head.epoch) == (other.course, other.head.epoch) and self.head.rev >= other.head.rev


class _Replica:
    """A replica, and the time until which it is left alone."""

    def __init__(self, url: str, address: str) -> None:
        self.connections = Connections(url, _CONNECT_SECONDS, address)
        self.rests_until = 0.0


class Replicas:
    """The replicas of a database, which take turns.

    Args:
        url: of the primary. addresses: ``host`` or ``host:port`` of each replica. seconds: time limit of a statement.
    """

    def __init__(self, url: str, addresses: Sequence[str], seconds: float) -> None:
        self._replicas = [_Replica(url, address) for address in addresses]
        self._seconds = seconds
        self._turns = count()

    def __bool__(self) -> bool:
        return bool(self._replicas)

    def read_position(self, db: Connection[Any], namespace: Namespace) -> Position:
        """Return what the server of a connection holds of a namespace."""
        course = db.execute(_COURSE).fetchone()
        assert course is not None
        return Position(course, Reader(db, self._seconds).head(namespace))

    def attempt(self, namespace: Namespace, position: Position, work: Callable[[Connection[Any]], T]) -> list[T]:
        """Return the result of work on a replica that reaches a position. Empty if there is none."""
        first = next(self._turns) % len(self._replicas)
        for replica in (*self._replicas[first:], *self._replicas[:first]):
            if time.monotonic() < replica.rests_until:
                continue
            try:
                with replica.connections.borrow() as db:
                    if self.read_position(db, namespace).reaches(position):
                        return [work(db)]
            except Error as error:
                self._note(replica, error)
        return []

    def close(self) -> None:
        """Close all idle connections."""
        for replica in self._replicas:
            replica.connections.close()

    def _note(self, replica: _Replica, error: Error) -> None:
        """Leave a lost replica alone. Other errors are those of a statement, which the primary will do."""
        if is_lost(error):
            replica.rests_until = time.monotonic() + REST_SECONDS
            replica.connections.close()
        place = replica.connections.place
        log.warning("%s does not answer a read, so the primary does: %s", place, type(error).__name__)
