"""Collects concurrent async calls into a batch, in the order of their arrival.

So of two writes of an item the later call wins, and many small calls share a commit, as in LangGraph's async stores.
There the fault of a call is every call's; here each is then done by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

_Call = tuple[Sequence[T], "asyncio.Future[list[Any]]"]


class CallBatcher(Generic[T]):
    """Pending calls, for each event loop.

    Args:
        do: does some of them as a batch and returns a result each.
    """

    def __init__(self, do: Callable[[Sequence[T]], Awaitable[list[Any]]]) -> None:
        self._do = do
        # Futures belong to a loop; a queue of a loop that is gone goes with it.
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue[T]] = WeakKeyDictionary()

    async def ask(self, ops: Sequence[T]) -> list[Any]:
        """Return the results of operations, in order. A cancelled call may be done all the same."""
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            queue = self._queues[loop] = _Queue(self._do)
        return await queue.ask(loop, ops)


class _Queue(Generic[T]):
    def __init__(self, do: Callable[[Sequence[T]], Awaitable[list[Any]]]) -> None:
        self._do = do
        self._waiting: list[_Call[T]] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, loop: asyncio.AbstractEventLoop, ops: Sequence[T]) -> list[Any]:
        answer: asyncio.Future[list[Any]] = loop.create_future()
        self._waiting.append((ops, answer))
        # While a batch is being written the next calls gather, so load makes batches larger.
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        while self._waiting:
            calls, self._waiting = self._waiting, []
            try:
                await self._answer(calls)
            except BaseException:  # the loop is being stopped: nobody may wait for ever
                for _, answer in (*calls, *self._waiting):
                    answer.cancel()
                raise

    async def _answer(self, calls: Sequence[_Call[T]]) -> None:
        try:
            results = await self._do([item for ops, _ in calls for item in ops])
        except Exception as error:
            if len(calls) == 1:
                _settle(calls[0][1], error)
            # A batch is refused as a whole. Each call alone shows whose fault it was; the others succeed.
            for call in calls if len(calls) > 1 else ():
                await self._answer([call])
            return
        start = 0
        for ops, answer in calls:
            _settle(answer, results[start : start + len(ops)])
            start += len(ops)


def _settle(answer: asyncio.Future[list[Any]], result: list[Any] | Exception) -> None:
    if answer.done():  # its caller was cancelled
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)
