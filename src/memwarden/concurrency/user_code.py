"""Somebody else's code - a model's client, a callback, a stream - called so that it cannot hold up the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final, Self

from memwarden.concurrency.isolated import beside

_END: Final = object()


async def called(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function and return what it gives; one that blocks is called in a daemon thread, one of its own.

    What is awaitable is awaited. Who stops waiting leaves the thread to itself.
    """
    of_object = getattr(function, "__call__", None)  # noqa: B004  # not whether it can be called, but how it is
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(of_object):
        return await function(*given, **named)
    result = await beside(object(), lambda: function(*given, **named))
    return await result if inspect.isawaitable(result) else result


def is_stream(result: Any) -> bool:
    """Whether what a function gave comes piece by piece."""
    return hasattr(result, "__aiter__") or isinstance(result, Iterator | list | tuple)


async def passed_on(stream: Any, seconds: float) -> AsyncGenerator[Any]:
    """The pieces of a stream, blocking or not; each may take so many seconds. One that is left early is closed.

    Raises TimeoutError.
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
            await _closed(stream)


class _PulledPieces:
    """The pieces of a blocking iterator, all made in one daemon thread.

    Their maker may wait for a network, and may hold what belongs to its thread.
    """

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
        """Want no more: the thread ends when it has made what it is at."""
        self._wanted.put(None)

    def _run(self) -> None:
        pieces: Iterator[Any] | None = None
        while (answer := self._wanted.get()) is not None:
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                pieces = iter(self._pieces) if pieces is None else pieces
                answer.set_result(next(pieces, _END))
            except BaseException as error:  # whatever it is, it belongs to who wanted the piece
                answer.set_exception(error)


async def _closed(stream: Any) -> None:
    """Tell whoever makes the pieces that nobody wants more, so that a connection is not held open."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if close is None:
        return
    with contextlib.suppress(Exception):  # it may be in the middle of a piece, or broken: there is nothing to be done
        async with asyncio.timeout(1):
            await called(close)
