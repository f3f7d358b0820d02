"""The filter language: exact values, lists as any-of, and operators such as ``$gte``.

``parse`` turns a caller's mapping into conditions; every backend and the index answer the same conditions alike, and
``matches`` is the plain-Python meaning that they are tested against.

* ``{"kind": "note"}`` exact. ``{"kind": ["note", "decision"]}`` any of them.
* ``{"tags": ["a", "b"]}`` and ``{"characters": [...]}``: any of them is on the memory.
* ``{"importance": {"$gte": 0.7}}``; several operators on a field must all hold.
* ``importance_min``, ``importance_max`` (levels 1..5), ``updated_after``, ``updated_before``:
  both ends are included for importance; ``after`` and ``before`` exclude the instant itself. A date without a time
  means its first instant, UTC.
* ``$in``, ``$nin``: any or none of a list. ``$exists``: whether the field is set. ``$contains``: a name is in a list.
* ``{"$and": [...]}`` of filters. ``{"$or": [...]}`` of values of one field.
* ``{"metadata": {"project": "x", "year": {"$gte": 2024}}}``, or ``{"metadata.project": "x"}``: a value of the caller's
  metadata; ``metadata.a.b`` leads into an object. Of a list any element counts. A value that is no text, number or
  boolean is as if unset. Numbers compare with numbers, texts with texts by code point.
* A bare ``None`` is no condition (clients send unused keys as null); ``{"$eq": None}`` asks for an unset field.
* An order comparison never matches an unset field; ``$ne`` does.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from itertools import chain
from typing import Any, NamedTuple

from memwarden.checks import MAX_WHOLE, from_level, quote
from memwarden.errors import InvalidFilter

TEXT = "text"
NUMBER = "number"
BOOLEAN = "boolean"
TIME = "time"
MANY = "list of text"
OBJECT = "object"

# Every field that can be filtered by, and the type of its values.
FIELDS: Mapping[str, str] = {
    "id": TEXT,
    "channel": TEXT,
    "kind": TEXT,
    "category": TEXT,
    "importance": NUMBER,
    "tags": MANY,
    "characters": MANY,
    "pinned": BOOLEAN,
    "source": TEXT,
    "role": TEXT,
    "name": TEXT,
    "user_id": TEXT,
    "agent_id": TEXT,
    "run_id": TEXT,
    "actor_id": TEXT,
    "thread_id": TEXT,
    "trust": TEXT,
    "created_at": TIME,
    "updated_at": TIME,
    "valid_from": TIME,
    "valid_to": TIME,
    "metadata": OBJECT,
}

# The same for items of the tiers, which stores answer and the index of a namespace does not.
ITEM_FIELDS: Mapping[str, str] = {**FIELDS, "token_cost": NUMBER}

# The designs' other names for a field.
ALIASES: Mapping[str, str] = {"timestamp": "created_at", "context_item_id": "id", "conversation_id": "thread_id"}

# Names the order of writing, to order by it; it is not a field to filter by.
WRITTEN = "written"

SORTABLE = frozenset(name for name, sort in ITEM_FIELDS.items() if sort not in (MANY, OBJECT)) | {WRITTEN}

# An operator of ours that no caller can write: the field is not set, or later than the value.
UNSET_OR_AFTER = "$unset_or_after"
# Another: any of the names is on the memory, in whatever capitals; the value holds them folded too.
IN_ANY_CASE = "$in_any_case"

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
# Operators that are read as others.
SPOKEN = ("$in", "$nin", "$exists", "$contains")
# Maximum filters in ``$and`` or ``$or``.
MAX_PARTS = 100

# Maximum names in a path into the metadata.
MAX_DEPTH = 8
# Quotes and backslashes end a name in the paths of SQLite.
_NAMES = re.compile(r'[^"\\\x00-\x1f]{1,256}').fullmatch

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}

_SHORTHANDS: Mapping[str, tuple[str, str]] = {
    "importance_min": ("importance", "$gte"),
    "importance_max": ("importance", "$lte"),
    "updated_after": ("updated_at", "$gt"),
    "updated_before": ("updated_at", "$lt"),
}


class Condition(NamedTuple):
    """A test of a field. op: ``$in`` (value: any of these) or one of :data:`OPERATORS`. Times are datetimes.

    path: of the field ``metadata``, the names that lead to the value.
    """

    field: str
    op: str
    value: Any
    path: tuple[str, ...] = ()


# Conditions that must all hold.
Where = tuple[Condition, ...]


def parse(filters: Mapping[str, Any] | None, fields: Mapping[str, str] = FIELDS) -> Where:
    """Check a caller's filters and turn them into conditions. fields: those that may be asked for.

    Raises InvalidFilter for an unknown field or operator and for a value of the wrong type.
    """
    if filters is None:
        return ()
    if not isinstance(filters, Mapping):
        raise InvalidFilter(f"filters must be a mapping of field to value, not {type(filters).__name__}")
    conditions: list[Condition] = []
    for name, value in filters.items():
        if name in ("$and", "$or"):
            parts = [parse(part, fields) for part in _parts(name, value)]
            conditions.extend([_alternatives(parts)] if name == "$or" else chain.from_iterable(parts))
        else:
            conditions.extend(_conditions(name, value, fields))
    return tuple(conditions)


def _parts(name: str, value: Any) -> Sequence[Mapping[str, Any]]:
    """Return the filters of ``$and`` or ``$or``."""
    parts = value if isinstance(value, list | tuple) else ()
    if not 0 < len(parts) <= MAX_PARTS or not all(isinstance(part, Mapping) for part in parts):
        raise InvalidFilter(f"{name} takes a list of 1 to {MAX_PARTS} filters, not {quote(value)}")
    if any("$and" in part or "$or" in part for part in parts):
        raise InvalidFilter(f"{name} takes filters without $and and $or inside")
    return parts


def _alternatives(parts: Sequence[Where]) -> Condition:
    """Return ``$or`` as one condition on one field. Raises InvalidFilter if there is none of the same meaning."""
    places = {(each.field, each.path) for part in parts for each in part}
    if len(places) != 1 or not all(len(part) == 1 and part[0].op in ("$eq", "$in") for part in parts):
        raise InvalidFilter("$or takes values of one field; for other alternatives ask once for each")
    values = [part[0].value if part[0].op == "$in" else (part[0].value,) for part in parts]
    if any(item is None for value in values for item in value):
        raise InvalidFilter("$or takes values, and not null; for an unset field ask with $exists")
    ((field, path),) = places
    return Condition(field, "$in", tuple(chain.from_iterable(values)), path)


def sort_field(name: str) -> str:
    """Return the field that ``order_by`` means. Raises InvalidFilter if it cannot be sorted by."""
    field = ALIASES.get(name, name) if isinstance(name, str) else ""
    if field not in SORTABLE:
        raise InvalidFilter(f"cannot order by {name!r}; known are: {', '.join(sorted(SORTABLE))}")
    return field


def matches(where: Where, record: Any) -> bool:
    """Tell whether a record (anything with the fields as attributes) fulfils every condition."""
    return all(holds(condition, getattr(record, condition.field)) for condition in where)


def holds(condition: Condition, actual: Any) -> bool:
    """Tell whether a field's value fulfils a condition on it."""
    field, op, wanted, path = condition
    if ITEM_FIELDS[field] == OBJECT:
        return _holds_inside(op, wanted, _values_at(actual, path))
    if op == "$in":
        return any(item in actual for item in wanted) if ITEM_FIELDS[field] == MANY else actual in wanted
    if op == IN_ANY_CASE:
        return any(item.casefold() in wanted for item in actual)
    if op == "$eq":
        return bool(actual == wanted)
    if op == UNSET_OR_AFTER:
        return actual is None or bool(actual > wanted)
    if op == "$ne":
        return bool(actual != wanted)
    return actual is not None and _COMPARE[op](actual, wanted)


