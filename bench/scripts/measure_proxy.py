"""How soon the first byte of a stream comes through the proxy, beside memory's own query and the bare upstream.

For each question a stream is asked for through the proxy, of the upstream alone, through the proxy with memory off, and
of the upstream alone again. How long memory's own query took within that very request stands in its event. What the
proxy adds is the first less the query and the upstream. How the two calls of the bare upstream differ is the noise.

A busy machine changes processor time less (Linux alone): of the server's thread that answers, for the whole stream,
for the same block over HTTP, and for a call that does nothing. What the proxy adds is the first less the second, and
more the third, since a request is read in either; storing what was said is in it, for which no first byte waits.
``python bench/scripts/measure_proxy.py [MEMORIES] [QUESTIONS] [EMBEDDER]``
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

import httpx2

from memwarden_bench.http_load import fill, serving
from memwarden_bench.sentences import questions

EVENTS = b'data: {"choices": [{"index": 0, "delta": {"content": "Soup."}}]}\n\ndata: [DONE]\n\n'

THINKING_SECONDS = 0.03


class Measured(NamedTuple):
    """Milliseconds of a question. off: with memory off. again: the second call of the bare upstream."""

    query: float
    stream: float
    cpu_stream: float
    cpu_block: float
    cpu_nothing: float
    upstream: float
    off: float
    again: float


class Speaker(BaseHTTPRequestHandler):
    """An upstream that thinks for a while, as every model does, and then answers with a stream."""

    protocol_version = "HTTP/1.1"
    # Head and body in a single packet: as two the second waits 40 ms for the caller's word that the first came.
    wbufsize = -1

    def do_POST(self) -> None:
        """Answer."""
        self.rfile.read(int(self.headers["content-length"]))
        time.sleep(THINKING_SECONDS)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(EVENTS)))
        self.end_headers()
        self.wfile.write(EVENTS)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


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


def read_cpu() -> float:
    """Return how many milliseconds of a processor the thread of the server has had that answers."""
    server = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii").split()[0]
    return int(Path(f"/proc/{server}/schedstat").read_text("ascii").split()[0]) / 1e6


def read_query_times(client: httpx2.Client, url: str, threads: int) -> dict[str, float]:
    """Return by thread how many milliseconds the search for its block took, as the events of the server say."""
    found: dict[str, float] = {}
    for number in range(threads):
        asked = {"user_id": "ana", "thread": f"p{number}", "node": "context"}
        for event in client.get(f"{url}/v1/events", params=asked).json():
            found[event["thread_id"]] = event["ms"]
    return found


def p95(times: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(times, n=20)[18]


def main(memories: int, asked: int, embedder: str) -> None:
    """Print p50 and p95 of the stream, the query, the upstream and what the proxy adds."""
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Speaker)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    bare = f"http://127.0.0.1:{upstream.server_address[1]}/v1"
    os.environ["MEMWARDEN_UPSTREAM"] = bare
    with tempfile.TemporaryDirectory() as folder:
        db = f"sqlite:///{folder}/proxy.db"
        asyncio.run(fill(db, memories, embedder))
        times: list[tuple[float, ...]] = []
        hits = 0
        with serving(db, 1, embedder) as url, httpx2.Client(timeout=60) as client:
            for number, question in enumerate(questions(asked + 20)):
                began = read_cpu()
                stream, status = time_stream(client, f"{url}/v1", question, f"p{number}")
                streamed = read_cpu()
                body = {"user_id": "ana", "messages": question, "thread_id": f"b{number}"}
                client.post(f"{url}/v1/memory/context", json=body)
                blocked = read_cpu()
                client.get(f"{url}/healthz")
                cpu = (streamed - began, blocked - streamed, read_cpu() - blocked)
                direct, _ = time_stream(client, bare, question, "")
                off, _ = time_stream(client, f"{url}/v1", question, f"p{number}", memory="off")
                again, _ = time_stream(client, bare, question, "")
                times.append((stream, *cpu, direct, off, again))
                hits += status == "hit" and number >= 20
            queries = read_query_times(client, url, len(times))
    # The first ones load what is loaded once.
    rows = [Measured(queries[f"p{number}"], *row) for number, row in enumerate(times)][20:]
    print(f"{memories} memories, {asked} questions, {hits} with memories put in, embedder {embedder}; ms, p50 and p95")
    columns = {
        "stream": [row.stream for row in rows],
        "query": [row.query for row in rows],
        "upstream": [row.upstream for row in rows],
        "added": [row.stream - row.query - row.upstream for row in rows],
        "added, off": [row.off - row.upstream for row in rows],
        "noise": [row.again - row.upstream for row in rows],
        "cpu: stream": [row.cpu_stream for row in rows],
        "cpu: block": [row.cpu_block for row in rows],
        "cpu: added": [row.cpu_stream - row.cpu_block + row.cpu_nothing for row in rows],
    }
    for name, values in columns.items():
        print(f"{name:11} {median(values):7.2f} {p95(values):7.2f}")


if __name__ == "__main__":
    given = [*sys.argv[1:], *("10000", "200", "wordllama")[len(sys.argv) - 1 :]]
    main(int(given[0]), int(given[1]), given[2])
