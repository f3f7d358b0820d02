"""Packs items into a token budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import is_
from types import MappingProxyType

from memwarden.records import RecallItem
from memwarden.text.tokenizer import TokenCounter

# What only fills, memories of ``context: all`` categories, takes at most this share of the budget.
ALWAYS_SHARE = 0.4

# So many times as long as at first a cut text becomes when the budget leaves room.
WIDENING_FACTORS = (2, 4, 8, 16)
# For fewer tokens, some words, no more of a text is tried.
MIN_WORTHWHILE_TOKENS = 20


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """An answer within its budget. ``tokens``: size of ``text``. ``dropped``: (item, gate) in order of trying.

    filling: ids of items that only fill what the others left.
    """

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]
    filling: frozenset[str] = frozenset()


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
    fill: Iterable[RecallItem] = (),
) -> BudgetedAnswer:
    """Take items in order while the rendered text fits.

    ``always`` items come first, within 40 % of the budget and not counted in ``most``; then at most ``most`` of the
    ranked items, which are consumed only as far as needed. An item that does not fit is passed over and the
    next is tried. The size of the rendered text, titles and all, never exceeds the budget.

    fill: tried last, while something is in the answer, for at most 40 % of the budget.
    covering: for an item's id, the ids of items any of which makes it superfluous. used: tokens that the text takes
    without any item; the 40 % are of what is left.
    """
    share = None if budget is None else used + int((budget - used) * ALWAYS_SHARE)
    dropped: list[tuple[RecallItem, str]] = []
    taken: list[RecallItem] = []
    for item in always:
        _try_item(item, taken, dropped, share, render, count)
    following = iter(ranked)
    drawn, wanted, covered = _draw_uncovered(following, taken, most, covering)
    text = render([*taken, *wanted])
    # Most answers fit as a whole; a text for each item that is tried takes a tenth of a hot query.
    if budget is None or count(text) <= budget:
        taken += wanted
        dropped += covered
    else:
        _take_singly(chain(drawn, following), taken, dropped, most, budget, render, count, covering)
        text = render(taken)
    packed = BudgetedAnswer(tuple(taken), text, count(text), tuple(dropped))
    return _fill_up(packed, fill, budget, used, render, count) if taken else packed


def _draw_uncovered(
    ranked: Iterator[RecallItem],
    taken: Sequence[RecallItem],
    most: int,
    covering: Mapping[str, Collection[str]],
) -> tuple[list[RecallItem], list[RecallItem], list[tuple[RecallItem, str]]]:
    """Return the items up to the last wanted, those that nothing makes superfluous, and the others with their gate."""
    drawn: list[RecallItem] = []
    wanted: list[RecallItem] = []
    covered: list[tuple[RecallItem, str]] = []
    for item in ranked:
        drawn.append(item)
        if _is_covered(item, chain(taken, wanted), covering):
            covered.append((item, "covered"))
        else:
            wanted.append(item)
        if len(wanted) >= most:
            break
    return drawn, wanted, covered


def _is_covered(item: RecallItem, taken: Iterable[RecallItem], covering: Mapping[str, Collection[str]]) -> bool:
    by = covering.get(item.id)
    return bool(by) and any(entry.id in by for entry in taken)


def _take_singly(
    ranked: Iterable[RecallItem],
    taken: list[RecallItem],
    dropped: list[tuple[RecallItem, str]],
    most: int,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
    covering: Mapping[str, Collection[str]],
) -> None:
    """Take items one after the other, and pass over what does not fit."""
    first = len(taken)
    for item in ranked:
        if _is_covered(item, taken, covering):
            dropped.append((item, "covered"))
        else:
            _try_item(item, taken, dropped, budget, render, count)
        if len(taken) - first >= most:
            break


def _fill_up(
    packed: BudgetedAnswer,
    fill: Iterable[RecallItem],
    budget: int | None,
    used: int,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Add what only fills, for at most 40 % of the budget."""
    taken, dropped = list(packed.items), list(packed.dropped)
    share = None if budget is None else min(budget, packed.tokens + int((budget - used) * ALWAYS_SHARE))
    there = {item.id for item in taken}
    for item in fill:
        if item.id not in there:
            _try_item(item, taken, dropped, share, render, count)
    if len(taken) == len(packed.items):
        return replace(packed, dropped=tuple(dropped))
    text = render(taken)
    filling = frozenset(item.id for item in taken if item.id not in there)
    return BudgetedAnswer(tuple(taken), text, count(text), tuple(dropped), filling)


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


def rearrange_items(
    packed: BudgetedAnswer,
    items: Sequence[RecallItem],
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Return the same items in another order."""
    if len(items) == len(packed.items) and all(map(is_, items, packed.items)):
        return packed
    text = render(items)
    return BudgetedAnswer(tuple(items), text, count(text), packed.dropped, packed.filling)


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
            return BudgetedAnswer(tuple(taken), text, tokens, packed.dropped, packed.filling)
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
