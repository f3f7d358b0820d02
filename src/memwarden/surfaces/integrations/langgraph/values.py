"""Item values as JSON text, and their filters."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from memwarden.errors import InvalidFilter, InvalidInput
from memwarden.stores.shared.items import Matches

# The longest value: what a server's JSON document may reach before it should be a file.
MAX_BYTES = 16_000_000

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda item, other: item > other,
    "$gte": lambda item, other: item >= other,
    "$lt": lambda item, other: item < other,
    "$lte": lambda item, other: item <= other,
}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)
# Below it a float is written like the whole number that it is, with ``.0`` behind it.
MAX_PLAIN_NUMBER = 10**15
_NEVER_IN_A_KEY = frozenset("'\"\\")


def text_of(value: Any) -> str:
    """Return a value as JSON text. Raises InvalidInput unless it is a JSON object of allowed size."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the value of an item is a mapping, not {value!r:.80}")
    try:
        _check_keys(value)
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, default=_mapping)
        size = len(text.encode())
    except UnicodeEncodeError:  # half of a character pair: as an escape it is JSON all the same
        text = json.dumps(dict(value), allow_nan=False, default=_mapping)
        size = len(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the value of an item is not JSON: {error}") from None
    # Measured in bytes after encoding: that is what a row and a server hold.
    if size > MAX_BYTES:
        raise InvalidInput(f"the value of an item has at most {MAX_BYTES:,} bytes as JSON, not {size:,}")
    return text


def matcher(conditions: Mapping[str, Any] | None) -> Matches | None:
    """Return a predicate on JSON texts for all conditions; None without any.

    A condition is a field, or a dotted path of fields, and what it has to be: a value; a mapping of operators to
    values; a mapping of inner fields to conditions; or a list, element by element.

    Raises InvalidFilter, which is a ValueError, for an unknown operator and for a field with quotes in its name.
    """
    if not conditions:
        return None
    if not isinstance(conditions, Mapping):
        raise InvalidFilter(f"a filter is a mapping of fields to conditions, not {conditions!r:.80}")
    for field, condition in conditions.items():
        _check_field(field)
        _check(condition)
    # A substring test leaves most rows out before any JSON is parsed.
    needles = _needles(conditions)
    return lambda text: all(needle in text for needle in needles) and _fits_all(json.loads(text), conditions)


def _needles(conditions: Mapping[str, Any]) -> list[str]:
    """Return texts that occur in every matching value, as :func:`text_of` writes it.

    Looking for such a text is many times faster than parsing the value. Only fields on top are told apart from paths,
    and only what has a single spelling: ASCII, as other signs may be escaped, and whole numbers as the beginning of a
    number.
    """
    found = []
    for field, condition in conditions.items():
        wanted = condition.get("$eq") if isinstance(condition, Mapping) else condition
        text = _json_beginning(wanted)
        if text is not None and field.isascii() and "." not in field:
            found.append(f"{json.dumps(field)}: {text}")
    return found


def _json_beginning(value: Any) -> str | None:
    """Return the text with which JSON writes a value, None when there are several ways."""
    if isinstance(value, str):
        return json.dumps(value) if value.isascii() else None
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float) and 0 < abs(value) < MAX_PLAIN_NUMBER and value == int(value):
        return str(int(value))
    return None


def _check_field(field: Any) -> None:
    if not isinstance(field, str) or _NEVER_IN_A_KEY & set(field) or not field.isprintable():
        raise InvalidFilter(f"Invalid filter key: {field!r}. A filter key is a field's name, without quotes")


def _check(condition: Any) -> None:
    if isinstance(condition, Mapping):
        operators = any(str(name).startswith("$") for name in condition)
        for name, inner in condition.items():
            if operators and name not in _OPERATORS:
                raise InvalidFilter(f"Unsupported operator: {name}; there are {', '.join(_OPERATORS)}")
            if not operators:
                _check_field(name)
                _check(inner)
    elif isinstance(condition, list | tuple):
        for inner in condition:
            _check(inner)


def _fits_all(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    return all(_fits(_field(value, field), condition) for field, condition in conditions.items())


def _field(value: Mapping[str, Any], name: str) -> Any:
    """Return the field of this name, else the value at the dotted path, else None."""
    if name in value or "." not in name:
        return value.get(name)
    found: Any = value
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def _fits(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_holds(value, operator, given) for operator, given in condition.items())
        return isinstance(value, Mapping) and _fits_all(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(_fits(item, wanted) for item, wanted in zip(value, condition, strict=True))
        )
    return _same(value, condition)


def _holds(value: Any, operator: str, given: Any) -> bool:
    if operator == "$eq":
        return _same(value, given)
    if operator == "$ne":
        return not _same(value, given)
    compare = _COMPARISONS[operator]
    if isinstance(value, str) and isinstance(given, str):
        return compare(value, given)
    numbers = _number(value), _number(given)
    # What is neither two texts nor two numbers has no order in JSON.
    return None not in numbers and compare(*numbers)


def _same(value: Any, other: Any) -> bool:
    """Compare JSON values: true is not 1, at any depth."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_same(value[name], other[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)


def _number(value: Any) -> float | int | None:
    """Return a number, also from a text; None for anything else."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the name of a field is a text, not {name!r:.80}")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)


def _mapping(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON: {value!r:.80}")
