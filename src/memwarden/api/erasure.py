"""Erases a person, a thread or a memory: counts, removes, rewrites the storage, and writes the receipt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memwarden import clock
from memwarden.agent.stored_sessions import PREFIX as SESSION_PREFIX
from memwarden.api.erasure_plan import plan_removal
from memwarden.errors import InvalidInput
from memwarden.filters import Condition
from memwarden.records import Channel, Event, Memory, MemoryState, Namespace, read_part
from memwarden.runtime.services import Runtime
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import CHUNK, TRACES, DropItem, Items, ItemSearch
from memwarden.stores.transfer.erasure import ErasedPart, ErasureReceipt, choose_sample

BACKUPS = "backups made before {time} hold what was erased: delete them, or erase again after a restore"
LOGS = "logs, exports and caches of your own application are not memwarden's: look there too"
KEYS = "keys of a server that name the person still open it: memwarden key list, then memwarden key revoke ID"
_PAGE = 1_000


async def plan_erasure(
    store: Store, namespace: Namespace, *, thread: str | None = None, memory: str | None = None
) -> ErasureReceipt:
    """Return the receipt that an erasure would begin with. Nothing is changed."""
    if thread is None and memory is None:
        ids: Sequence[str] = await store.find_ids(namespace)
        kinds = {str(channel): await _count(store, namespace, channel) for channel in Channel}
        counts: Mapping[str, int] = (await store.holdings(namespace))._asdict()
    else:
        part = await find_part(store, namespace, thread=thread, memory=memory)
        ids = part.ids
        kinds = Counter(str(item.channel) for item in await _get_all(store, namespace, ids))
        counts = {"memories": len(ids)}
    return ErasureReceipt(
        namespace.tenant,
        namespace.path,
        store.place,
        (await store.about()).engine,
        clock.now().isoformat(),
        None,
        {name: count for name, count in kinds.items() if count},
        counts,
        choose_sample(ids),
        thread=thread,
        memory=memory,
    ).seal()


async def settle(runtime: Runtime, namespace: Namespace) -> None:
    """Wait until everything is written that calls left to be written after them: written after an erasure it would
    bring the namespace back.
    """
    await runtime.looks.drain(namespace)
    await runtime.events.flush()
    await runtime.prompts.flush()


async def erase_planned(runtime: Runtime, plan: ErasureReceipt) -> ErasureReceipt:
    """Erase what a plan names. Return the receipt. A broken-off erasure ends when it is repeated with its plan."""
    store, namespace = runtime.store, plan.namespace
    if plan.store != store.place:
        raise InvalidInput(f"the erasure was begun at {plan.store}, and this is {store.place}")
    await settle(runtime, namespace)
    removed = await (_erase_whole(store, namespace) if plan.whole else _erase_part(store, plan))
    if runtime.made_services is not None:
        runtime.made_services.indexes.drop(namespace)
    left = await store.reclaim()
    at = clock.now().isoformat()
    return replace(
        plan,
        finished_at=at,
        counts=_larger(plan.counts, removed),
        left_to_do=(BACKUPS.format(time=at), *left, LOGS, *((KEYS,) if plan.whole else ())),
    ).seal()


async def _erase_whole(store: Store, namespace: Namespace) -> Mapping[str, int]:
    return (await store.erase(namespace))._asdict()


async def _erase_part(store: Store, plan: ErasureReceipt) -> Mapping[str, int]:
    """Erase a thread or a memory. Return the rows that went by table."""
    namespace = plan.namespace
    before = await store.holdings(namespace)
    part = await find_part(store, namespace, thread=plan.thread, memory=plan.memory)
    if plan.thread is not None:
        await store.checkpoints.delete_threads(namespace, [plan.thread])
    await _erase_traces(store, namespace, part)  # first: while the part stands, a killed erasure finds it again
    await store.erase_part(namespace, part)
    await _erase_traces(store, namespace, part)  # of who asked meanwhile
    after = await store.holdings(namespace)
    return {name: was - getattr(after, name) for name, was in before._asdict().items() if was > getattr(after, name)}


async def _erase_traces(store: Store, namespace: Namespace, part: ErasedPart) -> None:
    """Remove the traces of requests that were given what goes, or asked it or in its threads: they hold its words."""
    items: Items | None = getattr(store, "items", None)
    if items is None:
        return
    cites = part.make_finder()
    going = [" ".join(item.text.split()) for item in await _get_all(store, namespace, part.ids)]

    def names_part(value: str) -> bool:
        trace = json.loads(value)
        if cites(value) or trace.get("thread_id") in part.threads:
            return True
        asked = trace.get("question")
        return bool(asked) and any(asked in text or (text and text in asked) for text in going)

    while found := await items.search(namespace, ItemSearch(TRACES, CHUNK, matches=names_part)):
        await items.write(namespace, [DropItem(hit.item.path, hit.item.key) for hit in found])


async def find_part(
    store: Store, namespace: Namespace, *, thread: str | None = None, memory: str | None = None
) -> ErasedPart:
    """Return a thread or a memory with all that rests on it.

    Of what was made of a thread all goes. What other threads say as well stays when it was kept there first. Of what
    was made of a single turn all goes that names the turn, so that none of its words are left.
    """
    if thread is not None:
        where = (Condition("thread_id", "$eq", thread),)
        begun = [item for state in MemoryState for item in await store.find_ids(namespace, where, state=state)]
        begun.append(f"{SESSION_PREFIX}{thread}")
    else:
        begun = [str(memory)]
    # Of what is purged the place alone is left, and which turns it covers.
    purged = await store.find_ids(namespace, state=MemoryState.PURGED)
    there = dict.fromkeys(item for item in purged if thread is not None and item in begun)
    known = {item.id: item for item in await _get_all(store, namespace, await _all_ids(store, namespace))}
    if memory in known:
        whole = _whole_of(known[memory])
        begun = [item.id for item in known.values() if _whole_of(item) == whole]
    removal = plan_removal(begun, known, await _merged_into(store, namespace))
    citing = (*removal.citing, *(name for name in purged if name not in there))
    threads = () if thread is None else (thread,)
    return ErasedPart((*removal.ids, *there), threads, citing=citing, named=removal.named)


def _whole_of(memory: Memory) -> str:
    """Return what the parts of a long text share, else the memory's own id."""
    part = read_part(memory.tags)
    return memory.id if part is None else part.whole


