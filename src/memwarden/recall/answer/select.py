"""Selects the candidates of an answer by gates."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from memwarden.categories import Category
from memwarden.recall.answer.gates import Gates
from memwarden.recall.index.columns import Floats, Mask
from memwarden.recall.index.namespace_index import NamespaceIndex

# Places examined beyond the wanted number, so that near misses can be named.
MAX_NEARLY_IN = 20


# Scores are looked through in blocks of this many, to find the best few without sorting all.
BLOCK = 64


class Partner(NamedTuple):
    """The other turn of an exchange: the reply to a question, else (``replies`` false) the question of a reply."""

    place: int
    replies: bool


class Candidate(NamedTuple):
    """A place considered for the answer.

    Attributes:
        always: it is there by its category, whatever was asked.
        beside: for a related memory, the id of the item that it is related to.
        facts: for a turn, the candidates that rest on it; when any of them is in the answer, the turn is covered.
    """

    place: int
    score: float
    always: bool = False
    facts: tuple[int, ...] = ()
    beside: str | None = None
    partner: Partner | None = None


class Bars(NamedTuple):
    """Scores that a turn and a memory must reach."""

    turn: float
    memory: float


@dataclass(slots=True)
class Selection:
    """The candidates of an answer, and the memories left out with their gates.

    Attributes:
        always: memories of ``context: all`` categories, which fill what is left, in the order of trying.
        ranked: what bears on the question, best first, whatever its category.
    """

    always: list[Candidate]
    ranked: list[Candidate]
    left_out: list[tuple[Candidate, str]]

    def keep(self, places: Container[int]) -> None:
        """Drop the candidates at other places."""
        self.always = [alway for alway in self.always if alway.place in places]
        self.ranked = [item for item in self.ranked if item.place in places]

    def leave_unlikely(self, least: float) -> None:
        """Leave out the last candidates, once the scores of the better ones add up to ``least``. One stays."""
        kept = bisect_left(list(accumulate(item.score for item in self.ranked)), least) + 1
        self.left_out[:0] = [(item, "unlikely") for item in self.ranked[kept:]]
        del self.ranked[kept:]

    def fold(self, dropped: Mapping[int, str], best: Mapping[int, float]) -> None:
        """Leave out the ranked places that are dropped, by their gate, and raise others to a score."""
        self.left_out += [(item, dropped[item.place]) for item in self.ranked if item.place in dropped]
        kept = [item for item in self.ranked if item.place not in dropped]
        raised = [item._replace(score=max(item.score, best.get(item.place, 0.0))) for item in kept]
        self.ranked = sorted(raised, key=lambda item: -item.score) if best else kept

    def reorder(self, judged: Sequence[float]) -> None:
        """Reorder the ranked candidates by numbers, higher first; the n-th best keeps the n-th best score.

        Raises ValueError unless there is a finite number for each.
        """
        if len(judged) != len(self.ranked) or not all(map(math.isfinite, judged)):
            raise ValueError(f"expected {len(self.ranked)} finite numbers")
        order = sorted(range(len(judged)), key=lambda number: (-judged[number], number))
        scores = sorted((item.score for item in self.ranked), reverse=True)
        self.ranked = [self.ranked[number]._replace(score=score) for number, score in zip(order, scores, strict=True)]


def select_candidates(
    index: NamespaceIndex,
    scores: Floats,
    gates: Gates,
    *,
    relevant: bool,
    threshold: float,
    declared: Mapping[str, Category],
    limit: int,
    everything: bool = False,
    beside_best: float = 0.0,
) -> Selection:
    """Choose the candidates for an answer.

    Args:
        scores: calibrated 0..1 a place.
        relevant: whether the namespace answers the question at all.
        limit: the most candidates wanted.
        everything: name the gate of every live place, not only of the nearest.
        beside_best: share of the best score that a memory must reach. Turns need not: those of a talk belong together.
    """
    categories = index.columns.coded["category"]
    category_at = [declared.get(name) for name in categories.values]
    is_always = np.array([category is not None and category.always for category in category_at], np.bool_)
    always = gates.open & is_always[categories.codes] if is_always.any() else np.zeros_like(gates.open)
    passing = gates.open
    most = index.size if everything else 2 * limit + MAX_NEARLY_IN
    ranked = _rank_places(index, scores, passing, most)
    # Asked of every candidate only where something has ended or was forgotten, which in most namespaces nothing has.
    may_end = index.has_forgotten or (gates.valid is not None and index.has_facts)
    is_ended = partial(rests_on_ended, index, gates.valid, gates.own) if may_end else _is_never_ended
    best = beside_best * ranked[0].score if ranked else 0.0
    bars = Bars(threshold, max(threshold, best))
    kept, left_out = _walk(index, ranked, passing, scores, category_at, relevant, bars, limit, is_ended)
    capped = any(gate in ("rag_length", "part") for _, gate in left_out)
    if capped and len(kept) < limit and most < int(np.count_nonzero(passing)):
        # A category that is used up, or a long text, filled the list. The others have lower scores.
        every = _rank_places(index, scores, passing, index.size)
        kept, left_out = _walk(index, every, passing, scores, category_at, relevant, bars, limit, is_ended)
    if everything:
        left_out.extend(_list_shut_out(index, scores, gates))
    # The others of such categories fill what is left, where something answers: an unrelated question gets nothing.
    fill = _leave_parts(index, kept, _list_always(index, scores, always)) if kept else []
    filling = {item.place for item in fill}
    return Selection(fill, kept, [cut for cut in left_out if cut[0].place not in filling])


def _walk(
    index: NamespaceIndex,
    ranked: list[Candidate],
    passing: Mask,
    scores: Floats,
    category_at: list[Category | None],
    relevant: bool,
    bars: Bars,
    limit: int,
    is_ended: Callable[[int], bool],
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Take candidates best first, and name the gate of each that is not taken."""
    codes = index.columns.coded["category"].codes
    kept: list[Candidate] = []
    left_out: list[tuple[Candidate, str]] = []
    taken: dict[int, int] = {}
    wholes: set[str] = set()
    wanted = 0
    for candidate in _facts_before_turns(index, ranked, passing, scores):
        code = int(codes[candidate.place])
        category = category_at[code]
        whole = index.whole_of(candidate.place)
        gate = (
            "part" if whole in wholes
            else "ended" if is_ended(candidate.place)
            else "relevance" if not relevant
            else "threshold" if candidate.score < (bars.turn if index.view.turns[candidate.place] else bars.memory)
            else "rag_length" if category and category.rag_length and taken.get(code, 0) >= category.rag_length
            else "top_k" if wanted >= limit
            else None
        )  # fmt: skip
        if gate is not None:
            left_out.append((candidate, gate))
            continue
        places = {item.place for item in kept} if candidate.facts else set()
        facts = tuple(fact for fact in candidate.facts if fact in places)
        kept.append(candidate._replace(facts=facts) if facts != candidate.facts else candidate)
        if whole is not None:
            wholes.add(whole)
        taken[code] = taken.get(code, 0) + (not facts)
        wanted += not facts
    return kept, left_out


