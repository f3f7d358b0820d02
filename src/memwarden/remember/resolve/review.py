"""Reviews of pending memories, candidates and quarantined texts: approved and rejected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime

from memwarden import clock
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, NotFound
from memwarden.lifecycle import KEPT_AFTER_FORGETTING
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.records import (
    APART,
    Batch,
    Event,
    JournalEntry,
    Memory,
    MemoryState,
    MessageResult,
    Namespace,
    Outcome,
    Remove,
    Scope,
    Trust,
    WriteResult,
)
from memwarden.remember.resolve.pending import check_agent
from memwarden.remember.resolve.resolution import STATE_BEFORE, latest_candidates
from memwarden.remember.resolve.resolver import IncomingStatement, Resolver
from memwarden.remember.wholes import find_other_parts
from memwarden.remember.write_store import GuardedStore
from memwarden.stores.protocol import StoreReader


class ReviewQueue:
    """Approves and rejects pending memories: candidates and quarantined texts. Holds no state of its own."""

    def __init__(
        self,
        store: GuardedStore,
        resolver: Resolver,
        embedder: Embedder | None,
        now: Callable[[], datetime] = lambda: clock.now(),
    ) -> None:
        self._store = store
        self._resolver = resolver
        self._embedder = embedder
        self._now = now

    async def approve(
        self, scope: Scope, memory_id: str, readable: Collection[str] | None, *, vouch: bool
    ) -> WriteResult:
        """Make a pending memory an active memory, resolved against what is known as a new statement is.

        The other parts of a text in parts follow.

        vouch: a person answers for its words; from now on they count as a person's.

        Raises NotFound, Denied, Conflict for what is not pending any more.
        """
        at = self._now()

        async def approve(pending_id: str) -> WriteResult:
            return await change_atomically(
                scope.namespace, lambda: self._approve_as_read(scope, pending_id, readable, at, vouch=vouch)
            )

        others = await self._find_other_parts(scope.namespace, memory_id)
        done = await approve(memory_id)
        for other in others:
            done = replace(done, rev=(await approve(other)).rev)
        return done

    async def _find_other_parts(self, namespace: Namespace, memory_id: str) -> list[str]:
        """Return the pending memories that hold the other parts of a pending text."""
        found = await self._store.get(namespace, [memory_id], removed=True)
        return await find_other_parts(self._store, namespace, found, MemoryState(found[0].state)) if found else []

    async def _approve_as_read(
        self,
        scope: Scope,
        memory_id: str,
        readable: Collection[str] | None,
        at: datetime,
        *,
        vouch: bool,
    ) -> WriteResult:
        namespace = scope.namespace
        rev = (await self._store.head(namespace)).rev  # first: what changes after it makes the decision Stale
        pending = await _read_pending(self._store, scope, memory_id, readable)
        trust = Trust.PERSON if vouch else pending.trust
        memory = replace(pending, state=MemoryState.ACTIVE, purge_at=None, trust=trust, updated_at=at)
        (signals,) = await make_signals_in_thread([(memory.text, memory.said_at)], self._embedder)
        meta = {"why": "vouched for" if vouch else "let in"}
        receipt, (resolution,) = await self._resolver.write(
            [IncomingStatement(memory, signals, meta=meta, pending=pending)],
            readable,
            at,
            actor=_actor_of(scope),
            agent=scope.agent,
            candidates=lambda: _readable_candidates(self._store, namespace, readable),
            read_at=rev,
        )
        return WriteResult(receipt.rev, (MessageResult(resolution.id, Outcome(resolution.outcome), resolution.reason),))

    async def reject(self, scope: Scope, memory_id: str, readable: Collection[str] | None) -> WriteResult:
        """Give up a pending memory with the other parts of its text. It is kept for 30 days more for an undo.

        Raises NotFound, Denied, Conflict for what is not pending any more.
        """
        at = self._now()

        async def reject_as_read() -> int:
            rev = (await self._store.head(scope.namespace)).rev
            pending = await _read_pending(self._store, scope, memory_id, readable)
            meta = {"why": "given up", STATE_BEFORE: str(pending.state)}
            others = await self._find_other_parts(scope.namespace, memory_id)
            removals = tuple(
                Remove(item, purge_at=at + KEPT_AFTER_FORGETTING, meta=meta) for item in (memory_id, *others)
            )
            receipt = await self._store.apply(
                Batch(scope.namespace, removals, at, actor=_actor_of(scope), agent=scope.agent, decided_at=rev)
            )
            return receipt.rev

        rev = await change_atomically(scope.namespace, reject_as_read)
        return WriteResult(rev, (MessageResult(memory_id, Outcome.DELETED),))


def check_review_undo(scope: Scope, entries: Sequence[JournalEntry]) -> None:
    """Raise Denied for an undo by which an agent would approve a quarantined text or see it decided."""
    for entry in entries:
        if entry.event == Event.QUARANTINE:
            check_agent(scope, MemoryState.QUARANTINED)
        check_agent(scope, (entry.meta or {}).get(STATE_BEFORE, ""))


async def check_restore(store: StoreReader, namespace: Namespace, memory_id: str) -> None:
    """Raise Conflict for a rejected memory: it was pending, and nobody forgot it."""
    last = await store.journal(namespace, memory_id=memory_id, descending=True, limit=1)
    if last and last[0].event == Event.DELETE and STATE_BEFORE in (last[0].meta or {}):
        raise Conflict(
            f"memory {memory_id!r} was never forgotten: it waited apart and was given up; undo change {last[0].step}, "
            "and it waits again"
        )


async def _readable_candidates(
    store: StoreReader, namespace: Namespace, readable: Collection[str] | None
) -> list[Memory]:
    found = await latest_candidates(store, namespace)
    return found if readable is None else [item for item in found if item.category in readable]


async def _read_pending(store: StoreReader, scope: Scope, memory_id: str, readable: Collection[str] | None) -> Memory:
    """Return the pending memory with an id. Raises NotFound, Conflict, Denied."""
    found = await store.get(scope.namespace, [memory_id], removed=True)
    if not found or (readable is not None and found[0].category not in readable):
        raise NotFound(f"nothing waits under {memory_id!r} in {scope.namespace.path}; review.pending lists what does")
    (item,) = found
    if item.state == MemoryState.PROPOSED:
        raise Conflict(f"{memory_id!r} is a proposal for the user context; decide on it, which is consent")
    if item.state not in APART:
        raise Conflict(f"memory {memory_id!r} does not wait for a decision: it is {item.state}; look at its history")
    check_agent(scope, item.state)
    return item


def _actor_of(scope: Scope) -> str:
    """The name under which the journal records the decision."""
    return scope.actor or scope.agent or scope.user
