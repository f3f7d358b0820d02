"""Tries what tier stores and the assembler give away of another's namespace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

from memwarden.surfaces.doctor.canaries import HOME, ITEM, Canary
from memwarden.tiers import ContextRequest, Task
from memwarden.tiers.project_store import AsyncProjectMemoryStore
from memwarden.tiers.store import AsyncTierStore
from memwarden.tiers.task_store import AsyncTaskMemoryStore
from memwarden.tiers.tiers import AsyncTiers

Attempt = Callable[[], Awaitable[object]]
LARGE_BUDGET = 100_000
"""Tokens of a context that has room for everything."""


def tier_paths(
    tiers: AsyncTiers, tenant: str, name: str, victim: Canary, filters: Iterable[Mapping[str, Any]]
) -> dict[str, list[Attempt]]:
    """Return attempts by every verb of a task's store, a project's store and the assembler.

    name: of a task and of a project that are not the victim's, or are those of another tenant.
    """
    task, project = tiers.task(name, tenant=tenant), tiers.project(name, tenant=tenant)
    guessed = [item for item in victim.ids if item != ITEM]
    paths: dict[str, list[Attempt]] = {}
    for store in (task, project):
        for path, attempts in (*_reading(store, victim, filters).items(), *_writing(store, guessed, victim).items()):
            paths.setdefault(path, []).extend(attempts)
    assembler, whose = tiers.assembler(tenant=tenant), Task(name, {"project_id": name})
    requests = [ContextRequest(LARGE_BUDGET), ContextRequest(LARGE_BUDGET, query=HOME, threshold=0.0, explain=True)]
    paths["context of a task"] = [partial(assembler.build_context, whose, request) for request in requests]
    return paths


def _reading(store: AsyncTierStore, victim: Canary, filters: Iterable[Mapping[str, Any]]) -> dict[str, list[Attempt]]:
    return {
        "get by guessed id": [partial(store.get, item) for item in victim.ids],
        "query by crafted filters": [partial(store.query, item, 10_000) for item in filters],
        "list": [store.list_all],
        "history": [partial(store.history, limit=10_000), *(partial(store.history, item) for item in victim.ids)],
    }


def _writing(store: AsyncTierStore, guessed: list[str], victim: Canary) -> dict[str, list[Attempt]]:
    if isinstance(store, AsyncTaskMemoryStore):
        return {"promote": [partial(store.promote, item, store.task_id) for item in guessed]}
    if not isinstance(store, AsyncProjectMemoryStore):
        return {}
    return {
        "promote": [partial(store.promote, item, confirm=True) for item in guessed],
        "pin": [partial(store.pin, item) for item in guessed],
        "restore": [partial(store.restore, item) for item in guessed],
        "remove": [partial(store.remove, item) for item in guessed],
        "undo": [partial(store.undo, number) for number in range(victim.rev + 1, victim.rev + 3)],
        "evict": [store.make_room],
    }
