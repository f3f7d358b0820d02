"""Why an item was found is worked out when it is first read, and travels with copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from memwarden.records import Feature, Memory, Namespace, RecallItem, Why

NOW = datetime(2026, 5, 8, tzinfo=UTC)
MEMORY = Memory("m", Namespace("default", "user/ana"), "A boat.", NOW, NOW)
KNOWN = Why(("boat",), (Feature("base", 0.5, 1.0),), "a note")


def counted() -> tuple[RecallItem, list[int]]:
    times: list[int] = []

    def explain() -> Why:
        times.append(1)
        return KNOWN

    return RecallItem("m", "A boat.", "activity", "semantic", "note", 0.9, (), NOW, explain, MEMORY), times


def pickled(item: RecallItem) -> Any:
    return pickle.loads(pickle.dumps(item))


def test_it_is_worked_out_once_and_only_when_it_is_read() -> None:
    item, times = counted()
    assert item == counted()[0]
    assert "explain" not in repr(item)
    assert times == []
    assert (item.why, item.why.note) == (KNOWN, "a note")
    assert times == [1]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickled, replace])
def test_a_copy_tells_the_same(way: Callable[[RecallItem], RecallItem]) -> None:
    item, _ = counted()
    assert way(item) == item
    assert way(item).why == KNOWN
    assert replace(way(item), text="cut").why == KNOWN


def test_it_cannot_be_changed() -> None:
    item, _ = counted()
    with pytest.raises(FrozenInstanceError):
        item.score = 1.0  # type: ignore[misc]
