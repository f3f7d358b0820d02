"""The tokens that jobs may spend on a chat model: so many a day for a tenant, whoever spends them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from memwarden.clock import new_id
from memwarden.observability.records import EventFilter, Node, Op, OpEvent, Status
from memwarden.records import Namespace
from memwarden.stores.protocol import Store

# The reason of the events in which a tenant's tokens are reserved.
RESERVED: Final = "reserved_tokens"
MAX_RESERVATIONS: Final = 10_000


def ledger_of(tenant: str) -> Namespace:
    """Return where a tenant's reservations are noted, so that all its users share a budget."""
    return Namespace(tenant, "global")


def day_of(at: datetime) -> datetime:
    """Return the beginning of a day, UTC."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


async def reserve_tokens(store: Store, tenant: str, tokens: int, most: int, at: datetime) -> bool:
    """Reserve tokens of a tenant's day; return whether they may be spent.

    The reservation is written before the sum is read: of two workers that reserve the last tokens at once, both may be
    refused, and never both be let through.
    """
    ledger = ledger_of(tenant)
    if await _reserved(store, ledger, at) + tokens > most:
        return False
    event = OpEvent(new_id(), ledger, Node.WORKER, Op.MODEL, Status.OK, at, count=tokens, reason=RESERVED)
    await store.record([event])
    return await _reserved(store, ledger, at) <= most


async def release_tokens(store: Store, tenant: str, tokens: int, at: datetime) -> None:
    """Give back tokens of a tenant's day that were reserved for a model that failed."""
    event = OpEvent(new_id(), ledger_of(tenant), Node.WORKER, Op.MODEL, Status.OK, at, count=-tokens, reason=RESERVED)
    await store.record([event])


async def count_reserved(store: Store, tenant: str, at: datetime) -> int:
    """Return how many tokens of a tenant's day are reserved."""
    return await _reserved(store, ledger_of(tenant), at)


async def _reserved(store: Store, ledger: Namespace, at: datetime) -> int:
    begun = day_of(at)
    where = EventFilter(since=begun, until=begun + timedelta(days=1), node=Node.WORKER, op=Op.MODEL)
    found = await store.events(ledger, where, limit=MAX_RESERVATIONS)
    return sum(event.count for event in found if event.reason == RESERVED)
