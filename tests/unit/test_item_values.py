"""Which values a filter of LangGraph's store asks for, and which namespaces a listing names: without a store."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.base import ListNamespacesOp, MatchCondition

from memwarden.errors import InvalidFilter, InvalidInput
from memwarden.surfaces.integrations.langgraph import items, store

VALUE = {
    "name": "apple",
    "price": 9,
    "rating": 4.5,
    "fresh": True,
    "none": None,
    "code": "10",
    "tags": ["red", "round"],
    "maker": {"land": "Chile", "since": 1990, "access-level": "open"},
    "a.b": "literal",
    "deep": [{"x": 1}],
    "имя": "яблоко",
}


def fits(conditions: dict[str, Any]) -> bool:
    matches = items.matcher(conditions)
    return matches is None or matches(json.dumps(VALUE))


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"name": "apple"},
        {"name": "apple", "price": 9},
        {"name": {"$eq": "apple"}},
        {"name": {"$ne": "pear"}},
        {"absent": {"$ne": "pear"}},
        {"absent": None},
        {"none": None},
        {"fresh": True},
        {"fresh": 1},  # as LangGraph's own store says, and Python
        {"price": {"$gt": 8, "$lte": 9}},
        {"price": {"$gte": 9.0}},
        {"price": {"$lt": 10}},  # 9 < 10, though "9" > "10"
        {"price": {"$lt": 10**100}},
        {"price": {"$lt": float("inf")}},
        {"price": {"$gt": "8"}},
        {"code": {"$gt": 9}},
        {"name": {"$gt": "aardvark"}},
        {"tags": ["red", "round"]},
        {"tags": ("red", "round")},
        {"maker": {"land": "Chile"}},
        {"maker": {"since": {"$lt": 2000}}},
        {"maker.land": "Chile"},
        {"maker.access-level": "open"},
        {"maker.since": {"$gte": 1990}},
        {"a.b": "literal"},
        {"deep": [{"x": {"$gt": 0}}]},
        {"maker": {"$eq": {"land": "Chile", "since": 1990, "access-level": "open"}}},
        {"имя": "яблоко"},
    ],
)
def test_what_matches(conditions: dict[str, Any]) -> None:
    assert fits(conditions)


@pytest.mark.parametrize(
    "conditions",
    [
        {"name": "Apple"},
        {"name": "apple", "price": 8},
        {"price": True},
        {"price": {"$gt": 9}},
        {"price": {"$lt": 9}},
        {"price": {"$eq": float("nan")}},
        {"price": {"$gt": float("nan")}},
        {"absent": {"$gt": 1}},
        {"none": {"$lte": 1}},
        {"tags": {"$gt": 1}},
        {"name": {"$gt": 1}},
        {"fresh": {"$gt": 0}},
        {"tags": ["red"]},
        {"tags": ["round", "red"]},
        {"tags": "red"},
        {"maker": {"land": "Peru"}},
        {"maker": {"$eq": {"land": "Chile"}}},
        {"name": {"inner": "apple"}},
        {"maker.land.x": "Chile"},
        {"deep": [{"x": {"$gt": 1}}]},
        {"name": "apple' OR '1'='1"},
    ],
)
def test_what_does_not_match(conditions: dict[str, Any]) -> None:
    assert not fits(conditions)


@pytest.mark.parametrize(
    "wanted", [7, 7.0, -7, 0, 0.0, -0.0, 70, 10**14, 1e14, 10**15, 1e15, 10**16, 1e16, 4.5, 2**70, "ä", "a", True]
)
def test_a_value_is_found_however_it_is_written(wanted: Any) -> None:
    """Values are looked over as text before they are parsed; that never hides one that fits."""
    for value in (wanted, float(wanted) if isinstance(wanted, int) and not isinstance(wanted, bool) else wanted):
        for other in ("plain", "\ud800 makes everything escaped, ä too"):
            text = items.text_of({"x": [other], "n": value, "ä": value})
            for key in ("n", "ä"):
                for conditions in ({key: wanted}, {key: {"$eq": wanted}}, {key: {"$eq": wanted, "$ne": "z"}}):
                    matches = items.matcher(conditions)
                    assert matches is not None
                    assert matches(text) is True


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=2),
    ),
    st.text(),
)
def test_every_value_fits_itself(value: Any, other: str) -> None:
    matches = items.matcher({"field": value})
    assert matches is not None
    assert matches(items.text_of({"other": other, "field": value}))


@pytest.mark.parametrize(
    "conditions",
    [{"a": {"$in": [1]}}, {"a": {"$gt": 1, "b": 2}}, {"a": {"b": {"$near": 1}}}, {"a": [{"$x": 1}]}],
)
def test_an_unknown_operator_is_an_error_whatever_is_stored(conditions: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Unsupported operator") as raised:
        items.matcher(conditions)
    assert isinstance(raised.value, InvalidFilter)


@pytest.mark.parametrize("key", ["a') = 'b' OR '1'='1", 'a"b', "a\\b", "a\0b", "a\nb", 1])
def test_a_key_with_quotes_is_an_error(key: Any) -> None:
    with pytest.raises(ValueError, match="Invalid filter key"):
        items.matcher({key: "x"})
    with pytest.raises(ValueError, match="Invalid filter key"):
        items.matcher({"outer": {key: "x"}})


@pytest.mark.parametrize(
    "value", [{"a": object()}, {1: "a"}, {"a": {2: "b"}}, {"a": float("nan")}, "text", ["a"], {"a": {1, 2}}]
)
def test_what_is_no_json_object_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        items.text_of(value)


def test_a_value_has_a_longest_length() -> None:
    assert len(items.text_of({"a": "x" * (items.MAX_BYTES - 9)})) == items.MAX_BYTES
    with pytest.raises(InvalidInput, match="16,000,000 bytes"):
        items.text_of({"a": "x" * (items.MAX_BYTES - 8)})


def test_text_comes_back_whatever_it_is() -> None:
    value: dict[str, Any] = {"a": "\0 \x01 \ud800 𝄞 ü \u2028", "": [1.5, 10**30, None, {"b": []}]}
    assert json.loads(items.text_of(value)) == value


KNOWN = ["a", "a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f", "a.c.f", "ab", "b.a.f", "a-1.b"]


def listed(*conditions: tuple[Any, Any], max_depth: int | None = None, limit: int = 100, offset: int = 0) -> list[str]:
    op = ListNamespacesOp(tuple(MatchCondition(*condition) for condition in conditions), max_depth, limit, offset)
    store.check_listing(op)
    return [".".join(item) for item in store.list_namespaces(KNOWN, op)]


def test_listed_by_conditions() -> None:
    assert listed(("prefix", ("a", "b"))) == ["a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f"]
    assert listed(("suffix", ("f",))) == ["a.b.f", "a.c.f", "b.a.f"]
    assert listed(("prefix", ("a",)), ("suffix", ("f",))) == ["a.b.f", "a.c.f"]
    assert listed(("prefix", ("a", "*", "f"))) == ["a.b.f", "a.c.f"]
    assert listed(("suffix", ("*", "f"))) == ["a.b.f", "a.c.f", "b.a.f"]
    assert listed(("prefix", ("*", "*", "*", "*"))) == ["a.b.d.e", "a.b.d.i"]
    assert listed(("prefix", ("*",))) == listed() == listed(("prefix", ()))
    assert listed(("suffix", ("b", "*", "e"))) == ["a.b.d.e"]
    assert listed(("prefix", ["ab"])) == ["ab"]
    assert listed(("prefix", ("nobody",))) == []


def test_listed_by_tuples_not_by_text() -> None:
    assert listed() == ["a", "a.b.c", "a.b.d.e", "a.b.d.i", "a.b.f", "a.c.f", "a-1.b", "ab", "b.a.f"]


def test_listed_cut_and_in_pages() -> None:
    assert listed(("prefix", ("a", "b")), max_depth=3) == ["a.b.c", "a.b.d", "a.b.f"]
    assert listed(max_depth=1) == ["a", "a-1", "ab", "b"]
    assert listed(("prefix", ("a", "b")), limit=2) == ["a.b.c", "a.b.d.e"]
    assert listed(("prefix", ("a", "b")), limit=2, offset=2) == ["a.b.d.i", "a.b.f"]
    assert listed(limit=2, offset=100) == listed(limit=0) == []


def test_a_condition_of_another_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="Unsupported match type"):
        listed(("infix", ("a",)))
    with pytest.raises(InvalidInput, match="max_depth"):
        listed(max_depth=-1)
