"""Reads a namespace and audits it page by page, so that little is held and others are served meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from memwarden import clock, filters
from memwarden.filters import Condition, Where
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.recall.nearby import MAX_NEIGHBOURS, find_nearby
from memwarden.records import Audit, AuditFinding, Channel, Memory, MemoryState, Namespace, RelationType, StateCount
from memwarden.remember.resolve.audit import findings as judge
from memwarden.remember.resolve.audit.findings import FactPair, ForgottenTurns, OrderedMemory
from memwarden.remember.resolve.resolver import channels_compared, open_statements
from memwarden.stores.protocol import StoreReader

# Judged in pages, so that little is held and the event loop serves others in between.
PAGE = 200
Progress = Callable[[int, int], None]
"""Called with how many memories have been looked at, and how many will be."""


@dataclass(slots=True)
class _Notes:
    """The findings so far."""

    looked_at: int = 0
    findings: list[AuditFinding] = field(default_factory=list)
    twins: list[FactPair] = field(default_factory=list)
    compared: set[frozenset[str]] = field(default_factory=set)


class Auditor:
    """Audits a namespace for a reader. Writes nothing.

    Args:
        readable: the categories that the reader may read; nothing is told of others. None: all.
    """

    def __init__(
        self, store: StoreReader, index: NamespaceIndex, namespace: Namespace, readable: Collection[str] | None
    ) -> None:
        self._store = store
        self._index = index
        self._namespace = namespace
        self._readable = readable
        self._mine: Where = () if readable is None else (Condition("category", "$in", tuple(readable)),)
        self._masks: dict[tuple[str, str | None], Mask] = {}
        self._looked_at: Mask = np.zeros(index.size, np.bool_)

    async def audit(self, limit: int, progress: Progress | None) -> Audit:
        """Look at the newest memories, at most ``limit``."""
        ids = self._newest(limit)
        gone = await self._read_forgotten_turns(limit)
        notes = _Notes()
        for first in range(0, len(ids), PAGE):
            await self._look_at(ids[first : first + PAGE], gone, notes)
            if progress is not None:
                progress(min(first + PAGE, len(ids)), len(ids))
        going = judge.ids_to_forget(notes.findings)
        notes.findings += judge.find_duplicates(notes.twins, going)
        notes.findings += judge.find_contradictions(notes.twins, judge.ids_to_forget(notes.findings))
        return Audit(judge.order_findings(notes.findings), await self._counts(), notes.looked_at)

    def _newest(self, limit: int) -> list[str]:
        """The ids of the memories that are looked at, those written last first."""
        index = self._index
        places = np.flatnonzero(index.mask(self._mine))
        places = places[np.argsort(index.order[places], kind="stable")][::-1][:limit]
        self._looked_at[places] = True
        return [index.columns.ids[place] for place in places.tolist()]

    async def _look_at(self, ids: Sequence[str], gone: ForgottenTurns, notes: _Notes) -> None:
        # What was forgotten since the index was brought up to date is left out here.
        memories = await self._store.get(self._namespace, ids)
        notes.looked_at += len(memories)
        notes.findings += await asyncio.to_thread(self._alone, memories, gone)
        notes.findings += await self._find_closed([memory for memory in memories if memory.valid_to is not None])
        notes.twins += await self._twins([memory for memory in memories if judge.is_open_fact(memory)], notes.compared)

    def _alone(self, memories: Sequence[Memory], gone: ForgottenTurns) -> list[AuditFinding]:
        found = []
        for memory in memories:
            place = self._index.place(memory.id)
            found += judge.check_memory(memory, 0 if place is None else int(self._index.flags[place]))
            rootless = gone.under(memory)
            found += [rootless] if rootless else []
        return found

    async def _read_forgotten_turns(self, limit: int) -> ForgottenTurns:
        """Read the turns that were forgotten last, at most ``limit``."""
        if not self._index.has_facts:
            return ForgottenTurns(())
        turns = (*self._mine, Condition("channel", "$eq", Channel.TURN))
        return ForgottenTurns(
            await self._store.find(
                self._namespace, turns, limit=limit, order_by=filters.WRITTEN, state=MemoryState.SOFT_DELETED
            )
        )

    async def _find_closed(self, facts: Sequence[Memory]) -> list[AuditFinding]:
        """Find facts whose successor is gone."""
        now = clock.now()
        over = {fact.id: fact for fact in facts if fact.valid_to is not None and fact.valid_to <= now}
        successors = await self._successors(over)
        active = {item for each in successors.values() for item in each if self._index.place(item) is not None}
        by = {item: last for item in over if (last := judge.find_last_successor(item, successors, active))}
        found = {item.id: item for item in await self._store.get(self._namespace, [*by.values()], removed=True)}
        told = [
            judge.check_successor(over[item], found[last], self._readable) for item, last in by.items() if last in found
        ]
        return [item for item in told if item is not None]

    async def _successors(self, replaced: Collection[str]) -> dict[str, list[str]]:
        """Read the successors of memories, and theirs, to the end of each chain."""
        successors: dict[str, list[str]] = {}
        waiting = set(replaced)
        while waiting:
            edges = await self._store.relations(self._namespace, sorted(waiting))
            for edge in edges:
                if edge.type == RelationType.SUPERSEDES and edge.to_id in waiting:
                    successors.setdefault(edge.to_id, []).append(edge.from_id)
            passed = successors.keys() | waiting
            waiting = {by for item in waiting for by in successors.get(item, ()) if by not in passed}
        return successors

    async def _twins(self, facts: Sequence[Memory], compared: set[frozenset[str]]) -> list[FactPair]:
        pairs: dict[frozenset[str], tuple[str, str, float | None]] = {}
        for fact in facts:
            for other, cosine in self._near(fact):
                pair = frozenset((fact.id, other))
                if pair not in compared:
                    compared.add(pair)
                    pairs[pair] = (fact.id, other, cosine)
            await asyncio.sleep(0)  # the index belongs to the event loop, which goes on meanwhile
        known = {fact.id: fact for fact in facts}
        missing = {item for pair in pairs for item in pair} - known.keys()
        known |= {item.id: item for item in await self._store.get(self._namespace, sorted(missing))}
        return await asyncio.to_thread(self._compare, list(pairs.values()), known)

    def _near(self, fact: Memory) -> list[tuple[str, float | None]]:
        """Return the audited facts near to a fact, with the cosine."""
        place = self._index.place(fact.id)
        if place is None:
            return []
        vectors = self._index.vectors
        vector = None if vectors is None or not vectors[place].any() else vectors[place].astype("<f2").tobytes()
        near = [
            item
            for channel in channels_compared(fact.channel)
            for item in find_nearby(
                self._index, fact.text, vector, self._mask(channel, fact.name), model=None, most=MAX_NEIGHBOURS + 1
            )
        ]
        return [(item.id, item.cosine) for item in near if item.id != fact.id]

    def _mask(self, channel: str, name: str | None) -> Mask:
        """The audited open facts of a channel and a speaker."""
        key = (channel, name)
        if key not in self._masks:
            self._masks[key] = open_statements(self._index, channel, name)[: len(self._looked_at)] & self._looked_at
        return self._masks[key]

    def _compare(self, pairs: Sequence[tuple[str, str, float | None]], known: dict[str, Memory]) -> list[FactPair]:
        judged = [
            judge.compare_facts(self._with_order(known[item]), self._with_order(known[other]), cosine)
            for item, other, cosine in pairs
            if other in known and judge.is_open_fact(known[other])
        ]
        return [item for item in judged if item is not None]

    def _with_order(self, memory: Memory) -> OrderedMemory:
        place = self._index.place(memory.id)
        return OrderedMemory(memory, 0 if place is None else int(self._index.order[place]))

    async def _counts(self) -> tuple[StateCount, ...]:
        return tuple([await self._count(state) for state in MemoryState])

    async def _count(self, state: MemoryState) -> StateCount:
        count = await self._store.count(self._namespace, self._mine, state=state)
        oldest = await self._store.find(
            self._namespace, self._mine, limit=1, order_by="updated_at", descending=False, state=state
        )
        return StateCount(state, count, oldest[0].updated_at if oldest else None)


async def audit_namespace(
    store: StoreReader,
    indexes: NamespaceIndexes,
    namespace: Namespace,
    readable: Collection[str] | None,
    *,
    limit: int,
    progress: Progress | None,
) -> Audit:
    """Audit the newest memories of a namespace, at most ``limit``. See :class:`Auditor`."""
    return await Auditor(store, await indexes.current(namespace), namespace, readable).audit(limit, progress)
