"""Reads command-line input: texts, filters and stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from memwarden import filters
from memwarden.errors import InvalidFilter, InvalidInput


def text(argument: str) -> str:
    """Return the argument itself, or all of stdin for ``-``."""
    if argument != "-":
        return argument
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"stdin is no UTF-8 text (byte {error.start:,})") from None


def conditions(pairs: Sequence[str] | None) -> Mapping[str, Any] | None:
    """Parse filters given as ``name=value``; a value may be JSON. Raises InvalidFilter."""
    read: dict[str, Any] = {}
    for pair in pairs or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InvalidFilter(f"a filter is name=value, such as kind=decision, not {pair!r}")
        if name in read:
            raise InvalidFilter(f'filter {name!r} is given twice; for any of several values: {name}=["a", "b"]')
        read[name] = _value(name, value)
    return read or None


def _value(name: str, value: str) -> Any:
    """Parse a value as JSON where it is JSON, but keep ``thread_id=2026`` a text."""
    try:
        parsed = json.loads(value)
    except (json.JSONDecodeError, RecursionError):
        return value
    field = filters.ALIASES.get(name, name)
    is_text = filters.FIELDS.get(field) in (filters.TEXT, filters.TIME, filters.MANY)
    return value if is_text and isinstance(parsed, int | float) else parsed
