"""Packs items into a token budget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from memwarden.recall.answer.render import render_changes_and_block
from memwarden.recall.answer.template import Template
from memwarden.recall.time.change_cursor import Outdated
from memwarden.recall.time.delta import fit_delta, tell_outdated
from memwarden.records import Delta, RecallItem
from memwarden.text.tokenizer import TokenCounter

# Largest share of the budget for memories that are in the answer by their category alone (``context: all``).
ALWAYS_SHARE = 0.4

# Items of a block at a small budget, and tokens of a larger budget for each item. The budget is a limit: an item takes
# 34 tokens on average, and beyond one for 68 it seldom holds the answer. Measured in docs/why/recall.md.
MIN_ITEMS = 22
TOKENS_PER_ITEM = 68
# Items of a block at a small budget after which each needs a chance, and that chance. Measured in docs/why/recall.md.
FEW_ITEMS = 12
LIKELY = 0.03


def limit_items(most: int, budget: int | None) -> int:
    """Return the maximum number of items in a block. most: what the caller allows."""
    return most if budget is None else min(most, max(MIN_ITEMS, budget // TOKENS_PER_ITEM))


def count_least_items(budget: int | None) -> int | None:
    """Return the number of items after which a block takes only likely ones. None: it takes any."""
    return None if budget is None else max(FEW_ITEMS, budget // TOKENS_PER_ITEM)


@dataclass(frozen=True, slots=True)
class BudgetedAnswer:
    """Items of an answer within its budget.

    Attributes:
        items: best first. tokens: size of ``text``.
        dropped: each item left out, with its gate.
        filling: ids of items that are there by their category alone.
    """

    items: tuple[RecallItem, ...]
    text: str
    tokens: int
    dropped: tuple[tuple[RecallItem, str], ...]
    filling: frozenset[str] = frozenset()


def pack_items(
    first: Iterable[RecallItem],
    ranked: Iterable[RecallItem],
    *,
    most: int,
    budget: int | None,
    render: Callable[[Sequence[RecallItem]], str],
    count: TokenCounter,
    covering: Mapping[str, Collection[str]] = MappingProxyType({}),
    used: int = 0,
    fill: Iterable[RecallItem] = (),
    few: int | None = None,
) -> BudgetedAnswer:
    """Take the best items of a list whose rendered text fits the budget.

    The items of a smaller budget, or of a smaller ``most``, are the first of the items of a larger one: no item is
    passed over for a shorter one further down. The rendered text, with titles and frame, never exceeds the budget.

    Args:
        first: items before all others, within 40 % of the budget and not counted in ``most``.
        ranked: items, best first. Only as many are consumed as are needed.
        covering: for an item's id, the ids of items any of which makes it superfluous.
        used: tokens of the text without any item.
        fill: items tried after all ranked ones fit, for at most 40 % of the budget.
        few: ranked items after which only likely ones are taken. None: any are.
    """
    fits = _Fitting(render, count)
    share = None if budget is None else used + int((budget - used) * ALWAYS_SHARE)
    leading = list(first)
    taken = fits.extend([], leading, share)
    dropped = [(item, "budget") for item in leading[len(taken) :]]
    wanted: list[RecallItem] = []
    known = {item.id for item in taken}
    for item in ranked:
        if not known.isdisjoint(covering.get(item.id, ())):
            dropped.append((item, "covered"))
            continue
        if few is not None and len(wanted) >= few and item.score < LIKELY:
            dropped.append((item, "unlikely"))
            continue
        known.add(item.id)
        wanted.append(item)
        if len(wanted) >= most:
            break
    chosen = fits.extend(taken, wanted, budget)
    dropped += [(item, "budget") for item in wanted[len(chosen) - len(taken) :]]
    filling: list[RecallItem] = []
    if chosen and len(chosen) == len(taken) + len(wanted):
        rest = [item for item in fill if item.id not in known]
        share = None if budget is None else min(budget, fits.tokens(chosen) + int((budget - used) * ALWAYS_SHARE))
        whole = fits.extend(chosen, rest, share)
        filling = whole[len(chosen) :]
        dropped += [(item, "budget") for item in rest[len(filling) :]]
        chosen = whole
    text = render(chosen)
    return BudgetedAnswer(tuple(chosen), text, count(text), tuple(dropped), frozenset(item.id for item in filling))


@dataclass(frozen=True, slots=True)
class _Fitting:
    render: Callable[[Sequence[RecallItem]], str]
    count: TokenCounter

    def tokens(self, items: Sequence[RecallItem]) -> int:
        return self.count(self.render(items))

    def extend(self, taken: list[RecallItem], more: list[RecallItem], budget: int | None) -> list[RecallItem]:
        """Return the items taken and as many of the first further ones as fit."""
        whole = [*taken, *more]
        if budget is None or not more or self.tokens(whole) <= budget:
            return whole
        sizes = range(1, len(more))
        fitting = bisect_right(sizes, budget, key=lambda size: self.tokens(whole[: len(taken) + size]))
        return whole[: len(taken) + fitting]


def classic_order(item: RecallItem, now: datetime) -> float:
    """Return the sort key of a numbered block: importance x recency x relevance."""
    age_days = max(0.0, (now - item.created_at).total_seconds() / 86_400)
    recency = max(0.1, 0.5 ** (age_days / 30))
    return float(item.memory.importance * recency * item.score)


def tell_words_once(
    outdated: Outdated, told: Delta, packed: BudgetedAnswer, now: datetime, template: Template, count: TokenCounter
) -> tuple[Delta, BudgetedAnswer]:
    """Leave out of the changes the words that stand in the block."""
    below = [item.id for item in packed.items]
    short = tell_outdated(outdated.since, told.rev, outdated.changes, now, below)
    told = fit_delta(short, count(told.text), count) or told
    text = render_changes_and_block(told.text, now, template, packed.items)
    return told, replace(packed, text=text, tokens=count(text))
