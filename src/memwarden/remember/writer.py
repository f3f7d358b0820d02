"""The one way in: what a caller hands over becomes one Batch, made ready before the store is asked.

Model calls and hashing end before the transaction starts; :meth:`memwarden.stores.protocol.Store.apply` is the only
place where anything is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memwarden import clock, filters
from memwarden.errors import Conflict, NotFound
from memwarden.ids import DEFAULT_THREAD, new_id
from memwarden.lifecycle import KEPT_AFTER_FORGETTING
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.recall.time.past import read_entries_after
from memwarden.records import (
    ALREADY,
    APART,
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    MessageResult,
    Namespace,
    Outcome,
    Put,
    Receipt,
    Remove,
    Restore,
    Scope,
    SeenMark,
    Signals,
    Unlink,
    WriteMode,
    WriteResult,
)
from memwarden.remember import items
from memwarden.remember.extract.kinds import kind_of
from memwarden.remember.ingest.deduplicate import MAX_COMPARED, TurnKey, digest_message, find_new_turns, key_of_id
from memwarden.remember.ingest.draft import Draft
from memwarden.remember.ingest.intake import Screening, describe_secrets, redact_secrets, screen, trust_of
from memwarden.remember.ingest.messages import Message
from memwarden.remember.ingest.strip_context import strip_context
from memwarden.remember.promote import promote
from memwarden.remember.resolve.consent.rules import check_context_undo
from memwarden.remember.resolve.resolver import IncomingStatement, Resolver, replayed_result
from memwarden.remember.resolve.review import approve, check_restore, reject
from memwarden.remember.resolve.review import check_review_undo as check_release
from memwarden.remember.undo import check_last, ends_needed, invert, versions_needed
from memwarden.stores.protocol import Store
from memwarden.text.flags import Flag

TURN_CATEGORY = "activity"

_OUTCOMES: Mapping[str, str] = {
    "deleted": Outcome.DELETED,
    "restored": Outcome.RESTORED,
    "updated": Outcome.RESTORED,
    "missing": Outcome.RESTORED,
}

_PENDING_AGAIN: Mapping[str, str] = {
    MemoryState.CANDIDATE: Outcome.PROPOSED,
    MemoryState.QUARANTINED: Outcome.QUARANTINED,
}

SMALL_TALK_REJECTED = (Outcome.REJECTED, "greeting, thanks or small talk alone: nothing to remember")
NO_WORDS = "it carries no words"
SMALL_TALK_STORED = "greeting, thanks or small talk alone: kept in the turn log, never recalled"
UNSTORED_ROLES = {
    "system": "system prompts are instructions, not something to remember",
    "developer": "developer prompts are instructions, not something to remember",
    "tool": "tool output is not part of what people said; remember what matters of it with kind='tool_output'",
    "function": "function output is not part of what people said; remember what matters of it with kind='tool_output'",
}


class Writer:
    """Writes for scopes. Holds no state of its own."""

    def __init__(
        self, store: Store, embedder: Embedder | None, facts: Resolver, now: Callable[[], datetime] = clock.now
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._facts = facts
        self._now = now

    async def observe(
        self, scope: Scope, messages: Sequence[Message], key: str | None, seen: tuple[SeenMark, ...] = ()
    ) -> WriteResult:
        """Store what was said, durably and once; without secrets, and apart when it looks like an attack.

        seen: up to which revision the thread, and agents in it, were told what changed (B1).
        """
        own = [replace(message, text=strip_context(message.text)) for message in messages]
        cleaned = [redact_secrets(message) for message in own]
        messages = [message for message, _ in cleaned]
        said = [message for message in messages if _refusal(message) is None]
        keys = await self._turn_keys(scope, said, key)
        new = [(message, item.source_key) for message, item in zip(said, keys, strict=True) if _is_new(item)]
        at = self._now()
        signals = await make_signals_in_thread(
            [(message.text, message.created_at or at) for message, _ in new], self._embedder
        )
        looks = [screen(trust_of(message.role), message.text) for message, _ in new]
        puts = tuple(
            Put(_turn(scope, message, at), item, source_key=source_key, state=look.state, meta=_kinds(look))
            for (message, source_key), item, look in zip(new, signals, looks, strict=True)
        )
        rev, applied = await self._apply(scope, puts, at, key, messages, seen)
        others = await self._texts(scope, [item.id for item in applied if item.outcome == "duplicate"])
        made = iter(zip(applied, signals, looks, strict=True))
        results = iter(
            _observed(message, *next(made), others) if _is_new(item) else _not_new(item)
            for message, item in zip(said, keys, strict=True)
        )
        return WriteResult(rev, tuple(_with(kinds, _refused(message) or next(results)) for message, kinds in cleaned))

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], readable: Collection[str] | None, key: str | None = None
    ) -> WriteResult:
        """Store memories that a caller states, each judged against what is known. readable: see :class:`Resolver`."""
        at = self._now()
        cleaned = [redact_secrets(draft) for draft in drafts]
        drafts = [draft for draft, _ in cleaned]
        signals = await make_signals_in_thread(
            [(draft.text, draft.created_at or at) for draft in drafts], self._embedder
        )
        worthy = [not signal.flags & Flag.CHATTER for signal in signals]
        stated = [
            IncomingStatement(
                memory,
                item,
                screen(memory.trust, memory.text, memory.summary, memory.context),
                dated=bool(draft.created_at or draft.valid_from),
            )
            for draft, item, good in zip(drafts, signals, worthy, strict=True)
            if good
            for memory in (_stated(scope, draft, at),)
        ]
        if not stated:
            head = await self._store.head(scope.namespace)
            return WriteResult(head.rev, tuple(MessageResult(None, *SMALL_TALK_REJECTED) for _ in drafts))
        fingerprint = None if key is None else _fingerprint(scope, [repr(draft) for draft in drafts])
        receipt, settled = await self._facts.write(
            stated, readable, at, actor=_actor(scope), key=key, fingerprint=fingerprint
        )
        results = iter(
            await self._replayed(scope, receipt, len(stated))
            if receipt.replayed
            else [MessageResult(item.id, item.outcome, item.reason) for item in settled]
        )
        return WriteResult(
            receipt.rev,
            tuple(
                _with(kinds, next(results)) if good else MessageResult(None, *SMALL_TALK_REJECTED)
                for (_, kinds), good in zip(cleaned, worthy, strict=True)
            ),
        )

    async def _replayed(self, scope: Scope, receipt: Receipt, statements: int) -> list[MessageResult]:
        """What the statements of a call became when it was applied for the first time."""
        told = [replayed_result(receipt.applied, number) for number in range(statements)]
        known = await self._store.get(scope.namespace, [item.id for item in told if item.id], removed=True)
        held = {item.id for item in known if item.state == MemoryState.QUARANTINED}
        return [replace(item, outcome=Outcome.QUARANTINED) if item.id in held else item for item in told]

    async def update(self, scope: Scope, old: Memory, new: Memory, readable: Collection[str] | None) -> WriteResult:
        """Write a memory's new content. Raises Conflict when the stored version is no longer the old one's."""
        at = self._now()
        new, kinds = redact_secrets(replace(new, updated_at=at))
        signals: Signals | None = None
        links: tuple[Link, ...] = ()
        if (new.text, new.created_at) != (old.text, old.created_at):
            (signals,) = await make_signals_in_thread([(new.text, new.created_at)], self._embedder)
            links = await self._facts.links_of(new, signals, readable)
        put = Put(new, signals, WriteMode.UPDATE, expected_version=old.version)
        receipt = await self._store.apply(Batch(scope.namespace, (put, *links), at, actor=_actor(scope)))
        return WriteResult(receipt.rev, (_with(kinds, MessageResult(new.id, Outcome.UPDATED)),))

    async def restore(self, scope: Scope, memory_id: str) -> WriteResult:
        """Bring a forgotten memory back, as it was. Raises Conflict for what waited apart and was given up."""
        await check_restore(self._store, scope.namespace, memory_id)
        restore = (Restore(memory_id),)
        receipt = await self._store.apply(Batch(scope.namespace, restore, self._now(), actor=_actor(scope)))
        reason = "" if receipt.applied[0].outcome == "restored" else "it is active already"
        return WriteResult(receipt.rev, (MessageResult(memory_id, Outcome.RESTORED, reason),))

    async def undo(self, scope: Scope, entries: Sequence[JournalEntry]) -> WriteResult:
        """Take a decision back. entries: all of its step. Raises Conflict when something later stands on it."""
        check_context_undo(entries)
        check_release(scope, entries)
        namespace, at = scope.namespace, self._now()
        head = await self._store.head(namespace)
        changed = dict.fromkeys(entry.memory_id for entry in entries)
        later = [
            item
            for each in changed
            for item in await read_entries_after(self._store, namespace, entries[-1].seq, memory_id=each)
        ]
        check_last(entries, later)
        wanted = versions_needed(entries)
        contents = await self._store.versions(namespace, wanted)
        signals = await make_signals_in_thread(
            [(content.text, content.created_at) for content in contents], self._embedder
        )
        known = [(content.id, content.version) for content in contents]
        changes = invert(
            entries,
            dict(zip(known, contents, strict=True)),
            dict(zip(known, signals, strict=True)),
            at,
            at + KEPT_AFTER_FORGETTING,
        )
        await self._check_ends(namespace, ends_needed(changes), entries[0].step)
        batch = Batch(namespace, changes, at, actor=_actor(scope), decided_at=head.rev)
        receipt = await self._store.apply(batch)
        outcomes = zip(changes, receipt.applied, strict=True)
        told = {
            item.id: MessageResult(item.id, _undone(change, item))
            for change, item in outcomes
            if not isinstance(change, Link | Unlink)
        }
        return WriteResult(receipt.rev, tuple(told.values()))

    async def _check_ends(self, namespace: Namespace, ends: Collection[str], step: int) -> None:
        there = {item.id for item in await self._store.get(namespace, sorted(ends))}
        for end in sorted(ends):
            if end not in there:
                raise Conflict(
                    f"change {step} took a link of memory {end!r} away, which is not there now; restore it first"
                )

    async def put(
        self,
        memory: Memory,
        *,
        actor: str | None = None,
        meta: Mapping[str, Any] | None = None,
        keep: int | None = None,
    ) -> tuple[Memory, Screening]:
        """Store an item under its own id, in place of one that has it already (E1's add, state).

        keep: so many of its earlier contents; None keeps all.
        """
        return await items.put(self._store, self._embedder, memory, self._now(), actor=actor, meta=meta, keep=keep)

    async def swap(
        self, memory: Memory, rev: int, *, keep: int, key: str | None = None, asked: Sequence[Any] = ()
    ) -> bool:
        """Store what is never searched by meaning under its own id. Raises Stale if that was written after ``rev``.

        keep: so many of its earlier contents. key: idempotency key. Returns False, and writes nothing, when it was used
            before; a Conflict if something else was ``asked`` then.
        """
        fingerprint = None if key is None else _hash([memory.id, *asked])
        return await items.swap(self._store, memory, self._now(), rev, keep=keep, key=key, fingerprint=fingerprint)

    async def release(
        self, scope: Scope, memory_id: str, readable: Collection[str] | None, *, vouch: bool
    ) -> WriteResult:
        """Let in what waits apart. See :mod:`memwarden.remember.resolve.review`."""
        return await approve(
            self._store, self._facts, self._embedder, scope, memory_id, self._now(), vouch=vouch, readable=readable
        )

    async def discard(self, scope: Scope, memory_id: str, readable: Collection[str] | None) -> WriteResult:
        """Give up what waits apart. See :mod:`memwarden.remember.resolve.review`."""
        return await reject(self._store, scope, memory_id, self._now(), readable)

    async def promote(self, memory: Memory, target: Namespace) -> str:
        """Copy a memory to a wider namespace (E7). Returns the id of the copy."""
        return await promote(self._store, self._embedder, memory, target, self._now)

    async def forget(self, scope: Scope, ids: Sequence[str]) -> WriteResult:
        """Take memories out of every answer. Raises NotFound, and forgets nothing, if an id is unknown."""
        found = {memory.id for memory in await self._store.get(scope.namespace, ids)}
        missing = [item for item in ids if item not in found]
        if missing:
            raise NotFound(f"no memory {missing[0]!r} in {scope.namespace.path}")
        at = self._now()
        changes = tuple(Remove(item, purge_at=at + KEPT_AFTER_FORGETTING) for item in ids)
        receipt = await self._store.apply(Batch(scope.namespace, changes, at, actor=_actor(scope)))
        return WriteResult(receipt.rev, tuple(MessageResult(item, Outcome.DELETED) for item in ids))

    async def remove(
        self, namespace: Namespace, ids: Sequence[str], *, decided_at: int | None = None, actor: str | None = None
    ) -> int:
        """Take items out of a namespace, in one batch (E1). Returns how many were there.

        decided_at: refuse it (Stale) when one of them was changed after this revision.
        """
        return await items.remove(self._store, namespace, ids, self._now(), decided_at=decided_at, actor=actor)

    async def clear(self, namespace: Namespace, found: Sequence[Memory]) -> None:
        """Take memories out for good, and those that were taken out before (E2): the next purge may remove them."""
        await items.clear(self._store, namespace, found, self._now())

    async def evict(self, victims: Sequence[Memory], rev: int, limit: int) -> None:
        """Take what matters least out of a full namespace (E3). Raises Stale when one was changed after ``rev``."""
        await items.evict(self._store, victims, rev, limit, self._now())

    async def _apply(
        self,
        scope: Scope,
        puts: tuple[Put, ...],
        at: datetime,
        key: str | None,
        asked: Sequence[Message],
        seen: tuple[SeenMark, ...],
    ) -> tuple[int, tuple[ChangeResult, ...]]:
        if not puts and key is None:
            return (await self._store.head(scope.namespace)).rev, ()
        fingerprint = None if key is None else _fingerprint(scope, [[digest_message(item), item.id] for item in asked])
        receipt = await self._store.apply(
            Batch(scope.namespace, puts, at, key=key, fingerprint=fingerprint, actor=_actor(scope), seen=seen)
        )
        return receipt.rev, receipt.applied

    async def _texts(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        stored = await self._store.get(scope.namespace, ids, removed=True) if ids else []
        return {memory.id: memory.text for memory in stored}

    async def _turn_keys(self, scope: Scope, said: Sequence[Message], key: str | None) -> list[TurnKey]:
        """Say under which key each turn is stored once: the caller's id of the message, else its number in the call's
        idempotency key, else what :mod:`memwarden.remember.ingest.deduplicate` finds."""
        if key is not None or all(message.id for message in said):
            return [TurnKey(key_of_id(message) or f"key:{key}:{number}") for number, message in enumerate(said)]
        where = filters.parse({"thread_id": _thread(scope), "channel": Channel.TURN})
        most = min(2 * len(said) + 10, max(len(said), MAX_COMPARED))
        tail = await self._store.find(scope.namespace, where, limit=most, order_by=filters.WRITTEN)
        return find_new_turns(said, tail[::-1])


def _fingerprint(scope: Scope, asked: Sequence[Any]) -> str:
    return _hash([_thread(scope), list(asked)])


def _hash(asked: Sequence[Any]) -> str:
    return hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).hexdigest()


def _is_new(key: TurnKey) -> bool:
    return key.known is None and key.refused is None


def _not_new(key: TurnKey) -> MessageResult:
    if key.refused is not None:
        return MessageResult(None, Outcome.REJECTED, key.refused)
    return MessageResult(key.known, Outcome.CREATED, ALREADY)


def _refusal(message: Message) -> str | None:
    return UNSTORED_ROLES.get(message.role or "") or (None if message.text else message.misfit or NO_WORDS)


def _refused(message: Message) -> MessageResult | None:
    reason = _refusal(message)
    return None if reason is None else MessageResult(None, Outcome.REJECTED, reason)


def _undone(change: BatchChange, applied: ChangeResult) -> str:
    """What an undo made of a memory."""
    if isinstance(change, Remove) and change.state in APART:
        return _PENDING_AGAIN[change.state]
    return _OUTCOMES[applied.outcome]


def _with(kinds: tuple[str, ...], written: MessageResult) -> MessageResult:
    """The same, saying also which secrets were taken out."""
    return (
        replace(written, reason="; ".join(filter(None, (written.reason, describe_secrets(kinds)))))
        if kinds
        else written
    )


def _kinds(look: Screening) -> dict[str, Any] | None:
    return {"kinds": list(look.kinds)} if look.kinds else None


def _observed(
    message: Message, applied: ChangeResult, signals: Signals, look: Screening, stored: Mapping[str, str]
) -> MessageResult:
    if applied.outcome == "duplicate":
        if stored.get(applied.id, message.text) == message.text:
            return MessageResult(applied.id, Outcome.CREATED, ALREADY)
        return MessageResult(
            applied.id, Outcome.REJECTED, f"the id {message.id!r} already holds other words in this thread"
        )
    if look.kinds:
        return MessageResult(applied.id, Outcome.QUARANTINED, look.reason)
    return MessageResult(applied.id, Outcome.CREATED, SMALL_TALK_STORED if signals.flags & Flag.CHATTER else "")


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
        trust=trust_of(message.role),
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
        trust=draft.trust or trust_of(draft.role, draft.kind, draft.source),
    )


def _thread(scope: Scope) -> str:
    return scope.thread or DEFAULT_THREAD


def _actor(scope: Scope) -> str | None:
    return scope.actor or scope.agent