async def _merged_into(store: Store, namespace: Namespace) -> dict[str, str]:
    """Return into which memory others were merged."""
    found: dict[str, str] = {}
    since = 0
    while entries := await store.journal(namespace, since=since, turns=False, limit=_PAGE):
        for entry in entries:
            if entry.event == Event.MERGE and "into" in (entry.meta or {}):
                found[entry.memory_id] = str((entry.meta or {})["into"])
        since = entries[-1].seq
    return found


async def _all_ids(store: Store, namespace: Namespace) -> list[str]:
    return [item for state in MemoryState for item in await store.find_ids(namespace, state=state)]


async def _get_all(store: Store, namespace: Namespace, ids: Sequence[str]) -> list[Memory]:
    found: list[Memory] = []
    for start in range(0, len(ids), _PAGE):
        found += await store.get(namespace, ids[start : start + _PAGE], removed=True)
    return found


def _larger(planned: Mapping[str, int], removed: Mapping[str, int]) -> dict[str, int]:
    """Return the larger count by table: what a killed call removed is counted in its plan alone."""
    return {table: max(removed.get(table, 0), planned.get(table, 0)) for table in {**removed, **planned}}


async def _count(store: Store, namespace: Namespace, channel: Channel) -> int:
    where = (Condition("channel", "$eq", channel),)
    return sum([await store.count(namespace, where, state=state) for state in MemoryState])
