"""Decides what a new statement does to the memories nearest to it: merge, supersede, link, or nothing.

Decisions read and write nothing. Rules decide (:mod:`memwarden.remember.resolve.same_fact`); the vectors
only found the neighbours. A chat model, if configured, judges the pairs that no rule decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from memwarden import filters
from memwarden.categories import DEFAULT_CATEGORY, is_own_category
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.nearby import NearbyMemory
from memwarden.records import (
    CARD,
    DOCUMENT,
    EXTRACTED_BY,
    QUOTATION,
    BatchChange,
    Channel,
    Event,
    Link,
    Memory,
    MemoryState,
    Namespace,
    Outcome,
    Put,
    RelationType,
    Remove,
    Restore,
    Signals,
    WriteMode,
)
from memwarden.remember.ingest.screening import TRUST_RANK
from memwarden.remember.resolve.same_fact import Judgement, judge
from memwarden.stores.protocol import StoreReader
from memwarden.text.tokenizer import terms

# Turns are kept as they were said and state is written by key, so neither is compared.
DERIVED_CHANNELS = frozenset({Channel.SEMANTIC, Channel.EPISODIC, Channel.INSIGHT})
# An event ends a state ("moved to Linz": no longer "lives in Graz"), although it is in another channel. Across
# channels statements only supersede: nothing is merged or linked.
_OTHER_CHANNEL: Mapping[str, str] = {Channel.SEMANTIC: Channel.EPISODIC, Channel.EPISODIC: Channel.SEMANTIC}
# Cards stand among the episodic memories but state nothing.
_CARDS = filters.parse({"tags": [CARD], "actor_id": EXTRACTED_BY})
# The most links that a new memory gets, to its nearest neighbours.
MAX_LINKS = 5
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# The most older statements that a new statement supersedes.
MAX_SUPERSEDED = 3
# The first and the last turns are named; what was merged into a memory keeps its own sources.
MAX_SOURCES = 64


class Band(StrEnum):
    """The band of a pair, by the rules' judgement and not by a cosine."""

    AUTO = "auto"
    CHECK = "check"
    FALLBACK = "fallback"
    BELOW = "below"


