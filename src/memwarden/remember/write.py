"""The one way in: what a caller hands over becomes one Batch, made ready before the store is asked.

Model calls and hashing end before the transaction starts; :meth:`memwarden.stores.base.Store.apply` is the only
place where anything is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import uuid_utils

from memwarden import clock, filters
from memwarden.errors import NotFound
from memwarden.models.base import Embedder
from memwarden.recall.signals import signals_of
from memwarden.recall.signs import Flag
from memwarden.records import (
    Applied,
    Batch,
    Channel,
    Memory,
    Namespace,
    Outcome,
    Put,
    Remove,
    Scope,
    Signals,
    WriteMode,
    WriteResult,
    Written,
)
from memwarden.remember.continuation import MOST_COMPARED, TurnKey, continued, digest, own_key
from memwarden.remember.draft import Draft
from memwarden.remember.kind import kind_of
from memwarden.remember.messages import Message
from memwarden.stores.base import Store

DEFAULT_THREAD = "default"
TURN_CATEGORY = "activity"

NO_WORDS = "it carries no words"
ALREADY = "already stored"
CHATTER = "greeting, thanks or small talk alone: kept in the turn log, never recalled"
NOT_SAID = {
    "system": "system prompts are instructions, not something to remember",
    "developer": "developer prompts are instructions, not something to remember",
    "tool": "tool output is not part of what people said; remember what matters of it with kind='tool_output'",
    "function": "function output is not part of what people said; remember what matters of it with kind='tool_output'",
}


class Writer:
    """Writes for scopes. Holds no state of its own."""

    def __init__(self, store: Store, embedder: Embedder | None, now: Callable[[], datetime] = clock.now) -> None:
        self._store = store
        self._embedder = embedder
        self._now = now

    async def observe(self, scope: Scope, messages: Sequence[Message], key: str | None) -> WriteResult:
        """Store what was said, durably and once."""
        said = [message for message in messages if _refusal(message) is None]
        keys = await self._turn_keys(scope, said, key)
        new = [(message, one.source_key) for message, one in zip(said, keys, strict=True) if _is_new(one)]
        at = self._now()
        signals = await signals_of([(message.text, message.created_at or at) for message, _ in new], self._embedder)
        puts = tuple(
            Put(_turn(scope, message, at), one, source_key=source_key)
            for (message, source_key), one in zip(new, signals, strict=True)
        )
        rev, applied = await self._apply(scope, puts, at, key, messages)
        others = await self._texts(scope, [one.id for one in applied if one.outcome == "duplicate"])
        made = iter(zip(applied, signals, strict=True))
        told = iter(
            _observed(message, *next(made), others) if _is_new(one) else _not_new(one)
            for message, one in zip(said, keys, strict=True)
        )
        return WriteResult(rev, tuple(_refused(message) or next(told) for message in messages))

    async def remember(self, scope: Scope, drafts: Sequence[Draft]) -> WriteResult:
        """Store memories that a caller states."""
        at = self._now()
        signals = await signals_of([(draft.text, draft.created_at or at) for draft in drafts], self._embedder)
        worthy = [not one.flags & Flag.CHATTER for one in signals]
        puts = tuple(Put(_stated(scope, d, at), s) for d, s, good in zip(drafts, signals, worthy, strict=True) if good)
        rev, applied = await self._apply(scope, puts, at, None, ())
        made = iter(applied)
        return WriteResult(
            rev,
            tuple(
                Written(next(made).id, Outcome.CREATED)
                if good
                else Written(None, Outcome.REJECTED, "greeting, thanks or small talk alone: nothing to remember")
                for good in worthy
            ),
        )

    async def put(self, memory: Memory) -> None:
        """Store a memory under its own id, in place of one that has it already (E1's add)."""
        (signals,) = await signals_of([(memory.text, memory.created_at)], self._embedder)
        await self._store.apply(Batch(memory.namespace, (Put(memory, signals, WriteMode.UPSERT),), self._now()))

    async def forget(self, scope: Scope, ids: Sequence[str]) -> WriteResult:
        """Take memories out of every answer. Raises NotFound, and forgets nothing, if an id is unknown."""
        found = {memory.id for memory in await self._store.get(scope.namespace, ids)}
        missing = [one for one in ids if one not in found]
        if missing:
            raise NotFound(f"no memory {missing[0]!r} in {scope.namespace.path}")
        changes = tuple(Remove(one) for one in ids)
        receipt = await self._store.apply(Batch(scope.namespace, changes, self._now(), actor=_actor(scope)))
        return WriteResult(receipt.rev, tuple(Written(one, Outcome.DELETED) for one in ids))

    async def remove(self, namespace: Namespace, ids: Sequence[str]) -> int:
        """Take items out of a namespace, in one batch (E1). Returns how many were there."""
        if not ids:
            return 0
        receipt = await self._store.apply(Batch(namespace, tuple(Remove(one) for one in ids), self._now()))
        return sum(1 for one in receipt.applied if one.outcome == "deleted")

    async def _apply(
        self, scope: Scope, puts: tuple[Put, ...], at: datetime, key: str | None, asked: Sequence[Message]
    ) -> tuple[int, tuple[Applied, ...]]:
        if not puts and key is None:
            return (await self._store.head(scope.namespace)).rev, ()
        fingerprint = None if key is None else _fingerprint(scope, asked)
        receipt = await self._store.apply(
            Batch(scope.namespace, puts, at, key=key, fingerprint=fingerprint, actor=_actor(scope))
        )
        return receipt.rev, receipt.applied

    async def _texts(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        return {memory.id: memory.text for memory in await self._store.get(scope.namespace, ids)} if ids else {}

    async def _turn_keys(self, scope: Scope, said: Sequence[Message], key: str | None) -> list[TurnKey]:
        """Say under which key each turn is stored once: the caller's id of the message, else its number in the call's
        idempotency key, else what :mod:`memwarden.remember.continuation` finds."""
        if key is not None or all(message.id for message in said):
            return [TurnKey(own_key(message) or f"key:{key}:{number}") for number, message in enumerate(said)]
        where = filters.parse({"thread_id": _thread(scope), "channel": Channel.TURN})
        most = min(2 * len(said) + 10, max(len(said), MOST_COMPARED))
        tail = await self._store.find(scope.namespace, where, limit=most, order_by=filters.WRITTEN)
        return continued(said, tail[::-1])


def _fingerprint(scope: Scope, messages: Sequence[Message]) -> str:
    asked = json.dumps([_thread(scope), [[digest(message), message.id] for message in messages]])
    return hashlib.blake2b(asked.encode(), digest_size=16).hexdigest()


def _is_new(key: TurnKey) -> bool:
    return key.known is None and key.refused is None


def _not_new(key: TurnKey) -> Written:
    if key.refused is not None:
        return Written(None, Outcome.REJECTED, key.refused)
    return Written(key.known, Outcome.CREATED, ALREADY)


def _refusal(message: Message) -> str | None:
    return NOT_SAID.get(message.role or "") or (None if message.text else NO_WORDS)


def _refused(message: Message) -> Written | None:
    reason = _refusal(message)
    return None if reason is None else Written(None, Outcome.REJECTED, reason)


def _observed(message: Message, applied: Applied, signals: Signals, stored: Mapping[str, str]) -> Written:
    if applied.outcome == "duplicate":
        if stored.get(applied.id, message.text) == message.text:
            return Written(applied.id, Outcome.CREATED, ALREADY)
        return Written(applied.id, Outcome.REJECTED, f"the id {message.id!r} already holds other words in this thread")
    return Written(applied.id, Outcome.CREATED, CHATTER if signals.flags & Flag.CHATTER else "")


def _turn(scope: Scope, message: Message, at: datetime) -> Memory:
    identity = new_id()
    return Memory(
        id=identity,
        namespace=scope.namespace,
        text=message.text,
        created_at=message.created_at or at,
        updated_at=at,
        channel=Channel.TURN,
        kind=kind_of(message.text),
        category=TURN_CATEGORY,
        source=f"thread/{_thread(scope)}",
        sources=(message.id or identity,),
        characters=(message.name,) if message.name else (),
        role=message.role,
        name=message.name,
        user_id=scope.user,
        agent_id=scope.agent,
        run_id=scope.run,
        actor_id=scope.actor,
        thread_id=_thread(scope),
    )


def _stated(scope: Scope, draft: Draft, at: datetime) -> Memory:
    return Memory(
        id=new_id(),
        namespace=scope.namespace,
        text=draft.text,
        created_at=draft.created_at or at,
        updated_at=at,
        channel=draft.channel,
        kind=draft.kind or kind_of(draft.text),
        category=draft.category,
        importance=draft.importance,
        tags=draft.tags,
        pinned=draft.pinned,
        source=draft.source,
        sources=draft.sources,
        summary=draft.summary,
        context=draft.context,
        characters=draft.characters,
        role=draft.role,
        name=draft.name,
        user_id=scope.user,
        agent_id=scope.agent,
        run_id=scope.run,
        actor_id=scope.actor,
        thread_id=scope.thread,
        valid_from=draft.valid_from,
    )


def new_id() -> str:
    """A UUIDv7: sorted by time, made without asking the store."""
    return str(uuid_utils.uuid7())


def _thread(scope: Scope) -> str:
    return scope.thread or DEFAULT_THREAD


def _actor(scope: Scope) -> str | None:
    return scope.actor or scope.agent