def is_inside(condition: Condition) -> bool:
    """Whether a condition is on a value inside the metadata."""
    return ITEM_FIELDS.get(condition.field) == OBJECT


def sort_of(value: Any) -> str:
    """Return the type of a value inside the metadata: boolean, number or text; empty for others."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int | float):
        return NUMBER
    return TEXT if isinstance(value, str) else ""


def _values_at(metadata: Any, path: tuple[str, ...]) -> list[Any]:
    """The values of booleans, numbers and texts where a path leads; of a list its elements."""
    for name in path:
        if not isinstance(metadata, Mapping):
            return []
        metadata = metadata.get(name)
    values = metadata if isinstance(metadata, list | tuple) else [metadata]
    return [value for value in values if sort_of(value)]


def _holds_inside(op: str, wanted: Any, values: list[Any]) -> bool:
    if op == "$ne":
        return not _holds_inside("$eq", wanted, values)
    if op == "$eq" and wanted is None:
        return not values
    if op in _COMPARE:
        return any(sort_of(value) == sort_of(wanted) and _COMPARE[op](value, wanted) for value in values)
    anything = {(sort_of(item), item) for item in (wanted if op == "$in" else (wanted,))}
    return any((sort_of(value), value) in anything for value in values)


def _conditions(name: Any, value: Any, fields: Mapping[str, str]) -> list[Condition]:
    if isinstance(name, str) and name.startswith("metadata."):
        return _conditions_inside(tuple(name.split(".")[1:]), value)
    if name == "metadata" and isinstance(value, Mapping):
        return [condition for key, item in value.items() for condition in _conditions_inside((key,), item)]
    if value is None and (name in _SHORTHANDS or ALIASES.get(name, name) in fields):
        return []
    if name in _SHORTHANDS:
        field, op = _SHORTHANDS[name]
        number = _value(name, field, value)
        return [Condition(field, op, from_level(number) if field == "importance" else number)]
    field = ALIASES.get(name, name)
    if field not in fields:
        known = ", ".join(sorted([*fields, *_SHORTHANDS]))
        raise InvalidFilter(f"unknown filter field {name!r}; known fields: {known}; metadata.<name> for your own")
    if fields[field] == OBJECT:
        raise InvalidFilter(f'{name!r} takes an object such as {{"metadata": {{"project": "x"}}}}, not {quote(value)}')
    if isinstance(value, Mapping):
        return [
            _operator_condition(name, field, *each)
            for op, operand in value.items()
            for each in _plain_operators(name, op, operand)
        ]
    if isinstance(value, list | tuple | set | frozenset):
        return [Condition(field, "$in", tuple(_value(name, field, item) for item in value))]
    if ITEM_FIELDS[field] == MANY:
        return [Condition(field, "$in", (_value(name, field, value),))]
    return [Condition(field, "$eq", _value(name, field, value))]


def _conditions_inside(path: tuple[Any, ...], value: Any) -> list[Condition]:
    """Conditions on a value inside the metadata; an object without operators leads further in."""
    if value is None:
        return []
    name = ".".join(map(str, ("metadata", *path)))
    if len(path) > MAX_DEPTH or not all(isinstance(item, str) and item and _NAMES(item) for item in path):
        raise InvalidFilter(f"{quote(name)} is no path of names, at most {MAX_DEPTH} deep, without quotes and controls")
    if isinstance(value, Mapping) and not any(str(op).startswith("$") for op in value):
        return [each for key, item in value.items() for each in _conditions_inside((*path, key), item)]
    if isinstance(value, Mapping):
        return [
            _operator_inside(name, path, *each)
            for op, operand in value.items()
            for each in _plain_operators(name, op, operand)
        ]
    if isinstance(value, list | tuple | set | frozenset):
        return [Condition("metadata", "$in", tuple(_value_inside(name, item) for item in value), path)]
    return [Condition("metadata", "$eq", _value_inside(name, value), path)]


def _plain_operators(name: str, op: Any, operand: Any) -> list[tuple[str, Any]]:
    """Return an operator with its operand as operators that conditions have. Raises InvalidFilter."""
    if op == "$exists":
        if not isinstance(operand, bool):
            raise InvalidFilter(f"$exists on {name!r} takes true or false, not {quote(operand)}")
        return [("$ne" if operand else "$eq", None)]
    if op == "$contains":
        return [("$in", (operand,))]
    if op in ("$in", "$nin"):
        if not isinstance(operand, list | tuple | set | frozenset) or None in operand:
            raise InvalidFilter(f"{op} on {name!r} takes a list of values, not {quote(operand)}")
        return [("$in", tuple(operand))] if op == "$in" else [("$ne", item) for item in operand]
    if op not in OPERATORS:
        raise InvalidFilter(f"unknown operator {op!r} on {name!r}; known are: {', '.join((*OPERATORS, *SPOKEN))}")
    return [(op, operand)]


def _operator_inside(name: str, path: tuple[str, ...], op: str, operand: Any) -> Condition:
    if op == "$in":
        return Condition("metadata", op, tuple(_value_inside(name, item) for item in operand), path)
    if operand is None and op in ("$eq", "$ne"):
        return Condition("metadata", op, None, path)
    value = _value_inside(name, operand)
    if sort_of(value) == BOOLEAN and op not in ("$eq", "$ne"):
        raise InvalidFilter(f"operator {op} does not apply to {quote(value)}")
    return Condition("metadata", op, value, path)


def _value_inside(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= MAX_WHOLE:  # not as a float: long ids are whole numbers
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, str) and "\0" not in value:
        return str(value)
    raise InvalidFilter(f"{name!r} takes a text, a number, true or false, not {quote(value)}")


def _operator_condition(name: str, field: str, op: str, operand: Any) -> Condition:
    if op == "$in":
        return Condition(field, op, tuple(_value(name, field, item) for item in operand))
    if ITEM_FIELDS[field] == MANY:
        raise InvalidFilter(f"operator {op} does not apply to {name!r}, a list; give a list of values (any of them)")
    if operand is None and op in ("$eq", "$ne"):
        return Condition(field, op, None)
    if ITEM_FIELDS[field] == BOOLEAN and op not in ("$eq", "$ne"):
        raise InvalidFilter(f"operator {op} does not apply to {name!r}, which is true or false")
    return Condition(field, op, _value(name, field, operand))


def _value(name: str, field: str, value: Any) -> Any:
    sort = ITEM_FIELDS[field]
    if sort in (TEXT, MANY) and isinstance(value, str):
        return str(value)
    if sort == NUMBER and isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        try:
            return float(value)
        except OverflowError:
            raise InvalidFilter(f"{name!r} takes {sort}, not a number that large") from None
    if sort == BOOLEAN and isinstance(value, bool):
        return value
    if sort == TIME:
        return _time(name, value)
    raise InvalidFilter(f"{name!r} takes {sort}, not {quote(value)}")


def _time(name: str, value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            example = "2026-05-08 or 2026-05-08T13:56:00Z"
            raise InvalidFilter(f"{name!r} takes an ISO date or time such as {example}, not {quote(value)}") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise InvalidFilter(f"{name!r} takes an ISO date or time, not {quote(value)}")
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (OverflowError, ValueError):
        raise InvalidFilter(f"{name!r} takes a time in the years 1 to 9999 UTC, not {value}") from None