_BANDS: Mapping[str, Band] = {
    "same": Band.AUTO,
    "supersede": Band.AUTO,
    "check": Band.CHECK,
    "link": Band.FALLBACK,
    "different": Band.BELOW,
}


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """A neighbour of a new statement and what the rules say of the two.

    newer: whether the new statement is the later of the two; else it is judged as the older.
    """

    stored: Memory
    near: NearbyMemory
    judgement: Judgement
    newer: bool

    @property
    def band(self) -> Band:
        """The band of the judgement."""
        return _BANDS[self.judgement.label]

    def with_judgement(self, judgement: Judgement) -> NeighbourPair:
        """Return the pair with the judgement of a model."""
        return replace(self, judgement=judgement)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The changes that a statement causes, and its outcome.

    changes: in the order of writing. touched: the memories that it changes, as they will be. outcome, id, reason: what
    the caller is told.
    """

    changes: tuple[BatchChange, ...]
    touched: tuple[Memory, ...]
    outcome: str
    id: str
    reason: str = ""


def judge_pair(new: Memory, stored: Memory, near: NearbyMemory, *, dated: bool = True) -> NeighbourPair:
    """Judge a new statement and a neighbour, the older statement first.

    dated: whether somebody said since when the new statement is true. An undated statement is true from now on,
    whatever the clock says: it may have been put back, or be another machine's.
    """
    newer = not dated or new.since >= stored.since
    old_text, new_text = (stored.text, new.text) if newer else (new.text, stored.text)
    judgement = judge(old_text, new_text, cosine=near.cosine)
    if judgement.label == "supersede" and not dated and _names_past_year(new.text, stored.since.year):
        judgement = replace(judgement, label="different", rule="past year")
    return NeighbourPair(stored, near, judgement, newer)


def _names_past_year(text: str, year: int) -> bool:
    """Whether a text names a year before another: "Tom moved to Hull in 2015", where he may not live any more."""
    return any(int(named) < year for named in _YEAR.findall(text))


def resolve(
    new: Memory, signals: Signals, pairs: Sequence[NeighbourPair], at: datetime, *, step: int, link_min: float
) -> Resolution:
    """Decide what is written for a new statement, given its judged neighbours, nearest first.

    The statement itself is step ``step`` and what it does to others ``step + 1``, so that undoing that leaves the
    statement as a memory of its own.
    """
    same = [pair for pair in pairs if pair.judgement.label == "same" and may_merge(new, pair.stored)]
    if same:
        return _merge(new, signals, same[0], at, step)
    replaced = [pair for pair in pairs if pair.judgement.label == "supersede"][:MAX_SUPERSEDED]
    later = [pair for pair in replaced if not pair.newer]
    if later:
        return _store_superseded(new, signals, later[0], pairs, step, link_min)
    links = _links(new, [pair for pair in pairs if pair not in replaced], step, link_min)
    created = Put(new, signals, step=step, meta=_band_meta(pairs))
    if not replaced:
        return Resolution((created, *links), (new,), "created", new.id)
    closed = [_close_older(new, pair.stored, at) for pair in replaced]
    closings = [
        change
        for memory, pair in zip(closed, replaced, strict=True)
        for change in (
            Put(
                memory, None, WriteMode.UPDATE, event=Event.SUPERSEDE, step=step + 1,
                meta={"by": new.id, **_meta(pair)},
            ),
            Link(new.id, memory.id, RelationType.SUPERSEDES, step=step + 1),
        )
    ]  # fmt: skip
    reason = f"replaces {', '.join(item.id for item in closed)} (rule: {replaced[0].judgement.rule})"
    return Resolution((created, *links, *closings), (new, *closed), "superseded", new.id, reason)


def may_merge(new: Memory, old: Memory) -> bool:
    """Whether a merge loses nothing: same category, channel and trust, and metadata that do not disagree.

    The category of what is extracted is a guess, which gives way to another guess and to the one for all.

    What a document states ends with the document, so it is merged with nothing that somebody else stated.
    """
    if new.metadata.get(DOCUMENT) != old.metadata.get(DOCUMENT):
        return False
    if (new.channel, new.trust) != (old.channel, old.trust):
        return False
    if new.category != old.category and not _are_guesses(new, old):
        return False
    return all(old.metadata.get(name, value) == value for name, value in new.metadata.items())


def _are_guesses(new: Memory, old: Memory) -> bool:
    """Whether nobody chose the categories of a new memory and of a stored one, and everybody may read both."""
    if is_own_category(new.category) or is_own_category(old.category):
        return False
    return new.actor_id == EXTRACTED_BY and (old.actor_id == EXTRACTED_BY or old.category == DEFAULT_CATEGORY)


def _merge(new: Memory, signals: Signals, pair: NeighbourPair, at: datetime, step: int) -> Resolution:
    survivor = _combine(pair.stored, new, at)
    meta = _meta(pair)
    changes = (
        Put(new, signals, step=step),
        Put(
            survivor, None, WriteMode.UPDATE, event=Event.MERGE, step=step + 1, meta={"of": new.id, **meta},
        ),
        Remove(new.id, MemoryState.MERGED, Event.MERGE, step=step + 1, meta={"into": survivor.id, **meta}),
    )  # fmt: skip
    return Resolution(changes, (survivor,), "merged", survivor.id, f"says the same (rule: {pair.judgement.rule})")


def merge_stored(stays: Memory, goes: Memory, at: datetime, step: int, meta: Mapping[str, Any]) -> Resolution:
    """Return what merges a stored statement into another that says the same, as a decision that can be undone."""
    survivor = _combine(stays, goes, at)
    changes = (
        Put(survivor, None, WriteMode.UPDATE, event=Event.MERGE, step=step, meta={"of": goes.id, **meta}),
        Remove(goes.id, MemoryState.MERGED, Event.MERGE, step=step, meta={"into": stays.id, **meta}),
    )
    return Resolution(changes, (survivor,), "merged", stays.id)


def close_stored(older: Memory, newer: Memory, at: datetime, step: int, meta: Mapping[str, Any]) -> Resolution:
    """Return what ends a stored statement when a stored newer statement begins, as a decision that can be undone."""
    closed = _close_older(newer, older, at)
    changes = (
        Put(closed, None, WriteMode.UPDATE, event=Event.SUPERSEDE, step=step, meta={"by": newer.id, **meta}),
        Link(newer.id, closed.id, RelationType.SUPERSEDES, step=step),
    )
    return Resolution(changes, (closed,), "superseded", newer.id)


def _combine(old: Memory, new: Memory, at: datetime) -> Memory:
    """Return the old statement with the new statement's sources and marks; its words stay."""
    sources = _union(old.sources, new.sources)
    return replace(
        old,
        updated_at=at,
        valid_from=min(old.since, new.since) if new.since < old.since else old.valid_from,
        importance=max(old.importance, new.importance),
        pinned=old.pinned or new.pinned,
        tags=_union(old.tags, new.tags),
        characters=_union(old.characters, new.characters),
        sources=sources if len(sources) <= MAX_SOURCES else (sources[0], *sources[1 - MAX_SOURCES :]),
        summary=old.summary or new.summary,
        context=old.context or new.context,
        payload={**old.metadata, **new.metadata} or None,
    )


