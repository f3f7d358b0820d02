"""Packing items into a budget: nothing is passed over, so that a larger budget only adds items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwarden.recall.answer.pack import BudgetedAnswer, count_least_items, pack_items
from memwarden.recall.answer.render import order_items, render_memories_block
from memwarden.recall.answer.template import CLASSIC_TEMPLATE, LEAN_TEMPLATE, Template
from memwarden.records import Channel, Memory, Namespace, RecallItem, Why
from memwarden.text.tokenizer import estimate

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def make_items(lengths: Sequence[int], days: Sequence[int] = (), names: Sequence[str] = ()) -> list[RecallItem]:
    items = []
    for number, length in enumerate(lengths):
        said = NOW - timedelta(days=days[number] if days else 0)
        name = names[number] if names else None
        channel = Channel.TURN if names else Channel.SEMANTIC
        memory = Memory(
            str(number),
            Namespace("default", "user/ana"),
            "w" * length,
            said,
            said,
            channel=channel,
            name=name,
            role="user",
        )
        items.append(
            RecallItem(memory.id, memory.text, "activity", channel, "note", 1 - number / 1000, (), said, Why, memory)
        )
    return items


def pack(
    items: Sequence[RecallItem], budget: int | None, template: Template = LEAN_TEMPLATE, **more: object
) -> BudgetedAnswer:
    def render(chosen: Sequence[RecallItem]) -> str:
        return render_memories_block(order_items(chosen, template), NOW, template)

    options = {"most": 10, "budget": budget, "render": render, "count": estimate, **more}
    return pack_items((), items, **options)  # type: ignore[arg-type]


def ids(packed: BudgetedAnswer) -> list[str]:
    return [item.id for item in packed.items]


def test_the_best_are_taken_and_what_is_covered_gives_its_place() -> None:
    items = make_items([100] * 12)
    assert ids(pack(items, None)) == [str(number) for number in range(10)]
    covered = pack(items, None, covering={"3": ("0",)})
    assert ids(covered) == [*"012456789", "10"]
    assert [(item.id, gate) for item, gate in covered.dropped] == [("3", "covered")]


def test_after_a_few_only_likely_ones_are_taken() -> None:
    chances = [0.5, 0.01, 0.01, 0.029, 0.03, 0.01, 0.4]
    items = [replace(item, score=chance) for item, chance in zip(make_items([40] * 7), chances, strict=True)]
    packed = pack(items, 500, few=3)
    assert ids(packed) == ["0", "1", "2", "4", "6"]
    assert [(item.id, gate) for item, gate in packed.dropped] == [("3", "unlikely"), ("5", "unlikely")]
    assert ids(pack(items, 500)) == list("0123456")


@pytest.mark.parametrize(("budget", "least"), [(100, 12), (500, 12), (1_500, 22), (6_800, 100), (None, None)])
def test_a_small_budget_asks_for_a_chance_after_twelve(budget: int | None, least: int | None) -> None:
    assert count_least_items(budget) == least


def test_nothing_shorter_is_taken_in_place_of_what_does_not_fit() -> None:
    packed = pack(make_items([40, 4_000, 40]), 200)
    assert ids(packed) == ["0"]
    assert [(item.id, gate) for item, gate in packed.dropped] == [("1", "budget"), ("2", "budget")]
    assert ids(pack(make_items([4_000, 40]), 200)) == []


def test_what_only_fills_comes_after_all_others_fit() -> None:
    items, fill = make_items([100] * 3), make_items([100] * 9)[3:]
    assert ids(pack(items, 60, fill=fill)) == ["0"]
    packed = pack(items, 200, fill=fill)
    assert ids(packed)[:3] == ["0", "1", "2"]
    assert packed.filling == set(ids(packed)[3:]) != set()
    assert packed.tokens <= pack(items, 200).tokens + 0.4 * 200
    assert ids(pack([], 200, fill=fill)) == []


SIZES = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 500), st.sampled_from(["Ana", "Bo", ""])), max_size=14)


@given(SIZES, st.integers(0, 700), st.integers(0, 300), st.sampled_from([LEAN_TEMPLATE, CLASSIC_TEMPLATE]))
def test_a_larger_budget_only_adds_items(
    sizes: list[tuple[int, int, str]], budget: int, more: int, template: Template
) -> None:
    items = make_items(*map(list, zip(*sizes, strict=True))) if sizes else []
    small, large = pack(items, budget, template, most=5), pack(items, budget + more, template, most=9)
    assert ids(large)[: len(small.items)] == ids(small)
    assert small.tokens == estimate(small.text) <= budget
    assert len(small.items) + len(small.dropped) == min(len(items), 5)
