"""Translates filters and orders to SQL. Values are bound; only names from fixed tables enter the text."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memwarden.clock import microseconds
from memwarden.errors import InvalidFilter
from memwarden.filters import FIELDS, MANY, UNSET_OR_AFTER, WRITTEN, Condition, Where, sort_field
from memwarden.stores.shared.sql_values import COMPARE, NEVER_UNSET, join_conditions
from memwarden.stores.sqlite.rows import list_needle

_MAX_VALUES = 30_000  # SQLite binds at most 32,766 values in a statement


def condition_sql(where: Where) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind. Raises InvalidFilter."""
    text, values = join_conditions(where, _translate)
    if len(values) > _MAX_VALUES:
        raise InvalidFilter(f"the filters hold {len(values)} values; SQLite takes {_MAX_VALUES} in a call")
    return text, values


def order_sql(order_by: str, descending: bool) -> str:
    """Return the order of :meth:`memwarden.stores.protocol.Store.find`; ``row`` grows in the order of writing."""
    field = sort_field(order_by)
    direction = "DESC" if descending else "ASC"
    if field == WRITTEN:
        return f"row {direction}"
    unset_last = "" if field in NEVER_UNSET else f"{field} IS NULL, "
    return f"{unset_last}{field} {direction}, row {direction}"


def _translate(condition: Condition) -> tuple[str, list[Any]]:
    field, op, wanted = condition
    if field not in FIELDS:
        raise InvalidFilter(f"unknown filter field {field!r}")
    if op == UNSET_OR_AFTER:
        return f"({field} IS NULL OR {field} > ?)", [_bind(wanted)]
    if op == "$in":
        return _any_of(field, [_bind(item) for item in wanted])
    if op == "$eq" and FIELDS[field] != MANY:
        return (f"{field} IS NULL", []) if wanted is None else (f"{field} = ?", [_bind(wanted)])
    if op == "$ne" and FIELDS[field] != MANY:
        return f"{field} IS NOT ?", [_bind(wanted)]
    if op in COMPARE and FIELDS[field] != MANY:
        return f"{field} {COMPARE[op]} ?", [_bind(wanted)]
    raise InvalidFilter(f"operator {op!r} does not apply to {field!r}")


def _any_of(field: str, wanted: list[Any]) -> tuple[str, list[Any]]:
    if not wanted:
        return "0", []
    if FIELDS[field] != MANY:
        return f"{field} IN ({', '.join('?' * len(wanted))})", wanted
    rows = ", ".join(["(?)"] * len(wanted))
    return f"EXISTS (SELECT 1 FROM (VALUES {rows}) WHERE instr({field}, column1))", [
        list_needle(item) for item in wanted
    ]


def _bind(value: Any) -> Any:
    return microseconds(value) if isinstance(value, datetime) else value
