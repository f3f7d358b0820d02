"""Several processes serve a store; a stream tells what changes; Prometheus counts; the log holds no content."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from http_calls import calling, make_key, said
from memwarden import AsyncWarden
from memwarden.surfaces.http.keys import KeyRing
from server_process import ServerProcess

CONFIG = {"embedder": "none"}
ANA = {"user_id": "ana"}
QUIET = ("--embedder", "none", "--rate", "off")


def test_each_process_answers_with_what_any_has_written(tmp_path: Path) -> None:
    with ServerProcess(f"sqlite:///{tmp_path / 'store.db'}", tmp_path, *QUIET, "--workers", "2") as server:
        for number in range(10):
            # A connection each, so that the processes take turns.
            with server.client() as client:
                made = client.post("/v1/memories", json={**ANA, "text": f"Ana counted sheep number {number}."})
                assert made.status_code == 201, made.text
            with server.client() as client:
                asked = {**ANA, "query": f"sheep number {number}", "threshold": 0, "top_k": 1}
                found = client.post("/v1/memory/query", json=asked).json()
                assert found["rev"] >= made.json()["rev"]
                assert f"number {number}." in found["items"][0]["text"]
        with server.client() as client:
            counted = client.get("/metrics").text
        assert find_count(counted, "/v1/memories", "201") == 10
        assert find_count(counted, "/v1/memory/query", "200") == 10


def find_count(text: str, route: str, status: str) -> float:
    line = rf'memwarden_http_requests_total{{method="POST",route="{route}",status="{status}"}} (\S+)'
    found = re.search(line, text)
    assert found is not None, text
    return float(found[1])


def read_events(lines: Any, count: int) -> list[dict[str, Any]]:
    """The next events of a stream."""
    found: list[dict[str, Any]] = []
    for line in lines:
        if line.startswith("data: "):
            found.append(json.loads(line.removeprefix("data: ")))
            if len(found) == count:
                break
    return found


def test_a_stream_tells_what_another_process_writes_and_goes_on_where_it_ended(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'store.db'}"
    with (
        ServerProcess(db, tmp_path, *QUIET) as reading,
        ServerProcess(db, tmp_path, *QUIET) as writing,
        reading.client() as client,
        writing.client() as other,
    ):
        other.post("/v1/memory/observe", json={**ANA, "messages": "I moved to Graz."})
        with client.stream("GET", "/v1/changes", params=ANA) as stream:
            lines = stream.iter_lines()
            later = threading.Timer(
                0.3, lambda: other.post("/v1/memories", json={**ANA, "text": "Ana has a dog called Rex."})
            )
            later.start()
            (told,) = read_events(lines, 1)
            assert (told["event"], told["rev"], told["channel"]) == ("ADD", 2, "semantic")
            assert "Rex" not in json.dumps(told)
        with client.stream("GET", "/v1/changes", params=ANA, headers={"Last-Event-ID": "0"}) as stream:
            assert [item["rev"] for item in read_events(stream.iter_lines(), 2)] == [1, 2]
        with client.stream("GET", "/v1/changes", params={"user_id": "tom", "since_rev": 0, "seconds": 1}) as stream:
            assert read_events(stream.iter_lines(), 1) == []
        with client.stream("GET", "/v1/changes", params=ANA):
            began = time.monotonic()
            reading.stop(signal.SIGTERM)
            assert time.monotonic() - began < 15


async def test_an_agent_is_told_of_what_it_may_read_and_a_revoked_key_ends_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memwarden.surfaces.http.routes.changes.KEY_SECONDS", 0.1)
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        key = await make_key(warden, user="ana", agent="planner")
        me = warden.scope(user="ana")
        await me.remember("Ana is called Annie by friends.", category="profile")
        await me.remember("Ship the release by Friday.", category="goals")
        async with calling(warden, key=key) as client:
            told = await client.get("/v1/changes", params={"since_rev": 0, "seconds": 0})
            assert [line for line in told.text.splitlines() if line.startswith("id: ")] == ["id: 2"]
            ring = KeyRing(warden.store)
            await ring.revoke((await ring.check(key)).id)
            assert (await client.get("/v1/changes", params={"seconds": 60})).status_code == 401


def test_the_log_tells_of_requests_and_of_nothing_that_was_said(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'store.db'}"
    with ServerProcess(db, tmp_path, *QUIET, "--log-level", "debug") as server, server.client() as client:
        headers = {"X-Request-ID": "call-17"}
        body = {**ANA, "messages": [said("I hid the marmalade.")]}
        assert client.post("/v1/memory/observe", json=body, headers=headers).headers["x-request-id"] == "call-17"
        client.post("/v1/memory/query", json={**ANA, "query": "Who hid the marmalade?"})
        client.get("/v1/state/marmalade", params=ANA)
        client.post("/v1/memory/query", json={"query": {"marmalade": 1}})
        client.get("/v1/memories", params={"user_id": "marmalade"})
        bad = client.get("/healthz", headers={"X-Request-ID": "marmalade jar!"})
        assert "marmalade" not in bad.headers["x-request-id"]
    written = server.log.read_text("utf-8")
    assert "marmalade" not in written
    lines = [json.loads(line) for line in written.splitlines()]
    first = next(line for line in lines if line.get("request_id") == "call-17")
    assert (first["method"], first["route"], first["status"], first["level"]) == (
        "POST", "/v1/memory/observe", 200, "info",
    )  # fmt: skip
    assert first["ms"] > 0


async def test_a_failure_of_the_server_is_told_without_what_was_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("the marmalade broke it")

    async with AsyncWarden.open("memory://", config=CONFIG) as warden, calling(warden) as client:
        monkeypatch.setattr("memwarden.api.reads.ScopeReads.get", fail)
        answer: httpx2.Response = await client.get("/v1/memories/m1")
    assert (answer.status_code, answer.json()["error"]) == (500, "ServerFailure")
    printed = "".join(capsys.readouterr())
    assert "RuntimeError" in printed
    assert "marmalade" not in answer.text + printed
