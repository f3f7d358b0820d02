"""Operational events of the current operation.

A verb that is marked with :func:`instrumented` opens an :class:`OperationContext` in a context variable. Code within
it, in threads too, records there: the store that writes, and the caller of a model that fails.
Nothing here waits, reads or writes: events go into a queue in memory (:mod:`memwarden.observability.event_queue`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from memwarden.observability.records import EventDraft, Node, Op, PendingEvent, Status
from memwarden.records import ALREADY, ContextBlock, Namespace, Outcome, QueryResult, Scope, WriteResult

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_SKIPS = {"rejected": Op.CLASSIFY, "already_stored": Op.CREATE}


Sink = Callable[[PendingEvent], None]


class OperationContext:
    """A running verb of a scope, usable from several threads. timed: whether events get its duration."""

    __slots__ = ("_began", "_node", "_sink", "_who")

    def __init__(self, sink: Sink, who: Scope, node: Node, *, timed: bool = True) -> None:
        self._sink = sink
        self._who = who
        self._node = node
        self._began = time.perf_counter() if timed else None

    def emit(self, draft: EventDraft, namespace: Namespace | None = None, rev: int | None = None) -> None:
        """Record what was done. namespace: where, if it is not where the scope writes."""
        ms = None if self._began is None else (time.perf_counter() - self._began) * 1000
        where = self._who.namespace if namespace is None else namespace
        self._sink(PendingEvent(time.time_ns() // 1000, self._who, where, self._node, draft, rev, ms))


# The id of the request that a server works on; it stands in logs and spans.
REQUEST_ID: ContextVar[str | None] = ContextVar("memwarden_request_id", default=None)
_OPERATION: ContextVar[OperationContext | None] = ContextVar("memwarden_operation", default=None)


def instrumented(
    node: Node, op: Op
) -> Callable[
    [Callable[Concatenate[S, P], Coroutine[Any, Any, R]]], Callable[Concatenate[S, P], Coroutine[Any, Any, R]]
]:
    """Record what a verb of a scope finds, writes, skips and fails with, as events of a node.

    op: names the event of a failure.
    """

    def mark(
        method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
    ) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
        @wraps(method)
        async def verb(self: S, /, *args: P.args, **named: P.kwargs) -> R:
            scope: Any = self
            traces = scope._runtime.traces
            if traces is None:
                return await record(self, *args, **named)
            with traces.open_operation(scope.who, op, method.__name__) as span:
                result = await record(self, *args, **named)
                traces.describe_result(span, result)
            return result

        async def record(self: S, /, *args: P.args, **named: P.kwargs) -> R:
            scope: Any = self
            events = scope._runtime.events
            if events.takes:
                with open_operation(events.put, scope.who, node, op) as operation:
                    result = await method(self, *args, **named)
                for draft in _of_result(op, result):
                    operation.emit(draft)
            else:
                result = await method(self, *args, **named)
            if isinstance(result, QueryResult | ContextBlock):
                scope._runtime.accesses.note(result.items)
            return result

        return verb

    return mark


@contextmanager
def open_operation(sink: Sink, who: Scope, node: Node, op: Op) -> Iterator[OperationContext]:
    """Open an operation for the code within; an error there is recorded as ``op`` and raised."""
    operation = OperationContext(sink, who, node)
    before = _OPERATION.set(operation)
    try:
        yield operation
    except Exception as error:
        operation.emit(EventDraft(op, Status.ERROR, type(error).__name__))
        raise
    finally:
        _OPERATION.reset(before)


def current_operation(namespace: Namespace, sink: Sink) -> OperationContext:
    """Return the current operation; else an operation of nobody, since a backend of items belongs to no scope."""
    return _OPERATION.get() or OperationContext(sink, Scope(namespace.tenant, user=""), Node.HOTPATH, timed=False)


def record_event(sink: Sink, who: Scope, node: Node, draft: EventDraft, rev: int | None = None) -> None:
    """Record a single event outside of any verb, such as after a cancellation."""
    OperationContext(sink, who, node, timed=False).emit(draft, rev=rev)


def record_here(draft: EventDraft) -> None:
    """Record what was done within the running operation; nothing outside of any."""
    operation = _OPERATION.get()
    if operation is not None:
        operation.emit(draft)


def record_model_failure(what: str) -> None:
    """Record that a model gave no usable answer, and that the operation goes on without it.

    what: a word for which model and how, such as ``chat_model_late``.
    """
    record_here(EventDraft(Op.MODEL, Status.ERROR, what))


def _of_result(op: Op, result: Any) -> Iterator[EventDraft]:
    """Yield the events of an answer, beside those of what was written."""
    if isinstance(result, WriteResult):
        outcomes = Counter(_skip_reason(item.outcome, item.reason) for item in result.results)
        if op == Op.CLASSIFY:
            decided = len(result.results)
            yield EventDraft(op, Status.OK if decided else Status.SKIPPED, "" if decided else "nothing_new")
        for reason, count in outcomes.items():
            if reason:
                yield EventDraft(_SKIPS[reason], Status.SKIPPED, reason, many=count)
    elif isinstance(result, QueryResult | ContextBlock):
        yield _draft_search(result)
    elif op == Op.SEARCH and isinstance(result, list | dict):
        yield EventDraft(op, Status.OK if result else Status.SKIPPED, "listed" if result else "nothing_matches")


def _skip_reason(outcome: str, reason: str) -> str:
    """Return why nothing was written; empty when something was."""
    if outcome == Outcome.REJECTED:
        return "rejected"
    if reason.startswith(ALREADY):
        return "already_stored"
    return ""


def _draft_search(result: QueryResult | ContextBlock) -> EventDraft:
    best = max(result.items, key=lambda item: item.score, default=None)
    if best is None or (isinstance(result, QueryResult) and not result.relevant):
        return EventDraft(Op.SEARCH, Status.SKIPPED, "nothing_relevant", sim=result.confidence)
    return EventDraft(Op.SEARCH, Status.OK, "", best.id, best.category, best.score)
