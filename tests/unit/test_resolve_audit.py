"""The decisions of an audit, by hand-made memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from memwarden.records import AuditFinding, Fix
from memwarden.remember.resolve.audit import (
    FactPair,
    OrderedMemory,
    check_memory,
    compare_facts,
    find_contradictions,
    find_duplicates,
    find_last_successor,
    order_findings,
)
from memwarden.testing.examples import START, a_memory
from memwarden.text.flags import Flag


def known(memory_id: str, day: int = 0) -> OrderedMemory:
    return OrderedMemory(replace(a_memory(memory_id), created_at=START + timedelta(days=day)), day)


A, B, C = (known(item, day) for day, item in enumerate("abc"))


def pair(older: OrderedMemory, newer: OrderedMemory, label: str) -> FactPair:
    return FactPair(older, newer, label, "a rule")


def test_what_goes_for_one_is_kept_for_none() -> None:
    """B says what A says, C says what B says, but not what A says: C stays."""
    found = find_duplicates([pair(B, C, "same"), pair(A, B, "same")], ())
    assert [item.ids for item in found] == [("a", "b")]


@pytest.mark.parametrize("going", ["a", "b"])
def test_a_pair_of_which_one_goes_anyhow_is_left_out(going: str) -> None:
    assert find_duplicates([pair(A, B, "same")], {going}) == []
    assert find_contradictions([pair(A, B, "supersede")], {going}) == []


def test_labels_are_told_apart() -> None:
    assert find_duplicates([pair(A, B, "supersede")], ()) == []
    assert find_contradictions([pair(A, B, "same")], ()) == []


@pytest.mark.parametrize("turned", [False, True])
def test_the_next_newer_one_ends_a_fact(turned: bool) -> None:
    pairs = [pair(A, B, "supersede"), pair(A, C, "supersede")]
    (found,) = find_contradictions(pairs[::-1] if turned else pairs, ())
    assert found.ids == ("a", "b")
    assert found.fix == Fix("update", "a", {"valid_to": B.memory.since})


def test_of_two_facts_of_one_moment_the_one_written_first_is_the_older() -> None:
    first = OrderedMemory(a_memory("first", text="Ana lives in Berlin now."), 1)
    second = OrderedMemory(a_memory("second", text="Ana lives in Lisbon now."), 2)
    found = compare_facts(second, first, None)
    assert found is not None
    assert (found.older, found.newer, found.label) == (first, second, "supersede")


@pytest.mark.parametrize(("text", "flags"), [("It was chatter then.", Flag.CHATTER), ("Thank you!", 0), ("👋", 0)])
def test_chatter_is_told_by_its_flag_or_its_words(text: str, flags: int) -> None:
    assert [item.kind for item in check_memory(a_memory("a", text=text), flags)] == ["chatter"]
    assert check_memory(a_memory("a", text=text, channel="turn"), flags) == []
    assert check_memory(a_memory("a", text=text, payload={"state": 3}), flags) == []


@pytest.mark.parametrize(
    ("edges", "active", "last"),
    [
        ({}, "", None),
        ({"a": ["b"]}, "", "b"),
        ({"a": ["b"], "b": ["c"]}, "", "c"),
        ({"a": ["b"], "b": ["c"]}, "c", None),
        ({"a": ["b", "c"]}, "b", None),
        ({"a": ["b"], "b": ["a"]}, "", "b"),
    ],
)
def test_the_last_successor(edges: dict[str, list[str]], active: str, last: str | None) -> None:
    assert find_last_successor("a", edges, set(active)) == last


def test_corrections_come_first_and_nothing_is_forgotten_twice() -> None:
    forget, update = Fix("forget", "a"), Fix("update", "a", {"text": "x"})
    findings = [AuditFinding("duplicate", ("b", "a"), "", forget), AuditFinding("chatter", ("a",), "", forget)]
    corrected = [AuditFinding("contradiction", ("a", "c"), "", update), AuditFinding("secret", ("a",), "", update)]
    ordered = order_findings([*findings, *corrected])
    assert [item.kind for item in ordered] == ["secret", "contradiction", "chatter"]
