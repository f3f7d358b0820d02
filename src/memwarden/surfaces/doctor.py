"""Tries every path from a tenant, user, project or agent to another's data.

Tried are ids that were guessed, crafted filters, searches, the past, history, deltas, relations, undo and restore,
idempotency keys, listings, the backend, the tiers and the assembler, a search by embedding, the store's own
protocol, and on PostgreSQL raw SQL and spoiled connections. A leak is an answer that holds another's secret word, a
count that is too large, or a change of what is another's.
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.errors import Conflict, MemwardenError, StoreError
from memwarden.filters import FIELDS, TEXT, parse
from memwarden.observability.records import OpEvent
from memwarden.records import Memory, Namespace, QueryResult, WriteResult
from memwarden.stores.protocol import Store
from memwarden.stores.shared.checkpoints import PathProbe
from memwarden.stores.transfer.pages import CANARY_TENANT, check_canary
from memwarden.tiers import ContextRequest, Task
from memwarden.tiers.backend import AsyncBackend, ContextItem
from memwarden.tiers.stores import AsyncProjectMemoryStore, AsyncTaskMemoryStore, AsyncTierStore
from memwarden.tiers.tiers import AsyncTiers

# The same for all of them on purpose: whoever mixes namespaces up answers with what is another's.
KEY, THREAD, MESSAGE, ITEM = "canary-key", "canary-thread", "canary-message", "canary-item"
PROFILE = "profile"
HOME = "The spare key of the canary house hangs behind the blue door"


@dataclass(frozen=True, slots=True)
class Canary:
    """The contents planted in a namespace.

    secret: a word that stands in everything of it and nowhere else. ids: of its memories, in every state. memories: the
    active ones. revs: revisions to ask about. embedding: of any of its memories; empty without an embedder.
    """

    namespace: Namespace
    secret: str
    ids: tuple[str, ...]
    memories: tuple[Memory, ...]
    rev: int
    embedding: tuple[float, ...]


async def plant_user(warden: AsyncWarden, tenant: str, user: str) -> Canary:
    """Let a canary user talk, state facts, change its mind, forget, and keep an item."""
    secret, me = _secret(), warden.scope(tenant=tenant, user=user, thread=THREAD, actor="canary")
    # The same key and message id as every other canary: a leak would answer from its receipt.
    await me.observe([{"role": "user", "content": f"{HOME}. {secret}", "id": MESSAGE}], key=KEY)
    await _state_facts(me, secret, "activity")
    await me.consent.propose({"preferred_name": f"Ana {secret}"})
    # Beside the memories: items have tables and policies of their own.
    await _add_item(warden, tenant, f"user/{user}", secret)
    return await _canary(warden.store, me.who.namespace, secret)


async def plant_facts(warden: AsyncWarden, tenant: str, user: str, category: str) -> Canary:
    """Let a canary user state facts in a category.

    The secret stands in no turn, whose category is another.
    """
    secret, me = _secret(), warden.scope(tenant=tenant, user=user, thread=THREAD, actor="canary")
    await _state_facts(me, secret, category)
    if category == PROFILE:
        await me.consent.propose({"preferred_name": f"Ana {secret}"})
    return await _canary(warden.store, me.who.namespace, secret)


async def _state_facts(me: AsyncScope, secret: str, category: str) -> None:
    """State facts, then change, link and forget some of them."""
    for text in (HOME, "Canary Ana lives in Berlin", "Canary Ana lives in Lisbon now", "The canary bike is red"):
        source = f"canary/{secret}"
        await me.remember(f"{text}. {secret}", category=category, tags=[secret], source=source, trust="person")
    kept = [item for item in await me.find(order_by="written", descending=False) if item.channel != "turn"]
    await me.update(kept[0].id, text=f"{HOME}, no longer. {secret}")
    await me.forget(kept[-1].id)


async def plant_items(warden: AsyncWarden, tenant: str, path: str) -> Canary:
    """Let a canary project, task or global namespace keep items."""
    secret = _secret()
    await _add_item(warden, tenant, path, secret)
    return await _canary(warden.store, Namespace(tenant, path), secret)


async def remove(store: Store, tenants: Sequence[str]) -> str:
    """Remove canary tenants from the store. Returns the reason when that fails, else ""."""
    try:
        for namespace in await _list_held(store, tenants):
            check_canary(namespace)
            await store.erase(namespace)
    except StoreError as error:
        return str(error)
    return ""


async def _list_held(store: Store, tenants: Sequence[str]) -> list[Namespace]:
    """Return the namespaces of tenants, also those that hold no memory: who only asked has traces of blocks."""
    from memwarden.stores.transfer.move import StoreWithExtras  # loads numpy, too

    held = set(await store.namespaces())
    if isinstance(store, StoreWithExtras):
        held |= {extras.namespace for extras in await store.beside()}
    return sorted(namespace for namespace in held if namespace.tenant in tenants)


def new_tenants() -> tuple[str, str]:
    """Return the names of two unused tenants."""
    run = secrets.token_hex(6)
    return f"{CANARY_TENANT}{run}-a", f"{CANARY_TENANT}{run}-b"


async def talk(me: AsyncScope) -> None:
    """Give the asking user a memory of its own, so that an empty answer proves nothing."""
    await me.observe([{"role": "user", "content": "I have a canary of my own.", "id": "own-message"}], key="own-key")


def _secret() -> str:
    return f"zq{secrets.token_hex(8)}"


async def _add_item(warden: AsyncWarden, tenant: str, path: str, secret: str) -> None:
    for name in (ITEM, f"item-{secrets.token_hex(8)}"):  # a shared id, and an id of its own
        item = ContextItem(name, "note", payload={"text": f"{HOME}. {secret}"}, tags=[secret], source=secret)
        await warden.backend(path, tenant=tenant).add(item)


async def _canary(store: Store, namespace: Namespace, secret: str) -> Canary:
    page = await store.dump_page(namespace, limit=10_000)
    active = tuple(memory.memory for memory in page.memories if memory.live)
    ids = tuple(memory.memory.id for memory in page.memories)
    # Asking with the very vector is the strongest search that an attacker could make.
    vector = next((memory.signals.vector for memory in page.memories if memory.signals.vector), b"")
    return Canary(namespace, secret, ids, active, page.rev, struct.unpack(f"<{len(vector) // 2}e", vector))


QUESTIONS = ("Where does the spare key hang?", "Where does canary Ana live?", HOME)


class LeakReport(NamedTuple):
    """The results of all attempts. left: why canaries remain; empty when they were removed."""

    tried: tuple[PathProbe, ...]
    left: str

    @property
    def leaks(self) -> int:
        return sum(len(item.leaks) for item in self.tried)


class Leak(str):
    """An answer that is itself a leak, in words."""


Attempt = Callable[[], Awaitable[object]]


async def look_for_leaks(warden: AsyncWarden) -> LeakReport:
    """Plant canaries in an open warden's store, try every path between them, and remove them."""
    from memwarden.api.erasure import settle  # loads numpy, which whoever only looks at a store's health need not

    tenants = new_tenants()
    try:
        tried = await _try_all(warden, *tenants)
    finally:
        for namespace in await warden.store.namespaces():
            if namespace.tenant in tenants:
                await settle(warden._runtime, namespace)
        left = await remove(warden.store, tenants)
    return LeakReport(tuple(tried), left)


