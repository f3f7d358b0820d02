"""Extracts from turns in the background, so that no caller waits for a model.

A thread has a single task at a time. A cancelled or killed task loses nothing: the thread's mark did not move.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from memwarden.records import Namespace, Scope

# As long as a question to a model may take: a task that is under way gets its answer, and no more is begun.
CLOSE_SECONDS = 20.0

log = logging.getLogger(__name__)
_Thread = tuple[Namespace, str | None]


class ExtractionTasks:
    """Extraction tasks of threads, on an event loop."""

    def __init__(self) -> None:
        self._running: dict[_Thread, asyncio.Task[None]] = {}
        self._again: set[_Thread] = set()

    def look(self, who: Scope, look: Callable[[], Awaitable[object]]) -> None:
        """Begin extraction for a scope's thread; after the running task, if the thread has a task."""
        thread = (who.namespace, who.thread)
        if thread in self._running:
            self._again.add(thread)
        else:
            self._running[thread] = asyncio.create_task(self._run(thread, look))

    async def over(self, who: Scope) -> None:
        """Wait until no task of the scope's thread is running."""
        task = self._running.get((who.namespace, who.thread))
        if task is not None:
            await asyncio.wait([task])

    async def close(self) -> None:
        """Wait for running tasks, and cancel slow tasks: the next goes on at the mark."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running.values(), timeout=CLOSE_SECONDS)
        for item in late:
            item.cancel()
        if late:
            log.warning("%d threads are looked through another time: the model took too long", len(late))
            await asyncio.wait(late)

    async def _run(self, thread: _Thread, look: Callable[[], Awaitable[object]]) -> None:
        try:
            while True:
                self._again.discard(thread)
                try:
                    await look()
                except Exception as error:  # nobody waits for it; the turns are stored, and wait for the next look
                    log.warning("looking through thread %r is put off: %s", thread[1], error)
                if thread not in self._again:
                    return
        finally:
            del self._running[thread]
