"""Log of the memories that were read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from memwarden import clock
from memwarden.observability.event_queue import CLOSE_SECONDS, FLUSH_SECONDS, describe_error
from memwarden.records import Channel, Namespace, RecallItem

log = logging.getLogger(__name__)


class AccessSink(Protocol):
    """The part of a store that an access log needs."""

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        """Note when memories last stood in an answer."""


# A memory is noted as read so often at most: expiry counts in days.
ACCESS_SECONDS = 86_400
_MAX_NOTED = 200_000


class AccessLog:
    """Notes which facts stood in answers, and writes that down beside the calls: what nobody asks for may expire.

    Turns never expire, so they are not noted.
    """

    def __init__(self, store: AccessSink) -> None:
        self._store = store
        self._noted: dict[tuple[Namespace, str], datetime] = {}
        self._waiting: dict[Namespace, set[str]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, items: Sequence[RecallItem]) -> None:
        """Note that memories stood in an answer; never waits and never raises."""
        at = clock.now()
        for item in items:
            memory = item.memory
            if memory.channel == Channel.TURN:
                continue
            before = self._noted.get((memory.namespace, memory.id))
            if before is None or (at - before).total_seconds() >= ACCESS_SECONDS:
                self._noted[memory.namespace, memory.id] = at
                self._waiting.setdefault(memory.namespace, set()).add(memory.id)
        if len(self._noted) > _MAX_NOTED:
            self._noted.clear()
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._on_timer)

    async def flush(self) -> None:
        """Write down what was noted. What cannot be written is noted again another day."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for namespace, ids in waiting.items():
            try:
                await self._store.touch(namespace, sorted(ids), max(self._noted[namespace, item] for item in ids))
            except Exception as error:  # no answer fails because of it
                log.warning("what was read is not noted: %s", describe_error(error))

    async def close(self) -> None:
        """Write down what was noted, within a limited time."""
        try:
            await asyncio.wait_for(self.flush(), CLOSE_SECONDS)
        except TimeoutError:
            log.warning("what was read last is not noted: the store takes longer than %g seconds", CLOSE_SECONDS)

    def _on_timer(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self.flush())
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)
