"""How long memories live: a table by channel and by the kind of namespace. Decisions only.

Nothing is removed by looking at it: the table says what may go, the upkeep that takes it comes later, and what goes is
soft-deleted, told once in the delta, and can be restored until it is purged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from memwarden.records import Channel, Memory, MemoryState

KEPT_AFTER_FORGETTING: Final = timedelta(days=30)
"""What was forgotten or has expired can be restored for so long, then it is purged."""
EARLIER_STATES: Final = 10
"""So many earlier contents are kept of what is saved by key: enough to take a mistake back, and a session that is
written with every question does not grow for ever."""
UNUSED_FOR: Final = timedelta(days=60)
"""An expired memory was in no answer for so long ..."""
LESS_IMPORTANT_THAN: Final = 0.4
"""... and that matters less than level 2 of 5."""


class Ends(StrEnum):
    """What ends the life of a memory by itself."""

    UNUSED = "unused"
    EVICTED = "evicted"
    OWN_DATE = "own_date"
    WITH_ITS_TASK = "with_its_task"
    NEVER = "never"


_BY_CHANNEL: Final[Mapping[str, Ends]] = {
    Channel.TURN: Ends.NEVER,
    Channel.SEMANTIC: Ends.UNUSED,
    Channel.EPISODIC: Ends.UNUSED,
    Channel.INSIGHT: Ends.UNUSED,
    Channel.PROCEDURAL: Ends.NEVER,
    Channel.STATE: Ends.OWN_DATE,
}
_BY_NAMESPACE: Final[Mapping[str, Ends]] = {
    "project": Ends.EVICTED,
    "task": Ends.WITH_ITS_TASK,
    "global": Ends.NEVER,
}


@dataclass(frozen=True, slots=True)
class LifeVerdict:
    """What ends a memory, and since when it may be soft-deleted; None: not yet, or never."""

    ends: Ends
    due_at: datetime | None = None


def ends(channel: str, namespace_path: str) -> Ends:
    """Return what ends memories of a channel in a namespace (``user/ana``, ``project/p``, ``task/t``, ``global``)."""
    kind = namespace_path.partition("/")[0]
    return _BY_NAMESPACE.get(kind) or _BY_CHANNEL.get(channel, Ends.NEVER)


def judge(memory: Memory, last_used: datetime | None) -> LifeVerdict:
    """Say whether a memory may expire, and since when.

    Args:
        last_used: when it was in an answer last; None when it never was: then the time of writing counts.

    Only active memories expire that are not pinned and of little importance.
    """
    what = ends(memory.channel, memory.namespace.path)
    mortal = memory.state == MemoryState.ACTIVE and not memory.pinned and memory.importance < LESS_IMPORTANT_THAN
    if what != Ends.UNUSED or not mortal:
        return LifeVerdict(what)
    return LifeVerdict(what, max(last_used or memory.updated_at, memory.updated_at) + UNUSED_FOR)


def may_expire(memory: Memory, last_used: datetime | None, now: datetime) -> bool:
    """Whether a memory may be soft-deleted now, to be purged :data:`KEPT_AFTER_FORGETTING` later."""
    due_at = judge(memory, last_used).due_at
    return due_at is not None and due_at < now
