"""Operational events in memory: the reference meaning of every engine's answers."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from memwarden.clock import microseconds, moment
from memwarden.errors import InvalidInput
from memwarden.observability.records import EventFilter, OpCount, OpEvent, count_events
from memwarden.records import Namespace
from memwarden.stores.shared.decide import check_text
from memwarden.stores.transfer.erasure import ErasedPart


class EventList:
    """The events of a store's namespaces, each namespace sorted by time."""

    def __init__(self) -> None:
        self._events: dict[Namespace, list[OpEvent]] = {}

    def record(self, events: Sequence[OpEvent]) -> None:
        """Add events in UTC (:func:`memwarden.observability.records.in_utc`), skipping known ones."""
        for event in events:
            known = self._events.setdefault(event.namespace, [])
            at = bisect_left(known, _order(event), key=_order)
            if at == len(known) or _order(known[at]) != _order(event):
                known.insert(at, event)

    def knows(self, namespace: Namespace) -> bool:
        """Return whether a namespace's events were loaded."""
        return namespace in self._events

    def know(self, namespace: Namespace, events: Sequence[OpEvent]) -> None:
        """Load the events that a namespace has so far."""
        self._events[namespace] = []
        self.record(events)

    def events(self, namespace: Namespace, where: EventFilter, limit: int, descending: bool) -> list[OpEvent]:
        events = self._since(namespace, where)
        wanted = (event for event in (reversed(events) if descending else events) if where.matches(event))
        return list(islice(wanted, check_limit(limit)))

    def counts(self, namespace: Namespace, where: EventFilter, seconds: int) -> list[OpCount]:
        return count_events(
            (item for item in self._since(namespace, where) if where.matches(item)), check_span(seconds)
        )

    def prune(self, namespace: Namespace, before: datetime, most: int) -> int:
        events = self._events.get(namespace, [])
        gone = max(bisect_left(events, before, key=_time), len(events) - check_limit(most))
        self._events[namespace] = events[gone:]
        return gone

    def _since(self, namespace: Namespace, where: EventFilter) -> list[OpEvent]:
        """Return the events from the filter's beginning on."""
        events = self._events.get(namespace, [])
        return events if where.since is None else events[bisect_left(events, where.since, key=_time) :]

    def erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        """Remove the events of memories and threads."""
        gone, threads = set(part.ids), set(part.threads)
        known = self._events.get(namespace, [])
        left = [event for event in known if event.memory_id not in gone and event.thread_id not in threads]
        if known:
            self._events[namespace] = left

    def discard(self, namespace: Namespace) -> None:
        self._events.pop(namespace, None)


def check_limit(limit: object) -> int:
    """Return a limit that every engine can bind. Raises InvalidInput unless it is a whole number from 0."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise InvalidInput(f"a limit is a whole number from 0, not {limit!r}")
    return min(limit, sys.maxsize // 2)


def check_span(seconds: object) -> int:
    """Return a span of seconds. Raises InvalidInput unless it is a whole number from 1."""
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= 2**40:
        raise InvalidInput(f"a span of time is a whole number of seconds from 1, not {seconds!r}")
    return seconds


def _time(event: OpEvent) -> datetime:
    return event.ts


def _order(event: OpEvent) -> tuple[datetime, str]:
    return event.ts, event.id


# The columns of a row after the two names of its namespace.
COLUMNS = (
    "ts", "id", "node", "op", "status", "user_id", "agent_id", "thread_id", "memory_id", "category", "sim", "rev", "ms",
    "count", "reason",
)  # fmt: skip
EventValues = tuple[Any, ...]


def row_of(event: OpEvent) -> EventValues:
    """Return the row of an event, without the names of its namespace."""
    return (microseconds(event.ts), *(getattr(event, name) for name in COLUMNS[1:]))


def check_events(events: Sequence[OpEvent]) -> None:
    """Raise InvalidInput for text that is not valid Unicode."""
    for event in events:
        check_text(event.namespace.tenant, event.namespace.path, *row_of(event))


def event_of(namespace: Namespace, row: Sequence[Any]) -> OpEvent:
    """Return the event of a row."""
    return OpEvent(namespace=namespace, **{**dict(zip(COLUMNS, row, strict=True)), "ts": moment(row[0])})


def count_of(row: Sequence[Any]) -> OpCount:
    """Return the count of a row of time, node, op, status and sum."""
    return OpCount(moment(row[0]), row[1], row[2], row[3], int(row[4]))


def where_sql(where: EventFilter, mark: str) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for a filter, with ``mark`` for each value to bind, and the values."""
    parts: list[tuple[str, list[Any]]] = [(f"{name} = {mark}", [value]) for name, value in where.equal().items()]
    if where.since is not None:
        parts.append((f"ts >= {mark}", [microseconds(where.since)]))
    if where.until is not None:
        parts.append((f"ts < {mark}", [microseconds(where.until)]))
    viewer = where.viewer
    if viewer is not None:
        own = f"(category IS NULL AND memory_id IS NULL AND agent_id = {mark})"
        marks = ", ".join([mark] * len(viewer.categories))
        named = f"category IN ({marks})" if viewer.categories else "1 = 0"
        parts.append((f"({named} OR {own})", [*viewer.categories, viewer.agent]))
    text = "".join(f" AND {item}" for item, _ in parts)
    return text, [value for _, values in parts for value in values]