def _close_older(new: Memory, old: Memory, at: datetime) -> Memory:
    """Return an older statement whose validity ends when the new statement's begins."""
    if (
        old.valid_from is None and old.since > at
    ):  # written before the clock was set back: an end in the future would keep it open
        return replace(old, valid_from=min(new.since, at), valid_to=min(new.since, at), updated_at=at)
    return replace(old, valid_to=max(new.since, old.since), updated_at=at)


def _store_superseded(
    new: Memory, signals: Signals, pair: NeighbourPair, pairs: Sequence[NeighbourPair], step: int, link_min: float
) -> Resolution:
    """Store a statement that is superseded already, by a later statement."""
    later = pair.stored
    closed = replace(new, valid_to=later.since)
    changes: tuple[BatchChange, ...] = (
        Put(closed, signals, step=step, meta={"by": later.id, **_meta(pair)}),
        *_links(closed, [item for item in pairs if item is not pair], step, link_min),
        Link(later.id, closed.id, RelationType.SUPERSEDES, step=step),
    )
    reason = f"{later.id} replaces it: it was said later (rule: {pair.judgement.rule})"
    return Resolution(changes, (closed,), "created", closed.id, reason)


def _links(new: Memory, pairs: Sequence[NeighbourPair], step: int, link_min: float) -> tuple[Link, ...]:
    # Two quotations are near for what every quotation has: a name, a day, quotation marks. They stand in for turns, and
    # turns have no links.
    if QUOTATION in new.tags:
        return ()
    linked = [pair.near for pair in pairs if pair.near.score >= link_min and QUOTATION not in pair.stored.tags]
    near = sorted(linked, key=lambda item: -item.score)
    return tuple(Link(new.id, item.id, strength=round(item.score, 4), step=step) for item in near[:MAX_LINKS])


def _meta(pair: NeighbourPair) -> dict[str, Any]:
    cosine = {} if pair.near.cosine is None else {"cosine": round(pair.near.cosine, 4)}
    guards = {"guards": list(pair.judgement.guards)} if pair.judgement.guards else {}
    return {"band": str(pair.band), "rule": pair.judgement.rule, **guards, **cosine}


def _band_meta(pairs: Sequence[NeighbourPair]) -> dict[str, Any] | None:
    """The journal's reason why the nearest neighbour stayed as it is; None without a close pair."""
    close = next((pair for pair in pairs if pair.band in (Band.CHECK, Band.FALLBACK)), None)
    return None if close is None else {"near": close.near.id, **_meta(close)}


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


# Days after which a candidate that nobody repeated may be removed.
CANDIDATE_DAYS = 90
# A cheap filter by Jaccard similarity, since the rules of same_fact are the costly part.
MIN_SHARED_WORDS = 0.4
# Each comparison costs time while the writer waits.
MAX_CANDIDATES = 200
# A key in the journal's meta, which undo reads: an undone decision brings this state back.
STATE_BEFORE = "waited_as"


async def latest_candidates(store: StoreReader, namespace: Namespace) -> list[Memory]:
    """Read the candidates that a statement is compared with, the newest first."""
    found = await store.find(namespace, limit=MAX_CANDIDATES, order_by=filters.WRITTEN, state=MemoryState.CANDIDATE)
    return [item for item in found if item.actor_id == EXTRACTED_BY]


