"""Builds the row of the namespace index from a memory."""

from __future__ import annotations

from typing import Any

from memwarden.clock import microseconds
from memwarden.records import IndexRow, Memory, Signals


def signal_values(signals: Signals) -> tuple[Any, ...]:
    """Return the columns of signals, as SQL engines write them."""
    return (signals.flags, signals.terms, signals.vector, signals.days, signals.pieces, signals.statements)


def index_row(n: int, memory: Memory, signals: Signals, *, live: bool = True) -> IndexRow:
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
    )
