"""Spans reach a collector with their attributes and no content; the dashboard asks for metrics that there are."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from http_calls import OPEN, calling
from memwarden import AsyncWarden, Warden
from memwarden.errors import NotFound
from memwarden.surfaces.http.app import create_app
from memwarden.surfaces.http.logs import configure_logs
from server_process import ServerProcess
from test_docs import ROOT

SECRET_WORDS = "chimney sweep"


class Collector:
    """A receiver of traces over OTLP. spans: those that came in."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    for scope in resource.scope_spans:
                        collector.spans += scope.spans
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> Collector:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def attributes_of(span: Any) -> dict[str, Any]:
    """The attributes of a span as it came over the wire."""
    found = {}
    for item in span.attributes:
        kind = item.value.WhichOneof("value")
        found[item.key] = getattr(item.value, kind)
    return found


def test_a_server_sends_spans_of_its_requests_and_verbs(tmp_path: Path) -> None:
    environment = {"MEMWARDEN_TRACES": "on", "OTEL_BSP_SCHEDULE_DELAY": "100"}
    trace_id, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    with Collector() as collector:
        environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        db = f"sqlite:///{tmp_path / 'traced.db'}"
        started = ServerProcess(db, tmp_path, "--embedder", "none", environment=environment)
        with started as server, server.client() as client:
            body = {"user_id": "ana", "thread_id": "t1", "messages": f"I am a {SECRET_WORDS}."}
            client.post("/v1/memory/observe", json=body)
            headers = {"X-Request-ID": "call-7", "traceparent": f"00-{trace_id}-{caller}-01"}
            asked = {"user_id": "ana", "query": f"Who is a {SECRET_WORDS}?"}
            client.post("/v1/memory/query", json=asked, headers=headers)
            client.get("/v1/memories", params={"filters": f'{{"text": "{SECRET_WORDS}"}}'})
            client.get(f"/v1/memories/{SECRET_WORDS.replace(' ', '-')}", params={"user_id": "ana"})
    spans = {span.name: span for span in collector.spans}
    request, search = spans["POST /v1/memory/query"], spans["search_memory query"]
    assert request.trace_id.hex() == search.trace_id.hex() == trace_id
    assert request.parent_span_id.hex() == caller
    by_id = {span.span_id: span for span in collector.spans}
    assert by_id[search.parent_span_id].parent_span_id == request.span_id
    told = attributes_of(search)
    assert told.pop("gen_ai.memory.record.id")
    assert told == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "memwarden",
        "gen_ai.memory.store.id": "user/ana",
        "gen_ai.memory.record.count": 1,
        "memwarden.tenant": "default",
        "memwarden.verb": "query",
        "memwarden.request.id": "call-7",
    }
    assert attributes_of(request)["http.response.status_code"] == 200
    assert attributes_of(spans["create_memory store"])["gen_ai.conversation.id"] == "t1"
    assert attributes_of(spans["GET /v1/memories/{memory_id}"])["http.response.status_code"] == 404
    assert not re.search(r"chimney.{1,3}sweep", "".join(map(str, collector.spans)).replace("/chimney-sweep", ""))


@pytest.fixture(scope="module")
def own_spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    yield exporter
    provider.shutdown()


async def test_a_program_gets_spans_in_its_own_trace(own_spans: InMemorySpanExporter) -> None:
    config = {"embedder": "none", "traces": "on"}
    async with AsyncWarden.open("memory://", config=config) as warden:
        me = warden.scope(user="ana", agent=None, thread="t1")
        with trace.get_tracer("program").start_as_current_span("answer"):
            await me.remember(f"Ana is a {SECRET_WORDS}.")
            with pytest.raises(NotFound):
                await me.forget(SECRET_WORDS)
    done = {span.name: span for span in own_spans.get_finished_spans()}
    program, failed = done["answer"].context, done["delete_memory forget"]
    parents = [getattr(span.parent, "span_id", None) for span in (done["create_memory remember"], failed)]
    assert program is not None
    assert parents == [program.span_id] * 2
    assert (failed.attributes or {})["error.type"] == "NotFound"
    assert not failed.status.is_ok
    assert SECRET_WORDS not in "".join(span.to_json() for span in done.values())


async def test_without_the_setting_there_are_no_spans(own_spans: InMemorySpanExporter) -> None:
    own_spans.clear()
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        await warden.scope(user="ana").remember("Ana hums.")
    assert own_spans.get_finished_spans() == ()


async def test_every_query_of_the_dashboard_finds_its_metrics_and_labels() -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden, calling(warden) as client:
        await client.post("/v1/memory/observe", json={"messages": "I hum."})
        await client.post("/v1/memory/query", json={"query": "Who hums?"})
        await client.get("/v1/memories", headers={"Authorization": "Bearer mw_none"})
        told = (await client.get("/metrics")).text
    known: dict[str, set[str]] = {}
    routes = set()
    for family in text_string_to_metric_families(told):
        for sample in family.samples:
            known.setdefault(sample.name, set()).update(sample.labels)
            routes.add(sample.labels.get("route"))
    dashboard = json.loads((ROOT / "docs/reference/grafana-dashboard.json").read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) >= 8
    for query in asked:
        names = re.findall(r"memwarden_\w+", query)
        assert names
        assert set(names) <= known.keys(), query
        labels = set(re.findall(r"(\w+)\s*=~?", query))
        for group in re.findall(r"by \(([^)]*)\)", query):
            labels |= {item.strip() for item in group.split(",")}
        assert all(labels <= known[name] for name in names if len(set(names)) == 1), query
        assert labels <= set().union(*(known[name] for name in names)), query
        assert set(re.findall(r'route="([^"]+)"', query)) <= routes, query
    page = (ROOT / "docs/howto/watch-a-server.md").read_text("utf-8")
    assert all(name in page for name in ("memwarden_http_requests_total", "memwarden_http_refusals_total"))


async def test_the_library_logs_the_id_of_the_request(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().handlers[:]
    configure_logs("info")
    try:
        async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
            app = create_app(warden, OPEN, start=False)
            app.add_api_route("/loud", lambda: logging.getLogger("memwarden.recall").warning("something"))
            transport = httpx2.ASGITransport(app=app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
                await client.get("/loud", headers={"X-Request-ID": "call-9"})
    finally:
        logging.getLogger().handlers[:] = before
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines if line.get("request_id") == "call-9"] == ["something", "request"]


def test_an_error_of_the_client_names_its_request(tmp_path: Path) -> None:
    with (
        ServerProcess(f"sqlite:///{tmp_path / 'a.db'}", tmp_path, "--embedder", "none") as server,
        Warden.open(server.url) as far,
        pytest.raises(NotFound) as raised,
    ):
        far.scope(user="ana").get("none")
    (note,) = raised.value.__notes__
    assert re.fullmatch(r"request id: [\w-]{16,}", note)
