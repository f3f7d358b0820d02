"""Queue of operational events."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from memwarden import clock
from memwarden.errors import StoreError
from memwarden.observability.records import Node, Op, OpEvent, PendingEvent, Status, event_of_pending
from memwarden.records import Memory, Namespace
from memwarden.settings import Settings

# How long events wait to be written: a SIGKILL loses at most those of this time.
FLUSH_SECONDS = 1.0
# Maximum events in memory, about 5 MB. A full queue drops later events.
MAX_WAITING = 10_000
# How long closing waits for the last batch.
CLOSE_SECONDS = 5.0
# Old events of a namespace are removed after this many new events, and with the first.
PRUNE_EVERY = 1_000
# Larger batches are prepared in a thread, so that calls on the loop go on.
MIN_FOR_THREAD = 100
_MAX_COUNTED = 10_000

log = logging.getLogger(__name__)


class EventSink(Protocol):
    """The part of a store that events need."""

    async def record(self, events: Sequence[OpEvent]) -> None:
        """Write events of any namespaces."""

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        """Return memories by id."""

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        """Remove old events of a namespace, and return how many."""


class EventQueue:
    """Takes events between :meth:`start` and :meth:`close`, on its event loop; never waits and never raises.

    Attributes:
        takes: whether events are taken: a warden is open and the setting ``events`` is ``on``.
        lost: how many events were lost and not yet reported by an event, for each namespace.
    """

    def __init__(self, store: EventSink, settings: Settings) -> None:
        self.takes = False
        self.lost: Counter[Namespace] = Counter()
        self._store = store
        self._settings = settings
        self._waiting: list[PendingEvent] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._unpruned: Counter[Namespace] = Counter()
        self._writing = asyncio.Lock()

    def start(self) -> None:
        """Begin to take events."""
        self.takes = self._settings.events == "on"

    def put(self, pending: PendingEvent) -> None:
        """Take an event, or count it as lost. From another thread it is written with the next event of the loop."""
        if not self.takes or len(self._waiting) >= MAX_WAITING:
            self.lost[pending.namespace] += 1
            return
        self._waiting.append(pending)
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._on_timer)
            except RuntimeError:
                return  # a thread without a loop

    async def flush(self) -> None:
        """Write the waiting events, and those of a batch under way. A cancellation does not stop the writing."""
        await asyncio.shield(self._begin_flush())

    async def _flush(self) -> None:
        async with self._writing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            waiting, self._waiting = self._waiting, []
            if waiting:
                await self._write(waiting)

    async def close(self) -> None:
        """Write the waiting events within a limited time, and take no more."""
        if not self.takes:
            return
        self.takes = False
        try:
            await asyncio.wait_for(self._flush(), CLOSE_SECONDS)
        except TimeoutError:
            log.warning("the last operational events are lost: the store takes longer than %g seconds", CLOSE_SECONDS)

    def _begin_flush(self) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._flush())
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)
        return task

    def _on_timer(self) -> None:
        self._timer = None
        self._begin_flush()

    async def _write(self, waiting: Sequence[PendingEvent]) -> None:
        lost, self.lost = self.lost, Counter()
        try:
            made = (
                await asyncio.to_thread(_make_events, waiting)
                if len(waiting) > MIN_FOR_THREAD
                else _make_events(waiting)
            )
            await self._store.record([*await self._with_categories(made), *_report_losses(lost)])
        except Exception as error:  # events are extra: no call fails because of them
            self.lost += lost + Counter(item.namespace for item in waiting)
            log.warning("%d operational events are lost: %s", len(waiting), describe_error(error))
            return
        except asyncio.CancelledError:  # they may have been written all the same, but nobody knows
            self.lost += lost + Counter(item.namespace for item in waiting)
            raise
        try:
            await self._prune(waiting)
        except Exception as error:
            log.warning("old operational events are still there: %s", describe_error(error))

    async def _with_categories(self, events: Sequence[OpEvent]) -> list[OpEvent]:
        """Add the categories of their memories, which decide which agents may see them."""
        wanted: dict[Namespace, dict[str, None]] = {}
        for event in events:
            if event.memory_id is not None and event.category is None:
                wanted.setdefault(event.namespace, {})[event.memory_id] = None
        if not wanted:
            return list(events)
        known: dict[tuple[Namespace, str | None], str] = {
            (namespace, memory.id): memory.category
            for namespace, ids in wanted.items()
            for memory in await self._store.get(namespace, list(ids), removed=True)
        }
        return [
            replace(event, category=known.get((event.namespace, event.memory_id))) if event.category is None else event
            for event in events
        ]

    async def _prune(self, written: Sequence[PendingEvent]) -> None:
        for namespace, count in Counter(item.namespace for item in written).items():
            begun = namespace in self._unpruned
            self._unpruned[namespace] += count
            if begun and self._unpruned[namespace] < PRUNE_EVERY:
                continue
            if len(self._unpruned) > _MAX_COUNTED:
                self._unpruned.clear()
            self._unpruned[namespace] = 0
            before = clock.now() - timedelta(days=self._settings.events_days)
            await self._store.prune_events(namespace, before=before, most=self._settings.events_rows)


def _make_events(waiting: Sequence[PendingEvent]) -> list[OpEvent]:
    return [event_of_pending(item) for item in waiting]


def _report_losses(lost: Counter[Namespace]) -> list[OpEvent]:
    """Return events that say how many were lost before them."""
    if not lost:
        return []
    from memwarden.clock import new_id

    at = clock.now()
    return [
        OpEvent(new_id(), namespace, Node.WORKER, Op.DROP, Status.ERROR, at, count=count, reason="lost")
        for namespace, count in lost.items()
    ]


def describe_error(error: Exception) -> str:
    """Return the text of an error without content: only messages of our own errors hold none."""
    return str(error) if isinstance(error, StoreError) else type(error).__name__
