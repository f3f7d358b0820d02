"""Checks values that callers and settings give, by rules in words and types; scales of importance."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Annotated, Any, Final, Literal

from memwarden.errors import InvalidInput

# Maximum whole number: stores count in 64 bits.
MAX_WHOLE: Final = 2**62


@dataclass(frozen=True)
class Rule:
    """What a value may be.

    Attributes:
        words: how a message says it: "a whole number from 1".
        kind: the type; what is converted to it keeps its meaning: 2 is the float 2.0, 2.5 is no int, True no number.
        limits: what ``msgspec.Meta`` takes: ``ge``, ``gt``, ``le``, ``min_length``.
    """

    words: str
    kind: Any
    limits: Mapping[str, float] = field(default_factory=dict)

    # msgspec takes 30 ms to import, which only a program spends that opens a store.
    @cached_property
    def _type(self) -> Any:
        from msgspec import Meta

        return Annotated[self.kind, Meta(**self.limits)] if self.limits else self.kind  # type: ignore[call-overload]

    def check(self, value: Any, what: str, error: type[InvalidInput] = InvalidInput, *, from_text: bool = False) -> Any:
        """Return a value as this rule's type.

        Args:
            what: the name of the value, with which the message begins.
            from_text: read numbers and the like out of a text, such as a variable of the environment.

        Raises the error with the name, what is allowed, and the value.
        """
        from msgspec import ValidationError, convert

        try:
            return convert(_plain(value), self._type, strict=not from_text)
        except (ValidationError, RecursionError):
            raise error(f"{what} is {self.words}, not {quote(value)}") from None


# Cached, since msgspec takes 30 microseconds to prepare a type and below 1 to check it.
@cache
def whole(least: int, most: int | None = None) -> Rule:
    """Return the rule for a whole number from ``least`` to ``most``."""
    upto = "" if most is None else f" to {most:,}"
    return Rule(f"a whole number from {least}{upto}", int, {"ge": least, "le": MAX_WHOLE if most is None else most})


def word(words: Iterable[str]) -> Rule:
    """Return the rule for a word out of some."""
    return _word(tuple(map(str, words)))


@cache
def _word(words: tuple[str, ...]) -> Rule:
    *others, last = words
    return Rule(f"{', '.join(others)} or {last}" if others else last, Literal[words])


TEXT: Final = Rule("a text", str)
NAME: Final = Rule("a text of at least a character", str, {"min_length": 1})
TEXTS: Final = Rule("a list of texts", tuple[str, ...])
TRUTH: Final = Rule("True or False", bool)
SHARE: Final = Rule("a number from 0 to 1", float, {"ge": 0, "le": 1})
SECONDS: Final = Rule("a number above 0, at most a day", float, {"gt": 0, "le": 86_400})
ABOVE_ZERO: Final = Rule("a number above 0", float, {"gt": 0, "le": sys.float_info.max})


def quote(value: Any) -> str:
    """Return the beginning of a value's ``repr``, for a message; of a value that has none, its type."""
    try:
        return f"{value!r:.80}"
    except RecursionError:
        return f"a deeply nested {type(value).__name__}"


def _plain(value: Any) -> Any:
    """Return numbers of other makes, such as numpy's float64, as Python's own, which msgspec takes."""
    if isinstance(value, float) and type(value) is not float:
        return float(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def check_whole(value: Any, what: str, least: int, most: int | None) -> int:
    """Return a whole number within limits."""
    if isinstance(value, int) and abs(value) > MAX_WHOLE:
        raise InvalidInput(f"{what} is larger than any number that a store counts to")
    number: int = whole(least, most).check(value, what)
    return number


# The stored importance of an item without any: just below 0, and no value that a caller gives.
UNRATED: Final = -1e-300


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
