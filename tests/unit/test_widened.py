"""Showing more of texts that were cut: the budget holds, and the work grows with the items, not with their square."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memwarden.recall.answer.pack import BudgetedAnswer, pack_items, rearrange_items, widen_items
from memwarden.records import Memory, Namespace, RecallItem, Why
from memwarden.text.tokenizer import TokenCounter, estimate

START, WHOLE = 100, 1_500
NOW = datetime(2026, 5, 1, tzinfo=UTC)


class Block:
    """Renders items as a block does, and counts how many of them it was given."""

    def __init__(self) -> None:
        self.rendered = 0

    def __call__(self, items: Sequence[RecallItem]) -> str:
        self.rendered += len(items)
        entries = [f"{number}. {item.text}" for number, item in enumerate(items, 1)]
        return "\n\n".join(["<memories>", *entries, "</memories>"])


def longer(item: RecallItem, times: int) -> RecallItem:
    length = min(times * START, WHOLE)
    return item if len(item.text) >= length else replace(item, text="w" * length)


def grown(block: Block, most: int, budget: int | None, count: TokenCounter = estimate) -> BudgetedAnswer:
    memory = Memory("m", Namespace("default", "user/ana"), "w" * WHOLE, NOW, NOW)
    items = (RecallItem("m", "w" * START, "activity", "semantic", "note", 0.9, (), NOW, Why, memory),) * most
    text = block(items)
    block.rendered = 0
    packed = BudgetedAnswer(items, text, count(text), ())
    return widen_items(packed, longer, budget=budget, render=block, count=count)


def make_items(amount: int) -> Iterator[RecallItem]:
    for number in range(amount):
        memory = Memory(str(number), Namespace("default", "user/ana"), "w" * START, NOW, NOW)
        yield RecallItem(memory.id, memory.text, "activity", "semantic", "note", 0.9, (), NOW, Why, memory)


@pytest.mark.parametrize("budget", [None, 100_000, 12_000, 4_000, 1_700])
def test_each_item_is_rendered_by_itself(budget: int | None) -> None:
    block = Block()
    packed = grown(block, 50, budget)
    assert (packed.text, packed.tokens) == (block(packed.items), estimate(packed.text))
    assert budget is None or packed.tokens <= budget
    assert block.rendered <= 50 * (5 + 3)  # each at most once before, four times longer; and the whole


def test_every_item_is_twofold_before_any_is_fourfold() -> None:
    lengths = [len(item.text) for item in grown(Block(), 10, 700).items]
    assert lengths == [400] * 3 + [200] * 7


@pytest.mark.parametrize("budget", [400, 600, 900, 2_000])
def test_what_is_too_much_together_is_taken_back(budget: int) -> None:
    """A counter to which a long text is more than its items one by one."""
    block = Block()
    packed = grown(block, 10, budget, more_together)
    assert packed.tokens == more_together(block(packed.items)) <= budget
    assert {len(item.text) for item in packed.items} != {START}


def more_together(text: str) -> int:
    return estimate(text) + len(text) ** 2 // 40_000


def test_what_fits_as_a_whole_is_rendered_once_and_packed_as_item_by_item() -> None:
    items = list(make_items(12))

    def packed(budget: int | None, cover: str = "") -> tuple[list[str], int]:
        block = Block()
        covering = {cover: ("0",)} if cover else {}
        found = pack_items((), items, most=10, budget=budget, render=block, count=estimate, covering=covering)
        assert rearrange_items(found, list(found.items), block, estimate) is found
        return [item.id for item in found.items], block.rendered

    ids = [str(number) for number in range(12)]
    assert packed(None) == packed(10_000) == (ids[:10], 10)
    # What is covered gives its place to the next, and what does not fit is passed over.
    assert packed(10_000, "3")[0] == [*ids[:3], *ids[4:11]]
    assert packed(estimate(Block()(items[:4])))[0] == ids[:4]
