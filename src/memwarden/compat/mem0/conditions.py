"""mem0's filter language, read and evaluated on a memory's fields.

Keys are fields of a memory or of its metadata; all conditions must hold. Values are exact, a list means any of them,
``"*"`` any value, and an object names operators: ``eq ne in nin gt gte lt lte contains icontains``. ``AND``, ``OR`` and
``NOT`` take lists of filters; ``NOT`` requires that none of them holds.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memwarden.checks import quote
from memwarden.errors import InvalidFilter, InvalidInput

Fields = Mapping[str, Any]

ENTITIES = ("user_id", "agent_id", "run_id")
# Fields of an answer that are not the caller's metadata.
OWN_FIELDS = (*ENTITIES, "actor_id", "role", "expiration_date", "created_at", "updated_at", "hash", "id", "data")

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_OPERATORS = ("eq", "ne", "in", "nin", *_ORDER, "contains", "icontains")


class FilterParts(NamedTuple):
    """A filter, divided by who evaluates each part.

    Attributes:
        user: the user whose memories are meant; None for memories without a user.
        metadata: exact values of the metadata, which the store selects by. ``agent_id`` and ``run_id`` are among them.
        rest: conditions that :func:`holds` evaluates on each memory.
    """

    user: str | None
    metadata: Mapping[str, Any]
    rest: Mapping[str, Any]


def check_entity(value: Any, name: str) -> str | None:
    """Return the id of a user, agent or run as mem0 reads it: trimmed, numbers as text. None for None.

    Raises InvalidInput for an empty id and for an id with white space.
    """
    if value is None:
        return None
    entity = str(value).strip()
    if not entity or any(character.isspace() for character in entity):
        raise InvalidInput(f"Invalid {name}: {quote(value)} is empty or contains whitespace")
    return entity


def read_filters(filters: Mapping[str, Any] | None) -> FilterParts:
    """Check a filter and divide it. Raises InvalidFilter, InvalidInput without any entity."""
    if filters is not None and not isinstance(filters, Mapping):
        raise InvalidFilter(f"filters is a mapping, not {quote(filters)}")
    given = dict(filters or {})
    entities = {name: check_entity(given.pop(name), name) for name in ENTITIES if name in given}
    if not any(entities.values()):
        raise InvalidInput(
            f"filters must contain at least one of: {', '.join(ENTITIES)}. For example {{'user_id': 'u1'}}"
        )
    if "*" in entities.values():
        raise InvalidFilter("an entity id in filters names a single user, agent or run, not '*'")
    _check(given)
    metadata = {name: value for name, value in entities.items() if value is not None and name != "user_id"}
    for name, value in list(given.items()):
        if _is_exact(name, value):
            metadata[name] = given.pop(name)
    return FilterParts(entities.get("user_id"), metadata, given)


def holds(filters: Mapping[str, Any], fields: Fields) -> bool:
    """Whether all conditions of a checked filter hold for the fields of a memory."""
    for name, value in filters.items():
        if name == "AND":
            passed = all(holds(part, fields) for part in value)
        elif name == "OR":
            passed = any(holds(part, fields) for part in value)
        elif name == "NOT":
            passed = not any(holds(part, fields) for part in value)
        else:
            passed = _field_holds(value, fields.get(name))
        if not passed:
            return False
    return True


def _is_exact(name: str, value: Any) -> bool:
    """Whether the store can select by a condition: the exact value of a plain name in the metadata."""
    plain = name.isidentifier() and name not in OWN_FIELDS and name not in ("AND", "OR", "NOT")
    return plain and isinstance(value, str | int | float | bool) and value != "*"


def _check(filters: Mapping[str, Any]) -> None:
    for name, value in filters.items():
        if not isinstance(name, str):
            raise InvalidFilter(f"a name in filters is a text, not {quote(name)}")
        if name in ("AND", "OR", "NOT"):
            _check_parts(name, value)
        elif isinstance(value, Mapping):
            _check_operators(name, value)


def _check_parts(name: str, parts: Any) -> None:
    if not isinstance(parts, list) or not all(isinstance(part, Mapping) for part in parts):
        raise InvalidFilter(f"{name} operator requires a list of conditions, not {quote(parts)}")
    if not parts and name != "AND":
        raise InvalidFilter(f"{name} operator requires a non-empty list of conditions")
    for part in parts:
        _check(part)


def _check_operators(name: str, conditions: Mapping[str, Any]) -> None:
    for op, value in conditions.items():
        if op not in _OPERATORS:
            raise InvalidFilter(f"Unsupported metadata filter operator: {quote(op)} on {name!r}")
        if op in ("in", "nin") and not isinstance(value, list | tuple | set):
            raise InvalidFilter(f"{op} on {name!r} takes a list, not {quote(value)}")


def _field_holds(condition: Any, value: Any) -> bool:
    if isinstance(condition, Mapping):
        return all(_operator_holds(op, wanted, value) for op, wanted in condition.items())
    if isinstance(condition, list | tuple | set):
        return _operator_holds("in", condition, value)
    return condition == "*" or _operator_holds("eq", condition, value)


def _operator_holds(op: str, wanted: Any, value: Any) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    if op in ("eq", "ne"):
        return any(_same(item, wanted) for item in values) == (op == "eq")
    if op in ("in", "nin"):
        return any(_same(item, each) for item in values for each in wanted) == (op == "in")
    if op in _ORDER:
        return any(_in_order(_ORDER[op], item, wanted) for item in values)
    return _contains(values, str(wanted), folded=op == "icontains")


def _same(value: Any, wanted: Any) -> bool:
    # True is not 1 here: JSON keeps them apart.
    return bool(isinstance(value, bool) == isinstance(wanted, bool) and value == wanted)


def _contains(values: Sequence[Any], part: str, *, folded: bool) -> bool:
    texts = [item for item in values if isinstance(item, str)]
    return any(part.casefold() in text.casefold() if folded else part in text for text in texts)


def _in_order(compare: Callable[[Any, Any], bool], value: Any, wanted: Any) -> bool:
    numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in (value, wanted))
    if numbers:
        return compare(value, wanted)
    moments = (_moment(value), _moment(wanted))
    if None not in moments:
        return compare(*moments)
    return isinstance(value, str) and isinstance(wanted, str) and compare(value, wanted)


def _moment(value: Any) -> datetime | None:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
