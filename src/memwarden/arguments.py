"""Whether what a caller gave can be meant: each check returns the value, or says what is wrong with it.

All raise InvalidInput.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.records import Kind, Memory
from memwarden.remember.ingest.messages import checked_names
from memwarden.settings import Settings

MAX_WHOLE = 2**62
"""No whole number that a caller gives may be larger: stores count in 64 bits."""
CLEARABLE_FIELDS = ("valid_from", "valid_to", "summary", "context")
"""What a memory need not have, so that :meth:`AsyncScope.update` can take it away."""


def check_category(settings: Settings, name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"a category is a text, not {name!r:.80}")
    return settings.categories.known(name)


def check_kind(value: Any) -> str:
    if not isinstance(value, str) or value not in set(Kind):
        raise InvalidInput(f"kind is one of {', '.join(Kind)}, not {value!r:.80}")
    return value


def check_truth(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{what} is True or False, not {value!r}")
    return value


def check_cleared(names: Any, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields to be emptied. Raises InvalidInput for one that every memory has, or that is given as well."""
    check_cleared = checked_names(names, "clear")
    for name in check_cleared:
        if name not in CLEARABLE_FIELDS:
            raise InvalidInput(f"clear takes {', '.join(CLEARABLE_FIELDS)}, not {name!r}")
        if name in given:
            raise InvalidInput(f"{name} is both given and to be cleared")
    return check_cleared


def check_order(memory: Memory) -> None:
    if memory.valid_to is not None and memory.valid_to < memory.since:
        beginning = "valid_from" if memory.valid_from else "created_at, since no valid_from is known"
        raise InvalidInput(
            f"it would end ({memory.valid_to.isoformat()}) before it begins ({memory.since.isoformat()}, {beginning})"
        )


def check_memory_id(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"a memory id is a text, not {value!r}")
    return value


def check_whole(value: Any, what: str, least: int, most: int | None) -> int:
    if isinstance(value, int) and abs(value) > MAX_WHOLE:
        raise InvalidInput(f"{what} is larger than any number that a store counts to")
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" to {most:,}"
        raise InvalidInput(f"{what} is a whole number from {least}{upto}, not {value!r}")
    return value


def check_moment(value: Any) -> int | datetime:
    """A revision as it is, a time as an aware datetime."""
    if isinstance(value, int) and not isinstance(value, bool):
        return check_whole(value, "as_of", 0, None)
    return clock.parse(value, "as_of")


def check_share(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{what} is a number from 0 to 1, not {value!r}")
    return float(value)
