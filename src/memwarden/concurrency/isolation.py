"""Calls somebody else's code (a model's client, a callback, a stream) where it cannot hold up the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Final, Self, TypeVar

from memwarden.errors import ModelUnavailable

T = TypeVar("T")
_END: Final = object()

# Maximum calls of a model at the same time; further calls wait. Extraction, the judge of pairs and the overseer ask
# side by side, and a model that hangs must not gather threads.
MAX_CALLS = 4
# How often a thread that waits for its turn checks whether its caller still waits.
_CHECK_SECONDS = 1.0


@dataclass(slots=True)
class _ModelCalls:
    """The calls under way with a model. late: calls that have not ended and that nobody waits for any more."""

    free: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MAX_CALLS))
    late: set[Future[Any]] = field(default_factory=set)
    users: int = 0


_lock = threading.Lock()
# By the identity of the model, while a thread uses it: models need not be hashable or weakly referenceable.
_calls: dict[int, _ModelCalls] = {}


async def isolated(model: object, work: Callable[[], T]) -> T:
    """Run a blocking call of a model in a daemon thread of its own, and return what it returns.

    A cancellation leaves the thread to itself. Raises what the call raises, and ModelUnavailable at once while
    :data:`MAX_CALLS` earlier calls of this model hang.
    """
    # Not the loop's own executor: reads and writes need its threads, and it is joined when the process ends.
    with _lock:
        calls = _calls.setdefault(id(model), _ModelCalls())
        if len(calls.late) >= MAX_CALLS:
            raise ModelUnavailable("it is still busy with earlier questions")
        calls.users += 1
    answer: Future[T] = Future()
    context = contextvars.copy_context()
    threading.Thread(
        target=_run, args=(model, calls, answer, lambda: context.run(work)), name="chat model", daemon=True
    ).start()
    try:
        return await asyncio.wrap_future(answer)
    finally:
        if not answer.done() and not answer.cancel():
            calls.late.add(answer)
            answer.add_done_callback(calls.late.discard)


def _run(model: object, calls: _ModelCalls, answer: Future[T], work: Callable[[], T]) -> None:
    try:
        while not calls.free.acquire(timeout=_CHECK_SECONDS):
            if answer.cancelled():
                return
        try:
            if answer.set_running_or_notify_cancel():
                _run_call(answer, work)
        finally:
            calls.free.release()
    finally:
        with _lock:
            calls.users -= 1
            if not calls.users:
                del _calls[id(model)]


def _run_call(answer: Future[T], work: Callable[[], T]) -> None:
    try:
        answer.set_result(work())
    except StopIteration as error:  # a future refuses to hold it
        answer.set_exception(RuntimeError(f"StopIteration: {error}"))
    except BaseException as error:  # whatever it is, it belongs to the caller
        answer.set_exception(error)


async def call_user_code(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function, and await what it gives if that is awaitable.

    A function that is no coroutine function is called in a daemon thread of its own. A cancellation leaves the thread
    to itself.
    """
    of_object = getattr(function, "__call__", None)  # noqa: B004  # how it is called, not whether it can be
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(of_object):
        return await function(*given, **named)
    result = await isolated(object(), lambda: function(*given, **named))
    return await result if inspect.isawaitable(result) else result


def is_stream(result: Any) -> bool:
    """Return whether the result of a function comes piece by piece."""
    return hasattr(result, "__aiter__") or isinstance(result, Iterator | list | tuple)


async def iterate_user_stream(stream: Any, seconds: float) -> AsyncGenerator[Any]:
    """Yield the pieces of a stream, blocking or not; each may take so many seconds.

    A stream that is left early is closed. Raises TimeoutError, and what the stream raises.
    """
    pieces = aiter(stream) if hasattr(stream, "__aiter__") else _PulledPieces(stream)
    piece: Any = None
    try:
        while True:
            async with asyncio.timeout(seconds):
                piece = await anext(pieces, _END)
            if piece is _END:
                return
            yield piece
    finally:
        if isinstance(pieces, _PulledPieces):
            pieces.leave()
        if piece is not _END:
            await _close_stream(stream)


class _PulledPieces:
    """Pulls the pieces of a blocking iterator in a daemon thread of its own."""

    # Always the same thread: the iterator may hold what belongs to its thread, such as a connection.

    def __init__(self, pieces: Any) -> None:
        self._pieces = pieces
        self._wanted: SimpleQueue[Future[Any] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._thread is None:
            context = contextvars.copy_context()
            self._thread = threading.Thread(target=context.run, args=(self._run,), name="stream", daemon=True)
            self._thread.start()
        answer: Future[Any] = Future()
        self._wanted.put(answer)
        piece = await asyncio.wrap_future(answer)
        if piece is _END:
            raise StopAsyncIteration
        return piece

    def leave(self) -> None:
        """End the thread once it has made the piece that it is at."""
        self._wanted.put(None)

    def _run(self) -> None:
        pieces: Iterator[Any] | None = None
        while (answer := self._wanted.get()) is not None:
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                pieces = iter(self._pieces) if pieces is None else pieces
                answer.set_result(next(pieces, _END))
            except BaseException as error:  # whatever it is, it belongs to the caller
                answer.set_exception(error)


async def _close_stream(stream: Any) -> None:
    """Close a stream, so that its connection is not held open."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if close is None:
        return
    with contextlib.suppress(Exception):  # it may be in the middle of a piece, or broken: nothing is left to do
        async with asyncio.timeout(1):
            await call_user_code(close)