async def _try_all(warden: AsyncWarden, tenant: str, other: str) -> list[PathProbe]:
    ana = await plant_user(warden, tenant, "ana")
    projects = [await plant_items(warden, tenant, path) for path in ("project/one", "task/one", "global")]
    await plant_items(warden, tenant, "project/two")
    tried: list[PathProbe] = []
    for boundary, who in (("tenant", (other, "ana")), ("user", (tenant, "tom"))):
        me = warden.scope(tenant=who[0], user=who[1], thread=THREAD)
        await talk(me)
        tried += await _run(warden, boundary, ana, "", scope_paths(me, ana))
        mine = warden.backend(f"user/{who[1]}", tenant=who[0])
        tried += await _run(warden, boundary, ana, "backend ", backend_paths(mine, ana))
        tried += await _run(warden, boundary, ana, "store ", store_paths(warden.store, me.who.namespace, ana))
    for number, victim in enumerate(projects):
        me = warden.scope(tenant=tenant, user=f"tom{number}", thread=THREAD)
        two = warden.backend("project/two", tenant=tenant)
        elsewhere = warden.backend(victim.namespace.path, tenant=other)
        tried += await _run(warden, "project", victim, "", scope_paths(me, victim))
        tried += await _run(warden, "project", victim, "backend ", backend_paths(two, victim))
        tried += await _run(warden, "tenant", victim, "backend ", backend_paths(elsewhere, victim))
        name = victim.namespace.path.partition("/")[2] or "two"
        theirs = tier_paths(warden.tiers, other, name, victim, list(_filters(victim)))
        tried += await _run(warden, "tenant", victim, "tiers ", theirs)
        if victim.namespace.path != "global":  # which every project of a tenant may read
            ours = tier_paths(warden.tiers, tenant, "two", victim, list(_filters(victim)))
            tried += await _run(warden, "project", victim, "tiers ", ours)
        tried += await _run(warden, "project", victim, "store ", store_paths(warden.store, two.namespace, victim))
    tried += await _try_agents(warden, tenant)
    probe_row_security = getattr(warden.store, "probe_row_security", None)
    if warden.store.promises.rows_enforced and probe_row_security is not None:
        tried += await probe_row_security(Namespace(tenant, "user/tom"), ana.namespace)
    return _join_probes(tried)


