"""Canaries: planted tenants, users, projects and agents that isolation tests try to reach."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.errors import StoreError
from memwarden.records import Memory, Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.pages import CANARY_TENANT
from memwarden.tiers.backend import ContextItem

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
        for namespace in await store.namespaces():
            if namespace.tenant in tenants:
                await store.discard(namespace)
    except StoreError as error:
        return str(error)
    return ""


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
