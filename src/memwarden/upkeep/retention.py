"""The job ``retain``: removes turns, their questions and earlier versions for good, as old as the settings say."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from dataclasses import replace
from datetime import timedelta

from memwarden import filters
from memwarden.concurrency.optimistic import change_atomically
from memwarden.filters import Condition
from memwarden.records import EXTRACTED_BY, QUOTATION, Batch, Channel, Memory, MemoryState, Put, WriteMode
from memwarden.stores.shared.items import TRACES, Items, ItemSearch, PutItem
from memwarden.stores.transfer.erasure import ErasedPart
from memwarden.upkeep.records import JobChange, JobContext, JobReport

NOTHING_SET = "turn_days and version_days are 0: everything is kept"
_PAGE = 500
# More of a person's turns or quotations are looked at by the next run.
MAX_MEMORIES = 100_000


async def retain(context: JobContext) -> JobReport:
    """Remove a person's old unpinned turns, and versions. What was made of the turns stays, and names them."""
    settings = context.runtime.settings
    if not context.namespace.path.startswith("user/") or not (settings.turn_days or settings.version_days):
        return JobReport(reason=NOTHING_SET)
    old = await _old_turns(context, settings.turn_days) if settings.turn_days else []
    turns, named = [item.id for item in old], {source for item in old for source in item.sources}
    versions = await _old_versions(context, settings.version_days) if settings.version_days else []
    if (turns or versions) and not context.dry_run:
        part = ErasedPart(ids=tuple(turns), versions=tuple((item.id, item.version) for item in versions))
        await _drop_questions(context, old)  # first: while the turns stand, a run that was killed finds them again
        await context.runtime.store.erase_part(context.namespace, part)
        await _let_quotations_answer(context, {*turns, *named})
    why = f"said more than {settings.turn_days:,} days ago", f"older than {settings.version_days:,} days"
    return JobReport(
        (
            *(JobChange("remove_turn", item.id, why[0]) for item in old),
            *(JobChange("remove_version", item.id, why[1]) for item in versions),
        )
    )


async def _drop_questions(context: JobContext, old: Sequence[Memory]) -> None:
    """Take from what models were shown the questions that go: those of old turns, and of forgotten conversations."""
    store, namespace = context.runtime.store, context.namespace
    items: Items | None = getattr(store, "items", None)
    if items is None or not old:
        return
    said: dict[str | None, list[str]] = {}
    for turn in old:
        said.setdefault(turn.thread_id, []).append(" ".join(turn.text.split()))

    def is_asked_there(value: str) -> bool:
        trace = json.loads(value)
        return bool(trace.get("question")) and trace["thread_id"] in said

    found = await items.search(namespace, ItemSearch(TRACES, MAX_MEMORIES, matches=is_asked_there))
    traces = [(hit.item, json.loads(hit.item.value)) for hit in found]
    forgotten = {turn.thread_id for turn in old if turn.state == MemoryState.SOFT_DELETED}
    named = {trace["thread_id"] for _, trace in traces} & forgotten - {None}
    gone = {thread for thread in named if not await store.find(namespace, _turns_of(thread), limit=1)}
    changes = [
        PutItem(item._replace(value=json.dumps({**trace, "question": ""})))
        for item, trace in traces
        if trace["thread_id"] in gone or any(trace["question"] in text for text in said[trace["thread_id"]])
    ]
    if changes:
        await items.write(namespace, changes)


def _turns_of(thread: str) -> tuple[Condition, ...]:
    return Condition("channel", "$eq", str(Channel.TURN)), Condition("thread_id", "$eq", thread)


async def _let_quotations_answer(context: JobContext, gone: Set[str]) -> None:
    """Let quotations stand in answers whose turns are gone: they were left out for these."""
    store, where = context.runtime.store, filters.parse({"actor_id": EXTRACTED_BY, "tags": [QUOTATION]})

    async def change() -> None:
        quoted = await store.find(context.namespace, where, limit=MAX_MEMORIES)
        alone = [item for item in quoted if not gone.isdisjoint(item.sources)]
        changes = tuple(
            Put(replace(item, tags=()), None, WriteMode.UPDATE, expected_version=item.version) for item in alone
        )
        if changes:
            await store.apply(Batch(context.namespace, changes, context.at, actor=EXTRACTED_BY))

    await change_atomically(context.namespace, change)


async def _old_turns(context: JobContext, days: int) -> list[Memory]:
    oldest = context.at - timedelta(days=days)
    where = (
        Condition("channel", "$eq", str(Channel.TURN)),
        Condition("created_at", "$lt", oldest),
        Condition("pinned", "$eq", False),
    )
    store = context.runtime.store
    return [
        item
        for state in MemoryState
        for item in await store.find(context.namespace, where, limit=MAX_MEMORIES, state=state)
    ]


async def _old_versions(context: JobContext, days: int) -> list[Memory]:
    """Return earlier contents that were written long ago; the present content of a memory always stays."""
    oldest, store = context.at - timedelta(days=days), context.runtime.store
    ids = [item for state in MemoryState for item in await store.find_ids(context.namespace, state=state)]
    found: list[Memory] = []
    for start in range(0, len(ids), _PAGE):
        changed = await store.get(context.namespace, ids[start : start + _PAGE], removed=True)
        found += await store.versions(context.namespace, _earlier(changed))
    return [item for item in found if item.updated_at < oldest]


def _earlier(memories: Sequence[Memory]) -> list[tuple[str, int]]:
    return [(item.id, version) for item in memories for version in range(1, item.version)]
