"""The SDK's own client against running servers: discovery, registration, consent, a tool, refresh, revocation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from http_calls import make_key
from memwarden import AsyncWarden
from oauth_calls import Assistant, consent, read_answer, register
from server_process import ServerProcess, free_port

CALLBACK = "http://127.0.0.1:4711/callback"


class Pair(NamedTuple):
    """Two servers of one store, under the public URL of the first."""

    first: ServerProcess
    second: ServerProcess
    key: str


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "second")]
    db, port = f"sqlite:///{folders[0]}/memory.db", free_port()

    async def prepare() -> str:
        async with AsyncWarden.open(db, config={"embedder": "none"}) as warden:
            return await make_key(warden, user="ana", name="Ana's laptop")

    key = asyncio.run(prepare())
    options = ("--oauth", f"http://127.0.0.1:{port}", "--log-level", "debug")
    environment = {"MEMWARDEN_EMBEDDER": "none", "MEMWARDEN_UPKEEP": "off"}
    with (
        ServerProcess(db, folders[0], "--port", str(port), *options, environment=environment) as first,
        ServerProcess(db, folders[1], *options, environment=environment) as second,
    ):
        yield Pair(first, second, key)


class Storage:
    """What a client of the SDK keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Logs in with a key at the page that the client opens, and allows what it asks for."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._location = ""
        self.visits = 0

    async def open(self, url: str) -> None:
        self.visits += 1
        parts = httpx2.URL(url)
        async with httpx2.AsyncClient(base_url=f"{parts.scheme}://{parts.netloc.decode()}") as browser:
            page = await browser.post("/ui/login", params=parts.params, data={"key": self._key})
            assert page.status_code == 303
            answer = await consent(browser, dict(parts.params))
            self._location = str(httpx2.URL(CALLBACK, params=answer))

    async def answer(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**read_answer(self._location))


def make_provider(url: str, person: Person, storage: Storage) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="Test assistant", redirect_uris=[AnyUrl(CALLBACK)])
    return OAuthClientProvider(f"{url}/mcp", metadata, storage, person.open, person.answer)


async def call_tools(url: str, provider: OAuthClientProvider, *calls: tuple[str, dict[str, str]]) -> list[str]:
    """Call tools in a new connection of the client; return what they answer."""
    async with (
        httpx2.AsyncClient(auth=provider, timeout=30.0) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
    assert not any(result.is_error for result in results)
    return [str(result.structured_content) for result in results]


async def test_the_client_of_the_sdk_goes_the_whole_way(pair: Pair) -> None:
    url, person, storage = pair.first.url, Person(pair.key), Storage()
    remember = ("memory_remember", {"content": "The code name of the project is Marigold."})
    ask = ("memory_query", {"query": "What is the code name of the project?"})
    _, found = await call_tools(url, make_provider(url, person, storage), remember, ask)
    assert "Marigold" in found
    assert storage.client is not None
    first = storage.tokens
    assert first is not None
    assert first.scope == "read write"
    # The access token is late. A client that was started anew refreshes it without the person.
    provider = make_provider(url, person, storage)
    await call_tools(url, provider, ask)
    provider.context.token_expiry_time = 1.0
    (found,) = await call_tools(url, provider, ask)
    assert "Marigold" in found
    assert person.visits == 1
    second = storage.tokens
    assert second is not None
    assert {second.access_token, second.refresh_token}.isdisjoint({first.access_token, first.refresh_token})
    # After revocation the client comes back to the person.
    form = {"token": second.refresh_token, "client_id": storage.client.client_id}
    form["client_secret"] = storage.client.client_secret
    assert httpx2.post(f"{url}/revoke", data=form).status_code == 200
    (found,) = await call_tools(url, make_provider(url, person, storage), ask)
    assert "Marigold" in found
    assert person.visits == 2
    for secret in (first.access_token, second.refresh_token, storage.client.client_secret, pair.key):
        assert str(secret) not in pair.first.log.read_text("utf-8")
    assert "/ui/connect" in pair.first.log.read_text("utf-8")


async def test_two_processes_that_redeem_at_once_leave_no_token(pair: Pair) -> None:
    async with (
        httpx2.AsyncClient(base_url=pair.first.url) as one,
        httpx2.AsyncClient(base_url=pair.second.url) as other,
    ):
        assert (await one.post("/ui/login", data={"key": pair.key})).status_code == 303
        client = await register(one, redirect_uris=[CALLBACK])
        twin = Assistant(other, client.id, None, CALLBACK, client.verifier)
        for _ in range(5):
            request = client.request(resource=f"{pair.first.url}/mcp")
            code = (await consent(one, request))["code"]
            answers = await asyncio.gather(*(user.redeem(code) for user in (client, twin, client, twin)))
            for answer in answers:
                if answer.status_code == 200:
                    tokens = answer.json()
                    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
                    assert (await other.post("/mcp", json={}, headers=headers)).status_code == 401
                    assert (await twin.refresh(tokens["refresh_token"])).status_code == 400
            assert sum(answer.status_code == 200 for answer in answers) <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--oauth", "http://memory.example.org"], "takes https"),
        (["--oauth", "memory.example.org"], "takes the public URL"),
        (["--oauth", "https://memory.example.org", "--mcp", "off"], "--mcp off"),
        (["--oauth", "https://memory.example.org"], "memwarden key create"),
    ],
)
def test_a_wrong_setting_is_said_at_the_start(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from memwarden.surfaces.cli.main import run

    assert run(["serve", "--port", "0", "--db", f"sqlite:///{tmp_path}/s.db", *options]) != 0
    assert words in capsys.readouterr().err.replace("\n", " ")
