"""Keeps a conversation's prompt layout in the store, across restarts and processes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from memwarden import clock
from memwarden.concurrency.tasks import retry_on_stale
from memwarden.conversation.prompt_cache import (
    PromptLayout,
    decide_layout,
    fingerprint,
    layout_from_json,
    layout_to_json,
)
from memwarden.conversation.settings import ChatSettings
from memwarden.ids import DEFAULT_THREAD
from memwarden.records import Channel, ContextBlock, Memory, Scope, Trust
from memwarden.runtime import Runtime

PREFIX: Final = "in-prompt:"
SOURCE: Final = "in-prompt"
# A category outside all allowlists: an agent's prompt may hold memories that another agent may not read.
CATEGORY: Final = "in-prompt"
MAX_TRIES: Final = 50
_MAX_PAUSE: Final = 0.05


class PromptCacheStore:
    """The prompt layout of a thread and an agent; agents may read different memories.

    It is a memory of the channel ``state``, written only when it changes, and only if nobody wrote it since it was
    read; otherwise the layout is decided again on the new state. Earlier contents are not kept: they may hold what was
    forgotten.
    """

    def __init__(self, parts: Runtime, who: Scope) -> None:
        self._parts = parts
        self._who = who
        name = "\x1f".join((who.agent or "", who.thread or DEFAULT_THREAD))
        self._id = PREFIX + hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    async def at(
        self, said: Sequence[Mapping[str, Any]], block: ContextBlock, settings: ChatSettings, *, renew: bool = False
    ) -> PromptLayout | None:
        """Return the layout for the message to answer (:func:`memwarden.conversation.prompt_cache.decide_layout`).

        It is durable on return. Raises StoreError; Conflict when others kept writing it.
        """
        namespace = self._who.namespace
        place = (namespace.tenant, namespace.path, self._id)
        lock = self._parts.locks.setdefault(place, asyncio.Lock())

        async def decide(_: bool) -> PromptLayout | None:
            rev = (await self._parts.store.head(namespace)).rev
            stored = await self._read_stored()
            before = None if stored is None or stored.payload is None else layout_from_json(stored.payload)
            gone = await self._changed_ids(before) if before is not None else ()
            stable = decide_layout(before, said, block, settings, gone=gone, renew=renew)
            if stable is None or stable == before:
                return stable
            await self._parts.working.items.swap(self._memory_of(stable, stored), rev, keep=0)
            return stable

        async with lock:  # calls of this process wait for each other
            return await retry_on_stale(decide, tries=MAX_TRIES, max_pause=_MAX_PAUSE)

    async def _read_stored(self) -> Memory | None:
        found = await self._parts.store.get(self._who.namespace, [self._id])
        return found[0] if found else None

    async def _changed_ids(self, before: PromptLayout) -> list[str]:
        """Return ids of memories that are forgotten, changed, outdated or unreadable since they were inserted."""
        marks, now = before.marks, clock.now()
        allowed = self._parts.settings.categories.readable(self._who.agent, None)
        same = {
            item.id
            for item in await self._parts.store.get(self._who.namespace, list(marks))
            if marks.get(item.id) == fingerprint(item)
            and (item.valid_to is None or item.valid_to > now)
            and (allowed is None or item.category in allowed)
        }
        return [key for key in marks if key not in same]

    def _memory_of(self, stable: PromptLayout, stored: Memory | None) -> Memory:
        now = clock.now()
        return Memory(
            id=self._id,
            namespace=self._who.namespace,
            text=f"In the prompts of {self._who.thread or DEFAULT_THREAD}",
            created_at=now if stored is None else stored.created_at,
            updated_at=now,
            channel=Channel.STATE,
            category=CATEGORY,
            source=SOURCE,
            payload=layout_to_json(stable),
            user_id=self._who.user,
            agent_id=self._who.agent,
            thread_id=self._who.thread,
            trust=Trust.PERSON,
        )
