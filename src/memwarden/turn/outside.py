"""Somebody else's code - a model's client, a callback, a stream - called so that it cannot hold up the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any, Final

from memwarden.models.beside import beside

_END: Final = object()


async def called(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a function and return what it gives; one that blocks is called in a daemon thread, one of its own.

    What is awaitable is awaited. Who stops waiting leaves the thread to itself.
    """
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
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
    pieces = aiter(stream) if hasattr(stream, "__aiter__") else _in_threads(iter(stream))
    piece: Any = None
    try:
        while True:
            async with asyncio.timeout(seconds):
                piece = await anext(pieces, _END)
            if piece is _END:
                return
            yield piece
    finally:
        if piece is not _END:
            await _closed(stream)


async def _in_threads(pieces: Iterator[Any]) -> AsyncIterator[Any]:
    """Each piece is waited for in a thread: who makes it may wait for a network."""
    while (piece := await beside(object(), lambda: next(pieces, _END))) is not _END:
        yield piece


async def _closed(stream: Any) -> None:
    """Tell whoever makes the pieces that nobody wants more, so that a connection is not held open."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    if close is None:
        return
    with contextlib.suppress(Exception):  # it may be in the middle of a piece, or broken: there is nothing to be done
        async with asyncio.timeout(1):
            await called(close)
