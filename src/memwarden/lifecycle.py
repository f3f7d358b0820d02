"""How long memories live: a table by channel and by the kind of namespace.

What goes is soft-deleted, reported once in the delta, and can be restored until it is purged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

from memwarden.records import Channel

# How long a forgotten memory can be restored before it is purged.
KEPT_AFTER_FORGETTING: Final = timedelta(days=30)
# Earlier contents that are kept of a value saved by key: enough to take a mistake back, and a session that is written
# with every question does not grow for ever.
EARLIER_STATES: Final = 10


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


def ends(channel: str, namespace_path: str) -> Ends:
    """Return what ends memories of a channel in a namespace (``user/ana``, ``project/p``, ``task/t``, ``global``)."""
    kind = namespace_path.partition("/")[0]
    return _BY_NAMESPACE.get(kind) or _BY_CHANNEL.get(channel, Ends.NEVER)