async def _try_agents(warden: AsyncWarden, tenant: str) -> list[PathProbe]:
    """Try each agent against the categories that it may not read."""
    categories, tried = warden.settings.categories, list[PathProbe]()
    for number, (agent, allowed) in enumerate(categories.allowlists.items()):
        # One forbidden category is enough: all are checked in the same place.
        hidden = next((name for name in categories.declared if name not in allowed), None)
        if hidden is None:
            continue  # it may read everything
        victim = await plant_facts(warden, tenant, f"reader{number}", hidden)
        me = warden.scope(tenant=tenant, user=f"reader{number}", agent=agent, thread=THREAD)
        tried += await _run(warden, "agent", victim, "", {**_reading(me, victim), **agent_paths(me, victim, hidden)})
    return tried


async def _run(
    warden: AsyncWarden, boundary: str, victim: Canary, prefix: str, paths: Mapping[str, list[Attempt]]
) -> list[PathProbe]:
    tried = []
    for path, attempts in paths.items():
        leaks = [said for attempt in attempts if (said := await _leak(attempt, victim))]
        head = await warden.store.head(victim.namespace)
        if head.rev != victim.rev:
            leaks.append(f"changed what is another's: revision {head.rev} instead of {victim.rev}")
        tried.append(PathProbe(boundary, prefix + path, len(attempts), tuple(leaks)))
        if head.rev != victim.rev:
            break  # from here on every path would seem to have changed it
    return tried


async def _leak(attempt: Attempt, victim: Canary) -> str:
    """Describe what an attempt gave away, or return an empty text."""
    try:
        answer = await attempt()
    except StoreError:
        raise  # what could not be tried is not safe
    except MemwardenError as error:
        answer = str(error)
    # An unexpected error may hold another's words in its traceback, and is a fault in any case.
    except Exception as error:
        answer = Leak(f"broke with {type(error).__name__}")
    if isinstance(answer, Leak):
        return answer
    told = repr(answer)
    at = told.find(victim.secret)
    return "" if at < 0 else f"told: {told[max(0, at - 60) : at]}..."


