"""Values and conditions that all SQL engines encode alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from memwarden.clock import microseconds
from memwarden.errors import InvalidInput
from memwarden.filters import Condition, Where
from memwarden.records import IndexRow, Memory, Signals

COMPARE = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
NEVER_UNSET = frozenset(
    {"id", "channel", "kind", "category", "importance", "pinned", "trust", "created_at", "updated_at"}
)
"""Columns without NULL, so that ordering by them needs no NULLS LAST."""


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
    return (signals.flags, signals.terms, signals.vector, signals.days, signals.pieces, signals.statements)


def index_row(n: int, memory: Memory, signals: Signals, *, live: bool = True, forgotten: bool = False) -> IndexRow:
    """Return the row of a memory with its signals; ``n`` is its number in the order of first writing."""
    return IndexRow(
        n=n,
        id=memory.id,
        live=live,
        terms=signals.terms,
        vector=signals.vector,
        flags=signals.flags,
        days=signals.days,
        pieces=signals.pieces,
        statements=signals.statements,
        created_at=microseconds(memory.created_at),
        updated_at=microseconds(memory.updated_at),
        channel=memory.channel,
        kind=memory.kind,
        category=memory.category,
        importance=memory.importance,
        pinned=memory.pinned,
        tags=memory.tags,
        characters=memory.characters,
        source=memory.source,
        sources=memory.sources,
        role=memory.role,
        name=memory.name,
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        run_id=memory.run_id,
        actor_id=memory.actor_id,
        thread_id=memory.thread_id,
        valid_from=None if memory.valid_from is None else microseconds(memory.valid_from),
        valid_to=None if memory.valid_to is None else microseconds(memory.valid_to),
        trust=memory.trust,
        forgotten=forgotten,
    )
