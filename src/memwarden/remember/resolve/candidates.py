"""Candidates: uncertain statements that become memories when they are said again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from memwarden import filters
from memwarden.records import (
    EXTRACTED_BY,
    Event,
    Memory,
    MemoryState,
    Namespace,
    Outcome,
    Put,
    Remove,
    Restore,
    Signals,
    WriteMode,
)
from memwarden.remember.ingest.intake import TRUST_RANK
from memwarden.remember.resolve.resolution import Resolution
from memwarden.remember.resolve.same_fact import judge
from memwarden.stores.protocol import StoreReader
from memwarden.text.tokenizer import terms

CANDIDATE_DAYS = 90
"""Days after which a candidate that nobody repeated may be removed."""
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
