"""The filter language: what is accepted, what it means, what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from memwarden.errors import InvalidFilter, InvalidInput
from memwarden.filters import ALIASES, FIELDS, Condition, matches, parse, sort_field
from memwarden.records import Memory
from memwarden.testing.examples import FILTERS, VARIED, a_memory

MANY = "list of text"
OBJECT = "object"
OPERATORS = (
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
)
SORTABLE = frozenset(
    """actor_id agent_id category channel created_at id importance kind name pinned role run_id source thread_id
    token_cost trust updated_at user_id valid_from valid_to written""".split()
)

DAY = datetime(2026, 5, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("filters", "conditions"),
    [
        (None, []),
        ({}, []),
        ({"kind": "note"}, [("kind", "$eq", "note")]),
        ({"kind": ["note", "decision"]}, [("kind", "$in", ("note", "decision"))]),
        ({"kind": ("note",)}, [("kind", "$in", ("note",))]),
        ({"tags": "a"}, [("tags", "$in", ("a",))]),
        ({"importance": 1}, [("importance", "$eq", 1.0)]),
        ({"importance": {"$gte": 0.2, "$lt": 1}}, [("importance", "$gte", 0.2), ("importance", "$lt", 1.0)]),
        ({"importance_min": 3}, [("importance", "$gte", 0.6)]),
        ({"importance_max": 4}, [("importance", "$lte", 0.8)]),
        ({"updated_after": "2026-05-08"}, [("updated_at", "$gt", DAY)]),
        ({"updated_before": DAY}, [("updated_at", "$lt", DAY)]),
        ({"timestamp": "2026-05-08T00:00:00Z"}, [("created_at", "$eq", DAY)]),
        ({"context_item_id": "x"}, [("id", "$eq", "x")]),
        ({"conversation_id": "t"}, [("thread_id", "$eq", "t")]),
        ({"created_at": date(2026, 5, 8)}, [("created_at", "$eq", DAY)]),
        ({"created_at": datetime(2026, 5, 8)}, [("created_at", "$eq", DAY)]),
        ({"created_at": datetime(2026, 5, 8, 9, tzinfo=timezone(timedelta(hours=9)))}, [("created_at", "$eq", DAY)]),
        ({"pinned": True}, [("pinned", "$eq", True)]),
        ({"role": None, "importance_min": None, "timestamp": None}, []),
        ({"role": {"$eq": None}}, [("role", "$eq", None)]),
        ({"role": {"$ne": None}}, [("role", "$ne", None)]),
        ({"role": {}}, []),
        ({"role": []}, [("role", "$in", ())]),
    ],
)
def test_parse(filters: Mapping[str, Any] | None, conditions: list[tuple[str, str, Any]]) -> None:
    assert list(parse(filters)) == [Condition(*condition) for condition in conditions]


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"color": "red"}, "unknown filter field 'color'"),
        ({"color": None}, "unknown filter field"),
        ({"text": "x"}, "unknown filter field"),
        ({1: "x"}, "unknown filter field"),
        ({"kind": {"$regex": "x"}}, r"unknown operator '\$regex'"),
        ({"kind": {"$in": "x"}}, r"\$in on 'kind' takes a list"),
        ({"kind": {"$nin": ["x", None]}}, r"\$nin on 'kind' takes a list"),
        ({"kind": {"$in": [5]}}, "'kind' takes text"),
        ({"kind": {"$exists": 1}}, "takes true or false"),
        ({"tags": {"$exists": True}}, "does not apply to 'tags'"),
        ({"$or": []}, "takes a list"),
        ({"$or": {"kind": "x"}}, "takes a list"),
        ({"$or": [{"kind": "x"}, {"role": "user"}]}, "values of one field"),
        ({"$or": [{"kind": "x", "role": "user"}]}, "values of one field"),
        ({"$or": [{"kind": "x"}, {"kind": {"$gt": "y"}}]}, "values of one field"),
        ({"$or": [{"kind": "x"}, {"kind": {"$exists": False}}]}, "values, and not null"),
        ({"$and": [{"$and": []}]}, r"without \$and and \$or"),
        ({"$and": ["kind"]}, "takes a list"),
        ({"$not": {"kind": "x"}}, "unknown filter field"),
        ({"kind": 5}, "'kind' takes text"),
        ({"kind": ["note", None]}, "'kind' takes text"),
        ({"kind": {"$gt": None}}, "takes text"),
        ({"kind": True}, "takes text"),
        ({"tags": {"$eq": "a"}}, "does not apply to 'tags'"),
        ({"tags": [1]}, "takes list of text"),
        ({"importance": "high"}, "'importance' takes number"),
        ({"importance": True}, "takes number"),
        ({"importance": float("nan")}, "takes number"),
        ({"importance_min": "3"}, "'importance_min' takes number"),
        ({"pinned": 1}, "'pinned' takes boolean"),
        ({"pinned": {"$gt": True}}, "does not apply to 'pinned'"),
        ({"created_at": "yesterday"}, "ISO date or time such as"),
        ({"created_at": 5}, "ISO date or time"),
        ({"updated_after": {"$gt": DAY}}, "takes an ISO date"),
        ([("kind", "note")], "must be a mapping"),
        ("kind", "must be a mapping"),
    ],
)
def test_refused(filters: Any, says: str) -> None:
    with pytest.raises(InvalidFilter, match=says) as refusal:
        parse(filters)
    assert isinstance(refusal.value, InvalidInput)


def test_the_refusal_of_a_field_names_the_known_ones() -> None:
    with pytest.raises(InvalidFilter, match=r"importance_min.*updated_after"):
        parse({"color": "red"})


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=lambda value: str(value)[:60])
def test_matches(filters: Mapping[str, Any], expected: str) -> None:
    where = parse(filters)
    assert "".join(item.id for item in VARIED if matches(where, item)) == expected


@pytest.mark.parametrize("op", ["$gt", "$gte", "$lt", "$lte"])
@pytest.mark.parametrize("field", ["role", "valid_from", "source"])
def test_an_order_comparison_never_matches_an_unset_field(field: str, op: str) -> None:
    value = DAY if field == "valid_from" else "a"
    assert not matches(parse({field: {op: value}}), a_memory("plain"))


def test_not_equal_matches_an_unset_field() -> None:
    assert matches(parse({"role": {"$ne": "user"}}), a_memory("plain"))
    assert not matches(parse({"role": {"$ne": None}}), a_memory("plain"))


def test_every_level_is_its_own_fifth() -> None:
    for level in range(1, 6):
        memory = a_memory("x", importance=level / 5)
        assert matches(parse({"importance_min": level, "importance_max": level}), memory)
        assert not matches(parse({"importance_min": level + 1}), memory)


def test_every_field_is_a_field_of_a_memory() -> None:
    names = {*Memory.__dataclass_fields__, "metadata"}
    assert set(FIELDS) <= names
    assert set(ALIASES.values()) <= names
    assert set(ALIASES).isdisjoint(names)


def test_every_operator_is_accepted() -> None:
    for op in OPERATORS:
        assert parse({"importance": {op: 0.5}}) == (Condition("importance", op, 0.5),)


def test_sort_field() -> None:
    assert sort_field("timestamp") == "created_at"
    for name in SORTABLE:
        assert sort_field(name) == name
    for name in ("text", "", *(field for field, sort in FIELDS.items() if sort in (MANY, OBJECT))):
        with pytest.raises(InvalidFilter, match="cannot order by"):
            sort_field(name)