def scope_paths(me: AsyncScope, victim: Canary) -> dict[str, list[Attempt]]:
    """Return attempts by every verb of a scope, aimed at another's namespace."""
    turn = [{"role": "user", "content": "I keep four canaries in the kitchen.", "id": MESSAGE}]
    again = [{"role": "user", "content": "My own canaries eat millet in the morning.", "id": "second"}]
    return {
        **_reading(me, victim),
        "observe with the same key": [lambda: _first_time(victim, me.observe(again, key=KEY))],
        "observe with the same id": [lambda: _first_time(victim, me.observe(turn))],
        "remember the same": [lambda: _first_time(victim, me.remember("The canary bike is red."))],
        "extract the same": [lambda: _first_time(victim, me.extract('["The canary bike is red."]'))],
        "look through": [partial(me.extract_pending, again=True)],
        "remember with sources": [lambda: me.remember("The canary sings.", sources=[*victim.ids])],
        "decide": [partial(me.consent.decide, i, True) for i in victim.ids],
        "acknowledge": [partial(me.consent.acknowledge, i) for i in victim.ids],
        "propose context": [partial(me.consent.propose, {"tone": "curt"}, sources=[*victim.ids])],
        "update": [partial(me.update, i, importance=0.1) for i in victim.ids],
        "pin": [partial(me.pin, i) for i in victim.ids],
        "forget": [partial(me.forget, i) for i in victim.ids],
        "restore": [partial(me.restore, i) for i in victim.ids],
        "release": [partial(me.review.approve, i, vouch=vouch) for i in victim.ids for vouch in (False, True)],
        "discard": [partial(me.review.reject, i) for i in victim.ids],
        "feedback": [partial(me.usage.feedback, i, "wrong", rev=1) for i in victim.ids],
        "undo": [partial(me.journal.undo, n) for n in range(victim.rev, victim.rev + 3)],
        "reset": [me.reset, partial(me.reset, confirm=me.who.user)],
        "promote": [partial(me.promote, i, "project/two") for i in victim.ids],
    }


def _reading(me: AsyncScope, victim: Canary) -> dict[str, list[Attempt]]:
    said = [{"role": "user", "content": question} for question in QUESTIONS]
    past: list[Any] = [*range(1, victim.rev + 1), *(memory.created_at for memory in victim.memories)]
    return {
        "get by guessed id": [partial(me.get, i) for i in victim.ids],
        "find": [lambda: me.find(limit=10_000)],
        "find by crafted filters": [partial(me.find, f) for f in _filters(victim)],
        "find in the past": [partial(me.find, as_of=p) for p in past],
        "query": [partial(_everything, me, q) for q in (*QUESTIONS, victim.secret)],
        "query by crafted filters": [partial(_everything, me, HOME, filters=f) for f in _filters(victim)],
        "query in the past": [partial(_everything, me, HOME, as_of=p) for p in past],
        "context": [partial(me.context, [m], 5000, threshold=0.0) for m in said],
        "statements of a guessed id": [partial(me.statements, i) for i in victim.ids],
        # What me.ask shows its model comes from query and overview, which are tried; it would cost an answer.
        "overview": [me.overview],
        "delta": [partial(me.journal.delta, n) for n in (0, 1, None)],
        "history": [lambda: me.journal.history(limit=10_000)],
        "history of a guessed id": [partial(me.journal.history, i) for i in victim.ids],
        "trash": [me.journal.forgotten, *(partial(me.journal.forgotten, i) for i in victim.ids)],
        "relations": [partial(me.relations, i) for i in victim.ids],
        "audit": [me.audit],
        "waiting": [partial(me.review.pending, limit=1000)],
        "uses": [me.usage.uses, *(partial(me.usage.uses, memory_id=i) for i in victim.ids)],
        "events": [lambda: _no_events(me.journal.events(limit=10_000), victim)],
        "events of a guessed id": [partial(_no_events_of, me, i) for i in victim.ids if i != ITEM],
        "user context": [me.consent.user_context],
        "consents": [partial(me.consent.proposals, None)],
    }


