"""What a call does is told while it does it, so that operational events need no hand of each part (B14).

A verb that is marked with :func:`instrumented` opens a :class:`OperationContext`; whatever runs within it, in threads too,
finds the call by a context variable: the store that writes
(:mod:`memwarden.remember.write_store`), and the places where a model fails
(:func:`record_model_failure`). Nothing here waits, reads or writes; events go into a queue in memory.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from memwarden import clock
from memwarden.observability.records import Node, Op, OpEvent, Status
from memwarden.records import ALREADY, ContextBlock, Namespace, Outcome, QueryResult, Scope, WriteResult

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")

_SKIPS = {"rejected": Op.CLASSIFY, "already_stored": Op.CREATE}


class EventDraft(NamedTuple):
    """What an event says of what was done, without who, when and where. many: how many such things it stands for."""

    op: Op
    status: Status = Status.OK
    reason: str = ""
    memory_id: str | None = None
    category: str | None = None
    sim: float | None = None
    many: int = 1


class PendingEvent(NamedTuple):
    """A deed as it is noted while somebody waits: an event is made of it later. at: microseconds since 1970."""

    at: int
    who: Scope
    namespace: Namespace
    node: Node
    deed: EventDraft
    rev: int | None
    ms: float | None


Sink = Callable[[PendingEvent], None]


class OperationContext:
    """One verb at work for somebody. It may be told of from several threads. timed: whether it knows when it began."""

    __slots__ = ("_began", "_node", "_sink", "_who")

    def __init__(self, sink: Sink, who: Scope, node: Node, *, timed: bool = True) -> None:
        self._sink = sink
        self._who = who
        self._node = node
        self._began = time.perf_counter() if timed else None

    def tell(self, deed: EventDraft, namespace: Namespace | None = None, rev: int | None = None) -> None:
        """Tell what was done. namespace: where, if it is not where the scope writes."""
        ms = None if self._began is None else (time.perf_counter() - self._began) * 1000
        where = self._who.namespace if namespace is None else namespace
        self._sink(PendingEvent(time.time_ns() // 1000, self._who, where, self._node, deed, rev, ms))


def event_of_pending(noted: PendingEvent) -> OpEvent:
    """Return the event of what was noted."""
    import uuid_utils  # here, so that importing memwarden does not load it

    at, who, namespace, node, deed, rev, ms = noted
    op, status, reason, memory_id, category, sim, many = deed
    return OpEvent(
        str(uuid_utils.uuid7()), namespace, node.value, op.value, status.value, clock.moment(at), who.user or None,
        who.agent, who.thread, memory_id, category, sim, rev, None if ms is None else round(ms, 3), many, reason,
    )  # fmt: skip


_CALL: ContextVar[OperationContext | None] = ContextVar("memwarden_call", default=None)


def instrumented(
    node: Node, op: Op
) -> Callable[
    [Callable[Concatenate[S, P], Coroutine[Any, Any, R]]], Callable[Concatenate[S, P], Coroutine[Any, Any, R]]
]:
    """Mark a verb of a scope: what it finds, writes, skips and fails with becomes events of this node.

    op: what it is called when it fails.
    """

    def mark(
        method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]],
    ) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
        @wraps(method)
        async def verb(self: S, /, *args: P.args, **named: P.kwargs) -> R:
            scope: Any = self
            events = scope._parts.events
            if not events.takes:
                return await method(self, *args, **named)
            with open_operation(events.put, scope.who, node, op) as call:
                result = await method(self, *args, **named)
            for deed in _of_result(op, result):
                call.tell(deed)
            return result

        return verb

    return mark


@contextmanager
def open_operation(sink: Sink, who: Scope, node: Node, op: Op) -> Iterator[OperationContext]:
    """Open a call for what runs within, which finds it; what fails there is told as ``op`` and goes on."""
    call = OperationContext(sink, who, node)
    before = _CALL.set(call)
    try:
        yield call
    except Exception as error:
        call.tell(EventDraft(op, Status.ERROR, type(error).__name__))
        raise
    finally:
        _CALL.reset(before)


def current_operation(namespace: Namespace, sink: Sink) -> OperationContext:
    """The call that is at work; else one of nobody, since a backend of items belongs to no scope."""
    return _CALL.get() or OperationContext(sink, Scope(namespace.tenant, user=""), Node.HOTPATH, timed=False)


def record_event(sink: Sink, who: Scope, node: Node, deed: EventDraft, rev: int | None = None) -> None:
    """Tell what no verb can tell itself, since it was broken off or is none."""
    OperationContext(sink, who, node, timed=False).tell(deed, rev=rev)


def record_model_failure(what: str) -> None:
    """Tell that a model gave no answer that can be used, and that the call goes on without it.

    what: a word for which model and how, such as ``chat_model_late``.
    """
    call = _CALL.get()
    if call is not None:
        call.tell(EventDraft(Op.MODEL, Status.ERROR, what))


def _of_result(op: Op, result: Any) -> Iterator[EventDraft]:
    """What an answer says beside what was written."""
    if isinstance(result, WriteResult):
        outcomes = Counter(_unwritten(item.outcome, item.reason) for item in result.results)
        if op == Op.CLASSIFY:
            decided = len(result.results)
            yield EventDraft(op, Status.OK if decided else Status.SKIPPED, "" if decided else "nothing_new")
        for reason, count in outcomes.items():
            if reason:
                yield EventDraft(_SKIPS[reason], Status.SKIPPED, reason, many=count)
    elif isinstance(result, QueryResult | ContextBlock):
        yield _found(result)
    elif op == Op.SEARCH and isinstance(result, list | dict):
        yield EventDraft(op, Status.OK if result else Status.SKIPPED, "listed" if result else "nothing_matches")


def _unwritten(outcome: str, reason: str) -> str:
    """Why nothing was written of something; empty when something was."""
    if outcome == Outcome.REJECTED:
        return "rejected"
    if reason.startswith(ALREADY):
        return "already_stored"
    return ""


def _found(result: QueryResult | ContextBlock) -> EventDraft:
    best = max(result.items, key=lambda item: item.score, default=None)
    if best is None or not result:
        return EventDraft(Op.SEARCH, Status.SKIPPED, "nothing_relevant", sim=result.confidence)
    return EventDraft(Op.SEARCH, Status.OK, "", best.id, best.category, best.score)
