"""Expiry: days without use, importance that fades, own dates, and the content of a purged memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memwarden.categories import Category
from memwarden.records import Namespace
from memwarden.testing.examples import START, a_memory
from memwarden.upkeep.expiry import empty_memory, idle_days, importance_now, is_over, is_unused, may_purge

CARD = "card"
EXTRACTED_BY = "memwarden"

DAY = timedelta(days=1)


def test_idle_time_is_in_days() -> None:
    assert idle_days(START, START + timedelta(days=2, hours=6)) == 2.25


@pytest.mark.parametrize(
    ("importance", "idle", "half_life", "now"),
    [(0.8, 500.0, None, 0.8), (0.8, 30.0, 30.0, 0.4), (0.8, 90.0, 30.0, 0.1), (0.8, 0.0, 30.0, 0.8)],
)
def test_importance_halves_with_each_half_life(
    importance: float, idle: float, half_life: float | None, now: float
) -> None:
    assert importance_now(importance, idle, half_life) == pytest.approx(now)


@pytest.mark.parametrize(
    ("days", "importance", "unused"),
    [(60, 0.3, False), (60.01, 0.3, True), (61, 0.4, False), (61, 0.39, True), (1_000, 0.9, False)],
)
def test_a_memory_expires_after_60_days_below_an_importance_of_4_tenths(
    days: float, importance: float, unused: bool
) -> None:
    memory = a_memory("m", channel="semantic", importance=importance)
    assert is_unused(memory, START, START + days * DAY, None) == unused


@pytest.mark.parametrize(
    ("policy", "days", "unused"),
    [
        (Category("work", expire_days=10), 9, False),
        (Category("work", expire_days=10), 11, True),
        (Category("work", never_expires=True), 9_999, False),
        (Category("work", expire_below=0.2), 61, False),
        (Category("work", expire_below=0.0), 9_999, False),  # nothing is below 0
        (Category("work", expire_days=10, expire_below=0.2, half_life_days=10), 11, True),  # 0.3 fades to 0.14
    ],
)
def test_a_category_has_days_and_importance_of_its_own(policy: Category, days: int, unused: bool) -> None:
    memory = a_memory("m", channel="semantic", category="work", importance=0.3)
    assert is_unused(memory, START, START + days * DAY, policy) == unused


@pytest.mark.parametrize(
    "fields",
    [
        {"pinned": True},
        {"channel": "turn"},
        {"channel": "procedural"},
        {"channel": "state"},
        {"namespace": Namespace("test", "project/p")},
        {"namespace": Namespace("test", "task/t")},
        {"namespace": Namespace("test", "global")},
    ],
)
def test_other_memories_do_not_expire_by_disuse(fields: dict[str, Any]) -> None:
    memory = a_memory("m", **{"channel": "semantic", "importance": 0.0, **fields})
    assert not is_unused(memory, START, START + 5_000 * DAY, None)


def test_an_index_card_expires_after_a_year() -> None:
    card = a_memory("c", channel="episodic", tags=(CARD,), actor_id=EXTRACTED_BY, importance=0.1)
    assert not is_unused(card, START, START + 365 * DAY, None)
    assert is_unused(card, START, START + 366 * DAY, None)


def test_a_value_ends_on_its_own_date() -> None:
    value = a_memory("v", channel="state", valid_to=START)
    assert is_over(value, START)
    assert not is_over(value, START - timedelta(microseconds=1))
    assert not is_over(a_memory("v", channel="state"), START)
    assert not is_over(a_memory("v", channel="state", valid_to=START, pinned=True), START)
    assert not is_over(a_memory("v", channel="semantic", valid_to=START), START)


def test_a_memory_is_purged_from_its_date_on() -> None:
    assert may_purge(a_memory("m", purge_at=START), START)
    assert not may_purge(a_memory("m", purge_at=START), START - DAY)
    assert not may_purge(a_memory("m"), START)


def test_a_purged_memory_keeps_its_place_alone() -> None:
    memory = a_memory(
        "m", text="The code is 4711.", channel="episodic", category="work", importance=0.9, thread_id="t1",
        user_id="ann", sources=("s1",), tags=("x",), summary="code", payload={"k": 1}, pinned=True,
    )  # fmt: skip
    rest = empty_memory(memory, START + DAY)
    assert (rest.id, rest.channel, rest.category, rest.thread_id, rest.user_id) == (
        "m",
        "episodic",
        "work",
        "t1",
        "ann",
    )
    assert (rest.text, rest.importance, rest.sources, rest.tags, rest.summary) == ("", 0.0, (), (), None)
    assert (rest.payload, rest.pinned, rest.updated_at) == (None, False, START + DAY)
    assert empty_memory(memory, START, covers=True).sources == ("s1",)
