"""Values and conditions that all SQL engines encode alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memwarden.errors import InvalidInput
from memwarden.filters import Condition, Where

COMPARE = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
NEVER_UNSET = frozenset(
    {"id", "channel", "kind", "category", "importance", "pinned", "trust", "created_at", "updated_at"}
)
"""Columns without NULL, so that ordering by them needs no NULLS LAST."""


def join_source_key(thread: str | None, source_key: str | None) -> str | None:
    """Return an unambiguous text for a thread and a source key, or None without a source key."""
    if source_key is None:
        return None
    return f":{source_key}" if thread is None else f"{len(thread)}:{thread}{source_key}"


def meta_text(meta: Mapping[str, Any] | None) -> str | None:
    """Return a change's meta as JSON. Raises InvalidInput for values that JSON cannot hold."""
    try:
        return None if meta is None else json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the meta of a change is not JSON: {error}") from None


def check_text(*values: object) -> None:
    """Raise InvalidInput for a text among these values that is not valid Unicode."""
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(f"text that no file can hold (half of a character pair): {error}") from None


def join_conditions(where: Where, translate: Callable[[Condition], tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind; ``translate`` handles a single condition."""
    said = [translate(condition) for condition in where]
    return "".join(f" AND {text}" for text, _ in said), [value for _, values in said for value in values]
