"""Translates filters and orders to SQL. Values are bound; only names from fixed tables enter the text."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memwarden.clock import microseconds
from memwarden.errors import InvalidFilter
from memwarden.filters import (
    BOOLEAN,
    FIELDS,
    MANY,
    NUMBER,
    TEXT,
    TIME,
    UNSET_OR_AFTER,
    WRITTEN,
    Condition,
    Where,
    sort_field,
)
from memwarden.stores.postgres.sql.rows import encode_text
from memwarden.stores.shared.sql_values import COMPARE, NEVER_UNSET, join_conditions

_TYPES = {TEXT: "text", MANY: "text", NUMBER: "float8", BOOLEAN: "bool", TIME: "int8"}


def condition_sql(where: Where) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind. Raises InvalidFilter."""
    return join_conditions(where, _translate)


def order_sql(order_by: str, descending: bool) -> str:
    """Return the order of :meth:`memwarden.stores.protocol.Store.find`; ``n`` grows in the order of writing."""
    field = sort_field(order_by)
    direction = "DESC" if descending else "ASC"
    if field == WRITTEN:
        return f"n {direction}"
    # Only where NULL can occur: PostgreSQL reads an index backwards only for exactly the index's own order.
    unset_last = "" if field in NEVER_UNSET else " NULLS LAST"
    return f"{field} {direction}{unset_last}, n {direction}"


def _translate(condition: Condition) -> tuple[str, list[Any]]:
    field, op, wanted = condition
    if field not in FIELDS:
        raise InvalidFilter(f"unknown filter field {field!r}")
    kind, many = _TYPES[FIELDS[field]], FIELDS[field] == MANY
    if op == "$in":
        any_of = f"{field} && %s::text[]" if many else f"{field} = ANY(%s::{kind}[])"
        return any_of, [[_bind(item) for item in wanted]]
    if many:
        raise InvalidFilter(f"operator {op!r} does not apply to {field!r}")
    if op == UNSET_OR_AFTER:
        return f"({field} IS NULL OR {field} > %s::{kind})", [_bind(wanted)]
    if op == "$eq":
        return (f"{field} IS NULL", []) if wanted is None else (f"{field} = %s::{kind}", [_bind(wanted)])
    if op == "$ne":
        return f"{field} IS DISTINCT FROM %s::{kind}", [_bind(wanted)]
    if op in COMPARE:
        return f"{field} {COMPARE[op]} %s::{kind}", [_bind(wanted)]
    raise InvalidFilter(f"operator {op!r} does not apply to {field!r}")


def _bind(value: Any) -> Any:
    return microseconds(value) if isinstance(value, datetime) else encode_text(value)
