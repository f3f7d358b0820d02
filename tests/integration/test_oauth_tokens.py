"""Tokens in a store: hashes alone, one use of each code and refresh token, whichever process is asked."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from memwarden import AsyncWarden, clock
from memwarden.records import Namespace
from memwarden.stores.shared.items import ItemSearch, require_items
from memwarden.surfaces.oauth.clients import Client, ClientRegistry
from memwarden.surfaces.oauth.tokens import TokenPair, TokenStore, new_connection

CONFIG = {"embedder": "none"}
PLACE = Namespace("memwarden-server", "oauth")
CLIENT = Client("client", "Assistant", (), ("read", "write"), ())
CONNECTION = new_connection("key", CLIENT, ("read", "write"), "https://memory.example.org/mcp")


@pytest.fixture
def url(items_url: str) -> str:
    return items_url


async def redeem(tokens: TokenStore, code: str) -> TokenPair | None:
    pending = await tokens.read_code(code)
    return None if pending is None else await tokens.redeem_code(code, pending)


async def rotate(tokens: TokenStore, token: str) -> TokenPair | None:
    connection = await tokens.read_refresh(token)
    return None if connection is None else await tokens.rotate(token, connection, connection.operations)


async def test_connections_are_listed_by_their_key(async_warden: AsyncWarden) -> None:
    tokens = TokenStore(async_warden.store)
    made = [new_connection(key, CLIENT, ("read",), "r") for key in ("a1", "b2", "a1")]
    for connection in made:
        await tokens.issue_code(connection, "challenge", "https://a.example/cb")
    assert await tokens.find_connections("a1") == [made[2], made[0]]
    await tokens.end(made[0].id)
    assert await tokens.find_connections("a1") == [made[2]]
    assert await tokens.find_connections("c3") == []


async def test_a_client_keeps_the_name_that_it_gave(async_warden: AsyncWarden) -> None:
    registry, id = ClientRegistry(async_warden.store), "00000000-0000-0000-0000-000000000000"
    for name in ('Ana\'s "assistant"', "a\x00b\u202e\ud7ff\U0001f95c", 200 * "é"):
        await registry.add(Client(id, name, ("https://a.example/cb",), ("read",), ()))
        found = await registry.find(id)
        assert found is not None
        assert found.name == name


async def test_a_code_and_a_refresh_token_work_once(async_warden: AsyncWarden) -> None:
    tokens = TokenStore(async_warden.store)
    code = await tokens.issue_code(CONNECTION, "challenge", "https://a.example/cb")
    first = await redeem(tokens, code)
    assert first is not None
    assert await tokens.find_access(first.access) == (CONNECTION, ("read", "write"))
    second = await rotate(tokens, first.refresh)
    assert second is not None
    assert await tokens.find_access(second.access) is not None
    assert await rotate(tokens, first.refresh) is None
    assert await tokens.find_access(second.access) is None
    assert await rotate(tokens, second.refresh) is None
    code = await tokens.issue_code(CONNECTION, "challenge", "https://a.example/cb")
    third = await redeem(tokens, code)
    assert third is not None
    assert await redeem(tokens, code) is None
    assert await tokens.find_access(third.access) is None
    assert await tokens.find_access(first.access) is None


async def test_refreshing_alone_removes_what_ended(async_warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, now = TokenStore(async_warden.store), clock.now()
    pair = await redeem(tokens, await tokens.issue_code(CONNECTION, "challenge", "https://a.example/cb"))
    for days in range(1, 61):
        later = now + timedelta(days=days, minutes=days)
        monkeypatch.setattr(clock, "now", lambda later=later: later)
        assert pair is not None
        pair = await rotate(tokens, pair.refresh)
    items = require_items(async_warden.store)
    kept = {path: len(await items.search(PLACE, ItemSearch(path, 100))) for path in ("access", "refresh", "spent")}
    assert kept == {"access": 1, "refresh": 1, "spent": 30}


@pytest.mark.parametrize("items_url", ["sqlite", "postgres"], indirect=True)
async def test_of_many_that_redeem_at_once_none_keeps_a_token(items_url: str) -> None:
    async with AsyncWarden.open(items_url, config=CONFIG) as one, AsyncWarden.open(items_url, config=CONFIG) as other:
        stores = [TokenStore(one.store), TokenStore(other.store)]
        for _ in range(5):
            code = await stores[0].issue_code(CONNECTION, "challenge", "https://a.example/cb")
            pending = await stores[0].read_code(code)
            assert pending is not None
            pairs = await asyncio.gather(*(tokens.redeem_code(code, pending) for tokens in 2 * stores))
            (pair,) = [pair for pair in pairs if pair is not None]
            assert await stores[1].find_access(pair.access) is None
            assert await rotate(stores[0], pair.refresh) is None


async def test_the_store_holds_hashes_alone(tmp_path: Path) -> None:
    async with AsyncWarden.open(f"sqlite:///{tmp_path}/s.db", config=CONFIG) as warden:
        tokens = TokenStore(warden.store)
        code = await tokens.issue_code(CONNECTION, "challenge", "https://a.example/cb")
        pair = await redeem(tokens, code)
        assert pair is not None
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())  # noqa: ASYNC240  # nothing else runs
    assert CONNECTION.id.encode() in kept
    assert not [secret for secret in (code, pair.access, pair.refresh) if secret[4:].encode() in kept]
