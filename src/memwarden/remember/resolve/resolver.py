"""Statements on their way in: judged against what is known, merged, superseded or linked, in one Batch (B16, B2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from memwarden import filters
from memwarden.concurrency.tasks import MAX_TRIES, retry_on_stale
from memwarden.models.protocols import ChatModel
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.recall.index.view import Floats
from memwarden.recall.nearby import MAX_NEIGHBOURS, NearbyMemory, find_nearby, is_near
from memwarden.recall.rank.score import score_pair
from memwarden.records import (
    ALREADY,
    CARD,
    EXTRACTED_BY,
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    Event,
    ExtractionMark,
    Link,
    Memory,
    MemoryState,
    MessageResult,
    Outcome,
    Put,
    Receipt,
    Restore,
    Signals,
    WriteMode,
)
from memwarden.remember.ingest.intake import NOT_SUSPICIOUS, TRUST_RANK, Screening
from memwarden.remember.resolve.candidates import STATE_BEFORE, CandidatePool
from memwarden.remember.resolve.model_judge import judge_by_model
from memwarden.remember.resolve.resolution import MAX_LINKS, NeighbourPair, Resolution, judge_pair, resolve
from memwarden.remember.write_store import GuardedStore

DERIVED_CHANNELS = frozenset({Channel.SEMANTIC, Channel.EPISODIC, Channel.INSIGHT})
"""The channels whose statements are compared. What was said is kept as it was said; state is written by key."""
_OTHER_CHANNEL: Mapping[str, str] = {Channel.SEMANTIC: Channel.EPISODIC, Channel.EPISODIC: Channel.SEMANTIC}
"""What happened ends what is so ("moved to Linz": no longer "lives in Graz"), although it is told in another channel.
Of such pairs only a new value counts: nothing is merged or linked across."""
_CARDS = filters.parse({"tags": [CARD], "actor_id": EXTRACTED_BY})


@dataclass(frozen=True, slots=True)
class IncomingStatement:
    """A statement on its way in: its memory, what the index will know of it, and what the look at it gave.

    dated: whether somebody said since when it is true. compared: whether it is compared with what is known; index cards
    and steps are not. meta: for its first journal entry. apart: how it is stored, where it waited until now.
    """

    memory: Memory
    signals: Signals
    screening: Screening = NOT_SUSPICIOUS
    compared: bool = True
    dated: bool = True
    meta: Mapping[str, Any] | None = None
    pending: Memory | None = None


class Resolver:
    """Settles statements against one store. Holds no state of its own.

    Args:
        chat: judges pairs that no rule decides; None goes by the rules alone.
        model: name of the embedding model. link_min: the least score of an automatic link (B2).
        merging: whether statements are compared at all.
    """

    def __init__(
        self,
        store: GuardedStore,
        indexes: NamespaceIndexes,
        *,
        chat: ChatModel | None,
        model: str | None,
        link_min: float,
        merging: bool,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._chat = chat
        self._model = model
        self._link_min = link_min
        self._merging = merging

    async def write(
        self,
        stated: Sequence[IncomingStatement],
        readable: Collection[str] | None,
        at: datetime,
        *,
        actor: str | None,
        key: str | None = None,
        fingerprint: str | None = None,
        extracted: ExtractionMark | None = None,
        last_try: bool = False,
        candidates: Callable[[], Awaitable[list[Memory]]] | None = None,
        read_at: int | None = None,
    ) -> tuple[Receipt, list[Resolution]]:
        """Store statements of one namespace, in order, as one Batch; each sees those before it.

        Args:
            readable: the categories that the writer may read; others are never compared with. None: all.
            extracted: the mark of the thread that they come from: then there is one try, since what is new has to be
                read again; last_try says whether it is the caller's last.
            candidates: reads what waits to be heard again.
            read_at: the revision at which the statements themselves were read from the store: then there is one try,
                too.

        Raises Stale when the memories it touches kept changing under it.
        """
        namespace = stated[0].memory.namespace
        once = last_try or extracted is not None or read_at is not None
        # What is new to one writer may be known to another by now. The last try takes a doublet rather than fail.
        may_double = last_try or not once
        compared = self._merging and any(item.memory.channel in DERIVED_CHANNELS for item in stated)

        async def decide(last: bool) -> tuple[Receipt, list[Resolution]]:
            index = await self._indexes.current(namespace)
            decided_at = index.rev if read_at is None else read_at
            waiting = [] if candidates is None else await candidates()
            settled = await self._settle(stated, index, readable, at, waiting)
            changes = tuple(change for item in settled for change in item.changes)
            batch = Batch(
                namespace, changes, at, key=key, fingerprint=fingerprint, actor=actor, decided_at=decided_at,
                decided_on_all=compared and not (last and may_double), extracted=extracted,
            )  # fmt: skip
            receipt = await self._store.apply(batch)
            return receipt, [_match_receipt(item, receipt) for item in settled]

        return await retry_on_stale(decide, tries=1 if once else MAX_TRIES)

    async def links_of(self, memory: Memory, signals: Signals, readable: Collection[str] | None) -> tuple[Link, ...]:
        """The links that a changed statement gets, to neighbours that it is not linked with yet."""
        if not self._merging or memory.channel not in DERIVED_CHANNELS:
            return ()
        index = await self._indexes.current(memory.namespace)
        known = {other for other, _ in index.edges.of(memory.id)}
        near = [
            item
            for item in self._near(index, memory, signals, readable, memory.channel)
            if item.id not in known | {memory.id}
        ]
        return tuple(
            Link(memory.id, item.id, strength=round(item.score, 4))
            for item in sorted(near, key=lambda item: -item.score)[:MAX_LINKS]
            if item.score >= self._link_min
        )

    async def _settle(
        self,
        stated: Sequence[IncomingStatement],
        index: NamespaceIndex,
        readable: Collection[str] | None,
        at: datetime,
        candidates: list[Memory],
    ) -> list[Resolution]:
        waiting = CandidatePool(candidates)
        earlier = _ResolvedBefore(stated, self._model)
        settled: list[Resolution] = []
        for number, statement in enumerate(stated):
            if statement.screening.kinds:
                settled.append(_quarantine(statement, 2 * number))
                continue
            memory, signals = statement.memory, statement.signals
            if not statement.compared:
                settled.append(_store_uncompared(statement, 2 * number))
                continue
            pairs = []
            if self._merging and memory.channel in DERIVED_CHANNELS:
                pairs = await self._pairs(statement, index, readable, earlier, number)
            item = resolve(memory, signals, pairs, at, step=2 * number, link_min=self._link_min)
            item = _add_meta(
                waiting.settle(memory, signals, statement.screening.state, item, at, 2 * number), statement
            )
            item = item if statement.pending is None else approve_pending(item, statement.pending)
            earlier.learn(item.touched)
            settled.append(item)
        return settled

    async def _pairs(
        self,
        statement: IncomingStatement,
        index: NamespaceIndex,
        readable: Collection[str] | None,
        earlier: _ResolvedBefore,
        number: int,
    ) -> list[NeighbourPair]:
        memory, signals = statement.memory, statement.signals
        channels = channels_compared(memory.channel)
        near = [each for channel in channels for each in self._near(index, memory, signals, readable, channel)]
        stored = {item.id: item for item in await self._store.get(memory.namespace, [item.id for item in near])}
        near += earlier.near(number)
        stored |= earlier.memories  # as they are now
        paired = [
            judge_pair(memory, stored[item.id], item, dated=statement.dated)
            for item in near
            if item.id in stored and stored[item.id].valid_to is None and are_comparable(memory, stored[item.id])
        ]
        pairs = [item for item in paired if item.stored.channel == memory.channel]
        changes = [
            item for item in paired if item.stored.channel != memory.channel and item.judgement.label == "supersede"
        ]
        if self._chat is not None:
            pairs = await judge_by_model(self._chat, memory.text, pairs)
        return [*pairs, *changes]

    def _near(
        self,
        index: NamespaceIndex,
        memory: Memory,
        signals: Signals,
        readable: Collection[str] | None,
        channel: str,
    ) -> list[NearbyMemory]:
        """The open statements of a channel and of the same speaker that are near, index cards left out."""
        allowed = open_statements(index, channel, memory.name, readable)
        return find_nearby(index, memory.text, signals.vector, allowed, model=self._model, most=MAX_NEIGHBOURS)


def replayed_result(applied: Sequence[ChangeResult], number: int) -> MessageResult:
    """What the ``number``-th statement of a call became, told from the receipt of its first application."""
    stated = next(item for item in applied if item.step == 2 * number)
    done = [item for item in applied if item.step == 2 * number + 1]
    if any(item.outcome == "deleted" for item in done):
        return MessageResult(done[0].id, Outcome.MERGED, ALREADY)
    return MessageResult(stated.id, Outcome.SUPERSEDED if done else Outcome.CREATED, ALREADY)


class _ResolvedBefore:
    """The statements of one call that were settled already, for those after them: no index knows them yet."""

    def __init__(self, stated: Sequence[IncomingStatement], model: str | None) -> None:
        self.memories: dict[str, Memory] = {}
        self._ids = [item.memory.id for item in stated]
        self._places = {item: place for place, item in enumerate(self._ids)}
        self._made = np.zeros(len(stated), np.bool_)
        self._model = model
        self._terms = [np.unique(np.frombuffer(item.signals.terms, dtype="<u4")) for item in stated]
        self._having: dict[int, list[int]] = {}
        self._known = 0
        self._sizes = np.array([len(terms) for terms in self._terms], np.float32)
        vectors = [item.signals.vector for item in stated]
        self._vectors = None
        if all(vector is not None for vector in vectors):
            joined = b"".join(vector for vector in vectors if vector is not None)
            self._vectors = np.frombuffer(joined, dtype="<f2").reshape(len(vectors), -1).astype(np.float32)

    def learn(self, touched: Sequence[Memory]) -> None:
        """Keep what a statement made or changed."""
        for item in touched:
            self.memories[item.id] = item
            if item.id in self._places:
                self._made[self._places[item.id]] = True

    def near(self, number: int) -> list[NearbyMemory]:
        """The nearest of the statements before one, that became memories, best first."""
        heard = self._share_words(number)
        cosines = None if self._vectors is None else self._vectors[:number] @ self._vectors[number]
        evidence = heard if cosines is None else heard + cosines
        places = np.flatnonzero(is_near(heard, cosines) & self._made[:number])
        return [
            NearbyMemory(
                self._ids[place],
                None if cosines is None else float(cosines[place]),
                score_pair(
                    float(heard[place]), None if cosines is None else float(cosines[place]), number, self._model
                ),
            )
            for place in places[np.argsort(-evidence[places], kind="stable")][:MAX_NEIGHBOURS].tolist()
        ]

    def _share_words(self, number: int) -> Floats:
        """Of each statement before one: the words that both have, as a share of those that one of them has."""
        for place in range(self._known, number):
            for term in self._terms[place].tolist():
                self._having.setdefault(term, []).append(place)
        self._known = max(self._known, number)
        both = np.zeros(number, np.float32)
        for term in self._terms[number].tolist():
            both[self._having.get(term, [])] += 1
        sizes = self._sizes[:number]
        either = np.maximum(sizes + len(self._terms[number]) - both, 1)
        return np.asarray(both / either, np.float32)


def _add_meta(settled: Resolution, statement: IncomingStatement) -> Resolution:
    """Say in the journal why it was kept, where the statement itself is entered."""
    first, *others = settled.changes
    if statement.meta is None or not isinstance(first, Put) or first.memory.id != statement.memory.id:
        return settled
    return replace(settled, changes=(replace(first, meta={**statement.meta, **(first.meta or {})}), *others))


def approve_pending(settled: Resolution, apart: Memory) -> Resolution:
    """What is written for a statement that is stored already and waited: it is confirmed where it would be created.

    apart: as it is stored.
    """
    first, *others = settled.changes
    assert isinstance(first, Put)
    assert first.memory.id == apart.id
    meta = {**(first.meta or {}), STATE_BEFORE: str(apart.state)}
    confirmed: list[BatchChange] = [Restore(apart.id, Event.CONFIRM, step=first.step, meta=meta)]
    if _content_of(first.memory) != _content_of(apart):
        confirmed.append(Put(first.memory, None, WriteMode.UPDATE, step=first.step, meta=first.meta))
    return replace(settled, changes=(*confirmed, *others))


def _content_of(memory: Memory) -> Memory:
    """A memory without what the store sets by itself."""
    return replace(memory, version=0, state=MemoryState.ACTIVE, purge_at=None, updated_at=memory.created_at)


def _store_uncompared(statement: IncomingStatement, step: int) -> Resolution:
    """What is compared with nothing: an index card or steps, once for each exchange, however often it is looked at."""
    memory = statement.memory
    is_card = CARD in memory.tags
    source_key = f"{CARD if is_card else memory.channel}:{memory.sources[0]}"
    put = Put(memory, statement.signals, source_key=source_key, step=step, meta={CARD: True} if is_card else None)
    return Resolution((put,), (), Outcome.CREATED, memory.id, "an index card" if is_card else "steps")


def _match_receipt(settled: Resolution, receipt: Receipt) -> Resolution:
    """What the caller is told, where the store had kept it before, under the id of that time."""
    first = settled.changes[0]
    if receipt.replayed or not isinstance(first, Put) or first.source_key is None:
        return settled
    known = next(item for item in receipt.applied if item.step == first.step)
    return replace(settled, id=known.id, reason=ALREADY) if known.outcome == "duplicate" else settled


def _quarantine(statement: IncomingStatement, step: int) -> Resolution:
    """A statement that is stored apart: it is compared with nothing, so that it changes nothing."""
    screening, memory = statement.screening, statement.memory
    put = Put(memory, statement.signals, state=screening.state, step=step, meta={"kinds": list(screening.kinds)})
    return Resolution((put,), (), Outcome.QUARANTINED, memory.id, screening.reason)


def are_comparable(new: Memory, old: Memory) -> bool:
    """Whether the same words mean the same: "I" is somebody else in another mouth, and a page does not correct a
    person. Of two channels only what happened and what is so have to do with each other."""
    if TRUST_RANK[new.trust] < TRUST_RANK[old.trust] or is_card(old):
        return False
    if old.channel not in channels_compared(new.channel):
        return False
    return new.id != old.id and (new.name, new.role) == (old.name, old.role)


def open_statements(
    index: NamespaceIndex, channel: str, name: str | None, readable: Collection[str] | None = None
) -> Mask:
    """The statements of a channel and a speaker that are not over, index cards left out. readable: categories."""
    wanted: dict[str, Any] = {"channel": channel, "valid_to": {"$eq": None}, "name": {"$eq": name}}
    if readable is not None:
        wanted["category"] = list(readable)
    allowed = index.mask(filters.parse(wanted))
    return allowed & ~index.mask(_CARDS) if channel == Channel.EPISODIC else allowed


def channels_compared(channel: str) -> tuple[str, ...]:
    """The channels whose statements one of this channel is compared with, its own first."""
    other = _OTHER_CHANNEL.get(channel)
    return (channel,) if other is None else (channel, other)


def is_card(memory: Memory) -> bool:
    """Whether a memory is an index card of what was said."""
    return memory.actor_id == EXTRACTED_BY and CARD in memory.tags
