"""Records operational events for the current operation, and writes them beside the calls.

A verb that is marked with :func:`instrumented` opens an :class:`OperationContext` in a context variable. Whatever runs
within it, in threads too, records there: the store that writes, and the places where a model fails
(:func:`record_model_failure`). Nothing here waits, reads or writes; events go into a queue in memory.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime, timedelta
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeVar

from memwarden import clock
from memwarden.errors import InvalidConfig, StoreError, missing_extra
from memwarden.observability.records import EventDraft, Node, Op, OpEvent, PendingEvent, Status, event_of_pending
from memwarden.records import (
    ALREADY,
    Channel,
    ContextBlock,
    Memory,
    Namespace,
    Outcome,
    QueryResult,
    RecallItem,
    Scope,
    WriteResult,
)
from memwarden.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor

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


# How long events wait to be written: a SIGKILL loses at most those of this time.
FLUSH_SECONDS = 1.0
# Maximum events in memory, about 5 MB. A full queue drops later events.
MAX_WAITING = 10_000
# How long closing waits for the last batch.
CLOSE_SECONDS = 5.0
# Old events of a namespace are removed after this many new events, and with the first.
PRUNE_EVERY = 1_000
# Larger batches are prepared in a thread, so that calls on the loop go on.
MIN_FOR_THREAD = 100
_MAX_COUNTED = 10_000

log = logging.getLogger(__name__)


class EventSink(Protocol):
    """The part of a store that events need."""

    async def record(self, events: Sequence[OpEvent]) -> None:
        """Write events of any namespaces."""

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        """Return memories by id."""

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        """Remove old events of a namespace, and return how many."""


class AccessSink(Protocol):
    """The part of a store that an access log needs."""

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        """Note when memories last stood in an answer."""


class EventQueue:
    """Takes events between :meth:`start` and :meth:`close`, on its event loop; never waits and never raises.

    Attributes:
        takes: whether events are taken: a warden is open and the setting ``events`` is ``on``.
        lost: how many events were lost and not yet reported by an event, for each namespace.
    """

    def __init__(self, store: EventSink, settings: Settings) -> None:
        self.takes = False
        self.lost: Counter[Namespace] = Counter()
        self._store = store
        self._settings = settings
        self._waiting: list[PendingEvent] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._unpruned: Counter[Namespace] = Counter()
        self._writing = asyncio.Lock()

    def start(self) -> None:
        """Begin to take events."""
        self.takes = self._settings.events == "on"

    def put(self, pending: PendingEvent) -> None:
        """Take an event, or count it as lost. From another thread it is written with the next event of the loop."""
        if not self.takes or len(self._waiting) >= MAX_WAITING:
            self.lost[pending.namespace] += 1
            return
        self._waiting.append(pending)
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._on_timer)
            except RuntimeError:
                return  # a thread without a loop

    async def flush(self) -> None:
        """Write the waiting events, and those of a batch under way. A cancellation does not stop the writing."""
        await asyncio.shield(self._begin_flush())

    async def _flush(self) -> None:
        async with self._writing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            waiting, self._waiting = self._waiting, []
            if waiting:
                await self._write(waiting)

    async def close(self) -> None:
        """Write the waiting events within a limited time, and take no more."""
        if not self.takes:
            return
        self.takes = False
        try:
            await asyncio.wait_for(self._flush(), CLOSE_SECONDS)
        except TimeoutError:
            log.warning("the last operational events are lost: the store takes longer than %g seconds", CLOSE_SECONDS)

    def _begin_flush(self) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._flush())
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)
        return task

    def _on_timer(self) -> None:
        self._timer = None
        self._begin_flush()

    async def _write(self, waiting: Sequence[PendingEvent]) -> None:
        lost, self.lost = self.lost, Counter()
        try:
            made = (
                await asyncio.to_thread(_make_events, waiting)
                if len(waiting) > MIN_FOR_THREAD
                else _make_events(waiting)
            )
            await self._store.record([*await self._with_categories(made), *_report_losses(lost)])
        except Exception as error:  # events are extra: no call fails because of them
            self.lost += lost + Counter(item.namespace for item in waiting)
            log.warning("%d operational events are lost: %s", len(waiting), _describe_error(error))
            return
        except asyncio.CancelledError:  # they may have been written all the same, but nobody knows
            self.lost += lost + Counter(item.namespace for item in waiting)
            raise
        try:
            await self._prune(waiting)
        except Exception as error:
            log.warning("old operational events are still there: %s", _describe_error(error))

    async def _with_categories(self, events: Sequence[OpEvent]) -> list[OpEvent]:
        """Add the categories of their memories, which decide which agents may see them."""
        wanted: dict[Namespace, dict[str, None]] = {}
        for event in events:
            if event.memory_id is not None and event.category is None:
                wanted.setdefault(event.namespace, {})[event.memory_id] = None
        if not wanted:
            return list(events)
        known: dict[tuple[Namespace, str | None], str] = {
            (namespace, memory.id): memory.category
            for namespace, ids in wanted.items()
            for memory in await self._store.get(namespace, list(ids), removed=True)
        }
        return [
            replace(event, category=known.get((event.namespace, event.memory_id))) if event.category is None else event
            for event in events
        ]

    async def _prune(self, written: Sequence[PendingEvent]) -> None:
        for namespace, count in Counter(item.namespace for item in written).items():
            begun = namespace in self._unpruned
            self._unpruned[namespace] += count
            if begun and self._unpruned[namespace] < PRUNE_EVERY:
                continue
            if len(self._unpruned) > _MAX_COUNTED:
                self._unpruned.clear()
            self._unpruned[namespace] = 0
            before = clock.now() - timedelta(days=self._settings.events_days)
            await self._store.prune_events(namespace, before=before, most=self._settings.events_rows)


# A memory is noted as read so often at most: expiry counts in days.
ACCESS_SECONDS = 86_400
_MAX_NOTED = 200_000


MAX_WAITING_PROMPTS: Final = 1_000


class MadePrompt(NamedTuple):
    """A block of memories for a model: for whom it was made, for which question, and when."""

    who: Scope
    question: str
    block: ContextBlock
    at: int


# Takes the blocks that are made now in place of the log: of whoever only looks at them, or writes them down by itself.
MADE_PROMPTS: ContextVar[list[MadePrompt] | None] = ContextVar("memwarden_made_prompts", default=None)


class PromptQueue:
    """Holds the blocks that were made until ``write`` has written them down beside the calls."""

    def __init__(self, settings: Settings, write: Callable[[Sequence[MadePrompt]], Awaitable[None]]) -> None:
        self._settings = settings
        self._write = write
        self._waiting: list[MadePrompt] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._flushing = asyncio.Lock()

    def note(self, who: Scope, question: str, block: ContextBlock) -> None:
        """Note a block; never waits and never raises. Without the setting ``events`` nothing is noted."""
        made, taken = MadePrompt(who, question, block, clock.microseconds(clock.now())), MADE_PROMPTS.get()
        if taken is not None:
            taken.append(made)
        if taken is not None or not block.items or self._settings.events == "off":
            return
        if len(self._waiting) < MAX_WAITING_PROMPTS:
            self._waiting.append(made)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._on_timer)

    async def flush(self) -> None:
        """Write down what was noted, also by a call that is under way; what cannot be written is left out."""
        async with self._flushing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            waiting, self._waiting = self._waiting, []
            if waiting:
                await self._write(waiting)

    async def close(self) -> None:
        """Write down what was noted, within a limited time."""
        try:
            await asyncio.wait_for(self.flush(), FLUSH_SECONDS)
        except TimeoutError:
            log.warning("what the last prompts were given is not noted: the store takes too long")

    def _on_timer(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self.flush())
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)


class AccessLog:
    """Notes which facts stood in answers, and writes that down beside the calls: what nobody asks for may expire.

    Turns never expire, so they are not noted.
    """

    def __init__(self, store: AccessSink) -> None:
        self._store = store
        self._noted: dict[tuple[Namespace, str], datetime] = {}
        self._waiting: dict[Namespace, set[str]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, items: Sequence[RecallItem]) -> None:
        """Note that memories stood in an answer; never waits and never raises."""
        at = clock.now()
        for item in items:
            memory = item.memory
            if memory.channel == Channel.TURN:
                continue
            before = self._noted.get((memory.namespace, memory.id))
            if before is None or (at - before).total_seconds() >= ACCESS_SECONDS:
                self._noted[memory.namespace, memory.id] = at
                self._waiting.setdefault(memory.namespace, set()).add(memory.id)
        if len(self._noted) > _MAX_NOTED:
            self._noted.clear()
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._on_timer)

    async def flush(self) -> None:
        """Write down what was noted. What cannot be written is noted again another day."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting = self._waiting, {}
        for namespace, ids in waiting.items():
            try:
                await self._store.touch(namespace, sorted(ids), max(self._noted[namespace, item] for item in ids))
            except Exception as error:  # no answer fails because of it
                log.warning("what was read is not noted: %s", _describe_error(error))

    async def close(self) -> None:
        """Write down what was noted, within a limited time."""
        try:
            await asyncio.wait_for(self.flush(), CLOSE_SECONDS)
        except TimeoutError:
            log.warning("what was read last is not noted: the store takes longer than %g seconds", CLOSE_SECONDS)

    def _on_timer(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self.flush())
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)


