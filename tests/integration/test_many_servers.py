"""Servers of one PostgreSQL, one of them with two workers: answers, streams, revoked keys and limits of any process."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import pytest

from http_calls import make_key
from memwarden import AsyncWarden
from memwarden.surfaces.http.keys import KeyRing
from oauth_calls import CALLBACK, consent, greet, register
from server_process import ServerProcess, free_port

CONFIG = {"embedder": "none"}
CALLS = 150  # of a key and day, as the servers are started


class Pair(NamedTuple):
    """Two servers of one database, under the public URL of the first. The second has two workers."""

    db: str
    first: ServerProcess
    second: ServerProcess
    operator: str

    async def make_key(self, **grant: Any) -> str:
        """Make a key without a server."""
        async with AsyncWarden.open(self.db, config=CONFIG) as warden:
            return await make_key(warden, **grant)


@pytest.fixture(scope="module")
def pair(emptied: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    db, port = emptied(), free_port()

    async def make_operator() -> str:
        async with AsyncWarden.open(db, config=CONFIG) as warden:
            return await make_key(warden, operations=("read", "operate"))

    operator = asyncio.run(make_operator())
    options = ("--oauth", f"http://127.0.0.1:{port}", "--rate", f"{CALLS}/day")
    environment = {"MEMWARDEN_EMBEDDER": "none", "MEMWARDEN_UPKEEP": "off"}
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    with (
        ServerProcess(db, folders[0], "--port", str(port), *options, environment=environment) as first,
        ServerProcess(db, folders[1], "--workers", "2", *options, environment=environment) as second,
    ):
        yield Pair(db, first, second, operator)


@asynccontextmanager
async def reach(pair: Pair, key: str | None = None) -> AsyncIterator[tuple[httpx2.AsyncClient, httpx2.AsyncClient]]:
    """A client of each server."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(base_url=pair.first.url, headers=headers, timeout=100.0) as one,
        httpx2.AsyncClient(base_url=pair.second.url, headers=headers, timeout=100.0) as other,
    ):
        yield one, other


def id_of(key: str) -> str:
    return key.split("_")[1]


async def read_ids(stream: httpx2.Response, most: int = 1_000) -> list[int]:
    """The ids of the next events of a stream, until there are as many or it ends."""
    ids: list[int] = []
    async for line in stream.aiter_lines():
        if line.startswith("id: "):
            ids.append(int(line.removeprefix("id: ")))
            if len(ids) == most:
                break
    return ids


async def test_each_server_answers_at_once_with_what_the_other_observed(pair: Pair) -> None:
    async with reach(pair, await pair.make_key(user="ana")) as servers:
        for number in range(8):
            writer, reader = servers if number % 2 else reversed(servers)
            observed = await writer.post("/v1/memory/observe", json={"messages": f"I counted sheep number {number}."})
            asked = {"query": f"sheep number {number}", "threshold": 0, "top_k": 1}
            answer = (await reader.post("/v1/memory/query", json=asked)).json()
            assert answer["rev"] >= observed.json()["rev"]
            assert f"number {number}." in answer["items"][0]["text"]


async def test_a_stream_goes_on_at_another_server_without_a_gap(pair: Pair) -> None:
    async with reach(pair, await pair.make_key(user="tom")) as (one, other):

        async def write() -> None:
            for number in range(30):
                server = (one, other)[number % 2]
                made = await server.post("/v1/memories", json={"text": f"Tom owns the boat number {number}."})
                assert made.status_code == 201, made.text

        seen: list[int] = []
        async with other.stream("GET", "/v1/changes") as stream:
            writing = asyncio.create_task(write())
            seen += await read_ids(stream, 7)
        for server in (one, other, one):
            headers = {"Last-Event-ID": str(seen[-1])}
            async with server.stream("GET", "/v1/changes", headers=headers) as stream:
                seen += await read_ids(stream, 7 if len(seen) < 21 else 9)
        await writing
        assert seen == list(range(1, 31))