def agent_paths(me: AsyncScope, victim: Canary, hidden: str) -> dict[str, list[Attempt]]:
    """Return attempts of an agent against a category that it may not read."""
    filters: list[Mapping[str, Any]] = [
        {"category": hidden}, {"category": [hidden]}, {"category": {"$ne": "none"}}, {"category": {"$gte": ""}},
    ]  # fmt: skip
    return {
        "find by category": [partial(me.find, f) for f in filters],
        "query by categories": [partial(me.query, HOME, categories=[hidden], threshold=0.0)],
        "query by category": [partial(_everything, me, HOME, filters=f) for f in filters],
        "update": [partial(me.update, i, importance=0.1) for i in victim.ids],
        "update to a hidden category": [partial(me.update, i, category=hidden) for i in victim.ids],
        "forget": [partial(me.forget, i) for i in victim.ids],
        "restore": [partial(me.restore, i) for i in victim.ids],
        "release": [partial(me.review.approve, i) for i in victim.ids],
        "discard": [partial(me.review.reject, i) for i in victim.ids],
        "feedback": [partial(me.usage.feedback, i, "wrong", rev=1) for i in victim.ids],
        "undo": [partial(me.journal.undo, n) for n in range(1, victim.rev + 1)],
    }


def backend_paths(mine: AsyncBackend, victim: Canary) -> dict[str, list[Attempt]]:
    """Return attempts by every verb of the context backend, aimed at another's namespace."""
    ids = (*victim.ids, ITEM)
    limit = len(victim.ids) + 1000
    paths: dict[str, list[Attempt]] = {
        "get": [partial(mine.get, i) for i in ids],
        "query": [partial(mine.query, f, limit) for f in _filters(victim)],
        "list": [mine.list_all],
        "count": [lambda: _count_items(mine)],
        "query_semantic": [lambda: mine.query_semantic(victim.embedding, limit)],
        "delete": [partial(mine.delete, i) for i in victim.ids],
        "promote": [partial(mine.promote, i, to) for i in victim.ids if i != ITEM for to in ("global", "project/two")],
        "add with the same id": [lambda: mine.add(ContextItem(ITEM, "note", payload={"text": "mine"}))],
        "clear": [mine.clear],
    }
    return paths


def store_paths(store: Store, own: Namespace, victim: Canary) -> dict[str, list[Attempt]]:
    """Return attempts on the store's protocol, aimed at another's namespace."""
    ids = list(victim.ids)
    versions = [(i, version) for i in ids for version in (1, 2, 3)]
    return {
        "get": [lambda: store.get(own, ids, removed=True)],
        "find": [partial(_search_engine, store, own, f) for f in ({}, *_filters(victim))],
        "count": [lambda: _none(store.count(own, parse({"id": [item for item in ids if item != ITEM]})))],
        "scan": [lambda: store.scan(own), lambda: store.scan(own, 1)],
        "versions": [lambda: store.versions(own, versions)],
        "journal": [partial(_no_entries, store, own, i) for i in ids if i != ITEM],
        "relations": [lambda: _none(_length(store.relations(own, ids)))],
        "events": [lambda: _no_events(store.events(own, limit=10_000), victim)],
        "pages": [lambda: store.dump_page(own, limit=10_000)],
    }


def _filters(victim: Canary) -> Iterator[Mapping[str, Any]]:
    """Yield filters that name another's data, and some that try to be more than filters."""
    yield {"id": list(victim.ids)}
    yield {"tags": victim.secret}
    yield {"importance": {"$gte": 0}}
    for name in sorted(item for item, kind in FIELDS.items() if kind == TEXT):
        known = {value for memory in victim.memories if isinstance(value := getattr(memory, name, None), str)}
        yield {name: sorted(known)}
        yield {name: {"$gte": ""}}
        yield {name: {"$ne": "nothing"}}
        yield {name: f"' OR tenant = '{victim.namespace.tenant}' --"}
    for name in ("tenant", "namespace", "path", "scope"):
        yield {name: victim.namespace.path}


