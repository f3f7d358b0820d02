"""Importance is stored as a real number 0..1; this module converts to the scales that surfaces show."""

from __future__ import annotations

import math
from typing import Final

from memwarden.checks import SHARE

UNRATED: Final = -1e-300
"""The stored importance of an item without any: just below 0, and no value that a caller gives."""


def check_importance(value: object) -> float:
    """Return ``value`` as a float. Raises InvalidInput unless it is a number 0..1."""
    checked: float = SHARE.check(value, "importance")
    return checked


def from_level(level: float) -> float:
    """Convert a level 1..5 to 0..1 (value = level / 5)."""
    return level / 5


def to_level(value: float) -> int:
    """Convert 0..1 to a level 1..5, rounded half up."""
    return min(5, max(1, math.floor(value * 5 + 0.5)))


def to_ten(value: float) -> int:
    """Convert 0..1 to 1..10, rounded half up."""
    return min(10, max(1, math.floor(value * 10 + 0.5)))
