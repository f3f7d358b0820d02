"""An event loop in a thread of its own, for blocking calls. A call costs about 50 microseconds more than the async."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from memwarden.errors import MemwardenError, StoreUnavailable, WrongThread

R = TypeVar("R")
# How long calls of other threads may take to end while a warden is closed; then they are cancelled.
CLOSE_SECONDS = 1.0


class LastingThreadPool(concurrent.futures.ThreadPoolExecutor):
    """A pool of threads that still works while Python ends, when others take nothing: then the caller does it.

    So a warden can be closed by ``atexit``.
    """

    _closed = False

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See ``ThreadPoolExecutor.shutdown``."""
        self._closed = True
        super().shutdown(wait, cancel_futures=cancel_futures)

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[R]:
        """See ``ThreadPoolExecutor.submit``."""
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError:
            if self._closed:  # by its owner, not by Python
                raise
        answer: concurrent.futures.Future[R] = concurrent.futures.Future()
        try:
            answer.set_result(fn(*args, **kwargs))
        except BaseException as error:
            answer.set_exception(error)
        return answer


class Loop:
    """An event loop in a daemon thread, owned by a warden and its process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(LastingThreadPool(thread_name_prefix="memwarden"))
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="memwarden", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on the loop and wait for its answer. Raises StoreUnavailable, WrongThread."""
        return self._await_answer(self._submit(coroutine))

    def _await_answer(self, answer: concurrent.futures.Future[R]) -> R:
        try:
            return answer.result()
        except concurrent.futures.CancelledError:
            if not self._stopping:
                raise
            raise StoreUnavailable("the warden was closed during the call; open it again and repeat it") from None

    def run_while_wanted(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine as :meth:`run` does; an interrupt (Ctrl-C) cancels it and waits for its end."""
        tasks: list[asyncio.Task[Any]] = []
        ended, wanted = threading.Event(), [True]

        async def register() -> R:
            task = asyncio.current_task()
            if not wanted or task is None:  # interrupted before it began
                coroutine.close()
                raise asyncio.CancelledError
            tasks.append(task)
            try:
                return await coroutine
            finally:
                ended.set()

        try:
            return self._await_answer(self._submit(register()))
        except MemwardenError:
            if not tasks:
                coroutine.close()  # it was refused
            raise
        except BaseException:
            wanted.clear()
            if tasks and not ended.is_set():
                self._loop.call_soon_threadsafe(tasks[0].cancel)
                ended.wait()
            raise

    async def wait(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine on this loop while another loop waits for its answer. Raises StoreUnavailable, WrongThread.

        A cancellation of the waiting does not cancel the coroutine.
        """
        answer = self._submit(coroutine)
        try:
            return await asyncio.shield(asyncio.wrap_future(answer))
        except asyncio.CancelledError:
            if not (self._stopping and answer.cancelled()):
                raise
            raise StoreUnavailable("the warden was closed during the call; open it again and repeat it") from None

    @property
    def over(self) -> bool:
        """Whether the loop was stopped, or this is a fork's copy of it."""
        return self._stopping or os.getpid() != self._process

    @property
    def is_here(self) -> bool:
        """Whether the caller is on the thread of this loop, where nothing may wait for it."""
        return threading.current_thread() is self._thread

    def leave(self, coroutine: Coroutine[Any, Any, object]) -> None:
        """Run a coroutine on the loop, from any thread, without waiting. A stopped loop drops it."""
        with self._lock:
            if self.over:
                coroutine.close()
                return
            self._loop.call_soon_threadsafe(self._begin, coroutine, concurrent.futures.Future())

    def stop(self) -> None:
        """End the loop and its thread, and no later every call that waits for an answer. May be called twice."""
        if os.getpid() != self._process or threading.current_thread() is self._thread:
            return
        with self._lock:
            if not self._stopping:
                self._stopping = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        with suppress(RuntimeError):  # a Python that ends starts no thread to wait for the others
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _end(self) -> None:
        """Let running calls end, and cancel those that take too long."""
        calls = asyncio.all_tasks() - {asyncio.current_task()}
        if calls:
            _, late = await asyncio.wait(calls, timeout=CLOSE_SECONDS)
            for call in late:
                call.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await asyncio.sleep(0)  # what the last ones scheduled, which is to hand over their answers

    def _submit(self, coroutine: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        """Hand a coroutine over; a refused coroutine is closed, so that Python does not say it was never awaited."""
        try:
            return self._enqueue(coroutine)
        except MemwardenError:
            coroutine.close()
            raise

    def _enqueue(self, coroutine: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        if os.getpid() != self._process:  # before the lock, which a fork may have copied while it was held
            raise StoreUnavailable("this warden was opened before the process forked; open a warden in each process")
        if threading.current_thread() is self._thread:
            raise WrongThread("a blocking call was made on memwarden's own event loop; use AsyncWarden there")
        with self._lock:  # what is handed over before the loop is told to stop is begun before it stops
            if self._stopping:
                raise StoreUnavailable("the warden is closed; open it again")
            answer: concurrent.futures.Future[R] = concurrent.futures.Future()
            self._loop.call_soon_threadsafe(self._begin, coroutine, answer)
            return answer

    def _begin(self, coroutine: Coroutine[Any, Any, R], answer: concurrent.futures.Future[R]) -> None:
        task = self._loop.create_task(_hand_over(coroutine, answer))
        self._tasks.add(task)  # a loop holds on to its tasks only weakly
        task.add_done_callback(self._tasks.discard)


async def _hand_over(coroutine: Coroutine[Any, Any, R], answer: concurrent.futures.Future[R]) -> None:
    """Run a coroutine and hand its answer over in the same turn of the loop.

    ``asyncio.run_coroutine_threadsafe`` chains two futures, which takes another turn: a fifth of its whole time.
    """
    try:
        answer.set_result(await coroutine)
    except asyncio.CancelledError:
        answer.cancel()
        raise
    except BaseException as error:  # whatever it is, it belongs to the caller
        answer.set_exception(error)
        if not isinstance(error, Exception):
            raise
