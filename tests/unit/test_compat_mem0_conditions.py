"""mem0's filters: what the store selects by, and what is evaluated on each memory."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden.compat.mem0.conditions import check_entity, holds, read_filters
from memwarden.errors import InvalidFilter, InvalidInput

FIELDS = {
    "user_id": "ana", "role": "user", "year": 2024, "topic": "Zebras", "done": True, "tags": ["red", "blue"],
    "created_at": "2026-03-02T09:00:00+00:00",
}  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"year": 2024}, True),
        ({"year": 2024, "topic": "Lions"}, False),
        ({"missing": "x"}, False),
        ({"missing": "*", "year": "*"}, True),
        ({"year": [2023, 2024]}, True),
        ({"year": {"gte": 2024, "lt": 2025}}, True),
        ({"year": {"gt": 2024}}, False),
        ({"year": {"lte": 2023}}, False),
        ({"year": {"gt": "2000"}}, False),
        ({"missing": {"gt": 1}}, False),
        ({"topic": {"eq": "Zebras"}}, True),
        ({"topic": {"ne": "Zebras"}}, False),
        ({"missing": {"ne": "Zebras"}}, True),
        ({"topic": {"in": ["Lions", "Zebras"]}}, True),
        ({"topic": {"nin": ["Lions", "Zebras"]}}, False),
        ({"topic": {"contains": "ebra"}}, True),
        ({"topic": {"contains": "zebra"}}, False),
        ({"topic": {"icontains": "zebra"}}, True),
        ({"year": {"contains": "20"}}, False),
        ({"tags": "blue"}, True),
        ({"tags": {"in": ["green", "red"]}}, True),
        ({"tags": {"ne": "red"}}, False),
        ({"done": 1}, False),
        ({"done": True}, True),
        ({"created_at": {"gt": "2026-03-02T10:30:00+02:00"}}, True),
        ({"created_at": {"gt": "2026-03-03"}}, False),
        ({"topic": {"gt": "A"}}, True),
        ({"AND": [{"year": 2024}, {"topic": "Zebras"}]}, True),
        ({"AND": [{"year": 2024}, {"topic": "Lions"}]}, False),
        ({"OR": [{"year": 1}, {"topic": "Zebras"}]}, True),
        ({"OR": [{"year": 1}, {"topic": "Lions"}]}, False),
        ({"NOT": [{"year": 1}, {"topic": "Lions"}]}, True),
        ({"NOT": [{"year": 1}, {"topic": "Zebras"}]}, False),
        ({"NOT": [{"OR": [{"year": 1}, {"AND": [{"done": True}, {"role": "user"}]}]}]}, False),
    ],
)
def test_a_filter_holds(filters: dict[str, Any], expected: bool) -> None:
    assert holds(filters, FIELDS) == expected


def test_plain_values_are_selected_by_the_store_and_the_rest_is_evaluated() -> None:
    selection = read_filters(
        {"user_id": " ana ", "run_id": 7, "topic": "Zebras", "role": "user", "year": {"gt": 1}, "a.b": 1, "tags": "*"}
    )
    assert selection.user == "ana"
    assert selection.metadata == {"run_id": "7", "topic": "Zebras"}
    assert selection.rest == {"role": "user", "year": {"gt": 1}, "a.b": 1, "tags": "*"}


@pytest.mark.parametrize(
    ("filters", "error", "words"),
    [
        (None, InvalidInput, "at least one of"),
        ({}, InvalidInput, "at least one of"),
        ({"topic": "x"}, InvalidInput, "at least one of"),
        ({"user_id": None}, InvalidInput, "at least one of"),
        ({"user_id": ""}, InvalidInput, "user_id"),
        ({"user_id": "a b"}, InvalidInput, "whitespace"),
        ({"user_id": "*"}, InvalidFilter, "single"),
        ("user_id", InvalidFilter, "mapping"),
        ({"user_id": "a", "x": {"like": 1}}, InvalidFilter, "like"),
        ({"user_id": "a", "x": {"in": "abc"}}, InvalidFilter, "list"),
        ({"user_id": "a", "OR": []}, InvalidFilter, "non-empty"),
        ({"user_id": "a", "AND": {"x": 1}}, InvalidFilter, "list"),
        ({"user_id": "a", "NOT": [{"x": {"like": 1}}]}, InvalidFilter, "like"),
        ({"user_id": "a", 1: 2}, InvalidFilter, "text"),
    ],
)
def test_a_wrong_filter_is_refused(filters: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        read_filters(filters)


@pytest.mark.parametrize(("value", "entity"), [(None, None), (" x ", "x"), (7, "7")])
def test_an_entity_is_trimmed_and_numbers_are_text(value: Any, entity: str | None) -> None:
    assert check_entity(value, "user_id") == entity
