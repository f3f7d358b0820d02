"""Counts of calls in the database. A call is one transaction of one statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final

from psycopg import Connection

from memwarden import clock
from memwarden.clock import microseconds
from memwarden.records import Namespace
from memwarden.stores.postgres.transaction import begin, scope_values
from memwarden.stores.shared.counts import CallCount

Counted = tuple[CallCount, float]
InThread = Callable[[Callable[[Connection[Any]], Counted]], Awaitable[Counted]]

# A row that is ahead by one period is of the moment before the clock was set back, one that is further ahead is wrong.
_ADD: Final = b"""
    INSERT INTO memwarden.call_counts AS t (tenant, namespace, counter, period, calls, earlier, expires_at)
    VALUES (%s, %s, %s, floor(extract(epoch FROM clock_timestamp()) / %s::int8)::int8, %s::int8, 0,
        ((extract(epoch FROM clock_timestamp()) + %s::int8) * 1000000)::int8)
    ON CONFLICT (tenant, namespace, counter) DO UPDATE SET
        period = CASE WHEN t.period = excluded.period + 1 THEN t.period ELSE excluded.period END,
        calls = excluded.calls
            + CASE WHEN t.period IN (excluded.period, excluded.period + 1) THEN t.calls ELSE 0 END,
        earlier = CASE WHEN t.period IN (excluded.period, excluded.period + 1) THEN t.earlier
            WHEN t.period = excluded.period - 1 THEN t.calls ELSE 0 END,
        expires_at = excluded.expires_at
    RETURNING period, calls, earlier, expires_at
"""
_PRUNE: Final = b"DELETE FROM memwarden.call_counts WHERE tenant = %s AND namespace = %s AND expires_at < %s::int8"
_PRUNE_EVERY: Final = 1_000  # additions of a process
_AT_EASE: Final = b"SET LOCAL synchronous_commit = off"


class PostgresCounts:
    """Counts of an open :class:`memwarden.stores.postgres.PostgresStore`.

    Args:
        in_thread: runs work over a connection of the store.
        seconds: time limit of a statement.
    """

    def __init__(self, in_thread: InThread, seconds: float) -> None:
        self._in_thread = in_thread
        self._seconds = seconds
        self._additions = count(1)

    async def add(self, namespace: Namespace, counter: str, seconds: int, calls: int) -> Counted:
        lifetime = 2 * seconds
        values = (*scope_values(namespace), counter, seconds, calls, lifetime)
        prunes = next(self._additions) % _PRUNE_EVERY == 0

        def work(db: Connection[Any]) -> Counted:
            with db.pipeline():
                begin(db, namespace, self._seconds)
                db.execute(_AT_EASE)
                added = db.execute(_ADD, values)
                db.execute(b"COMMIT")
            if prunes:  # in a transaction of its own, which holds no counter that others wait for
                self._prune(db, namespace)
            *numbers, expires_at = added.fetchall()[0]
            return CallCount(*numbers), expires_at / 1_000_000 - lifetime

        return await self._in_thread(work)

    def _prune(self, db: Connection[Any], namespace: Namespace) -> None:
        with db.pipeline():
            begin(db, namespace, self._seconds)
            db.execute(_AT_EASE)
            db.execute(_PRUNE, (*scope_values(namespace), microseconds(clock.now())))
            db.execute(b"COMMIT")
