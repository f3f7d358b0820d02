"""The engines of a test above the store."""

from __future__ import annotations

from engine_cases import DATABASES, ENGINES, IN_PYTHON, keep_of_each_kind, keep_one


def test_cases_take_the_engines_in_turn() -> None:
    assert [keep_one(ENGINES, turn) for turn in range(5)] == [
        {"memory"},
        {"json"},
        {"sqlite"},
        {"postgres"},
        {"memory"},
    ]
    assert keep_one(("postgres", "sqlite"), 1) == {"postgres"}


def test_a_single_case_keeps_one_engine_of_each_kind() -> None:
    kept = [keep_of_each_kind(ENGINES, turn) for turn in range(4)]
    assert all(len(engines & set(IN_PYTHON)) == len(engines & set(DATABASES)) == 1 for engines in kept)
    assert {frozenset(engines) for engines in kept} == {frozenset((a, b)) for a in IN_PYTHON for b in DATABASES}
    assert keep_of_each_kind(("sqlite", "postgres"), 0) == {"sqlite", "postgres"}
