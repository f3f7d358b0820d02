"""A server behind a reverse proxy that speaks TLS, below a path of a site."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2

from http_calls import make_key
from memwarden import AsyncWarden
from server_process import ServerProcess

PROXIED = {"Host": "memory.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}
OPTIONS = ("--embedder", "none", "--forwarded-from", "127.0.0.1", "--allow-host", "memory.example.org")


async def new_key(url: str) -> str:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        return await make_key(warden, user="ana")


def test_pages_know_their_path_and_that_the_way_is_safe(tmp_path: Path) -> None:
    """The proxy took the path away, as the page about the server says it has to."""
    db = f"sqlite:///{tmp_path / 'notes.db'}"
    key = asyncio.run(new_key(db))
    with (
        ServerProcess(db, tmp_path, *OPTIONS, "--root-path", "/memory") as server,
        httpx2.Client(base_url=server.url, headers=PROXIED, timeout=300) as client,
    ):
        hosts = ("memory.example.org", "localhost", "other.example.org")
        assert [client.get("/healthz", headers={"Host": host}).status_code for host in hosts] == [200, 200, 421]
        assert client.get("/ui/").headers["location"] == "/memory/ui/login"
        entered = client.post("/ui/login", data={"key": key}, headers={"Origin": "https://memory.example.org"})
        assert entered.headers["location"].startswith("/memory/ui/")
        assert {"Secure", "HttpOnly", "Path=/memory/ui"} <= set(entered.headers["set-cookie"].split("; "))
        assert client.get("/v1/memories", headers={"Authorization": f"Bearer {key}"}).json()["items"] == []
        page = client.get("/ui/login").text
        assert 'href="/memory/ui/' in page
        assert 'href="/ui/' not in page
