"""MCP at /mcp of the server: the key decides whose memory a request is about and what it may do."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from http_calls import OPEN, make_key
from memwarden import AsyncWarden
from memwarden.surfaces.http.app import ServerOptions, create_app

CONFIG = {"embedder": "wordllama"}
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def url(embedded_url: str) -> str:
    return embedded_url


@asynccontextmanager
async def browse(
    warden: AsyncWarden, key: str | None = None, options: ServerOptions = OPEN
) -> AsyncIterator[httpx2.AsyncClient]:
    """Plain HTTP to an application over an open warden."""
    app = create_app(warden, options, start=False)
    headers = ACCEPT | ({} if key is None else {"Authorization": f"Bearer {key}"})
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        yield client


@asynccontextmanager
async def connect(
    warden: AsyncWarden, key: str | None = None, mode: str = "auto", options: ServerOptions = OPEN
) -> AsyncIterator[Client]:
    """The package's own client, over the application."""
    async with browse(warden, key, options) as http:
        transport = streamable_http_client("http://localhost/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_two_people_behind_a_server_never_meet(async_warden: AsyncWarden, mode: str) -> None:
    keys = {user: await make_key(async_warden, user=user) for user in ("ana", "bob")}
    question = {"query": "What is the code name of the project?"}
    async with connect(async_warden, keys["ana"], mode) as ana, connect(async_warden, keys["bob"], mode) as bob:
        kept = await ana.call_tool("memory_remember", {"content": "The code name of the project is Marigold."})
        assert not kept.is_error
        assert (await ana.call_tool("memory_query", question)).structured_content["count"] == 1
        assert (await bob.call_tool("memory_query", question)).structured_content["count"] == 0
        stolen = await bob.call_tool("memory_forget", {"id": kept.structured_content["id"]})
        assert stolen.is_error
        assert (await ana.call_tool("memory_query", question)).structured_content["count"] == 1
    (memory,) = await async_warden.scope(user="ana").find()
    assert memory.thread_id == "mcp"


async def test_a_key_that_only_reads_is_offered_what_reads(async_warden: AsyncWarden) -> None:
    key = await make_key(async_warden, user="ana", operations=["read"])
    async with connect(async_warden, key) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["memory_query"]
        assert (await client.call_tool("memory_remember", {"content": "Ana has a cat."})).is_error
    assert not await async_warden.scope(user="ana").find()


async def test_a_key_decides_only_when_it_may(async_warden: AsyncWarden) -> None:
    """As over HTTP: consent and review take an operation of their own."""
    decisions = {"review_decide", "consent_decide", "memory_import", "memory_erase"}
    full = ServerOptions(open_door=True, mcp="full")
    for operations, offered in ((["read", "write"], set()), (["read", "write", "decide"], decisions)):
        key = await make_key(async_warden, user="ana", operations=operations)
        async with connect(async_warden, key, options=full) as client:
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert listed & decisions == offered
            assert "review_list" in listed
            assert (await client.call_tool("review_decide", {"id": "none", "approve": True})).is_error


async def test_who_has_no_key_or_a_wrong_key_is_refused(async_warden: AsyncWarden) -> None:
    key = await make_key(async_warden, user="ana", operations=["write"])
    for given, status in ((None, 401), ("mw_0123456789abcdef_" + "a" * 43, 401), (key, 403)):
        async with browse(async_warden, given) as client:
            answer = await client.post("/mcp", json=GREETING)
            assert answer.status_code == status, answer.text
            assert answer.headers["content-type"] == "application/problem+json"


async def test_hostile_requests_get_clear_errors(async_warden: AsyncWarden) -> None:
    async with browse(async_warden) as client:
        for body in (b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b"[" * 10_000):
            answer = await client.post("/mcp", content=body, headers={"Content-Type": "application/json"})
            assert 400 <= answer.status_code < 500, (body[:20], answer.status_code)
        answer = await client.post("/mcp", content=b"x" * 9_000_000, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        foreign = {"Host": "evil.example", "Origin": "http://evil.example"}
        assert (await client.post("/mcp", json=GREETING, headers=foreign)).status_code == 421
        page = {"Origin": "http://evil.example"}
        assert (await client.post("/mcp", json=GREETING, headers=page)).status_code == 403
        assert (await client.get("/mcp")).status_code == 405
        assert (await client.post("/mcp", json=GREETING)).status_code == 200


async def test_half_a_surrogate_pair_loses_no_call(async_warden: AsyncWarden) -> None:
    arguments = '{"content": "Die Teekanne \\ud83d ist aus Kupfer.", "tags": "Küche"}'
    call = '{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "memory_remember", "arguments": %s}}'
    async with browse(async_warden) as client:
        answer = await client.post("/mcp", content=call % arguments, headers={"Content-Type": "application/json"})
        assert answer.status_code == 200
        kept = await async_warden.scope().find()
        assert [item.text for item in kept] == ["Die Teekanne \ufffd ist aus Kupfer."]


async def test_the_path_can_be_switched_off_and_have_another_profile(async_warden: AsyncWarden) -> None:
    async with browse(async_warden, options=ServerOptions(open_door=True, mcp="")) as client:
        assert (await client.post("/mcp", json=GREETING)).status_code == 404
    async with browse(async_warden, options=ServerOptions(open_door=True, mcp="graph")) as client:
        listed = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        (data,) = [line for line in listed.text.splitlines() if line.startswith("data: {")]
        assert json.loads(data[6:])["result"]["tools"][0]["name"] == "create_entities"
