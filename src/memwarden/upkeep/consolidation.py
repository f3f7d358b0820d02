"""The job ``consolidate``: merges facts that say the same, and ends those that a newer fact replaces.

The rules of ``remember`` decide; a chat model, where there is one, is asked about pairs that no rule decides. Every
merge is a decision of its own that an undo takes back to the byte.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from memwarden.clock import new_id
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import ModelUnavailable
from memwarden.filters import Condition, Where
from memwarden.models.protocols import ChatModel
from memwarden.observability.records import EventFilter, Node, Op, OpEvent, Status
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.nearby import MAX_NEIGHBOURS, find_nearby
from memwarden.records import UNDOES, Event, Memory, Signals
from memwarden.remember.resolve.resolution import (
    DERIVED_CHANNELS,
    Resolution,
    are_comparable,
    close_stored,
    is_card,
    may_merge,
    merge_stored,
    open_statements,
)
from memwarden.remember.resolve.resolver import SYSTEM, judge_stored_pairs, prompt_of_pairs
from memwarden.remember.resolve.same_fact import Judgement, judge
from memwarden.remember.write_store import is_reserved
from memwarden.text.small_talk import content_terms
from memwarden.text.tokenizer import estimate
from memwarden.upkeep.records import CHAT_MODEL_FAILED, JobChange, JobContext, JobReport
from memwarden.upkeep.token_budget import day_of, release_tokens, reserve_tokens

# What is looked at: changed lately, important, or among those that stand in answers most often.
CHANGED_HOURS: Final = 72
MIN_IMPORTANCE: Final = 0.6
TOP_SHARE: Final = 0.1
# Both facts of a pair were written or changed within so many days.
MAX_AGE_DAYS: Final = 90
# Maximum pairs of a user that are written or asked about in a day, and seconds of a run on a namespace.
MAX_PAIRS_A_DAY: Final = 50
MAX_SECONDS: Final = 60.0
# Maximum pairs in a question to a model, and the tokens that its answer may take.
MAX_ASKED: Final = 10
ANSWER_TOKENS: Final = 200
# A pair that a model judged is not asked about again for so many days.
FINGERPRINT_DAYS: Final = 14
MAX_EVENTS_READ: Final = 10_000
_PAIR: Final = "pair:"

PairKey = tuple[str, str, float]


@dataclass(frozen=True, slots=True)
class StoredPair:
    """Two stored facts that lie near each other, the older first, and what the rules say of them."""

    older: Memory
    newer: Memory
    cosine: float | None
    judgement: Judgement

    @property
    def key(self) -> PairKey:
        """The fingerprint of the pair."""
        return (*sorted((self.older.id, self.newer.id)), round(self.cosine or 0.0, 2))  # type: ignore[return-value]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of both."""
        return frozenset((self.older.id, self.newer.id))


def order_by_age(first: Memory, second: Memory) -> tuple[Memory, Memory]:
    """Return two facts, the older first."""
    return (first, second) if (first.since, first.id) <= (second.since, second.id) else (second, first)


def is_consolidated(memory: Memory) -> bool:
    """Whether a memory is compared with others: an open fact that is no card and no part of a user context."""
    derived = memory.channel in DERIVED_CHANNELS and memory.valid_to is None
    return derived and not is_card(memory) and not is_reserved(memory.id)


def may_be_same(older: Memory, newer: Memory, at: datetime) -> bool:
    """Whether two facts are worth judging: written lately, of one mouth, and with words or numbers in common."""
    if not are_comparable(newer, older) or min(older.updated_at, newer.updated_at) < at - timedelta(days=MAX_AGE_DAYS):
        return False
    shared = set(content_terms(older.text)) & set(content_terms(newer.text))
    return bool(shared) or all(any(sign.isdigit() for sign in fact.text) for fact in (older, newer))


def choose_survivor(pair: StoredPair) -> tuple[Memory, Memory]:
    """Return the fact that stays and the fact that goes: the pinned stays, else the older."""
    if pair.newer.pinned and not pair.older.pinned:
        return pair.newer, pair.older
    return pair.older, pair.newer


def decide_pair(pair: StoredPair, at: datetime, step: int) -> tuple[JobChange, Resolution] | None:
    """Return what is written for a pair; None for facts that both stand as they are."""
    meta = {"rule": pair.judgement.rule, **({} if pair.cosine is None else {"cosine": round(pair.cosine, 4)})}
    if pair.judgement.label == "same" and may_merge(pair.newer, pair.older):
        stays, goes = choose_survivor(pair)
        change = JobChange("merge", goes.id, f"says the same as {stays.id} (rule: {pair.judgement.rule})")
        return change, merge_stored(stays, goes, at, step, meta)
    if pair.judgement.label == "supersede" and not pair.older.pinned and pair.older.since < pair.newer.since:
        change = JobChange("supersede", pair.older.id, f"{pair.newer.id} replaces it (rule: {pair.judgement.rule})")
        return change, close_stored(pair.older, pair.newer, at, step, meta)
    return None


