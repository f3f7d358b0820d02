"""Writes that no verb makes by itself, for tests of what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memwarden import AsyncWarden, clock
from memwarden.recall.index.encode import make_signals
from memwarden.records import Batch, Event, Namespace, Put, WriteMode


async def close_validity(warden: AsyncWarden, namespace: Namespace, memory_id: str, end: datetime) -> None:
    """End a memory's validity, as a newer fact does."""
    (memory,) = await warden.store.get(namespace, [memory_id])
    (signals,) = make_signals([(memory.text, memory.created_at)], None)
    put = Put(replace(memory, valid_to=end), signals, WriteMode.UPDATE, event=Event.SUPERSEDE)
    await warden.store.apply(Batch(namespace, (put,), clock.now()))
