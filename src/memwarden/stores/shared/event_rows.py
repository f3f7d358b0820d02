"""Operational events as table rows, and event filters as SQL, for all SQL engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memwarden.clock import microseconds, moment
from memwarden.observability.records import EventFilter, OpCount, OpEvent
from memwarden.records import Namespace
from memwarden.stores.shared.sql_values import check_text

COLUMNS = (
    "ts", "id", "node", "op", "status", "user_id", "agent_id", "thread_id", "memory_id", "category", "sim", "rev", "ms",
    "count", "reason",
)  # fmt: skip
"""The columns of a row after the two names of its namespace."""
Values = tuple[Any, ...]


def row_of(event: OpEvent) -> Values:
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