async def test_a_stream_begins_anew_after_an_erasure(pair: Pair) -> None:
    key = await pair.make_key(user="kim", operations=("read", "write", "decide"))
    async with reach(pair, key) as (one, other):

        async def remember(number: int) -> None:
            made = await one.post("/v1/memories", json={"text": f"Kim owns the boat number {number}."})
            assert made.status_code == 201, made.text

        for number in range(3):
            await remember(number)
        async with other.stream("GET", "/v1/changes") as stream:
            assert (await one.delete("/v1/users/kim", params={"confirm": "kim"})).status_code == 200
            await remember(4)
            assert await read_ids(stream, 1) == [1]
        headers = {"Last-Event-ID": "3"}
        async with other.stream("GET", "/v1/changes", headers=headers, params={"seconds": 0}) as stream:
            assert await read_ids(stream) == [1]


async def revoke(server: httpx2.AsyncClient, key_id: str) -> None:
    """Revoke a key on the page for keys, in a browser that an operator logged in."""
    page = await server.get("/ui/keys")
    token = re.search(r'name="token" value="(\w+)"', page.text)
    assert token is not None, page.text
    form = {"token": token[1], "id": key_id, "sure": "1"}
    assert (await server.post("/ui/keys/revoke", data=form)).status_code == 303


async def test_a_revoked_key_opens_nothing_at_the_other_server(pair: Pair) -> None:
    key = await pair.make_key(user="eva")
    async with reach(pair) as (one, other):
        assert (await one.post("/ui/login", data={"key": pair.operator})).status_code == 303
        assert (await other.post("/ui/login", data={"key": key})).status_code == 303
        client = await register(other, redirect_uris=[CALLBACK])
        request = client.request(resource=f"{pair.first.url}/mcp")
        tokens = (await client.redeem((await consent(other, request))["code"])).json()
        late_code = (await consent(other, request))["code"]

        async def find_statuses() -> dict[str, int]:
            bearer = {"Authorization": f"Bearer {key}"}
            return {
                "call": (await other.get("/v1/memories", headers=bearer)).status_code,
                "mcp": await greet(other, key),
                "token": await greet(other, tokens["access_token"]),
                "page": (await other.get("/ui/overview")).status_code,
            }

        assert await find_statuses() == {"call": 200, "mcp": 200, "token": 200, "page": 200}
        await revoke(one, id_of(key))
        assert await find_statuses() == {"call": 401, "mcp": 401, "token": 401, "page": 303}
        assert (await client.refresh(tokens["refresh_token"])).status_code == 400
        assert (await client.redeem(late_code)).status_code == 400


async def test_a_revoked_key_ends_its_streams_at_the_other_server_within_a_second(pair: Pair) -> None:
    async with AsyncWarden.open(pair.db, config=CONFIG) as warden, reach(pair) as (_, other):
        waits = [60.0]
        while waits[-1] > 1.0 and len(waits) < 12:  # other programs of the machine delay some of them
            key = await make_key(warden, user="eva")
            headers = {"Authorization": f"Bearer {key}"}
            async with other.stream("GET", "/v1/changes", headers=headers) as stream:
                assert stream.status_code == 200
                await KeyRing(warden.store).revoke(id_of(key))
                began = time.monotonic()
                assert await read_ids(stream) == []
                waits.append(time.monotonic() - began)
        assert min(waits) <= 1.0, waits


async def test_both_servers_count_towards_one_limit(pair: Pair) -> None:
    key, free = await pair.make_key(user="ida"), await pair.make_key(user="ida")
    async with reach(pair, key) as servers:

        async def call(number: int) -> int:
            return (await servers[number % 2].get("/v1/memories", params={"limit": 1})).status_code

        statuses = [await call(number) for number in range(CALLS - 50)]
        statuses += await asyncio.gather(*(call(number) for number in range(60)))
        assert statuses.count(200) == CALLS
        assert statuses.count(429) == 10
        for server in servers:
            refused = await server.get("/v1/memories")
            assert refused.status_code == 429
            assert int(refused.headers["Retry-After"]) > 1
            assert refused.headers["RateLimit-Remaining"] == "0"
            others = {"Authorization": f"Bearer {free}"}
            assert (await server.get("/v1/memories", headers=others)).status_code == 200


async def test_both_servers_count_registrations_of_clients_towards_one_limit(pair: Pair) -> None:
    metadata = {"client_name": "Assistant", "redirect_uris": [CALLBACK]}
    async with reach(pair) as servers:
        answers = [await servers[number % 2].post("/register", json=metadata) for number in range(62)]
    made = sum(answer.status_code == 201 for answer in answers)
    assert {answer.status_code for answer in answers} == {201, 429}
    assert 58 <= made <= 60, json.loads(answers[-1].text)  # other tests register a client or two
