"""Counts of calls in the database. A call is one transaction of one statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from itertools import count
from typing import Any, Final

from psycopg import Connection

from memwarden import clock
from memwarden.clock import microseconds
from memwarden.records import Namespace
from memwarden.stores.postgres.transaction import begin, scope_values
from memwarden.stores.shared.counts import CallCount

InThread = Callable[[Callable[[Connection[Any]], CallCount]], Awaitable[CallCount]]

_ADD: Final = b"""
    INSERT INTO memwarden.call_counts AS t (tenant, namespace, counter, period, calls, earlier, expires_at)
    VALUES (%s, %s, %s, %s::int8, %s::int8, 0, %s::int8)
    ON CONFLICT (tenant, namespace, counter) DO UPDATE SET
        period = greatest(t.period, excluded.period),
        calls = excluded.calls + CASE WHEN excluded.period <= t.period THEN t.calls ELSE 0 END,
        earlier = CASE WHEN excluded.period <= t.period THEN t.earlier
            WHEN excluded.period = t.period + 1 THEN t.calls ELSE 0 END,
        expires_at = greatest(t.expires_at, excluded.expires_at)
    RETURNING period, calls, earlier
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

    async def add(self, namespace: Namespace, counter: str, period: int, calls: int, expires_at: datetime) -> CallCount:
        values = (*scope_values(namespace), counter, period, calls, microseconds(expires_at))
        prunes = next(self._additions) % _PRUNE_EVERY == 0

        def work(db: Connection[Any]) -> CallCount:
            with db.pipeline():
                begin(db, namespace, self._seconds)
                db.execute(_AT_EASE)
                added = db.execute(_ADD, values)
                db.execute(b"COMMIT")
            if prunes:  # in a transaction of its own, which holds no counter that others wait for
                self._prune(db, namespace)
            return CallCount(*(int(value) for value in added.fetchall()[0]))

        return await self._in_thread(work)

    def _prune(self, db: Connection[Any], namespace: Namespace) -> None:
        with db.pipeline():
            begin(db, namespace, self._seconds)
            db.execute(_AT_EASE)
            db.execute(_PRUNE, (*scope_values(namespace), microseconds(clock.now())))
            db.execute(b"COMMIT")
