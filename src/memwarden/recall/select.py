"""From a ranking to an answer: which memories go in, which stay out, and the gate that stopped each (F14)."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memwarden.categories import Category
from memwarden.recall.columns import Mask
from memwarden.recall.index import NamespaceIndex
from memwarden.recall.view import Floats
from memwarden.records import Channel

GATES: Mapping[str, str] = {
    "category": "its category is not among those searched",
    "filter": "a filter leaves it out",
    "chatter": "greeting, thanks or small talk alone: kept in the log, never recalled",
    "relevance": "nothing in this memory answers the question: the best candidates are below the bar",
    "threshold": "its score is below the threshold",
    "echo": "it repeats the question or what the prompt holds already",
    "covered": "a remembered fact that rests on this turn is in the answer",
    "rag_length": "its category's rag_length is used up by better ones",
    "top_k": "enough better ones are in the answer",
    "budget": "it does not fit into what is left of the token budget",
}
"""Every gate that can leave a memory out, in the order in which they stand, and what it means."""


LOOKED_AT = 20
"""So many places beside the wanted ones are looked at, so that what nearly got in can be named."""
BLOCK = 64
"""Scores are looked through in blocks of this many, to find the best few without sorting all."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What may be searched, as masks over the index's places. A place passes when it is in all three."""

    category: Mask
    filter: Mask
    worthy: Mask

    @property
    def open(self) -> Mask:
        return self.category & self.filter & self.worthy


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that is tried for the answer. ``always``: it is there by its category, whatever was asked."""

    place: int
    score: float
    always: bool = False


@dataclass(slots=True)
class Selection:
    """What is tried for the answer, and what was left out by which gate.

    Attributes:
        always: memories of ``context: all`` categories, in the order of trying. ranked: the others, best first.
    """

    always: list[Candidate]
    ranked: list[Candidate]
    left_out: list[tuple[Candidate, str]]

    def keep(self, places: Container[int]) -> None:
        """Drop the candidates at other places."""
        self.always = [one for one in self.always if one.place in places]
        self.ranked = [one for one in self.ranked if one.place in places]

    def reorder(self, judged: Sequence[float]) -> None:
        """Order the ranked ones by other numbers, higher first; the n-th best keeps the n-th best score.

        Raises ValueError unless there is one finite number for each.
        """
        if len(judged) != len(self.ranked) or not all(map(math.isfinite, judged)):
            raise ValueError(f"expected {len(self.ranked)} finite numbers")
        order = sorted(range(len(judged)), key=lambda number: (-judged[number], number))
        scores = sorted((one.score for one in self.ranked), reverse=True)
        places = [self.ranked[number].place for number in order]
        self.ranked = [Candidate(place, score) for place, score in zip(places, scores, strict=True)]


def select(
    index: NamespaceIndex,
    scores: Floats,
    gates: Gates,
    *,
    relevant: bool,
    threshold: float,
    declared: Mapping[str, Category],
    limit: int,
    everything: bool = False,
) -> Selection:
    """Choose the candidates for an answer.

    Args:
        scores: calibrated 0..1, one a place.
        relevant: whether the namespace answers the question at all.
        limit: the most candidates wanted, those of ``context: all`` categories not counted.
        everything: name the gate of every live place, not only of the nearest ones.
    """
    categories = index.columns.coded["category"]
    category_at = [declared.get(name) for name in categories.values]
    always_codes = [code for code, category in enumerate(category_at) if category and category.always]
    always = gates.open & np.isin(categories.codes, always_codes) if always_codes else np.zeros_like(gates.open)
    passing = gates.open & ~always
    most = index.size if everything else 2 * limit + LOOKED_AT
    kept, left_out = _walk(index, _ranked(index, scores, passing, most), category_at, relevant, threshold, limit)
    capped = any(gate == "rag_length" for _, gate in left_out)
    if capped and len(kept) < limit and most < int(np.count_nonzero(passing)):
        # A category that is used up filled the list; the others stand further down.
        every = _ranked(index, scores, passing, index.size)
        kept, left_out = _walk(index, every, category_at, relevant, threshold, limit)
    if everything:
        left_out.extend(_shut_out(index, scores, gates))
    return Selection(_always(index, scores, always), kept, left_out)


def _walk(
    index: NamespaceIndex,
    ranked: list[Candidate],
    category_at: list[Category | None],
    relevant: bool,
    threshold: float,
    limit: int,
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Take candidates best first, and name the gate of each that is not taken."""
    codes = index.columns.coded["category"].codes
    kept: list[Candidate] = []
    left_out: list[tuple[Candidate, str]] = []
    taken: dict[int, int] = {}
    for candidate, covered in _facts_over_turns(index, ranked):
        code = int(codes[candidate.place])
        category = category_at[code]
        gate = (
            "relevance" if not relevant
            else "threshold" if candidate.score < threshold
            else "covered" if covered
            else "rag_length" if category and category.rag_length and taken.get(code, 0) >= category.rag_length
            else "top_k" if len(kept) >= limit
            else None
        )  # fmt: skip
        if gate is None:
            kept.append(candidate)
            taken[code] = taken.get(code, 0) + 1
        else:
            left_out.append((candidate, gate))
    return kept, left_out


