"""A chat model behind an OpenAI-compatible endpoint, by the real SDK against a server on this machine.

The server stands for a paid model and says so: it answers what the test told it to. Everything else is real.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from memwarden import Warden
from memwarden.errors import InvalidConfig

OLD, NEW = "Ana enjoys hiking in the mountains.", "Ana likes long walks in the mountains."
"""A pair that no rule decides."""


class Endpoint(BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, Any]]] = []
    status = 200
    said: str | None = ""

    def do_POST(self) -> None:  # the standard library's name
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", "content": self.said}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}] if self.said is not None else []
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Endpoint.asked, Endpoint.status, Endpoint.said = [], 200, ""
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def outcome(url: str) -> str:
    with Warden.open("memory://", config={"chat_model": "judge-1", "chat_url": url}) as warden:
        me = warden.scope(user="ana")
        me.remember(OLD)
        return me.remember(NEW).results[0].outcome


@pytest.mark.parametrize(("relation", "became"), [("same", "merged"), ("update", "superseded"), ("related", "created")])
def test_what_no_rule_decides_is_asked(endpoint: str, relation: str, became: str) -> None:
    Endpoint.said = json.dumps({"relations": [relation]})
    assert outcome(endpoint) == became
    (asked,) = Endpoint.asked
    assert (asked["model"], asked["temperature"]) == ("judge-1", 0)
    assert asked["max_tokens"] <= 220
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["relations"]
    assert [item["role"] for item in asked["messages"]] == ["system", "user"]
    assert NEW in asked["messages"][1]["content"]


@pytest.mark.parametrize(
    ("status", "said"), [(500, ""), (429, ""), (200, "no JSON"), (200, ""), (200, None)],
    ids=["down", "busy", "garbage", "silent", "no choice"],
)  # fmt: skip
def test_an_endpoint_that_fails_costs_nothing(
    endpoint: str, status: int, said: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    Endpoint.status, Endpoint.said = status, said
    assert outcome(endpoint) == "created"
    assert "judge-1" in caplog.text
    assert "Ana" not in caplog.text  # no content in logs


def test_nobody_listening_costs_nothing() -> None:
    assert outcome("http://127.0.0.1:9/v1") == "created"


def test_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidConfig, match="chat endpoint"):
        Warden.open("memory://", config={"chat_model": "judge-1"})
