"""An upstream that sends the bytes that a test wrote down, right or wrong, and keeps the bytes that it got."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Step = bytes | threading.Event
"""Bytes to send, or something to wait for."""


@dataclass
class RawUpstream:
    """A server on this machine. answers: what the next calls get, the last again and again. calls: what came."""

    port: int = 0
    answers: list[Sequence[Step]] = field(default_factory=list)
    calls: list[tuple[bytes, bytes]] = field(default_factory=list)
    broken_off: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def says(self, *steps: Step) -> None:
        """Answer every call from now on with these bytes."""
        self.answers[:] = [steps]
        self.calls.clear()
        self.broken_off.clear()

    def next_answer(self) -> Sequence[Step]:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def raw_upstream() -> Iterator[RawUpstream]:
    """Run one on a port of its own."""
    told = RawUpstream()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = self.rfile.readline()
                if not line:
                    return
                head += line
            lengths = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length:" in line]
            told.calls.append((head, self.rfile.read(lengths[0]) if lengths else b""))
            try:
                for step in told.next_answer():
                    if isinstance(step, bytes):
                        self.wfile.write(step)
                        self.wfile.flush()
                    else:
                        step.wait(10)
            except OSError:
                told.broken_off.set()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        told.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield told
        server.shutdown()


def head(status: str = "200 OK", **headers: str) -> bytes:
    """The beginning of an answer, which ends with the connection unless it has a length."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close", "", ""]).encode()


def whole(body: bytes, status: str = "200 OK", kind: str = "application/json", **headers: str) -> bytes:
    """A whole answer."""
    return head(status, content_type=kind, content_length=str(len(body)), **headers) + body


def completion(text: Any) -> bytes:
    """A chat completion."""
    return json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}).encode()


def event(text: Any) -> bytes:
    """An event of a stream of chat completions."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


STREAM = head(content_type="text/event-stream")
DONE = b"data: [DONE]\n\n"