async def _first_time(victim: Canary, call: Awaitable[WriteResult]) -> object:
    """Report a leak when a first call is answered as a repeated call."""
    try:
        written = await call
    except Conflict as error:
        return Leak(f"refused because of another's: {error}")
    taken = [result.id for result in written.results if result.id in victim.ids]
    return Leak(f"answered with another's memory {taken[0]}") if taken else written


async def _everything(
    me: AsyncScope, question: str, filters: Mapping[str, Any] | None = None, as_of: Any = None
) -> QueryResult:
    """Query without a bar and without a budget."""
    return await me.query(
        question, filters=filters, as_of=as_of, threshold=0.0, top_k=1000, budget_tokens=None, explain=True
    )


async def _search_engine(store: Store, own: Namespace, filters: Mapping[str, Any]) -> object:
    return await store.find(own, parse(filters))


async def _no_entries(store: Store, own: Namespace, memory_id: str) -> object:
    return await _none(_length(store.journal(own, memory_id=memory_id)))


async def _no_events_of(me: AsyncScope, memory_id: str) -> object:
    listed, counts = await me.journal.events(memory_id=memory_id), await me.journal.event_counts(memory_id=memory_id)
    return Leak(f"tells {len(listed)} events of another's memory") if listed or counts else ""


async def _no_events(found: Awaitable[list[OpEvent]], victim: Canary) -> object:
    """Report events that name another's memories; events hold no content."""
    named = {item.memory_id for item in await found} & set(victim.ids) - {ITEM}
    return Leak(f"names {len(named)} of another's memories") if named else ""


async def _count_items(mine: AsyncBackend) -> object:
    listed, counted = len(await mine.list_all()), await mine.count()
    return Leak(f"counts {counted} of {listed}") if counted != listed else counted


async def _none(number: Awaitable[int]) -> object:
    found = await number
    return Leak(f"finds {found} of another's") if found else found


async def _length(found: Awaitable[list[Any]]) -> int:
    return len(await found)


def _join_probes(tried: list[PathProbe]) -> list[PathProbe]:
    """Join the probes of each boundary and path, in the order of their first attempt."""
    rows: dict[tuple[str, str], PathProbe] = {}
    for item in tried:
        before = rows.get((item.boundary, item.path), PathProbe(item.boundary, item.path, 0, ()))
        rows[item.boundary, item.path] = PathProbe(
            item.boundary, item.path, before.tried + item.tried, before.leaks + item.leaks
        )
    return list(rows.values())


# Tokens of a context that has room for everything.
LARGE_BUDGET = 100_000


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
        for path, attempts in (
            *_tier_reads(store, victim, filters).items(),
            *_tier_writes(store, guessed, victim).items(),
        ):
            paths.setdefault(path, []).extend(attempts)
    assembler, whose = tiers.assembler(tenant=tenant), Task(name, {"project_id": name})
    requests = [ContextRequest(LARGE_BUDGET), ContextRequest(LARGE_BUDGET, query=HOME, threshold=0.0, explain=True)]
    paths["context of a task"] = [partial(assembler.build_context, whose, request) for request in requests]
    return paths


def _tier_reads(
    store: AsyncTierStore, victim: Canary, filters: Iterable[Mapping[str, Any]]
) -> dict[str, list[Attempt]]:
    return {
        "get by guessed id": [partial(store.get, item) for item in victim.ids],
        "query by crafted filters": [partial(store.query, item, 10_000) for item in filters],
        "list": [store.list_all],
        "history": [partial(store.history, limit=10_000), *(partial(store.history, item) for item in victim.ids)],
    }


def _tier_writes(store: AsyncTierStore, guessed: list[str], victim: Canary) -> dict[str, list[Attempt]]:
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