async def consolidate(context: JobContext) -> JobReport:
    """Merge what says the same, and end what is replaced, among the facts of a user."""
    if not context.namespace.path.startswith("user/") or context.runtime.settings.merging != "auto":
        return JobReport()

    async def attempt() -> JobReport:
        return await _consolidate_as_read(context)

    return await change_atomically(context.namespace, attempt)


async def _consolidate_as_read(context: JobContext) -> JobReport:
    until = time.monotonic() + MAX_SECONDS
    services = context.runtime.services
    is_large = await services.larges.ready(context.namespace) is not None
    index = None if is_large else await services.indexes.current(context.namespace)
    rev = (await context.runtime.store.head(context.namespace)).rev if index is None else index.rev
    fingerprints, used = await _read_fingerprints(context)
    left = MAX_PAIRS_A_DAY - used
    if left <= 0:
        return JobReport(reason="pairs_of_the_day")
    pairs, late = await _judge_pairs(context, index, until)
    chat = context.runtime.services.pair_judge
    asked: list[StoredPair] = []
    tokens, failed = 0, False
    if chat is not None and not context.dry_run:
        open_pairs = [pair for pair in pairs if pair.judgement.label == "check" and pair.key not in fingerprints]
        asked, tokens, failed = await _ask(context, chat, open_pairs[:left])
    decided = [pair for pair in (*pairs, *asked) if pair.judgement.label in ("same", "supersede")]
    chosen = [item async for item in _choose(context, decided, left)]
    if not context.dry_run:
        await context.apply([change for _, _, item in chosen for change in item.changes], rev)
        await _note_pairs(context, [*asked, *(pair for pair, _, _ in chosen if pair not in asked)])
    reason = "seconds_of_a_run" if late else "pairs_of_the_day" if len(chosen) == left else ""
    reason = CHAT_MODEL_FAILED if failed else reason
    return JobReport(tuple(change for _, change, _ in chosen), reason, tokens, failed)


async def _judge_pairs(
    context: JobContext, index: NamespaceIndex | None, until: float
) -> tuple[list[StoredPair], bool]:
    """Judge the pairs of the pool by rules; also return whether time ran out.

    index: of the namespace; None for a large one, whose store is searched.
    """
    compared: set[frozenset[str]] = set()
    judged: list[StoredPair] = []
    ids = await _pool(context)
    for first in range(0, len(ids), 50):
        if time.monotonic() > until:
            return judged, True
        facts = await context.runtime.store.get(context.namespace, ids[first : first + 50])
        compared_with = await _find_compared(context, facts) if index is None else index
        near = [(fact, *each) for fact in facts if is_consolidated(fact) for each in _near(compared_with, fact)]
        others = await context.runtime.store.get(context.namespace, sorted({item for _, item, _ in near}))
        known = {item.id: item for item in others if is_consolidated(item)}
        found = [(fact, known[other], cosine) for fact, other, cosine in near if other in known]
        judged += await asyncio.to_thread(_judge, found, compared, context.at)
    return judged, False


async def _find_compared(context: JobContext, facts: Sequence[Memory]) -> NamespaceIndex:
    """Return an index of what facts of a large namespace are compared with, and of the facts."""
    services = context.runtime.services
    rows = await context.runtime.store.index_rows(context.namespace, [fact.id for fact in facts])
    signals = [Signals(row.terms, row.vector or None) for row in services.indexes.of_model(rows)]
    found = await services.larges.find_statements(context.namespace, DERIVED_CHANNELS, signals)
    return found or await services.indexes.current(context.namespace)


def _judge(
    near: Iterable[tuple[Memory, Memory, float | None]], compared: set[frozenset[str]], at: datetime
) -> list[StoredPair]:
    judged = []
    for fact, other, cosine in near:
        older, newer = order_by_age(fact, other)
        ids = frozenset((fact.id, other.id))
        if ids not in compared and may_be_same(older, newer, at):
            judged.append(StoredPair(older, newer, cosine, judge(older.text, newer.text, cosine=cosine)))
        compared.add(ids)
    return judged


def _near(index: NamespaceIndex, fact: Memory) -> list[tuple[str, float | None]]:
    """Return the open facts of the same speaker and channel near to a fact, with the cosine."""
    place = index.place(fact.id)
    if place is None:
        return []
    vectors = None if index.dimensions is None else index.vectors_of([place])
    vector = None if vectors is None or not vectors.any() else vectors.astype("<f2").tobytes()
    allowed = open_statements(index, fact.channel, fact.name)
    near = find_nearby(index, fact.text, vector, allowed, model=None, most=MAX_NEIGHBOURS + 1)
    return [(item.id, item.cosine) for item in near if item.id != fact.id]


