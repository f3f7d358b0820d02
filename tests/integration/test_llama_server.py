"""The product against a real llama-server with a model of 135 million parameters: requests, streams, garbage.

``LLAMA_SERVER`` is the path of the program, ``LLAMA_MODEL`` that of a GGUF file. Without them the tests are skipped.
Such a model answers nonsense: what is checked is that each request is accepted and that nothing is lost.
"""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memwarden import AsyncWarden, Warden
from memwarden.agent.overseer import OverseerSettings
from memwarden.errors import ModelUnavailable
from memwarden.models.openai import OpenAIChat
from memwarden.models.schemas import object_of
from memwarden.surfaces.http.keys import KeyRing
from server_process import ServerProcess

SERVER, MODEL = os.environ.get("LLAMA_SERVER", ""), os.environ.get("LLAMA_MODEL", "")
BOAT = "My sister Ottilie bought a boat called Heron in March."
pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not (SERVER and MODEL), reason="LLAMA_SERVER and LLAMA_MODEL name no llama-server and model"),
]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the model; return the base URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [SERVER, "-m", MODEL, "-c", "8192", "-np", "2", "--host", "127.0.0.1", "--port", str(port)]
    log = (tmp_path_factory.mktemp("llama") / "server.log").open("wb")
    with log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        url = f"http://127.0.0.1:{port}"
        for _ in range(120):
            try:
                if httpx2.get(f"{url}/health").status_code == 200:
                    break
            except httpx2.TransportError:
                pass
            time.sleep(0.5)
        try:
            yield url
        finally:
            server.kill()  # it would finish a long answer first


def test_a_schema_binds_the_answer(llama: str) -> None:
    model = OpenAIChat("smollm", f"{llama}/v1", seconds=60)
    schema = object_of({"known": {"type": "boolean"}, "kind": {"type": "string", "enum": ["boat", "car"]}})
    answer = json.loads(model.complete("Answer.", f"{BOAT} What is the Heron?", schema=schema, max_tokens=60))
    assert answer.keys() == {"known", "kind"}
    assert answer["kind"] in ("boat", "car")


async def test_each_request_to_a_model_is_accepted_and_loses_nothing(
    llama: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"chat_model": "smollm", "chat_url": f"{llama}/v1", "embedder": "none", "merging": "auto"}
    stated = ("Ana enjoys hiking in the mountains.", "Ana likes long walks in the mountains.")
    with caplog.at_level(logging.WARNING):
        async with AsyncWarden.open("memory://", config) as warden:
            me = warden.scope(user="ana", thread="t")
            await me.observe([{"role": "user", "content": BOAT}, {"role": "assistant", "content": "A fine name."}])
            await me.extract_pending()
            for text in stated:
                await me.remember(text)
            with suppress(ModelUnavailable):  # a busy machine is late
                await me.ask("What is the boat called?")
            await me.state.save("boat", {"name": "Heron"})
            overseer = me.overseer(OverseerSettings(auto_save=True))
            await overseer.relevant("Which boat is it?")
            await overseer.after("find_boat", {"name": "Heron"}, "find the boat")
            await me.sessions.finalize_current_cycle("s", "Which boat is it? " * 200, "It is the Heron. " * 200)
            (run,) = await warden.jobs.run("insights", user="ana")
            texts = {item.text for item in await me.find()}
            assert {BOAT, "A fine name.", *stated} <= texts
            assert "Heron" in (await me.query("What is the boat called?")).text
            assert run.status in ("ok", "failed")
    refused = [record.getMessage() for record in caplog.records if re.search(r"failed \(\w+ \d", record.getMessage())]
    assert refused == []


ASKED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Which boat?"}], "max_tokens": 20},
    "/v1/messages": {"messages": [{"role": "user", "content": "Which boat?"}], "max_tokens": 20},
    "/v1/responses": {"input": "Which boat?", "max_output_tokens": 20},
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", ASKED)
async def test_a_conversation_is_passed_on_and_kept(path: str, stream: bool, llama: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    async with AsyncWarden.open(url, {"embedder": "wordllama"}) as warden:
        key = await KeyRing(warden.store).create(user="ana")
        await warden.scope(user="ana").remember(BOAT)
    options = ("--upstream", f"{llama}/v1", "--embedder", "wordllama")
    with ServerProcess(url, tmp_path, *options) as server, server.client(key.text) as client:
        body = {"model": "smollm", "stream": stream, **ASKED[path]}
        answer = client.post(path, json=body, headers={"X-Memory-Thread": "t"}, timeout=120)
        assert answer.status_code == 200, answer.text
        assert answer.headers["X-Memory-Status"] == "hit", dict(answer.headers)
        assert answer.headers["Content-Type"].startswith("text/event-stream" if stream else "application/json")
    with Warden.open(url, {"embedder": "wordllama"}) as kept:
        turns = kept.scope(user="ana", thread="t").find({"channel": "turn"}, order_by="written", descending=False)
    assert [turn.role for turn in turns] == ["user", "assistant"]
    assert turns[0].text == "Which boat?"