def _make_events(waiting: Sequence[PendingEvent]) -> list[OpEvent]:
    return [event_of_pending(item) for item in waiting]


def _report_losses(lost: Counter[Namespace]) -> list[OpEvent]:
    """Return events that say how many were lost before them."""
    if not lost:
        return []
    from memwarden.clock import new_id

    at = clock.now()
    return [
        OpEvent(new_id(), namespace, Node.WORKER, Op.DROP, Status.ERROR, at, count=count, reason="lost")
        for namespace, count in lost.items()
    ]


def _describe_error(error: Exception) -> str:
    """Return the text of an error without content: only messages of our own errors hold none."""
    return str(error) if isinstance(error, StoreError) else type(error).__name__


# What the web framework tells of a request's URL.
QUERY: Final = "url.query"
OPERATIONS: Final[Mapping[Op, str]] = {
    Op.SEARCH: "search_memory",
    Op.CREATE: "create_memory",
    Op.CLASSIFY: "upsert_memory",
    Op.UPDATE: "update_memory",
    Op.RESTORE: "update_memory",
    Op.DELETE: "delete_memory",
}


class Traces:
    """Opens spans with the program's own OpenTelemetry; without a provider there they go nowhere."""

    def __init__(self) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise missing_extra("traces", "otel") from None
        self._tracer = trace.get_tracer("memwarden")
        self._status = trace.StatusCode

    @contextmanager
    def open_operation(self, who: Scope, op: Op, verb: str) -> Iterator[Any]:
        """Open the span of a verb, within the span that is open."""
        name = OPERATIONS.get(op, "update_memory")
        attributes = {
            "gen_ai.operation.name": name,
            "gen_ai.provider.name": "memwarden",
            "gen_ai.memory.store.id": who.namespace.path,
            "gen_ai.agent.name": who.agent,
            "gen_ai.conversation.id": who.thread,
            "memwarden.tenant": who.namespace.tenant,
            "memwarden.verb": verb,
            "memwarden.request.id": REQUEST_ID.get(),
        }
        given = {key: value for key, value in attributes.items() if value is not None}
        # The message of an error may hold what somebody said: its kind alone is told.
        with self._tracer.start_as_current_span(
            f"{name} {verb}", attributes=given, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(self._status.ERROR)
                raise

    @staticmethod
    def describe_result(span: Any, result: Any) -> None:
        """Tell a span how many memories a verb found or wrote, and the id of a single memory."""
        if isinstance(result, WriteResult):
            ids: list[str | None] = [item.id for item in result.results if item.id is not None]
        elif isinstance(result, QueryResult | ContextBlock):
            ids = [item.id for item in result.items]
        elif isinstance(result, Sequence) and not isinstance(result, str):
            ids = [None] * len(result)
        else:
            return
        span.set_attribute("gen_ai.memory.record.count", len(ids))
        if len(ids) == 1 and ids[0] is not None:
            span.set_attribute("gen_ai.memory.record.id", ids[0])


def export_traces(service: str) -> None:
    """Send the process's spans to the collector that the variables ``OTEL_EXPORTER_OTLP_...`` name.

    A provider that the program has set already is kept. Raises InvalidConfig for a missing package.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise InvalidConfig(
            "a server sends its traces with the extra otel and the package opentelemetry-exporter-otlp-proto-http"
        ) from error
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return
    # A name in OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES goes before ours.
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "unknown_service")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: service}))
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(_without_queries())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _without_queries() -> SpanProcessor:
    """Return what takes the query of a URL out of spans of requests: it may hold words of filters."""
    from opentelemetry.sdk.trace import SpanProcessor

    class QueryFilter(SpanProcessor):
        """Empties the query of a URL when a span begins."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            if (span.attributes or {}).get(QUERY):
                span.set_attribute(QUERY, "")

    return QueryFilter()
