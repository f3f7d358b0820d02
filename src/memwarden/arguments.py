"""Checks arguments of the public verbs: each check returns the value, or raises InvalidInput that names it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memwarden import clock
from memwarden.checks import NAME, SHARE, TEXT, TRUTH, check_whole, word
from memwarden.errors import Denied, InvalidInput, Stale
from memwarden.records import Kind, Memory
from memwarden.remember.ingest.messages import checked_names
from memwarden.settings import Settings

# Fields that a memory need not have, so that ``update`` can clear them.
CLEARABLE_FIELDS: Final = ("valid_from", "valid_to", "summary", "context", "metadata")
KIND: Final = word(Kind)


def check_no_agent(agent: str | None) -> None:
    """Raise Denied for an agent, where something is about all of a person's memory, whatever agents may see."""
    if agent is not None:
        raise Denied(
            f"agent {agent!r} may not do this for a person, since it is about all of their memory; leave the agent "
            "out of the call and of what opened it: a scope, an option --agent, a key"
        )


def check_category(settings: Settings, name: Any) -> str:
    """Return a declared category."""
    return settings.categories.known(TEXT.check(name, "a category"))


def check_kind(value: Any) -> str:
    """Return a kind of statement."""
    kind: str = KIND.check(value, "kind")
    return kind


def check_truth(value: Any, what: str) -> bool:
    """Return True or False."""
    truth: bool = TRUTH.check(value, what)
    return truth


def check_cleared(names: Any, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields to clear. Refuses a field that every memory has, or that is given as well."""
    cleared = checked_names(names, "clear")
    for name in cleared:
        if name not in CLEARABLE_FIELDS:
            raise InvalidInput(f"clear takes {', '.join(CLEARABLE_FIELDS)}, not {name!r}")
        if name in given:
            raise InvalidInput(f"{name} is both given and to be cleared")
    return cleared


def check_version(memory: Memory, expected: int) -> None:
    """Raise Stale unless a memory has the version that its caller read."""
    if check_whole(expected, "expected_version", 1, None) != memory.version:
        raise Stale(f"memory {memory.id!r} has version {memory.version}, not {expected}; read it again")


def check_order(memory: Memory) -> None:
    """Refuse a memory whose validity would end before it begins."""
    if memory.valid_to is not None and memory.valid_to < memory.since:
        beginning = "valid_from" if memory.valid_from else "created_at, since no valid_from is known"
        raise InvalidInput(
            f"it would end ({memory.valid_to.isoformat()}) before it begins ({memory.since.isoformat()}, {beginning})"
        )


def check_expiry(value: Any, begin: datetime | None) -> datetime | None:
    """Return the moment of an expiry, which is after the beginning."""
    if value is None:
        return None
    moment = clock.parse(value, "expires_at")
    since = begin or clock.now()
    if moment <= since:
        raise InvalidInput(f"expires_at ({moment.isoformat()}) is not after its beginning ({since.isoformat()})")
    return moment


def check_memory_id(value: Any) -> str:
    """Return the id of a memory."""
    memory_id: str = NAME.check(value, "a memory id")
    return memory_id


def check_moment(value: Any) -> int | datetime:
    """Return a revision as it is, a time as an aware datetime."""
    if isinstance(value, int) and not isinstance(value, bool):
        return check_whole(value, "as_of", 0, None)
    return clock.parse(value, "as_of")


def check_share(value: Any, what: str) -> float:
    """Return a number from 0 to 1."""
    share: float = SHARE.check(value, what)
    return share
