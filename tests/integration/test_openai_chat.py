"""A chat model behind an OpenAI-compatible endpoint, by the real SDK against a server on this machine.

The server stands for a paid model and says so: it answers what the test told it to. Everything else is real.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memwarden import Warden
from memwarden.errors import InvalidConfig, ModelUnavailable
from memwarden.surfaces.cli.main import run

OLD, NEW = "Ana enjoys hiking in the mountains.", "Ana likes long walks in the mountains."
"""A pair that no rule decides."""


class Endpoint(BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, Any]]] = []
    waits: ClassVar[list[str | None]] = []
    status = 200
    said: str | None = ""
    complains = ""

    def do_POST(self) -> None:  # the standard library's name
        self.waits.append(self.headers["x-stainless-read-timeout"])
        self.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", "content": self.said}
        choices = [{"index": 0, "finish_reason": "stop", "message": message}] if self.said is not None else []
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
        answer |= {"error": {"message": self.complains}} if self.complains else {}
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
    Endpoint.complains, Endpoint.waits = "", []
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


def test_who_asks_is_told_what_the_endpoint_says(endpoint: str, caplog: pytest.LogCaptureFixture) -> None:
    Endpoint.status, Endpoint.complains = 404, "The model `judge-1` does not exist. You said: Ana likes long walks."
    with Warden.open("memory://", config={"chat_model": "judge-1", "chat_url": endpoint}) as warden:
        me = warden.scope(user="ana")
        with pytest.raises(ModelUnavailable, match="NotFoundError 404") as raised:
            me.ask("Where does Ana walk?")
    assert str(raised.value) == "the chat endpoint failed (NotFoundError 404)"
    (note,) = raised.value.__notes__
    assert note == "the endpoint says: The model `judge-1` does not exist. You said: Ana likes long walks."
    assert "NotFoundError 404" in caplog.text
    assert "long walks" not in caplog.text


def test_the_command_line_says_what_the_endpoint_says(
    endpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Endpoint.status, Endpoint.complains = 401, "Incorrect key. You sent AKIAQYLPMN5HHHFPZAM2."
    monkeypatch.setenv("MEMWARDEN_CHAT_MODEL", "judge-1")
    monkeypatch.setenv("MEMWARDEN_CHAT_URL", endpoint)
    url = f"sqlite:///{tmp_path / 'ask.db'}"
    assert run(["add", "Ana walks by the river.", "--db", url]) == 0
    assert run(["ask", "Where does Ana walk?", "--db", url]) != 0
    said = capsys.readouterr().err
    assert "(AuthenticationError 401); the endpoint says: Incorrect key." in said
    assert "AKIAQYLPMN5HHHFPZAM2" not in said


def test_a_slow_model_has_the_time_that_it_is_given(endpoint: str) -> None:
    for more in ({}, {"chat_seconds": 77}):
        with Warden.open("memory://", {"chat_model": "m", "chat_url": endpoint, **more}) as warden:
            me = warden.scope(user="ana")
            me.remember(OLD)
            me.remember(NEW)
    assert [float(wait or 0) for wait in Endpoint.waits] == [10.0, 10.0, 77.0, 77.0]  # garbage is asked for once more


def test_nobody_listening_costs_nothing() -> None:
    assert outcome("http://127.0.0.1:9/v1") == "created"


def test_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidConfig, match="chat endpoint"):
        Warden.open("memory://", config={"chat_model": "judge-1"})
