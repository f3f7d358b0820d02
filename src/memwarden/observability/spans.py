"""Spans of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from memwarden.errors import InvalidConfig, missing_extra
from memwarden.observability.instrument import REQUEST_ID
from memwarden.observability.records import Op
from memwarden.records import ContextBlock, QueryResult, Scope, WriteResult

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor


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
        raise InvalidConfig("a server sends its traces with the extra: pip install 'memwarden[otel]'") from error
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
