"""Searches of a request: each question with its context, ranking and candidates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from heapq import merge
from itertools import zip_longest
from typing import NamedTuple, Protocol

from memwarden.recall.answer.gates import Gates
from memwarden.recall.answer.memory_cache import CachedMemory
from memwarden.recall.answer.pack import BudgetedAnswer
from memwarden.recall.answer.related import Neighbour
from memwarden.recall.answer.select import Candidate, Selection
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.question import Question
from memwarden.recall.rank.ranking import Ranking
from memwarden.records import (
    Memory,
    Namespace,
)
from memwarden.settings import ANSWER_THRESHOLD, CONTEXT_BAR, SUBJECT_THRESHOLD


def is_answerable(ranking: Ranking, threshold: float | None) -> bool:
    """Return whether anything may be shown: the confidence reaches a given threshold.

    Without a threshold: the store knows the subject, or surely holds the answer.
    """
    if threshold is not None:
        return ranking.confidence >= threshold
    return ranking.subject >= SUBJECT_THRESHOLD or ranking.confidence >= ANSWER_THRESHOLD


def has_relevant(packed: BudgetedAnswer, ranking: Ranking, threshold: float | None) -> bool:
    """Return whether a shown memory bears on the question; a memory that is always offered counts by its score."""
    return is_answerable(ranking, threshold) and any(item.score >= CONTEXT_BAR.least for item in packed.items)


# The candidates' memories by place.
Found = Mapping[int, CachedMemory]


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The index and the moment in which a question is asked.

    Attributes:
        index: what is known there. now: when that is.
        read: reads the memories of ids, as they are there; those that are gone are left out.
        hidden: places that whoever asks may not read now, whatever their category was then.
        follows: whether the index follows the store, so that what is gone from either is gone from both. An index
            of the past does not: its memories are read each time.
    """

    index: NamespaceIndex
    now: datetime
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]]
    hidden: Sequence[int]
    follows: bool


class RankedQuery(NamedTuple):
    """A question with its context, ranking, gates and echoes (places that only repeat the prompt).

    asked: the question as it was asked. Its spelling may be corrected in one namespace and not in another.
    """

    asked: str
    ctx: QueryContext
    question: Question
    ranking: Ranking
    gates: Gates
    echoes: Sequence[int]


class QuestionSearch(NamedTuple):
    """A ranked question with its candidates. related: the neighbours of these by id. found: their memories."""

    asked: RankedQuery
    selection: Selection
    related: Mapping[str, Sequence[Neighbour]]
    found: Found


class RankedMemories(NamedTuple):
    """Memories ranked for a text, which were not read.

    Attributes:
        subject: chance that the namespace knows the subject of the text, 0..1.
        items: id of each memory with the chance that it bears on the text, 0..1, best first.
    """

    subject: float
    items: Sequence[tuple[str, float]]


class OwnedCandidate(NamedTuple):
    """A candidate with the number of the search that found it: of the question that it answers best."""

    question: int
    candidate: Candidate


def choose_searched(asked: Sequence[RankedQuery], threshold: float | None) -> RankedQuery:
    """Return the search that answers: that of the message alone where it reaches the bar, else the surest."""
    alone = asked[0]
    if is_answerable(alone.ranking, threshold):
        return alone
    return max(asked, key=lambda item: item.ranking.subject if threshold is None else item.ranking.confidence)


def interleave_questions(
    searches: Sequence[QuestionSearch], lists: Sequence[Sequence[Candidate]]
) -> dict[str, OwnedCandidate]:
    """Return, by id, the best candidate of each question, then the second of each, and so on.

    A memory that several questions found stands once, as the candidate of the question that it answers best.
    """
    by_question: dict[str, list[list[OwnedCandidate]]] = {}
    for number, candidates in enumerate(lists):
        owned = [OwnedCandidate(number, item) for item in candidates]
        by_question.setdefault(searches[number].asked.asked, []).append(owned)
    best: dict[str, OwnedCandidate] = {}
    for row in zip_longest(*map(merge_places, by_question.values())):
        for item in row:
            if item is None:
                continue
            memory_id = searches[item.question].asked.ctx.index.columns.ids[item.candidate.place]
            known = best.get(memory_id)
            if known is None or item.candidate.score > known.candidate.score:
                best[memory_id] = item
    return best


def merge_places(lists: Sequence[Sequence[OwnedCandidate]]) -> list[OwnedCandidate]:
    """Merge what the same question found in several namespaces, the better first; each list keeps its order."""
    return list(lists[0] if len(lists) == 1 else merge(*lists, key=lambda item: -item.candidate.score))


def answers_any(searches: Sequence[QuestionSearch], packed: BudgetedAnswer, threshold: float | None) -> bool:
    """Whether the answer holds something relevant to any of the questions."""
    return any(has_relevant(packed, search.asked.ranking, threshold) for search in searches)


class PendingSignals(Protocol):
    """Signals that are made after their rows were stored."""

    async def wait_for_recent(self, namespace: Namespace) -> bool:
        """Wait a while for those of what was said just before; return whether any were awaited."""
