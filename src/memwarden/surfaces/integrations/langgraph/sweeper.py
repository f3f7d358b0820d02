"""Removes expired items regularly, in a thread or as a task."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError

from memwarden.errors import StoreError

logger = logging.getLogger(__name__)


class ThreadSweeper:
    """Sweeps in a daemon thread.

    It ends by :meth:`stop`, by cancelling its future, and with the warden.

    Args:
        sweep: removes what expired and returns how many; None when there is nothing left to sweep for.
    """

    def __init__(self, sweep: Callable[[], int | None]) -> None:
        self._sweep = sweep
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._future: Future[None] | None = None

    def start(self, seconds: float, *, at_all: bool = True) -> Future[None]:
        """Sweep every ``seconds``; a running sweeper is returned. Cancelling the future ends it."""
        if not at_all:
            done = Future[None]()
            done.set_result(None)
            return done
        if self._future is not None and self._thread is not None and self._thread.is_alive():
            return self._future
        # A new event for each thread: an old thread that is still ending must not be woken to go on.
        self._stop = stop = threading.Event()
        self._future = future = Future[None]()
        future.add_done_callback(lambda done: stop.set())
        self._thread = threading.Thread(
            target=self._run, args=(stop, future, seconds), name="memwarden-sweeper", daemon=True
        )
        self._thread.start()
        return future

    def stop(self, timeout: float | None = None) -> bool:
        """Stop; return whether it ended within ``timeout`` seconds (None: no limit)."""
        self._stop.set()
        thread, self._thread = self._thread, None
        # The thread itself may let the store go; joining itself would raise.
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        if thread.is_alive():
            self._thread = thread
            return False
        return True

    def _run(self, stop: threading.Event, future: Future[None], seconds: float) -> None:
        while not stop.wait(seconds):
            try:
                if self._sweep() is None:
                    break
            except Exception as error:
                _log_failure(error, seconds)
        with contextlib.suppress(InvalidStateError):  # it was cancelled
            future.set_result(None)


class TaskSweeper:
    """Sweeps in a task of the running event loop; it ends as :class:`ThreadSweeper` does."""

    def __init__(self, sweep: Callable[[], Awaitable[int | None]]) -> None:
        self._sweep = sweep
        self._task: asyncio.Task[None] | None = None

    def start(self, seconds: float, *, at_all: bool = True) -> asyncio.Task[None]:
        if not at_all:
            # Callers wait for a task in any case; this one is over at once.
            return asyncio.get_running_loop().create_task(asyncio.sleep(0))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(seconds))
        return self._task

    async def stop(self, seconds: float | None = None) -> bool:
        task, self._task = self._task, None
        if task is None or task.done():
            return True
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            self._task = task
        return bool(done)

    async def _run(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                if await self._sweep() is None:
                    return
            except Exception as error:
                _log_failure(error, seconds)


def _log_failure(error: Exception, seconds: float) -> None:
    """Log a failed sweep; the next sweep tries again."""
    known = isinstance(error, StoreError)
    logger.warning("expired items were not removed, next try in %s s: %s", seconds, error, exc_info=not known)
