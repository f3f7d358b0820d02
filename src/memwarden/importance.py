"""Importance is stored as a real number 0..1; this module converts to the scales that surfaces show."""

from __future__ import annotations

import math

from memwarden.errors import InvalidInput


def check_importance(value: object) -> float:
    """Return ``value`` as a float. Raises InvalidInput unless it is a number 0..1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"importance is a number from 0 to 1, not {value!r}")
    return float(value)


def from_level(level: float) -> float:
    """Design B's level 1..5 as 0..1 (value = level / 5)."""
    return level / 5


def to_level(value: float) -> int:
    """0..1 as design B's level 1..5, rounded half up."""
    return min(5, max(1, math.floor(value * 5 + 0.5)))


def to_ten(value: float) -> int:
    """0..1 as design C's 1..10, rounded half up."""
    return min(10, max(1, math.floor(value * 10 + 0.5)))