def _is_never_ended(_place: int) -> bool:
    return False


def rests_on_ended(index: NamespaceIndex, valid: Mask | None, own: Mask | None, place: int) -> bool:
    """Whether a turn says only what is over: everything that was made of it has ended or was forgotten.

    So a fact that was superseded or forgotten goes on covering the turns that it rests on: "I live in Berlin." must not
    lead an answer again because the fact of it was closed. Index cards stand for turns and say nothing of their own.
    """
    if not index.view.turns[place]:
        return False
    forgotten = index.rests_under_forgotten(place)
    if not forgotten and (valid is None or not index.has_facts):
        return False
    facts = [fact for fact in index.facts_on(place) if own is None or own[fact]]
    return (bool(facts) or forgotten) and not any(valid is None or valid[fact] for fact in facts)


def _rank_places(index: NamespaceIndex, scores: Floats, passing: Mask, most: int) -> list[Candidate]:
    """Return the best passing places, best first; ties in the order of writing."""
    places = np.flatnonzero(passing)
    if len(places) > BLOCK * most:
        places = places[scores[places] >= _score_floor(scores[places], most)]
    places = places[np.lexsort((index.order[places], -scores[places]))][:most]
    return list(map(Candidate, places.tolist(), scores[places].tolist()))


def _score_floor(scores: Floats, most: int) -> float:
    """Return a score that at least ``most`` places reach, and few more: the best of as many blocks do."""
    best = scores[: len(scores) // BLOCK * BLOCK].reshape(-1, BLOCK).max(axis=1)
    return float(np.partition(best, len(best) - most)[len(best) - most])


def _facts_before_turns(
    index: NamespaceIndex, ranked: list[Candidate], passing: Mask, scores: Floats
) -> list[Candidate]:
    """Move each fact to the best rank of its own and its turns', and list each turn's facts."""
    if not index.has_facts:
        return ranked
    turns = index.view.turns  # of two facts on the same turn neither rests on the other
    on = {
        item.place: tuple(fact for fact in index.facts_on(item.place) if passing[fact]) if turns[item.place] else ()
        for item in ranked
    }
    if not any(on.values()):
        return ranked
    best = {item.place: item.score for item in ranked}
    for item in ranked:
        for fact in on[item.place]:
            best[fact] = max(best.get(fact, float(scores[fact])), item.score)
    merged = [Candidate(place, score, facts=on.get(place, ())) for place, score in best.items()]
    return sorted(merged, key=lambda item: (-item.score, bool(item.facts), index.order[item.place]))


def _list_always(index: NamespaceIndex, scores: Floats, always: Mask) -> list[Candidate]:
    """Memories of ``context: all`` categories: pinned first, then the best for the question, then the newest."""
    places = np.flatnonzero(always)
    if not len(places):
        return []
    pinned, importance = index.columns.number("pinned")[places], index.columns.number("importance")[places]
    order = np.lexsort((-index.order[places], -importance, -scores[places], ~pinned))
    return [Candidate(int(place), float(scores[place]), always=True) for place in places[order]]


def _leave_parts(index: NamespaceIndex, kept: Sequence[Candidate], more: Sequence[Candidate]) -> list[Candidate]:
    """Return further candidates without parts of texts that have a better part among all candidates."""
    best: dict[str, int] = {}
    for item in (*kept, *more):
        best.setdefault(index.whole_of(item.place) or index.columns.ids[item.place], item.place)
    places = set(best.values())
    return [item for item in more if item.place in places]


def _list_shut_out(index: NamespaceIndex, scores: Floats, gates: Gates) -> list[tuple[Candidate, str]]:
    """Every readable live place that a mask keeps out, with the first mask that does."""
    named = (
        ("category", gates.category),
        ("filter", gates.filter),
        ("validity", gates.valid),
        ("card", gates.own),
        ("procedural", gates.steps),
        ("state", gates.state),
        ("chatter", gates.worthy),
        ("echo", gates.fresh),
    )
    out: list[tuple[Candidate, str]] = []
    left = index.live & gates.readable
    for gate, mask in named:
        if mask is None:
            continue
        out.extend((Candidate(int(place), float(scores[place])), gate) for place in np.flatnonzero(left & ~mask))
        left &= mask
    return out
