"""Looking through turns beside the calls, so that nobody who hands them over waits for a model (B13).

One look at a time for each thread. A look that is cancelled or killed loses nothing: the thread's mark did not move.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from memwarden.records import Namespace, Scope

CLOSE_SECONDS = 20.0
"""Closing waits so long for looks that are under way, as long as one question to a model may take."""

log = logging.getLogger(__name__)
_Thread = tuple[Namespace, str | None]


class ExtractionTasks:
    """Looks that are under way, on one event loop."""

    def __init__(self) -> None:
        self._running: dict[_Thread, asyncio.Task[None]] = {}
        self._again: set[_Thread] = set()

    def look(self, who: Scope, look: Callable[[], Awaitable[object]]) -> None:
        """Begin a look at a scope's thread; after the one that is under way, if there is one."""
        thread = (who.namespace, who.thread)
        if thread in self._running:
            self._again.add(thread)
        else:
            self._running[thread] = asyncio.create_task(self._run(thread, look))

    async def over(self, who: Scope) -> None:
        """Wait until no look at the scope's thread is under way."""
        task = self._running.get((who.namespace, who.thread))
        if task is not None:
            await asyncio.wait([task])

    async def close(self) -> None:
        """Wait for what is under way, and cancel what takes too long: the next look goes on at the mark."""
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
