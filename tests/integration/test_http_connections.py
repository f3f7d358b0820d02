"""Slow request heads and many connections keep no client out."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest

from memwarden.surfaces.http.connections import max_connections
from server_process import ServerProcess

# Seconds in which a client has to send the head of a request.
HEAD_SECONDS = 10.0

HALF_OPEN = 1_000
PATIENCE = 5.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("connections")
    with ServerProcess(f"sqlite:///{folder / 'store.db'}", folder) as running:
        yield running


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open the sockets of all clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connect(server: ServerProcess) -> socket.socket:
    place = urlsplit(server.url)
    return socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=30)


def test_half_open_heads_delay_no_new_client(server: ServerProcess, many_files: None) -> None:
    half = [connect(server) for _ in range(HALF_OPEN)]
    for opened in half:
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    begun = time.monotonic()
    with server.client() as client:
        assert client.get("/healthz").status_code == 200
    assert time.monotonic() - begun < PATIENCE
    for opened in half:
        opened.close()


def test_a_slow_head_is_closed_and_a_slow_answer_is_not(server: ServerProcess) -> None:
    with connect(server) as slow, connect(server) as kept:
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert kept.recv(100).startswith(b"HTTP/1.1 200")
        begun = time.monotonic()
        with suppress(ConnectionResetError):
            assert slow.recv(100) == b""
        assert 5 < time.monotonic() - begun < 10 + PATIENCE


@pytest.mark.parametrize(("files", "most"), [(1_024, 512), (resource.RLIM_INFINITY, 4_096), (1_000_000, 4_096)])
def test_the_number_of_connections_follows_the_files_that_may_be_open(
    files: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert max_connections() == most
