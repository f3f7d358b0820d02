"""Packing an answer into a token budget, and saying what did not fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from memwarden.records import RecallItem
from memwarden.tokens import TokenCounter

ALWAYS_SHARE = 0.4
"""Memories of ``context: all`` categories take at most this share of the budget (decision 2.8)."""

WIDER = (2, 4, 8, 16)
"""So many times as long as at first a cut text becomes when the budget leaves room."""
WORTH = 20
"""For fewer tokens, some words, no more of a text is tried."""


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """What fits. ``tokens`` is the size of ``text``; ``dropped`` are (item, gate) in the order of trying."""

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]


def pack(
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
    """Take items in order as long as the rendered text fits.

    ``always`` items come first, within 40 % of the budget and not counted in ``most``; then at most ``most`` of the
    ranked ones, which are not asked for further when there are enough. An item that does not fit is passed over and
    the next one tried. The size of the rendered text, titles and all, never exceeds the budget.

    covering: for an item's id, the ids of items any of which makes it superfluous. used: tokens that the text takes
    without any item; the 40 % are of what is left.
    """
    share = None if budget is None else used + int((budget - used) * ALWAYS_SHARE)
    dropped: list[tuple[RecallItem, str]] = []
    taken: list[RecallItem] = []
    for item in always:
        _try(item, taken, dropped, share, render, count)
    first = len(taken)
    for item in ranked:
        if covering.get(item.id) and any(entry.id in covering[item.id] for entry in taken):
            dropped.append((item, "covered"))
        else:
            _try(item, taken, dropped, budget, render, count)
        if len(taken) - first >= most:
            break
    text = render(taken)
    return BudgetedAnswer(tuple(taken), text, count(text), tuple(dropped))


def widened(
    packed: BudgetedAnswer,
    wider: Callable[[RecallItem, int], RecallItem],
    *,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """Show more of texts that were cut, as far as the budget goes: no item goes out for it.

    wider: an item with so many times as much of its text; the item itself when there is no more of it to show. Every
    item is widened twofold before any is fourfold, so that one long text does not take what all could use. What an item
    adds is counted by itself, since a text of many long items takes long to render and count; the whole is at the end.
    """
    taken, tokens = list(packed.items), packed.tokens
    sizes: dict[int, int] = {}
    earlier: list[tuple[int, RecallItem]] = []
    growing = list(range(len(taken)))
    for times in WIDER:
        for place in tuple(growing):
            if budget is not None and budget - tokens < WORTH:
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
    return _fitting(packed, taken, earlier, budget, render, count)


def _fitting(
    packed: BudgetedAnswer,
    taken: list[RecallItem],
    earlier: list[tuple[int, RecallItem]],
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
) -> BudgetedAnswer:
    """The widened items; where they are too many tokens together, those widened last as they were before."""
    while earlier:
        text = render(taken)
        tokens = count(text)
        if budget is None or tokens <= budget:
            return BudgetedAnswer(tuple(taken), text, tokens, packed.dropped)
        place, item = earlier.pop()
        taken[place] = item
    return packed


def _try(
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
