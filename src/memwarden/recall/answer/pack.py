"""Packs items into a token budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice
from operator import is_
from types import MappingProxyType

from memwarden.recall.answer.render import render_changes_and_block
from memwarden.recall.answer.template import Template
from memwarden.recall.time.change_cursor import Outdated
from memwarden.recall.time.delta import fit_delta, tell_outdated
from memwarden.records import (
    Delta,
    Memory,
    RecallItem,
)
from memwarden.text.tokenizer import (
    TokenCounter,
)

# What only fills, memories of ``context: all`` categories, takes at most this share of the budget.
ALWAYS_SHARE = 0.4


# So many times as long as at first a cut text becomes when the budget leaves room.
WIDENING_FACTORS = (2, 4, 8, 16)


# For fewer tokens, some words, no more of a text is tried.
MIN_WORTHWHILE_TOKENS = 20


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """An answer within its budget. ``tokens``: size of ``text``. ``dropped``: (item, gate) in order of trying.

    filling: ids of items that only fill what the others left. rests_on: memories of which an overview in it is made.
    """

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]
    filling: frozenset[str] = frozenset()
    rests_on: tuple[Memory, ...] = ()


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
    first = len(taken)
    following = iter(ranked)
    wanted = list(islice(following, most))
    # Most answers fit as a whole; a text for each item that is tried takes a tenth of a hot query.
    text = "" if any(covering.get(item.id) for item in wanted) else render([*taken, *wanted])
    if text and (budget is None or count(text) <= budget):
        taken, wanted, following = [*taken, *wanted], [], iter(())
    else:
        text = ""
    for item in chain(wanted, following):
        if covering.get(item.id) and any(entry.id in covering[item.id] for entry in taken):
            dropped.append((item, "covered"))
        else:
            _try_item(item, taken, dropped, budget, render, count)
        if len(taken) - first >= most:
            break
    text = text or render(taken)
    share = None if budget is None else min(budget, count(text) + int((budget - used) * ALWAYS_SHARE))
    there = {item.id for item in taken}
    for item in fill if taken else ():
        if item.id in there:
            continue
        _try_item(item, taken, dropped, share, render, count)
    text = text if len(taken) == len(there) else render(taken)
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
    """Return the same items in another order, or some of them."""
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


def tell_words_once(
    outdated: Outdated, told: Delta, packed: BudgetedAnswer, now: datetime, template: Template, count: TokenCounter
) -> tuple[Delta, BudgetedAnswer]:
    """Leave out of the changes the words that stand in the block."""
    below = [item.id for item in packed.items]
    short = tell_outdated(outdated.since, told.rev, outdated.changes, now, below)
    told = fit_delta(short, count(told.text), count) or told
    text = render_changes_and_block(told.text, now, template, packed.items)
    return told, replace(packed, text=text, tokens=count(text))


def classic_order(item: RecallItem, now: datetime) -> float:
    """Return the sort key of a numbered block: importance x recency x relevance."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86_400)
    recency = max(0.1, 0.5 ** (age_days / 30))
    return float(item.memory.importance * recency * item.score)
