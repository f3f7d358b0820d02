"""Embeddings from an OpenAI-compatible endpoint, by the real SDK against a server on this machine.

The server stands for a paid model and says so: its vectors are made from letters. Everything else is real.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from memwarden import Warden
from memwarden.errors import InvalidConfig, ModelMismatch, ModelUnavailable
from memwarden.models import openai as openai_models
from provider_rules import find_embedding_breaches


class Endpoint(BaseHTTPRequestHandler):
    asked: ClassVar[list[list[str]]] = []
    mood = "well"

    def do_POST(self) -> None:  # the standard library's name
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body["input"])
        status, answer = self.answer(body["input"])
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(answer)

    def answer(self, texts: list[str]) -> tuple[int, bytes]:
        rows = [[text.lower().count(letter) + 0.01 for letter in "aeioustr"] for text in texts]
        if self.mood == "down":
            return 500, b'{"error": {"message": "down"}}'
        if self.mood == "refuses":
            return 400, b'{"error": {"message": "no such text"}}'
        if self.mood == "garbage":
            return 200, b"<html>not json</html>"
        if self.mood == "short":
            rows = [row[:5] for row in rows]
        if self.mood == "half":
            rows = rows[: len(rows) // 2]
        data = [{"object": "embedding", "index": number, "embedding": row} for number, row in enumerate(rows)]
        return 200, json.dumps(
            {"object": "list", "model": "letters", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        ).encode()

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Endpoint.asked, Endpoint.mood = [], "well"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def config(url: str, dimensions: int = 8) -> dict[str, Any]:
    return {
        "embedder": "openai",
        "embedding_model": "letters",
        "embedding_url": url,
        "embedding_dimensions": dimensions,
    }


def test_texts_and_questions_are_embedded_by_the_endpoint(endpoint: str) -> None:
    with Warden.open("memory://", config=config(endpoint)) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.observe(
            [{"role": "user", "content": "Zebras graze."}, {"role": "user", "content": "The oboe is out of tune."}]
        )
        assert Endpoint.asked == [["Zebras graze.", "The oboe is out of tune."]]
        found = me.query("ooo", threshold=0.0, top_k=2)
        assert {item.memory.text for item in found.items} == {"The oboe is out of tune.", "Zebras graze."}
        assert Endpoint.asked[-1] == ["ooo"]
        # An unmeasured model only ranks: whether there is an answer, words decide.
        assert not me.query("ooo")
        assert me.query("Is the oboe in tune?")


def test_what_the_endpoint_finds_near_comes_first(endpoint: str) -> None:
    with Warden.open("memory://", config=config(endpoint)) as warden:
        me = warden.scope(user="ana", thread="t1")
        me.observe([{"role": "user", "content": text} for text in ("Zebras graze.", "The oboe is out of tune.")])
        found = me.query("ooo", threshold=0.0, top_k=2)
        assert [item.memory.text for item in found.items] == ["The oboe is out of tune.", "Zebras graze."]


@pytest.mark.parametrize("mood", ["down", "garbage", "short", "half"])
def test_a_failing_endpoint_loses_nothing(endpoint: str, mood: str, caplog: pytest.LogCaptureFixture) -> None:
    with Warden.open("memory://", config=config(endpoint)) as warden:
        me = warden.scope(user="ana", thread="t1")
        Endpoint.mood = mood
        texts = ["The oboe is out of tune.", "The shed is green."]
        result = me.observe([{"role": "user", "content": text} for text in texts])
        assert [item.outcome for item in result.results] == ["created", "created"]
        assert me.query("Is the oboe in tune?").items[0].memory.text == texts[0]
        Endpoint.mood = "well"
        assert me.query("Is the oboe in tune?").items[0].memory.text == texts[0]
    assert "without a vector" in caplog.text
    assert "words alone" in caplog.text
    assert "oboe" not in caplog.text  # no content in logs


def test_nobody_listening_loses_nothing() -> None:
    with Warden.open("memory://", config=config("http://127.0.0.1:9/v1")) as warden:
        me = warden.scope(user="ana")
        me.observe({"role": "user", "content": "The oboe is out of tune."})
        assert me.query("Is the oboe in tune?")


def test_a_store_refuses_another_model(endpoint: str, tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    with Warden.open(url, config=config(endpoint)) as warden:
        warden.scope(user="ana").observe({"role": "user", "content": "The oboe is out of tune."})
    for other in ({"embedder": "wordllama"}, {"embedder": "none"}, config(endpoint, dimensions=9)):
        with Warden.open(url, config=other) as warden:
            ana = warden.scope(user="ana")
            (kept,) = ana.find({"channel": "turn"})
            for verb in (ana.query, ana.remember):
                with pytest.raises(ModelMismatch, match=f"'openai/letters-8'.*{other['embedder']!r}"):
                    verb("The oboe is in tune.")
            assert ana.find({"channel": "turn"}) == [kept]


def test_model_and_dimensions_must_be_named() -> None:
    with pytest.raises(InvalidConfig, match="needs embedding_model and embedding_dimensions"):
        Warden.open("memory://", config={"embedder": "openai"})


def test_openai_itself_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidConfig, match="cannot be used"):
        Warden.open("memory://", config=config(""))


def test_after_a_failure_the_endpoint_is_left_alone_for_a_while(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr("memwarden.models.openai.time.monotonic", lambda: now)
    embedder = openai_models.OpenAIEmbedder("letters", 8, endpoint)
    Endpoint.mood = "garbage"
    with pytest.raises(ModelUnavailable, match="endpoint failed"):
        embedder.embed(["oboe"])
    asked, Endpoint.mood = len(Endpoint.asked), "well"
    now += 29
    with pytest.raises(ModelUnavailable, match="last 30 seconds"):
        embedder.embed(["oboe"])
    assert not embedder.embed([""]).any()
    assert len(Endpoint.asked) == asked
    now += 1
    assert embedder.embed(["oboe"]).any()


def test_a_refused_text_is_no_failing_endpoint(endpoint: str) -> None:
    embedder = openai_models.OpenAIEmbedder("letters", 8, endpoint)
    Endpoint.mood = "refuses"
    with pytest.raises(ModelUnavailable):
        embedder.embed(["oboe"])
    Endpoint.mood = "well"
    assert embedder.embed(["oboe"]).any()


@pytest.mark.parametrize("sign", ["a ", "船", "𠜎", "é"])
def test_texts_of_every_script_stay_below_the_limits_of_tokens(sign: str, endpoint: str) -> None:
    embedder = openai_models.OpenAIEmbedder("letters", 8, endpoint)
    vectors = embedder.embed([sign * 9_000, " ", *["boat"] * 200, *[sign * 9_000] * 90])
    assert vectors.shape == (292, 8)
    assert not vectors[1].any()
    assert [breach for texts in Endpoint.asked for breach in find_embedding_breaches({"input": texts})] == []
    assert sum(map(len, Endpoint.asked)) == 291