async def _pool(context: JobContext) -> list[str]:
    """Return the ids of the facts that are compared: changed lately, important, or often in answers."""
    derived: Where = (Condition("channel", "$in", tuple(map(str, DERIVED_CHANNELS))),)
    since = context.at - timedelta(hours=CHANGED_HOURS)
    store, namespace = context.runtime.store, context.namespace
    changed = await store.find_ids(namespace, (*derived, Condition("updated_at", "$gte", since)))
    important = await store.find_ids(namespace, (*derived, Condition("importance", "$gte", MIN_IMPORTANCE)))
    return list(dict.fromkeys((*changed, *important, *await _often_used(context))))


async def _often_used(context: JobContext) -> list[str]:
    """Return the tenth of the memories of the last month that stood in most prompts and answers."""
    since = context.at - timedelta(days=30)
    counted: Counter[str] = Counter()
    for op in (Op.USE, Op.SEARCH):
        found = await context.runtime.store.events(
            context.namespace, EventFilter(since=since, op=op), limit=MAX_EVENTS_READ
        )
        counted.update(event.memory_id for event in found if event.memory_id is not None)
    return [memory_id for memory_id, _ in counted.most_common(int(len(counted) * TOP_SHARE))]


async def _choose(
    context: JobContext, pairs: Sequence[StoredPair], most: int
) -> AsyncIterator[tuple[StoredPair, JobChange, Resolution]]:
    """Yield what is written: merges first, each memory once, and nothing that somebody undid."""
    taken: set[str] = set()
    for pair in sorted(pairs, key=lambda item: (item.judgement.label != "same", item.older.since, item.newer.since)):
        if len(taken) >= 2 * most:
            return
        found = None if pair.ids & taken else decide_pair(pair, context.at, len(taken))
        if found is not None and not await _was_undone(context, pair):
            taken |= pair.ids
            yield pair, *found


async def _was_undone(context: JobContext, pair: StoredPair) -> bool:
    """Whether a person took a merge or an end of either back: what is kept apart on purpose stays apart."""
    for memory_id in sorted(pair.ids):
        entries = await context.runtime.store.journal(context.namespace, memory_id=memory_id, descending=True, limit=50)
        if any(UNDOES in (entry.meta or {}) and entry.event == Event.RESTORE for entry in entries):
            return True
    return False


async def _ask(context: JobContext, chat: ChatModel, pairs: Sequence[StoredPair]) -> tuple[list[StoredPair], int, bool]:
    """Return pairs as a model judges them, as far as the tenant's tokens of the day go.

    Also returns the tokens that were reserved, and whether the model failed.
    """
    judged: list[StoredPair] = []
    tokens = 0
    for first in range(0, len(pairs), MAX_ASKED):
        some = pairs[first : first + MAX_ASKED]
        texts = [(pair.older.text, pair.newer.text) for pair in some]
        needed = 2 * (estimate(SYSTEM) + estimate(prompt_of_pairs(texts)) + ANSWER_TOKENS)  # an answer is repaired once
        most = context.runtime.settings.upkeep_tokens
        if not await reserve_tokens(context.runtime.store, context.namespace.tenant, needed, most, context.at):
            break
        try:
            answers = await judge_stored_pairs(chat, texts, [pair.judgement for pair in some])
        except ModelUnavailable:
            answers = None
        if answers is None:
            await release_tokens(context.runtime.store, context.namespace.tenant, needed, context.at)
            return judged, tokens, True
        tokens += needed
        judged += [replace(pair, judgement=answer) for pair, answer in zip(some, answers, strict=False)]
    return judged, tokens, False


async def _read_fingerprints(context: JobContext) -> tuple[set[PairKey], int]:
    """Return the pairs that were judged within 14 days, and how many pairs today took."""
    since = context.at - timedelta(days=FINGERPRINT_DAYS)
    where = EventFilter(since=since, node=Node.WORKER, op=Op.CLASSIFY)
    found = [
        event
        for event in await context.runtime.store.events(context.namespace, where, limit=MAX_EVENTS_READ)
        if event.reason.startswith(_PAIR) and event.memory_id is not None
    ]
    keys = {(str(event.memory_id), event.reason.removeprefix(_PAIR), round(event.sim or 0.0, 2)) for event in found}
    return keys, sum(event.ts >= day_of(context.at) for event in found)


async def _note_pairs(context: JobContext, pairs: Sequence[StoredPair]) -> None:
    events = [
        OpEvent(
            new_id(), context.namespace, Node.WORKER, Op.CLASSIFY, Status.OK, context.at,
            memory_id=pair.key[0], sim=pair.key[2], reason=f"{_PAIR}{pair.key[1]}",
        )
        for pair in pairs
    ]  # fmt: skip
    if events:
        await context.runtime.store.record(events)