def _ranked(index: NamespaceIndex, scores: Floats, passing: Mask, most: int) -> list[Candidate]:
    """The best passing places, best first; equal scores in the order of writing."""
    places = np.flatnonzero(passing)
    if len(places) > BLOCK * most:
        places = places[scores[places] >= _floor(scores[places], most)]
    places = places[np.lexsort((index.order[places], -scores[places]))][:most]
    return [Candidate(place, score) for place, score in zip(places.tolist(), scores[places].tolist(), strict=True)]


def _floor(scores: Floats, most: int) -> float:
    """A score that at least ``most`` of many reach, and few more: so many blocks have a best one that high."""
    best = scores[: len(scores) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    return float(np.partition(best, len(best) - most)[len(best) - most])


def _facts_over_turns(index: NamespaceIndex, ranked: list[Candidate]) -> list[tuple[Candidate, bool]]:
    """Let a fact take the better place of its own and its turns', and mark those turns as covered."""
    channel = index.columns.coded["channel"]
    codes, turn = channel.codes, channel.code(Channel.TURN)
    of_ranked = codes[[one.place for one in ranked]].tolist() if ranked else []
    facts = [one for one, code in zip(ranked, of_ranked, strict=True) if code != turn and index.sources(one.place)]
    if not facts:
        return [(candidate, False) for candidate in ranked]
    best: dict[int, float] = {one.place: one.score for one in ranked}
    turns: set[int] = set()
    for fact in facts:
        for place in _turns_of(index, fact.place, best):
            turns.add(place)
            best[fact.place] = max(best[fact.place], best[place])
    scored = [(Candidate(one.place, best[one.place]), one.place in turns) for one in ranked]
    return sorted(scored, key=lambda pair: (-pair[0].score, index.order[pair[0].place]))


def _turns_of(index: NamespaceIndex, fact: int, among: Mapping[int, float]) -> list[int]:
    """The turns that a fact rests on, of its own thread if it has one."""
    thread, channel = index.columns.coded["thread_id"], index.columns.coded["channel"]
    anywhere = thread.values[thread.codes[fact]] is None
    sources = set(index.sources(fact))
    return [
        place
        for place in among
        if channel.values[channel.codes[place]] == Channel.TURN
        and (anywhere or thread.codes[place] == thread.codes[fact])
        and not sources.isdisjoint(index.sources(place))
    ]


def _always(index: NamespaceIndex, scores: Floats, always: Mask) -> list[Candidate]:
    """Memories of ``context: all`` categories: pinned first, then by importance, then the newest."""
    places = np.flatnonzero(always)
    pinned, importance = index.columns.number("pinned")[places], index.columns.number("importance")[places]
    order = np.lexsort((-index.order[places], -importance, ~pinned))
    return [Candidate(int(place), float(scores[place]), always=True) for place in places[order]]


def _shut_out(index: NamespaceIndex, scores: Floats, gates: Gates) -> list[tuple[Candidate, str]]:
    """Every live place that a mask keeps out, with the first mask that does."""
    named = (("category", gates.category), ("filter", gates.filter), ("chatter", gates.worthy))
    out: list[tuple[Candidate, str]] = []
    left = index.live.copy()
    for gate, mask in named:
        out.extend((Candidate(int(place), float(scores[place])), gate) for place in np.flatnonzero(left & ~mask))
        left &= mask
    return out
