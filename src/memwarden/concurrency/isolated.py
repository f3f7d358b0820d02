"""Somebody else's chat model, asked where it cannot hold up anything."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from memwarden.errors import ModelUnavailable

T = TypeVar("T")

AT_ONCE = 4
"""So many questions a model is asked at the same time; others wait for one of them to end. Looks at threads, the judge
of pairs and the overseer ask side by side, and a model that hangs must not gather threads."""
_LOOK_SECONDS = 1.0
"""A thread that waits for its turn looks so often whether somebody still waits for it."""


@dataclass(slots=True)
class _Doors:
    """What is under way with one model. late: questions that nobody waits for any more, and that have not ended."""

    free: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(AT_ONCE))
    late: set[Future[Any]] = field(default_factory=set)
    users: int = 0


_lock = threading.Lock()
_doors: dict[int, _Doors] = {}
"""By the model's identity, as long as a thread is at it: models need neither be hashable nor be held weakly."""


async def beside(model: object, work: Callable[[], T]) -> T:
    """Run a blocking call of a model in a daemon thread of its own, and return what it returns.

    A call that hangs holds up neither the loop's threads, which reads and writes need, nor the end of the process or of
    its loop. Raises ModelUnavailable at once while as many calls hang as a model may have, and what the call raises.
    """
    with _lock:
        doors = _doors.setdefault(id(model), _Doors())
        if len(doors.late) >= AT_ONCE:
            raise ModelUnavailable("it is still busy with earlier questions")
        doors.users += 1
    answer: Future[T] = Future()
    context = contextvars.copy_context()
    threading.Thread(
        target=_run, args=(model, doors, answer, lambda: context.run(work)), name="chat model", daemon=True
    ).start()
    try:
        return await asyncio.wrap_future(answer)
    finally:
        if not answer.done() and not answer.cancel():
            doors.late.add(answer)
            answer.add_done_callback(doors.late.discard)


def _run(model: object, doors: _Doors, answer: Future[T], work: Callable[[], T]) -> None:
    try:
        while not doors.free.acquire(timeout=_LOOK_SECONDS):
            if answer.cancelled():
                return
        try:
            if answer.set_running_or_notify_cancel():
                _answer(answer, work)
        finally:
            doors.free.release()
    finally:
        with _lock:
            doors.users -= 1
            if not doors.users:
                del _doors[id(model)]


def _answer(answer: Future[T], work: Callable[[], T]) -> None:
    try:
        answer.set_result(work())
    except StopIteration as error:  # which no loop can hand over
        answer.set_exception(RuntimeError(f"StopIteration: {error}"))
    except BaseException as error:  # whatever it is, it belongs to who asked
        answer.set_exception(error)
