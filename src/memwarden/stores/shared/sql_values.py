"""Values and conditions that all SQL engines encode alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memwarden.errors import InvalidInput
from memwarden.filters import Condition, Where
from memwarden.records import Signals

COMPARE = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
# Columns without NULL, so that ordering by them needs no NULLS LAST.
NEVER_UNSET = frozenset(
    {"id", "channel", "kind", "category", "importance", "pinned", "trust", "created_at", "updated_at"}
)

# The columns of a journal entry, in its order.
JOURNAL_COLUMNS = "seq, event, memory_id, old_version, new_version, actor, thread_id, at, channel, step, meta"


def meta_text(meta: Mapping[str, Any] | None) -> str | None:
    """Return a change's meta as JSON. Raises InvalidInput for values that JSON cannot hold."""
    try:
        return None if meta is None else json.dumps(dict(meta), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the meta of a change is not JSON: {error}") from None


def join_conditions(where: Where, translate: Callable[[Condition], tuple[str, list[Any]]]) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind; ``translate`` handles a single condition."""
    said = [translate(condition) for condition in where]
    return "".join(f" AND {text}" for text, _ in said), [value for _, values in said for value in values]


def signal_values(signals: Signals) -> tuple[Any, ...]:
    """Return the columns of signals, as SQL engines write them."""
    return (
        signals.flags,
        signals.terms,
        signals.vector,
        signals.days,
        signals.pieces,
        signals.statements,
        signals.passages,
    )
