"""Rules for values: kinds, limits, and messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memwarden import checks
from memwarden.errors import InvalidConfig, InvalidInput


@pytest.mark.parametrize(
    ("rule", "value", "checked"),
    [
        (checks.whole(1, 5), 5, 5),
        (checks.whole(0), 2**62, 2**62),
        (checks.SHARE, 1, 1.0),
        (checks.SHARE, np.float64(0.25), 0.25),
        (checks.SECONDS, 86_400, 86_400.0),
        (checks.TEXTS, ["a", "b"], ("a", "b")),
        (checks.TRUTH, False, False),
        (checks.NAME, " ", " "),
        (checks.word(["red", "blue"]), "red", "red"),
    ],
)
def test_a_value_within_a_rule_keeps_its_meaning(rule: checks.Rule, value: Any, checked: object) -> None:
    result = rule.check(value, "it")
    assert result == checked
    assert type(result) is type(checked)


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (checks.whole(1, 5), 6, "it is a whole number from 1 to 5, not 6"),
        (checks.whole(1), 2.5, "it is a whole number from 1, not 2.5"),
        (checks.whole(0), True, "it is a whole number from 0, not True"),
        (checks.whole(0), 2**62 + 1, "it is a whole number from 0, not 4611686018427387905"),
        (checks.SHARE, 1.01, "it is a number from 0 to 1, not 1.01"),
        (checks.SHARE, float("nan"), "it is a number from 0 to 1, not nan"),
        (checks.SHARE, "0.5", "it is a number from 0 to 1, not '0.5'"),
        (checks.SECONDS, 0, "it is a number above 0, at most a day, not 0"),
        (checks.ABOVE_ZERO, float("inf"), "it is a number above 0, not inf"),
        (checks.NAME, "", "it is a text of at least a character, not ''"),
        (checks.TEXTS, "ab", "it is a list of texts, not 'ab'"),
        (checks.TRUTH, 1, "it is True or False, not 1"),
        (checks.word(["red", "blue", "green"]), "Red", "it is red, blue or green, not 'Red'"),
    ],
)
def test_a_value_outside_a_rule_is_named(rule: checks.Rule, value: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        rule.check(value, "it")
    assert str(error.value) == message


def test_numbers_are_read_out_of_texts_where_texts_are_given() -> None:
    assert checks.whole(1, 5).check("4", "it", from_text=True) == 4
    with pytest.raises(InvalidConfig, match="not '9'"):
        checks.whole(1, 5).check("9", "it", InvalidConfig, from_text=True)


def test_a_quotation_is_short_and_survives_deep_values() -> None:
    assert checks.quote("x" * 500) == f"'{'x' * 79}"
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert checks.quote(deep) == "a deeply nested list"


def test_a_whole_number_beyond_64_bits_is_refused() -> None:
    assert checks.check_whole(7, "n", 1, None) == 7
    with pytest.raises(InvalidInput, match="n is larger than any number"):
        checks.check_whole(2**80, "n", 1, None)


@pytest.mark.parametrize(("value", "level", "ten"), [(0.0, 1, 1), (0.29, 1, 3), (0.3, 2, 3), (0.5, 3, 5), (1.0, 5, 10)])
def test_importance_as_levels_and_of_ten(value: float, level: int, ten: int) -> None:
    assert (checks.to_level(value), checks.to_ten(value)) == (level, ten)


def test_levels_are_fifths() -> None:
    assert [checks.from_level(level) for level in (1, 2, 5)] == [0.2, 0.4, 1.0]
    assert [checks.to_level(checks.from_level(level)) for level in range(1, 6)] == [1, 2, 3, 4, 5]
