"""Erases a person: counts, removes, rewrites the storage, and writes the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.filters import Condition
from memwarden.records import Channel, MemoryState, Namespace
from memwarden.runtime import Runtime
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.erasure import ErasureReceipt, choose_sample

BACKUPS = "backups made before {time} hold what was erased: delete them, or erase again after a restore"
LOGS = "logs, exports and caches of your own application are not memwarden's: look there too"
KEYS = "keys of a server that name the person still open it: memwarden key list, then memwarden key revoke ID"


async def plan_erasure(store: Store, namespace: Namespace) -> ErasureReceipt:
    """Return the receipt that an erasure would begin with. Nothing is changed."""
    held = await store.holdings(namespace)
    kinds = {str(channel): await _count(store, namespace, channel) for channel in Channel}
    return ErasureReceipt(
        namespace.tenant,
        namespace.path,
        store.place,
        (await store.about()).engine,
        clock.now().isoformat(),
        None,
        {name: count for name, count in kinds.items() if count},
        held._asdict(),
        choose_sample(await store.find_ids(namespace)),
    ).seal()


async def erase_person(parts: Runtime, plan: ErasureReceipt) -> ErasureReceipt:
    """Erase what a plan names; return the receipt. A broken-off erasure ends when it is repeated with its plan."""
    store, namespace = parts.store, plan.namespace
    if plan.store != store.place:
        raise InvalidInput(f"the erasure was begun at {plan.store}, and this is {store.place}")
    await parts.looks.drain(namespace)
    await parts.events.flush()
    held = await store.erase(namespace)
    if parts.opened is not None:
        parts.opened.indexes.drop(namespace)
    left = await store.reclaim()
    at = clock.now().isoformat()
    return replace(
        plan,
        finished_at=at,
        counts=_larger(plan.counts, held._asdict()),
        left_to_do=(BACKUPS.format(time=at), *left, LOGS, KEYS),
    ).seal()


def _larger(planned: Mapping[str, int], removed: Mapping[str, int]) -> dict[str, int]:
    """Return the larger count by table: what a killed call removed is counted in its plan alone."""
    return {table: max(count, planned.get(table, 0)) for table, count in removed.items()}


async def _count(store: Store, namespace: Namespace, channel: Channel) -> int:
    where = (Condition("channel", "$eq", channel),)
    return sum([await store.count(namespace, where, state=state) for state in MemoryState])
