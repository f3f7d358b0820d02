"""What every SQL engine says alike: forms of values that are more than a value, and how filters become conditions."""

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
"""Columns that are filled in every row, so that an order by one of them needs no word about NULL."""


def join_source_key(thread: str | None, source_key: str | None) -> str | None:
    """Return one text for a thread and a source key that no other pair has, or None without a source key."""
    if source_key is None:
        return None
    return f":{source_key}" if thread is None else f"{len(thread)}:{thread}{source_key}"


def meta_text(meta: Mapping[str, Any] | None) -> str | None:
    """Return a change's meta as JSON. Raises InvalidInput for what is none."""
    try:
        return None if meta is None else json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the meta of a change is not JSON: {error}") from None


def check_text(*values: object) -> None:
    """Raise InvalidInput for a text among these values that no file can hold."""
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(f"text that no file can hold (half of a character pair): {error}") from None


def join_conditions(where: Where, item: Callable[[Condition], tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind; ``one`` says it of a single condition."""
    said = [item(condition) for condition in where]
    return "".join(f" AND {text}" for text, _ in said), [value for _, values in said for value in values]
