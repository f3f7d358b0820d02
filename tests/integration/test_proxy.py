"""Real clients of OpenAI and Anthropic get memory by their base URL alone; without it every byte stays as it was."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from sdks import APIS, FACT, QUESTION, Api, clients_of, name_of
from server_process import ServerProcess
from test_docs import ROOT, blocks, commands, flat
from upstream import Upstream

PAGE = ROOT / "docs/howto/add-memory-to-an-openai-program.md"
ANSWER = "Ana can eat an almond cake."
NUMBERS = count()
APIS_BY_NAME = pytest.mark.parametrize("api", APIS, ids=name_of)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, upstream_process: Upstream) -> Iterator[ServerProcess]:
    """A server without keys, which serves this machine alone."""
    folder = tmp_path_factory.mktemp("proxy")
    with ServerProcess(
        f"sqlite:///{folder / 'proxy.db'}", folder, "--upstream", f"{upstream_process.url}/v1"
    ) as running:
        yield running


@dataclass(frozen=True)
class Person:
    """Somebody of whom one thing is known, with a conversation."""

    server: ServerProcess
    user: str
    thread: str = "t1"

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Memory-User": self.user, "X-Memory-Thread": self.thread}

    def said(self, thread: str = "t1") -> list[tuple[str, str]]:
        """What the thread holds, oldest first."""
        asked: dict[str, Any] = {"user_id": self.user, "limit": 100, "descending": False, "order_by": "written"}
        filters = json.dumps({"channel": "turn", "thread_id": thread})
        with self.server.client() as client:
            got = client.get("/v1/memories", params={**asked, "filters": filters})
        assert got.status_code == 200, got.text
        return [(item["role"], item["text"]) for item in got.json()["items"]]


@pytest.fixture
def ana(server: ServerProcess) -> Person:
    user = f"ana-{next(NUMBERS)}"
    with server.client() as client:
        assert client.post("/v1/memories", json={"user_id": user, "text": f"{FACT}."}).status_code == 201
    return Person(server, user)


@APIS_BY_NAME
def test_an_answer_knows_what_is_remembered(api: Api, ana: Person, upstream: Upstream) -> None:
    upstream.says(ANSWER)
    with clients_of(ana.server.url) as clients:
        raw = api.raw(clients)(**api.request, extra_headers=ana.headers)
    (prompt,) = upstream.prompts()
    assert FACT in str(prompt)
    assert raw.headers["x-memory-status"] == "hit"
    assert len(raw.headers["x-memory-injected"].split(",")) == 1
    assert 0 < int(raw.headers["x-memory-tokens"]) < 100
    assert ana.said() == [("user", QUESTION), ("assistant", ANSWER)]


@APIS_BY_NAME
def test_a_stream_is_passed_on_and_kept(api: Api, ana: Person, upstream: Upstream) -> None:
    upstream.says(ANSWER, letters=5)
    with clients_of(ana.server.url) as clients:
        events = list(api.call(clients)(**api.request, stream=True, extra_headers=ana.headers))
        assert "".join(map(api.words, events)) == ANSWER
        assert ana.said() == [("user", QUESTION), ("assistant", ANSWER)]
    (prompt,) = upstream.prompts()
    assert FACT in str(prompt)


def test_the_program_of_the_page_remembers(tmp_path: Path, upstream: Upstream) -> None:
    """The page is played: the key, the program with its changed line, a second conversation with curl."""
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    upstream.says("Noted.", after="I am allergic")
    upstream.says("Hazelnuts.", after="What am I")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    make_key, start = next(block.text for block in blocks(PAGE) if block.language == "bash").splitlines()
    play(make_key, tmp_path, environment | {"MEMWARDEN_DB": db})
    assert start.startswith(
        "MEMWARDEN_UPSTREAM_KEY=$OPENAI_API_KEY memwarden serve --db sqlite:///notes.db --upstream "
    )
    held = {"MEMWARDEN_UPSTREAM_KEY": "sk-of-the-server"}
    with ServerProcess(db, tmp_path, "--upstream", f"{upstream.url}/v1", environment=held) as server:
        played = 0
        for block in blocks(PAGE):
            text = block.text.replace("http://127.0.0.1:8765", server.url)
            if block.language == "python":
                said = play(f"{sys.executable} -W error -c {shlex.quote(text)}", tmp_path, environment)
                assert said.strip() == "Noted."
            if block.language == "console":
                for command, shown in commands(text):
                    printed = flat(play(command, tmp_path, environment))
                    assert all(flat(line) in printed for line in shown), printed
                    played += 1
    assert played == 2
    assert "hazelnuts" in str(upstream.prompts()[1]["messages"][0])
    assert {item.headers["authorization"] for item in upstream.received()} == {"Bearer sk-of-the-server"}


def play(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
