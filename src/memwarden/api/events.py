"""The verbs of a scope that look at operational events (B14): what was done and when, and how often.

They are the methods of :class:`memwarden.api.scope.AsyncScope` under the same names.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from memwarden import arguments, clock
from memwarden.errors import InvalidInput
from memwarden.observability.records import (
    DAY_SECONDS,
    EventFilter,
    Node,
    Op,
    OpCount,
    OpEvent,
    Status,
    Viewer,
    counted,
)
from memwarden.records import Namespace, Scope
from memwarden.remember.ingest.messages import checked_name
from memwarden.runtime import Runtime

When = datetime | str | float | None
_MORE = 4
"""When too few of what was read may be shown, so many times as much is read."""
_ALL = 2**62
LONGEST_SECONDS = 366 * DAY_SECONDS


class Looker(Protocol):
    """What these verbs need of a scope."""

    _parts: Runtime

    @property
    def who(self) -> Scope: ...


async def events(
    self: Looker,
    *,
    since: When = None,
    until: When = None,
    node: str | None = None,
    op: str | None = None,
    status: str | None = None,
    thread: str | None = None,
    memory_id: str | None = None,
    limit: int = 100,
    descending: bool = True,
) -> list[OpEvent]:
    """Return what was done with this user's memory: writes, searches, what was skipped and what failed. No content.

    Events are written about a second after what they tell of, and as well as can be: a process that is killed loses
    those of its last second. What this warden did is written first, so it is told. What became of a memory for certain
    is told by :meth:`history`; an event names the memory and the revision.

    An agent sees the events of memories in categories that it may read, and of those that name no memory its own.

    Args:
        since, until: datetime, ISO text or seconds since 1970; since is included, until is not. Events older than the
            setting ``events_days`` are never told.
        node, op, status: words of :class:`memwarden.observability.records.Node`,
        :class:`~memwarden.observability.records.Op` and
            :class:`~memwarden.observability.records.Status`. thread, memory_id: only events of these.
        limit: the most events. descending: the newest first, else the oldest.

    Raises InvalidInput, StoreError.
    """
    wanted = _filter(self, since, until, node, op, status, thread, memory_id)
    most = arguments.whole(limit, "limit", 1, None)
    newest_first = arguments.truth(descending, "descending")
    await self._parts.events.flush()
    return await _shown(self, wanted, most, newest_first)


async def event_counts(
    self: Looker,
    *,
    seconds: int = DAY_SECONDS,
    since: When = None,
    until: When = None,
    node: str | None = None,
    op: str | None = None,
    status: str | None = None,
    thread: str | None = None,
    memory_id: str | None = None,
) -> list[OpCount]:
    """Return how often what was done, by node, op and status over time: sorted by time, then by these words.

    Counted are the events that :meth:`events` would list.

    Args:
        seconds: the length of a span of time, 1 to 366 days; spans begin at whole multiples since 1970 UTC.

    Raises InvalidInput, StoreError.
    """
    wanted = _filter(self, since, until, node, op, status, thread, memory_id)
    span = arguments.whole(seconds, "seconds", 1, LONGEST_SECONDS)
    await self._parts.events.flush()
    if wanted.viewer is not None:
        return counted(await _shown(self, wanted, _ALL, False), span)
    return await self._parts.store.event_counts(self.who.namespace, wanted, seconds=span)


async def _shown(self: Looker, wanted: EventFilter, limit: int, descending: bool) -> list[OpEvent]:
    """The events that whoever asks may see; for an agent more are read than are wanted, as some fall away."""
    store, namespace, viewer = self._parts.store, self.who.namespace, wanted.viewer
    most = limit
    while True:
        found = await store.events(namespace, wanted, limit=most, descending=descending)
        if viewer is None:
            return found
        hidden = await _moved_away(self, namespace, found, viewer)
        shown = [item for item in found if item.memory_id not in hidden]
        if len(shown) >= limit or len(found) < most:
            return shown[:limit]
        most *= _MORE


async def _moved_away(self: Looker, namespace: Namespace, found: list[OpEvent], viewer: Viewer) -> set[str]:
    """Of the memories that events name, those that stand in a category now that the agent may not read."""
    ids = list(dict.fromkeys(item.memory_id for item in found if item.memory_id is not None))
    stored = await self._parts.store.get(namespace, ids, removed=True) if ids else []
    return {item.id for item in stored if item.category not in viewer.categories}


def _filter(
    self: Looker, since: When, until: When, node: Any, op: Any, status: Any, thread: str | None, memory_id: str | None
) -> EventFilter:
    who, settings = self.who, self._parts.settings
    oldest = clock.now() - timedelta(days=settings.events_days)
    readable = settings.categories.readable(who.agent, None)
    return EventFilter(
        since=oldest if since is None else max(oldest, clock.parse(since, "since")),
        until=None if until is None else clock.parse(until, "until"),
        node=_word(node, Node),
        op=_word(op, Op),
        status=_word(status, Status),
        thread_id=checked_name(thread, "thread"),
        memory_id=None if memory_id is None else arguments.memory_id(memory_id),
        viewer=None if who.agent is None or readable is None else Viewer(who.agent, readable),
    )


def _word(value: Any, words: type[StrEnum]) -> str | None:
    if value is not None and (not isinstance(value, str) or value not in set(words)):
        raise InvalidInput(f"{words.__name__.lower()} is one of {', '.join(words)}, not {value!r:.80}")
    return None if value is None else str(value)