class CandidatePool:
    """The candidates of a namespace while a call is resolved."""

    def __init__(self, candidates: Sequence[Memory]) -> None:
        self._waiting = {candidate.id: (candidate, frozenset(terms(candidate.text))) for candidate in candidates}

    def settle(
        self, memory: Memory, signals: Signals, state: MemoryState, settled: Resolution, at: datetime, step: int
    ) -> Resolution:
        """Return what is written for a statement when there are candidates.

        A candidate that says the same as what is known was merged already. One that says the same as another candidate
        confirms it. A fact takes the place of the candidate that says the same. Others wait.
        """
        if settled.outcome == Outcome.MERGED:
            return settled
        twin = self._twin(memory)
        if state != MemoryState.CANDIDATE:
            return settled if twin is None else _replace_candidate(settled, self._take(twin), step)
        if twin is not None:
            return _confirm_candidate(self._take(twin), memory, at, step)
        self._waiting[memory.id] = (memory, frozenset(terms(memory.text)))
        put = Put(
            memory, signals, state=MemoryState.CANDIDATE, purge_at=at + timedelta(days=CANDIDATE_DAYS), step=step,
            meta={"why": "waits until it is heard again"},
        )  # fmt: skip
        return Resolution((put,), (), Outcome.PROPOSED, memory.id, "it waits until it is heard again")

    def _twin(self, memory: Memory) -> Memory | None:
        words = frozenset(terms(memory.text))
        for item, its in self._waiting.values():
            if TRUST_RANK[memory.trust] < TRUST_RANK[item.trust]:
                continue  # an assistant's words take no person's place
            alike = len(words & its) >= MIN_SHARED_WORDS * len(words | its) if words else False
            if alike and item.sources != memory.sources and judge(item.text, memory.text).label == "same":
                return item
        return None

    def _take(self, memory: Memory) -> Memory:
        self._waiting.pop(memory.id)
        return memory


def _replace_candidate(settled: Resolution, candidate: Memory, step: int) -> Resolution:
    gone = Remove(
        candidate.id,
        MemoryState.MERGED,
        Event.MERGE,
        step=step + 1,
        meta={"into": settled.id, "rule": "stated as a fact"},
    )
    return replace(settled, changes=(*settled.changes, gone))


def _confirm_candidate(candidate: Memory, again: Memory, at: datetime, step: int) -> Resolution:
    sources = tuple(dict.fromkeys((*candidate.sources, *again.sources)))
    heard = replace(candidate, sources=sources, updated_at=at, state=MemoryState.ACTIVE, purge_at=None)
    changes = (
        Restore(
            candidate.id,
            Event.CONFIRM,
            step=step,
            meta={"why": "heard again", STATE_BEFORE: str(MemoryState.CANDIDATE)},
        ),
        Put(heard, None, WriteMode.UPDATE, step=step, meta={"why": "heard again"}),
    )
    return Resolution(changes, (heard,), Outcome.CREATED, candidate.id, "heard again")


def are_comparable(new: Memory, old: Memory) -> bool:
    """Whether two statements may be compared: of the same speaker, since "I" is somebody else in another mouth, and
    of no lower trust, since a page does not correct a person."""
    if TRUST_RANK[new.trust] < TRUST_RANK[old.trust] or is_card(old):
        return False
    if old.channel not in channels_compared(new.channel):
        return False
    return new.id != old.id and (new.name, new.role) == (old.name, old.role)


def is_open_at(memory: Memory, at: datetime) -> bool:
    """Whether a model may change a memory by what is said at a moment: it has no end, or was kept with one to come.

    Whoever says "the dentist is on 5 March" may put that off before; what was stated to hold for a time does hold.
    """
    return memory.valid_to is None or (memory.actor_id == EXTRACTED_BY and memory.valid_to > at)


def open_statements(
    index: NamespaceIndex,
    channel: str,
    name: str | None,
    readable: Collection[str] | None = None,
    at: datetime | None = None,
) -> Mask:
    """Return the mask of a speaker's open statements in a channel, without index cards.

    readable: categories. at: with it, what was extracted counts too where its end lies ahead then.
    """
    wanted: dict[str, Any] = {"channel": channel, "name": {"$eq": name}}
    if readable is not None:
        wanted["category"] = list(readable)
    allowed = index.mask(filters.parse({**wanted, "valid_to": {"$eq": None}}))
    if at is not None:
        ahead = {"actor_id": EXTRACTED_BY, "valid_to": {"$gt": at.isoformat()}}
        allowed = allowed | index.mask(filters.parse({**wanted, **ahead}))
    return allowed & ~index.mask(_CARDS) if channel == Channel.EPISODIC else allowed


def channels_compared(channel: str) -> tuple[str, ...]:
    """Return the channels that a statement of this channel is compared with, its own first."""
    other = _OTHER_CHANNEL.get(channel)
    return (channel,) if other is None else (channel, other)


def is_card(memory: Memory) -> bool:
    """Whether a memory is an index card of what was said."""
    return memory.actor_id == EXTRACTED_BY and CARD in memory.tags
