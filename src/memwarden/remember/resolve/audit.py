"""Audits a namespace page by page: what is wrong with memories, and which fix would mend it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from memwarden import clock, filters
from memwarden.clock import DEFAULT_THREAD
from memwarden.filters import Condition, Where
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.recall.large.registry import LargeNamespaces
from memwarden.recall.nearby import MAX_NEIGHBOURS, find_nearby
from memwarden.records import (
    Audit,
    AuditFinding,
    Channel,
    Event,
    Fix,
    Flaw,
    JournalEntry,
    Memory,
    MemoryState,
    Namespace,
    RelationType,
    StateCount,
)
from memwarden.remember.ingest.own_context import holds_context
from memwarden.remember.ingest.redaction import redact_secrets
from memwarden.remember.resolve.repair import check_end, check_extracted, is_ended_by_rule, is_extracted
from memwarden.remember.resolve.resolution import (
    DERIVED_CHANNELS,
    are_comparable,
    channels_compared,
    is_card,
    may_merge,
    open_statements,
)
from memwarden.remember.resolve.same_fact import judge
from memwarden.stores.protocol import StoreReader
from memwarden.text.flags import Flag
from memwarden.text.small_talk import content_terms

# What is corrected comes before what is forgotten, so that no fix finds its memory gone.
_ORDER = (
    Flaw.SECRET,
    Flaw.WRONG_END,
    Flaw.OTHER_SUBJECT,
    Flaw.MEANINGLESS,
    Flaw.CONTRADICTION,
    Flaw.SUCCESSOR_GONE,
    Flaw.RESTATED_PROMPT,
    Flaw.CHATTER,
    Flaw.SOURCE_GONE,
    Flaw.DUPLICATE,
)


@dataclass(frozen=True, slots=True)
class OrderedMemory:
    """A memory with its place in the order of writing."""

    memory: Memory
    n: int

    @property
    def time(self) -> tuple[datetime, int]:
        """Orders memories by since when they are true."""
        return self.memory.since, self.n


@dataclass(frozen=True, slots=True)
class FactPair:
    """Two facts of which the rules say ``label``, "same" or "supersede"."""

    older: OrderedMemory
    newer: OrderedMemory
    label: str
    rule: str


def is_open_fact(memory: Memory) -> bool:
    """Whether a memory is compared with others: an open fact, and no index card."""
    return memory.channel in DERIVED_CHANNELS and memory.valid_to is None and not is_card(memory)


def check_memory(memory: Memory, flags: int) -> list[AuditFinding]:
    """Return what is wrong with a single memory. flags: of :class:`memwarden.text.flags.Flag`."""
    matches = []
    cleaned, kinds = redact_secrets(memory)
    if kinds:
        why = f"it holds a secret: {', '.join(kinds)}"
        matches.append(AuditFinding(Flaw.SECRET, (memory.id,), why, _fix_for_secret(cleaned)))
    if _restates_prompt(memory):
        matches.append(_finding_to_forget(Flaw.RESTATED_PROMPT, memory, "it repeats what memwarden put into a prompt"))
    elif _is_small_talk(memory, flags):
        matches.append(_finding_to_forget(Flaw.CHATTER, memory, "greeting, thanks or small talk alone, kept as a fact"))
    return matches


def _restates_prompt(memory: Memory) -> bool:
    return any(holds_context(text) for text in (memory.text, memory.summary, memory.context) if text)


def _is_small_talk(memory: Memory, flags: int) -> bool:
    # An item with a payload says what its text does not.
    if memory.channel not in DERIVED_CHANNELS or memory.payload is not None:
        return False
    return bool(flags & Flag.CHATTER) or not content_terms(memory.text)


def _fix_for_secret(cleaned: Memory) -> Fix:
    """Every correction takes secrets out of all fields. What was said is not corrected."""
    if cleaned.channel == Channel.TURN or not cleaned.text:
        return Fix("forget", cleaned.id)
    return Fix("update", cleaned.id, {"text": cleaned.text})


def compare_facts(memory: OrderedMemory, other: OrderedMemory, cosine: float | None) -> FactPair | None:
    """Judge two facts as ``remember`` would, the older first; None when both may stand as they are."""
    older, newer = sorted((memory, other), key=lambda known: known.time)
    if not are_comparable(newer.memory, older.memory):
        return None
    judgement = judge(older.memory.text, newer.memory.text, cosine=cosine)
    same = judgement.label == "same" and may_merge(newer.memory, older.memory)
    if not same and judgement.label != "supersede":
        return None
    return FactPair(older, newer, judgement.label, judgement.rule)


def find_duplicates(pairs: Iterable[FactPair], leave_out: Collection[str]) -> list[AuditFinding]:
    """Find facts that repeat another fact; a fact that stays for a duplicate is itself kept.

    leave_out: ids of memories that go anyhow.
    """
    same = sorted(
        (pair for pair in pairs if pair.label == "same"), key=lambda item: [_rank(each) for each in _order_pair(item)]
    )
    gone = set(leave_out)
    matches = []
    for item in same:
        stays, goes = (each.memory.id for each in _order_pair(item))
        if gone.isdisjoint((stays, goes)):
            gone.add(goes)
            why = f"they say the same (rule: {item.rule})"
            matches.append(AuditFinding(Flaw.DUPLICATE, (stays, goes), why, Fix("forget", goes)))
    return matches


def _order_pair(twins: FactPair) -> list[OrderedMemory]:
    """Return the two facts, the survivor first."""
    return sorted((twins.older, twins.newer), key=_rank)


def _rank(known: OrderedMemory) -> tuple[bool, datetime, int]:
    """Orders memories that say the same, the survivor first: a pinned memory, else the oldest."""
    return not known.memory.pinned, known.memory.since, known.n


def find_contradictions(pairs: Iterable[FactPair], leave_out: Collection[str]) -> list[AuditFinding]:
    """Find open facts that a newer open fact replaces by the rules, each with the next newer fact.

    leave_out: ids of memories that go anyhow.
    """
    next_one: dict[str, FactPair] = {}
    for pair in pairs:
        ids = {pair.older.memory.id, pair.newer.memory.id}
        if pair.label == "supersede" and ids.isdisjoint(leave_out):
            known = next_one.setdefault(pair.older.memory.id, pair)
            if pair.newer.time < known.newer.time:
                next_one[pair.older.memory.id] = pair
    return [_contradiction(item) for item in sorted(next_one.values(), key=lambda item: item.older.time)]


def _contradiction(twins: FactPair) -> AuditFinding:
    older, newer = twins.older.memory, twins.newer.memory
    why = f"the newer fact gives a new value (rule: {twins.rule}), and both hold now"
    return AuditFinding(
        Flaw.CONTRADICTION, (older.id, newer.id), why, Fix("update", older.id, {"valid_to": newer.since})
    )


class ForgottenTurns:
    """Turns that were forgotten, by the names under which facts know them."""

    def __init__(self, turns: Iterable[Memory]) -> None:
        self._ids: dict[tuple[str | None, str], str] = {}
        for turn in turns:
            self._ids[None, turn.id] = turn.id
            self._ids.update(((turn.thread_id, source), turn.id) for source in turn.sources)

    def under(self, fact: Memory) -> AuditFinding | None:
        """Return the finding for a fact whose source turns were all forgotten."""
        turns = [self._turn(fact, source) for source in fact.sources] if fact.channel != Channel.TURN else []
        known = [turn for turn in turns if turn is not None]
        if not known or len(known) < len(turns):
            return None
        why = "every turn that it rests on was forgotten"
        return AuditFinding(Flaw.SOURCE_GONE, (fact.id, *dict.fromkeys(known)), why, Fix("forget", fact.id))

    def _turn(self, fact: Memory, source: str) -> str | None:
        return self._ids.get((None, source)) or self._ids.get((fact.thread_id or DEFAULT_THREAD, source))


def find_last_successor(replaced: str, successors: Mapping[str, Sequence[str]], active: Collection[str]) -> str | None:
    """Return the last successor of a fact, when no successor is active; else None.

    Args:
        successors: of each memory what replaced it, directly. active: ids.
    """
    last, passed, waiting = None, {replaced}, list(successors.get(replaced, ()))
    while waiting:
        last = waiting.pop(0)
        if last in active:
            return None
        passed.add(last)
        waiting += [item for item in successors.get(last, ()) if item not in passed]
    return last


def check_successor(fact: Memory, last: Memory, readable: Collection[str] | None) -> AuditFinding | None:
    """Return the finding for a fact whose last successor was forgotten; None for an unreadable or merged successor."""
    if last.state != MemoryState.SOFT_DELETED or (readable is not None and last.category not in readable):
        return None
    why = "it was replaced, and what replaced it was forgotten: neither holds now"
    return AuditFinding(Flaw.SUCCESSOR_GONE, (fact.id, last.id), why, Fix("restore", last.id))


def ids_to_forget(findings: Iterable[AuditFinding]) -> set[str]:
    """The ids of memories that findings would have forgotten."""
    return {finding.fix.memory_id for finding in findings if finding.fix.verb in ("forget", "undo")}


def order_findings(findings: Iterable[AuditFinding]) -> tuple[AuditFinding, ...]:
    """Return the findings in an order in which their fixes apply: nothing is forgotten or restored twice."""
    kept = []
    mended: set[tuple[str, str]] = set()
    for finding in sorted(findings, key=lambda item: _ORDER.index(Flaw(item.kind))):
        step = (finding.fix.verb, finding.fix.memory_id)
        if finding.fix.verb == "update" or step not in mended:
            mended.add(step)
            kept.append(finding)
    return tuple(kept)


def _finding_to_forget(kind: Flaw, memory: Memory, why: str) -> AuditFinding:
    return AuditFinding(kind, (memory.id,), why, Fix("forget", memory.id))


# Journal entries of a memory, and turns of a thread, that are read to judge an earlier decision.
MAX_ENTRIES_READ = 50
MAX_TURNS_READ = 5_000
# Judged in pages, so that little is held and the event loop serves others in between.
PAGE = 200
# Called with how many memories have been looked at, and how many will be.
Progress = Callable[[int, int], None]


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
        self._mine = _readable_rows(readable)
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
        going = ids_to_forget(notes.findings)
        notes.findings += find_duplicates(notes.twins, going)
        notes.findings += find_contradictions(notes.twins, ids_to_forget(notes.findings))
        return Audit(order_findings(notes.findings), await self._counts(), notes.looked_at)

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
        notes.findings += await self._find_wrong_ends([memory for memory in memories if memory.valid_to is not None])
        notes.findings += await self._find_misread([memory for memory in memories if is_extracted(memory)])
        notes.twins += await self._twins([memory for memory in memories if is_open_fact(memory)], notes.compared)

    def _alone(self, memories: Sequence[Memory], gone: ForgottenTurns) -> list[AuditFinding]:
        matches = []
        for memory in memories:
            place = self._index.place(memory.id)
            matches += check_memory(memory, 0 if place is None else int(self._index.flags[place]))
            rootless = gone.under(memory)
            matches += [rootless] if rootless else []
        return matches

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
        named = list(dict.fromkeys(item for each in successors.values() for item in each))
        active = {memory.id for memory in await self._store.get(self._namespace, named)}
        by = {item: last for item in over if (last := find_last_successor(item, successors, active))}
        matches = {item.id: item for item in await self._store.get(self._namespace, [*by.values()], removed=True)}
        told = [
            check_successor(over[item], matches[last], self._readable) for item, last in by.items() if last in matches
        ]
        return [item for item in told if item is not None]

    async def _find_wrong_ends(self, facts: Sequence[Memory]) -> list[AuditFinding]:
        """Find facts that a rule ended and that today's rules would not end."""
        matches = []
        for fact in facts:
            last = await self._last_entry(fact.id, Event.SUPERSEDE)
            if last is None or not is_ended_by_rule(last) or last.new_version != fact.version:
                continue
            meta = last.meta or {}
            for successor in await self._store.get(self._namespace, [str(meta["by"])]):
                readable = self._readable is None or successor.category in self._readable
                finding = check_end(fact, successor, str(meta["rule"])) if readable else None
                matches += [] if finding is None else [finding]
        return matches

    async def _find_misread(self, facts: Sequence[Memory]) -> list[AuditFinding]:
        """Find extracted memories that say nothing, or what their turns do not say."""
        matches = []
        for fact in facts:
            sources = await self._read_sources(fact)
            added = await self._last_entry(fact.id, Event.ADD)
            if not sources or added is None or fact.version > 1:
                continue
            finding = await asyncio.to_thread(check_extracted, fact, sources, added.seq)
            matches += [] if finding is None else [finding]
        return matches

    async def _read_sources(self, fact: Memory) -> list[Memory]:
        """Return all turns that a fact rests on; none if any is missing."""
        names = tuple(fact.sources)
        by_id = await self._store.get(self._namespace, names)
        said: Where = (
            Condition("channel", "$eq", str(Channel.TURN)),
            Condition("thread_id", "$eq", fact.thread_id or DEFAULT_THREAD),
        )
        if len(by_id) < len(names):
            turns = await self._store.find(self._namespace, said, limit=MAX_TURNS_READ)
            by_id += [turn for turn in turns if set(turn.sources) & set(names)]
        known = {name for turn in by_id for name in (turn.id, *turn.sources)}
        return by_id if known.issuperset(names) else []

    async def _last_entry(self, memory_id: str, event: Event) -> JournalEntry | None:
        entries = await self._store.journal(
            self._namespace, memory_id=memory_id, descending=True, limit=MAX_ENTRIES_READ
        )
        return next((entry for entry in entries if entry.event == event), None)

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
        vectors = None if self._index.dimensions is None else self._index.vectors_of([place])
        vector = None if vectors is None or not vectors.any() else vectors.astype("<f2").tobytes()
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
            compare_facts(self._with_order(known[item]), self._with_order(known[other]), cosine)
            for item, other, cosine in pairs
            if other in known and is_open_fact(known[other])
        ]
        return [item for item in judged if item is not None]

    def _with_order(self, memory: Memory) -> OrderedMemory:
        place = self._index.place(memory.id)
        return OrderedMemory(memory, 0 if place is None else int(self._index.order[place]))

    async def _counts(self) -> tuple[StateCount, ...]:
        # Of what is purged nothing is left that could be wrong.
        return tuple([await self._count(state) for state in MemoryState if state != MemoryState.PURGED])

    async def _count(self, state: MemoryState) -> StateCount:
        count = await self._store.count(self._namespace, self._mine, state=state)
        oldest = await self._store.find(
            self._namespace, self._mine, limit=1, order_by="updated_at", descending=False, state=state
        )
        return StateCount(state, count, oldest[0].updated_at if oldest else None)


async def audit_namespace(
    store: StoreReader,
    indexes: NamespaceIndexes,
    larges: LargeNamespaces,
    namespace: Namespace,
    readable: Collection[str] | None,
    *,
    limit: int,
    progress: Progress | None,
) -> Audit:
    """Audit the newest memories of a namespace, at most ``limit``. See :class:`Auditor`."""
    newest = await larges.find_newest(namespace, _readable_rows(readable), limit)
    index = newest or await indexes.current(namespace)
    return await Auditor(store, index, namespace, readable).audit(limit, progress)


def _readable_rows(readable: Collection[str] | None) -> Where:
    return () if readable is None else (Condition("category", "$in", tuple(readable)),)
