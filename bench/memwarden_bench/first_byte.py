"""What the proxy adds to the first byte of a stream, beside memory's own query and the bare upstream."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, NamedTuple

from memwarden_bench.http_load import fill, serving
from memwarden_bench.marks import grid, number
from memwarden_bench.metrics import percentile
from memwarden_bench.replay import Tick
from memwarden_bench.sentences import questions

if TYPE_CHECKING:
    import httpx2

# The most that the proxy may add, in milliseconds, at the 95th percentile.
MAX_ADDED_MS: Final = 5.0
# The first questions load what is loaded once.
WARM_UP: Final = 20
THINKING_SECONDS: Final = 0.03
# Between the first token and the rest.
TALKING_SECONDS: Final = 0.02
_FIRST: Final = b'data: {"choices": [{"index": 0, "delta": {"content": "Soup"}}]}\n\n'
_REST: Final = b'data: {"choices": [{"index": 0, "delta": {"content": "."}}]}\n\ndata: [DONE]\n\n'
_STREAM, _QUERY, _UPSTREAM, _ADDED = "stream", "query", "upstream", "added"


class AskedTimes(NamedTuple):
    """Milliseconds of a question until the first byte came.

    Attributes:
        stream: through the proxy. query: the search for memories within that very request, by the server's event.
        upstream, again: of the upstream alone, asked twice. off: through the proxy, with memory off.
    """

    stream: float
    query: float
    upstream: float
    off: float
    again: float

    @property
    def added(self) -> float:
        """What the proxy adds beside the query."""
        return self.stream - self.query - self.upstream


@dataclass(frozen=True, slots=True)
class TimeFigures:
    """A time in milliseconds, over all questions."""

    what: str
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class FirstByteReport:
    """Times of streams. hits: those into which memories were put. passes: whether the gate holds."""

    circumstances: Mapping[str, str]
    embedder: str
    memories: int
    questions: int
    hits: int
    figures: Sequence[TimeFigures]
    gate_ms: float
    passes: bool


class Speaker(BaseHTTPRequestHandler):
    """An upstream that thinks for a while, as every model does, and then answers word by word."""

    protocol_version = "HTTP/1.1"
    # Head and first word in a single packet: as two the second waits 40 ms for the caller's word that the first came.
    wbufsize = -1

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(THINKING_SECONDS)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(_FIRST + _REST)))
        self.end_headers()
        self.wfile.write(_FIRST)
        self.wfile.flush()
        time.sleep(TALKING_SECONDS)
        self.wfile.write(_REST)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def speaking() -> Iterator[str]:
    """Run the upstream; give its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Speaker) as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{upstream.server_address[1]}/v1"
        upstream.shutdown()


def measure_first_byte(
    db: str, memories: int, asked: int, embedder: str, circumstances: Mapping[str, str], tick: Tick
) -> FirstByteReport:
    """Ask an empty store, which is filled first, through the proxy and the upstream alone in turn."""
    import httpx2

    asyncio.run(fill(db, memories, embedder))
    hits = 0
    times: list[tuple[float, float, float, float]] = []
    with speaking() as bare:
        os.environ["MEMWARDEN_UPSTREAM"] = bare
        with serving(db, 1, embedder) as place, httpx2.Client(timeout=60) as client:
            for at, question in enumerate(questions(asked + WARM_UP)):
                tick("a question")
                stream, status = time_stream(client, f"{place}/v1", question, name_thread(at))
                upstream, _ = time_stream(client, bare, question, name_thread(at))
                off, _ = time_stream(client, f"{place}/v1", question, name_thread(at), memory="off")
                again, _ = time_stream(client, bare, question, name_thread(at))
                times.append((stream, upstream, off, again))
                hits += status == "hit" and at >= WARM_UP
            queries = read_query_times(client, place, len(times))
    rows = [AskedTimes(row[0], queries[name_thread(at)], *row[1:]) for at, row in enumerate(times)][WARM_UP:]
    return sum_up(rows, circumstances, embedder, memories, hits)


def sum_up(
    rows: Sequence[AskedTimes], circumstances: Mapping[str, str], embedder: str, memories: int, hits: int
) -> FirstByteReport:
    """Return the report of questions, with the verdict on what the proxy adds."""
    columns = {
        _STREAM: [row.stream for row in rows],
        _QUERY: [row.query for row in rows],
        _UPSTREAM: [row.upstream for row in rows],
        _ADDED: [row.added for row in rows],
        "added, memory off": [row.off - row.upstream for row in rows],
        "noise": [abs(row.again - row.upstream) for row in rows],
    }
    figures = [TimeFigures(what, percentile(ms, 0.5), percentile(ms, 0.95)) for what, ms in columns.items()]
    passes = percentile(columns[_ADDED], 0.95) <= MAX_ADDED_MS
    return FirstByteReport(circumstances, embedder, memories, len(rows), hits, figures, MAX_ADDED_MS, passes)


def name_thread(number: int) -> str:
    """Return the conversation of a question: each has its own."""
    return f"p{number}"


def time_stream(
    client: httpx2.Client, url: str, question: str, thread: str, *, memory: str = "on"
) -> tuple[float, str]:
    """Return the milliseconds until the first byte of a stream, and what the answer says of memory."""
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": question}]}
    headers = {"X-Memory-User": "ana", "X-Memory-Thread": thread, "X-Memory": memory}
    began = time.perf_counter()
    with client.stream("POST", f"{url}/chat/completions", json=body, headers=headers) as got:
        pieces = got.iter_raw()
        next(pieces)
        took = time.perf_counter() - began
        for _ in pieces:
            pass
    return 1000 * took, got.headers.get("x-memory-status", "")


def read_query_times(client: httpx2.Client, url: str, threads: int) -> dict[str, float]:
    """Return by thread how many milliseconds the search for its block took, as the events of the server say."""
    found: dict[str, float] = {}
    for at in range(threads):
        asked = {"user_id": "ana", "thread": name_thread(at), "node": "context"}
        for event in client.get(f"{url}/v1/events", params=asked).json():
            if event["op"] == "search":
                found[event["thread_id"]] = event["ms"]
    return found


def first_byte_markdown(report: FirstByteReport) -> str:
    """Return the report as Markdown."""
    said = {
        _STREAM: "first byte of the stream, through the proxy",
        _QUERY: "memory's own query within that request",
        _UPSTREAM: "first byte of the upstream alone, right after",
        _ADDED: "**what the proxy adds: the first less the two others, question by question**",
        "added, memory off": "what it adds with `X-Memory: off`",
        "noise": "noise: how far two calls of the upstream alone differ",
    }
    lines = [(said[item.what], number(item.p50_ms, 2), number(item.p95_ms, 2)) for item in report.figures]
    verdict = "holds" if report.passes else "does not hold"
    return (
        f"# The first byte of a stream: {report.memories:,} memories, embedder {report.embedder}\n\n"
        + "".join(f"- {name}: {value}\n" for name, value in report.circumstances.items())
        + f"\n{report.questions:,} questions, {report.hits:,} with memories put in.\n\n"
        + grid(("what", "p50, ms", "p95, ms"), lines)
        + f"\n\nGate: the proxy adds at most {report.gate_ms:g} ms (p95). It {verdict}.\n"
    )
