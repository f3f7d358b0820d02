"""Packs an answer into a token budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from memwarden.recall.answer.select import GATES, Candidate, Gates, Selection
from memwarden.recall.rank.score import Ranking
from memwarden.recall.thresholds import MIN_ITEM_SCORE
from memwarden.records import (
    Cut,
    RecallItem,
)
from memwarden.tokens import TokenCounter

ALWAYS_SHARE = 0.4
"""Memories of ``context: all`` categories take at most this share of the budget."""

WIDENING_FACTORS = (2, 4, 8, 16)
"""So many times as long as at first a cut text becomes when the budget leaves room."""
MIN_ALIKE = 0.3
"""Cosine of two items from which on they are about the same matter."""
MIN_ALIKE_OF_TABLE = 0.6
"""The same for vectors that are means of a table: there all texts lie nearer to each other."""
MIN_WORTHWHILE_TOKENS = 20
"""For fewer tokens, some words, no more of a text is tried."""


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """An answer within its budget. ``tokens``: size of ``text``. ``dropped``: (item, gate) in order of trying."""

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]


def pack_items(
    always: Iterable[RecallItem],
    ranked: Iterable[RecallItem],
    *,
    most: int,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
    covering: Mapping[str, Collection[str]] = MappingProxyType({}),
    used: int = 0,
) -> BudgetedAnswer:
    """Take items in order while the rendered text fits.

    ``always`` items come first, within 40 % of the budget and not counted in ``most``; then at most ``most`` of the
    ranked items, which are consumed only as far as needed. An item that does not fit is passed over and the
    next is tried. The size of the rendered text, titles and all, never exceeds the budget.

    covering: for an item's id, the ids of items any of which makes it superfluous. used: tokens that the text takes
    without any item; the 40 % are of what is left.
    """
    share = None if budget is None else used + int((budget - used) * ALWAYS_SHARE)
    dropped: list[tuple[RecallItem, str]] = []
    taken: list[RecallItem] = []
    for item in always:
        _try_item(item, taken, dropped, share, render, count)
    first = len(taken)
    for item in ranked:
        if covering.get(item.id) and any(entry.id in covering[item.id] for entry in taken):
            dropped.append((item, "covered"))
        else:
            _try_item(item, taken, dropped, budget, render, count)
        if len(taken) - first >= most:
            break
    text = render(taken)
    return BudgetedAnswer(tuple(taken), text, count(text), tuple(dropped))


def widen_items(
    packed: BudgetedAnswer,
    wider: Callable[[RecallItem, int], RecallItem],
    *,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Widen cut texts as far as the budget goes; no item is dropped for it.

    wider: an item with so many times as much of its text; the item itself when there is no more of it to show. Every
    item is widened twofold before any is fourfold, so that a long text does not take what all could use. What an item
    adds is counted by itself, since a text of many long items takes long to render and count; the whole is at the end.
    """
    taken, tokens = list(packed.items), packed.tokens
    sizes: dict[int, int] = {}
    earlier: list[tuple[int, RecallItem]] = []
    growing = list(range(len(taken)))
    for times in WIDENING_FACTORS:
        for place in tuple(growing):
            if budget is not None and budget - tokens < MIN_WORTHWHILE_TOKENS:
                break
            longer = wider(taken[place], times)
            if longer is taken[place]:
                growing.remove(place)  # all of it is shown
                continue
            before = sizes[place] if place in sizes else count(render([taken[place]]))
            size = count(render([longer]))
            if budget is None or tokens + size - before <= budget:
                earlier.append((place, taken[place]))
                taken[place], sizes[place] = longer, size
                tokens += size - before
            else:
                growing.remove(place)  # there is no room for more
    return _shrink_to_fit(packed, taken, earlier, budget, render, count)


def put_newest_first(items: Sequence[RecallItem]) -> list[RecallItem]:
    """Return items with what was said last first: it is what holds now."""
    return sorted(items, key=lambda item: item.created_at, reverse=True)


def put_newer_first(
    items: Sequence[RecallItem], vectors: npt.NDArray[np.float32], alike: float = MIN_ALIKE
) -> list[RecallItem]:
    """Return items best first, but of items that say alike things the newest at the first of their places.

    What was said later about the same matter holds now. The n-th item keeps the n-th score.

    vectors: a row of unit length for each item; a row of zeros is like no other. alike: the cosine of like items.
    """
    close = vectors @ vectors.T >= alike
    leaders: list[int] = []
    groups: dict[int, list[int]] = {}
    for place in range(len(items)):
        leader = next((earlier for earlier in leaders if close[place, earlier]), None)
        if leader is None:
            leaders.append(place)
        groups.setdefault(place if leader is None else leader, []).append(place)
    arranged = list(items)
    for places in groups.values():
        newest = sorted(places, key=lambda place: (items[place].created_at, place), reverse=True)
        for place, taken in zip(places, newest, strict=True):
            arranged[place] = replace(items[taken], score=items[place].score)
    return arranged


def rearrange_items(
    packed: BudgetedAnswer,
    items: Sequence[RecallItem],
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Return the same items in another order."""
    text = render(items)
    return BudgetedAnswer(tuple(items), text, count(text), packed.dropped)


def _shrink_to_fit(
    packed: BudgetedAnswer,
    taken: list[RecallItem],
    earlier: list[tuple[int, RecallItem]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Undo the last widenings until the text fits the budget."""
    while earlier:
        text = render(taken)
        tokens = count(text)
        if budget is None or tokens <= budget:
            return BudgetedAnswer(tuple(taken), text, tokens, packed.dropped)
        place, item = earlier.pop()
        taken[place] = item
    return packed


def _try_item(
    item: RecallItem,
    taken: list[RecallItem],
    dropped: list[tuple[RecallItem, str]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> None:
    if budget is None or count(render([*taken, item])) <= budget:
        taken.append(item)
    else:
        dropped.append((item, "budget"))


def list_covering_facts(selection: Selection, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Map the ids of turns among the candidates to the ids of the facts that rest on them."""
    return {ids[item.place]: tuple(ids[fact] for fact in item.facts) for item in selection.ranked if item.facts}


def list_cuts(
    ids: Sequence[str],
    selection: Selection,
    packed: BudgetedAnswer,
    echoes: Sequence[int],
    gates: Gates,
    most: int | None,
) -> tuple[Cut, ...]:
    """List the omissions, near misses first."""
    cuts = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    named = {cut.id for cut in cuts} | {item.id for item in packed.items}
    others = [
        *((item, "top_k") for item in selection.ranked if ids[item.place] not in named),
        *((Candidate(place, 0.0), "echo") for place in echoes if most is not None and gates.readable[place]),
        *selection.left_out,
    ]
    cuts += [Cut(ids[item.place], gate, item.score, GATES[gate]) for item, gate in others[:most]]
    return tuple(cuts[:most])


def has_relevant(packed: BudgetedAnswer, ranking: Ranking, threshold: float) -> bool:
    """Return whether a shown memory bears on the question; a memory that is always offered counts by its score."""
    return ranking.confidence >= threshold and any(item.score >= MIN_ITEM_SCORE for item in packed.items)
