"""The job ``expire``: soft-deletes what nobody needed for long, and purges what could be restored for long enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from memwarden.categories import Category
from memwarden.filters import Condition
from memwarden.lifecycle import KEPT_AFTER_FORGETTING, Ends, ends
from memwarden.records import (
    CARD,
    Channel,
    Event,
    Memory,
    MemoryState,
    Put,
    Remove,
    Signals,
    WriteMode,
)
from memwarden.remember.resolve.resolution import is_card
from memwarden.remember.write_store import is_reserved
from memwarden.stores.protocol import StoreReader
from memwarden.upkeep.records import MOVED_BY_USE, JobChange, JobContext, JobReport, add_reports

# A memory that stood in no answer for so long may expire, unless its category says otherwise.
DEFAULT_UNUSED_DAYS: Final = 60
# An index card stands in no answer: turns are found by it. Ending it earlier costs answers (docs/reference/upkeep.md).
CARD_UNUSED_DAYS: Final = 365
# And only when it matters less than this (level 2 of 5).
DEFAULT_MIN_IMPORTANCE: Final = 0.4
# The states in which a memory waits for nothing but its purge.
PURGED_STATES: Final = (MemoryState.SOFT_DELETED, MemoryState.CANDIDATE)
# Earlier contents of a value by key are kept so long after its last change.
EARLIER_STATE_DAYS: Final = 30
MAX_ENTRIES_READ: Final = 20
_DERIVED: Final = (Channel.SEMANTIC, Channel.EPISODIC, Channel.INSIGHT)
# What a version says of the version that it repeats, so that no delta tells it and no undo stumbles over it.
_CONTENT_OF: Final = "content_of"


def idle_days(last: datetime, at: datetime) -> float:
    """Return for how many days a memory stood in no answer."""
    return (at - last) / timedelta(days=1)


def importance_now(importance: float, idle: float, half_life_days: float | None) -> float:
    """Return how much a memory still matters: halved after each half-life in which nobody needed it."""
    return importance if half_life_days is None else importance * 0.5 ** (idle / half_life_days)


def is_unused(memory: Memory, last: datetime, at: datetime, policy: Category | None) -> bool:
    """Whether a memory expires because nobody needed it. last: when it was written, changed or read last."""
    if memory.pinned or ends(memory.channel, memory.namespace.path) != Ends.UNUSED:
        return False
    category = policy or Category(memory.category)
    if category.never_expires:
        return False
    idle = idle_days(last, at)
    if idle <= (category.expire_days or (CARD_UNUSED_DAYS if is_card(memory) else DEFAULT_UNUSED_DAYS)):
        return False
    least = DEFAULT_MIN_IMPORTANCE if category.expire_below is None else category.expire_below
    return importance_now(memory.importance, idle, category.half_life_days) < least


def is_over(memory: Memory, at: datetime) -> bool:
    """Whether a value by key has passed the date that it was given."""
    if memory.pinned or ends(memory.channel, memory.namespace.path) != Ends.OWN_DATE:
        return False
    return memory.valid_to is not None and memory.valid_to <= at


def may_purge(memory: Memory, at: datetime) -> bool:
    """Whether a memory that is not active could be restored for long enough."""
    return memory.purge_at is not None and memory.purge_at <= at


def empty_memory(memory: Memory, at: datetime, *, covers: bool = False) -> Memory:
    """Return what is left of a purged memory: its id, its place and nothing that was said.

    covers: its turns must not say what it said, so that it goes on to name them.
    """
    return Memory(
        memory.id,
        memory.namespace,
        "",
        memory.created_at,
        at,
        channel=memory.channel,
        category=memory.category,
        importance=0.0,
        thread_id=memory.thread_id,
        user_id=memory.user_id,
        sources=memory.sources if covers else (),
    )


async def expire(context: JobContext) -> JobReport:
    """Soft-delete what is over, drop old versions of values by key, and purge what was soft-deleted long ago."""
    steps = (_expire_unused, _expire_values, _drop_versions, _purge)
    return add_reports([await step(context) for step in steps])


async def _expire_unused(context: JobContext) -> JobReport:
    oldest = context.at - timedelta(days=1)
    where = (
        Condition("channel", "$in", tuple(map(str, _DERIVED))),
        Condition("pinned", "$eq", False),
        Condition("updated_at", "$lt", oldest),
    )
    ids = await context.runtime.store.find_ids(context.namespace, where)
    return await context.in_parts(_expire_some, ids)


async def _expire_some(context: JobContext, ids: Sequence[str]) -> JobReport:
    store, namespace = context.runtime.store, context.namespace
    rev = (await store.head(namespace)).rev  # first: what changes after it makes the decision Stale
    accesses = await store.accesses(namespace, ids)
    policies = context.runtime.settings.categories.declared
    gone = []
    for memory in await store.get(namespace, ids):
        if is_reserved(memory.id) or not _may_be_unused(memory, accesses, context.at, policies):
            continue
        last = max(_last_known(memory, accesses), await _last_change(store, memory))
        if is_unused(memory, last, context.at, policies.get(memory.category)):
            gone.append((memory, int(idle_days(last, context.at))))
    return await _soft_delete(context, [(item, "unused", f"in no answer for {days} days") for item, days in gone], rev)


def _may_be_unused(
    memory: Memory, accesses: Mapping[str, datetime], at: datetime, policies: Mapping[str, Category]
) -> bool:
    return is_unused(memory, _last_known(memory, accesses), at, policies.get(memory.category))


def _last_known(memory: Memory, accesses: Mapping[str, datetime]) -> datetime:
    """When a memory was written, changed or read last, as far as is known without its journal."""
    return max(memory.updated_at, accesses.get(memory.id, memory.updated_at))


async def _last_change(store: StoreReader, memory: Memory) -> datetime:
    """When anything was done with a memory last: what was restored is not expired again at once."""
    last = await store.journal(memory.namespace, memory_id=memory.id, descending=True, limit=MAX_ENTRIES_READ)
    # That its importance was moved is no need of it.
    return next((entry.at for entry in last if (entry.meta or {}).get("rule") != MOVED_BY_USE), memory.updated_at)


async def _expire_values(context: JobContext) -> JobReport:
    where = (Condition("channel", "$eq", str(Channel.STATE)), Condition("valid_to", "$lte", context.at))
    ids = await context.runtime.store.find_ids(context.namespace, where)
    return await context.in_parts(_expire_some_values, ids)


async def _expire_some_values(context: JobContext, ids: Sequence[str]) -> JobReport:
    rev = (await context.runtime.store.head(context.namespace)).rev
    found = await context.runtime.store.get(context.namespace, ids)
    over = [item for item in found if is_over(item, context.at) and not is_reserved(item.id)]
    return await _soft_delete(context, [(item, "own_date", "its own date has passed") for item in over], rev)


async def _soft_delete(context: JobContext, gone: Sequence[tuple[Memory, str, str]], rev: int) -> JobReport:
    """Soft-delete memories, each as a decision of its own that can be undone by itself."""
    if not context.dry_run:
        purge_at = context.at + KEPT_AFTER_FORGETTING
        changes = [
            Remove(memory.id, event=Event.TTL, purge_at=purge_at, step=number, meta={"rule": rule, "why": why})
            for number, (memory, rule, why) in enumerate(gone)
        ]
        await context.apply(changes, rev)
    return JobReport(tuple(JobChange("soft_delete", memory.id, why) for memory, _, why in gone))


async def _drop_versions(context: JobContext) -> JobReport:
    """Drop the earlier contents of values by key and sessions that nobody changed for long."""
    before = context.at - timedelta(days=EARLIER_STATE_DAYS)
    where = (Condition("channel", "$eq", str(Channel.STATE)), Condition("updated_at", "$lt", before))
    ids = await context.runtime.store.find_ids(context.namespace, where)
    return await context.in_parts(_drop_some, ids)


async def _drop_some(context: JobContext, ids: Sequence[str]) -> JobReport:
    store, namespace = context.runtime.store, context.namespace
    rev = (await store.head(namespace)).rev
    found = [item for item in await store.get(namespace, ids) if item.version > 1 and not is_reserved(item.id)]
    held = {item.id for item in await store.versions(namespace, [(item.id, item.version - 1) for item in found])}
    due = [item for item in found if item.id in held]
    if not context.dry_run:
        await context.apply([_repeat(item, number) for number, item in enumerate(due)], rev)
    why = f"unchanged for {EARLIER_STATE_DAYS} days"
    return JobReport(tuple(JobChange("drop_versions", item.id, why) for item in due))


def _repeat(memory: Memory, step: int) -> Put:
    """Write a value as it is, without its earlier contents."""
    meta = {"rule": "old_versions", _CONTENT_OF: memory.version}
    return Put(memory, None, WriteMode.UPDATE, keep_versions=0, step=step, meta=meta)


async def _purge(context: JobContext) -> JobReport:
    store, namespace = context.runtime.store, context.namespace
    ids = [item for state in PURGED_STATES for item in await store.find_ids(namespace, state=state)]
    return await context.in_parts(_purge_some, ids)


async def _purge_some(context: JobContext, ids: Sequence[str]) -> JobReport:
    rev = (await context.runtime.store.head(context.namespace)).rev
    found = await context.runtime.store.get(context.namespace, ids, removed=True)
    due = [item for item in found if item.state in PURGED_STATES and may_purge(item, context.at)]
    if not context.dry_run:
        store = context.runtime.store
        left = [empty_memory(item, context.at, covers=await _covers_turns(store, item)) for item in due]
        changes = [
            Put(item, Signals(), WriteMode.PURGE, step=number, meta={"rule": "purge_at"})
            for number, item in enumerate(left)
        ]
        await context.apply(changes, rev)
    return JobReport(tuple(JobChange("purge", item.id, f"since {item.purge_at:%Y-%m-%d}") for item in due))


async def _covers_turns(store: StoreReader, memory: Memory) -> bool:
    """Whether a memory was removed in such a way that the turns that it rests on must not say it."""
    if memory.state != MemoryState.SOFT_DELETED or memory.channel == Channel.TURN or CARD in memory.tags:
        return False
    if not memory.sources:
        return False
    last = await store.journal(memory.namespace, memory_id=memory.id, descending=True, limit=MAX_ENTRIES_READ)
    removed = next((entry for entry in last if entry.event not in (Event.LINK, Event.UNLINK)), None)
    return removed is not None and removed.takes_back(memory)
