"""Extraction tasks of threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from memwarden.records import Namespace, Scope

# Seconds. Time limit of a running task on close: the time limit of a question to a model.
CLOSE_SECONDS = 20.0

log = logging.getLogger(__name__)
_Thread = tuple[Namespace, str | None]
_Look = Callable[[], Awaitable[object]]


class ExtractionTasks:
    """Extraction tasks of threads, on an event loop."""

    def __init__(self) -> None:
        self._running: dict[_Thread, asyncio.Task[None]] = {}
        self._again: set[_Thread] = set()
        self._quiet: dict[_Thread, tuple[asyncio.TimerHandle, _Look]] = {}

    def look(self, who: Scope, look: _Look) -> None:
        """Begin extraction for a scope's thread; after the running task, if the thread has a task."""
        self._begin((who.namespace, who.thread), look)

    def look_when_quiet(self, who: Scope, look: _Look, seconds: float) -> None:
        """Begin extraction for a scope's thread when nothing more is said in it for so long, or when all closes."""
        thread = (who.namespace, who.thread)
        self.no_longer_quiet(who)
        timer = asyncio.get_running_loop().call_later(seconds, lambda: self._begin(thread, self._quiet.pop(thread)[1]))
        self._quiet[thread] = (timer, look)

    def no_longer_quiet(self, who: Scope) -> None:
        """Forget that a scope's thread waits to be quiet."""
        waiting = self._quiet.pop((who.namespace, who.thread), None)
        if waiting is not None:
            waiting[0].cancel()

    def _begin(self, thread: _Thread, look: _Look) -> None:
        if thread in self._running:
            self._again.add(thread)
        else:
            self._running[thread] = asyncio.create_task(self._run(thread, look))

    async def over(self, who: Scope) -> None:
        """Wait until no task of the scope's thread is running."""
        task = self._running.get((who.namespace, who.thread))
        if task is not None:
            await asyncio.wait([task])

    async def drain(self, namespace: Namespace) -> None:
        """Wait until no task of a namespace is running, so that none writes what it read before."""
        while running := [task for (where, _), task in self._running.items() if where == namespace]:
            await asyncio.wait(running)

    async def close(self) -> None:
        """Look through what waits to be quiet, wait for running tasks, and cancel slow ones: the next goes on there."""
        while self._quiet:
            thread, (timer, look) = self._quiet.popitem()
            timer.cancel()
            self._begin(thread, look)
        if not self._running:
            return
        _, late = await asyncio.wait(self._running.values(), timeout=CLOSE_SECONDS)
        for item in late:
            item.cancel()
        if late:
            log.warning("%d threads are looked through another time: the model took too long", len(late))
            await asyncio.wait(late)

    async def _run(self, thread: _Thread, look: _Look) -> None:
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
