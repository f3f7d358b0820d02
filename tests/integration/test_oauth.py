"""OAuth for MCP: the whole way of a client, what each key allows, and how a connection ends."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI

from http_calls import calling, make_key
from memwarden import AsyncWarden, clock
from memwarden.surfaces.http.app import ServerOptions, create_app
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.oauth.clients import Client, ClientRegistry
from oauth_calls import (
    BASE,
    CALLBACK,
    GREETING,
    consent,
    form_token,
    greet,
    logged_in,
    oauth_app,
    reach,
    read_answer,
    register,
)

CONFIG = {"embedder": "none"}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app() -> AsyncIterator[FastAPI]:
    """One application for all tests of the file, because making one takes longer than most tests."""
    async with oauth_app() as made:
        yield made


async def list_tools(http: httpx2.AsyncClient, token: str) -> set[str]:
    """Names of the tools that a token is offered."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    answer = await http.post("/mcp", json=asked, headers={**headers, "MCP-Protocol-Version": "2025-06-18"})
    assert answer.status_code == 200, answer.text
    (line,) = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    return {tool["name"] for tool in json.loads(line.removeprefix("data: "))["result"]["tools"]}


async def test_a_client_goes_from_401_to_a_tool_and_refreshes(app: FastAPI) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        challenge = (await http.post("/mcp", json=GREETING)).headers["www-authenticate"]
        assert (
            challenge
            == f'Bearer resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp", scope="read write"'
        )
        resource = (await http.get("/.well-known/oauth-protected-resource/mcp")).json()
        assert (resource["resource"], resource["authorization_servers"]) == (f"{BASE}/mcp", [BASE])
        assert (await http.get("/.well-known/oauth-protected-resource")).json() == resource
        server = (await http.get("/.well-known/oauth-authorization-server")).json()
        assert server["issuer"] == BASE
        assert server["code_challenge_methods_supported"] == ["S256"]
        assert server["authorization_response_iss_parameter_supported"]
        client = await register(http)
        answer = await consent(browser, client.request())
        assert (answer["state"], answer["iss"]) == ("s t&te", BASE)
        issued = await client.redeem(answer["code"], resource=f"{BASE}/mcp")
        assert issued.headers["cache-control"] == "no-store"
        tokens = issued.json()
        assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "read write")
        assert "memory_remember" in await list_tools(http, tokens["access_token"])
        next_tokens = (await client.refresh(tokens["refresh_token"])).json()
        assert next_tokens.keys() == tokens.keys()
        assert {next_tokens["access_token"], next_tokens["refresh_token"]}.isdisjoint(tokens.values())
        assert await greet(http, next_tokens["access_token"]) == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
async def test_a_client_that_opens_a_stream_first_learns_where_to_get_a_token(app: FastAPI, method: str) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        challenge = (await http.post("/mcp", json=GREETING)).headers["www-authenticate"]
        stranger = await http.request(method, "/mcp")
        assert (stranger.status_code, stranger.headers["www-authenticate"]) == (401, challenge)
        token = (await (await register(http)).connect(browser))["access_token"]
        known = await http.request(method, "/mcp", headers={"Authorization": f"Bearer {token}"})
        assert (known.status_code, known.headers["allow"]) == (405, "POST")


async def test_a_client_in_a_page_reads_where_to_get_a_token(app: FastAPI) -> None:
    page = {"Origin": "https://inspector.example"}
    options = ServerOptions(oauth=BASE, origins=(page["Origin"],))
    async with calling(app.state.warden, options) as http:
        answer = await http.post("/mcp", json=GREETING, headers=page)
        assert answer.status_code == 401
        assert "WWW-Authenticate" in answer.headers["access-control-expose-headers"]
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
        for path in ("/token", "/register", "/revoke", "/.well-known/oauth-authorization-server"):
            assert (await http.options(path, headers={**page, **asked})).status_code == 200


async def test_revocation_ends_every_token_of_a_connection(app: FastAPI) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        client = await register(http)
        for name in ("access_token", "refresh_token"):
            tokens, other = await client.connect(browser), await client.connect(browser)
            assert (await client.post("revoke", token=tokens[name])).status_code == 200
            assert await greet(http, tokens["access_token"]) == 401
            assert (await client.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
            assert await greet(http, other["access_token"]) == 200
        assert (await client.post("revoke", token="unknown")).status_code == 200


async def test_the_end_of_the_key_ends_its_tokens_at_once(app: FastAPI) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        client = await register(http)
        tokens, code = await client.connect(browser), (await consent(browser, client.request()))["code"]
        ring = KeyRing(app.state.warden.store)
        await ring.revoke((await ring.find())[-1].id)
        assert await greet(http, tokens["access_token"]) == 401
        assert (await client.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
        assert (await client.redeem(code)).json()["error"] == "invalid_grant"


async def test_times_end_codes_access_tokens_and_idle_connections(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        client = await register(http)
        tokens, code = await client.connect(browser), (await consent(browser, client.request()))["code"]
        now = clock.now()

        def wait(**delay: float) -> None:
            later = now + timedelta(**delay)
            monkeypatch.setattr(clock, "now", lambda: later)

        wait(seconds=58)
        late = await register(http)
        assert (await late.redeem(code)).json()["error"] == "invalid_grant"
        wait(seconds=62)
        assert (await client.redeem(code)).json()["error"] == "invalid_grant"
        wait(minutes=59)
        assert await greet(http, tokens["access_token"]) == 200
        wait(minutes=61)
        assert await greet(http, tokens["access_token"]) == 401
        wait(days=29)
        tokens = (await client.refresh(tokens["refresh_token"])).json()
        wait(days=58)
        tokens = (await client.refresh(tokens["refresh_token"])).json()
        assert await greet(http, tokens["access_token"]) == 200
        wait(days=89)
        assert (await client.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_a_token_grants_no_more_than_its_key_and_its_scope(app: FastAPI) -> None:
    async with reach(app) as http:
        client = await register(http)
        async with logged_in(app, operations=("read",)) as reader:
            page = (await reader.get("/ui/connect", params=client.request())).text
            assert "Not allowed by the key" in page
            tokens = await client.connect(reader)
            assert tokens["scope"] == "read"
            assert "memory_remember" not in await list_tools(http, tokens["access_token"])
        async with logged_in(app, operations=("read", "write", "decide")) as owner:
            tokens = await client.connect(owner, scope="read")
            assert tokens["scope"] == "read"
            assert "memory_remember" not in await list_tools(http, tokens["access_token"])
            wider = await client.refresh(tokens["refresh_token"], scope="read write")
            assert wider.json()["error"] == "invalid_scope"
            tokens = await client.connect(owner, scope="read write decide")
            narrow = (await client.refresh(tokens["refresh_token"], scope="read")).json()
            assert narrow["scope"] == "read"
            assert "memory_remember" not in await list_tools(http, narrow["access_token"])
            wide = (await client.refresh(narrow["refresh_token"])).json()
            assert wide["scope"] == "read write decide"


async def test_a_client_that_names_no_scope_gets_what_it_registered(app: FastAPI) -> None:
    async with logged_in(app, operations=("read", "write", "decide")) as browser, reach(app) as http:
        for registered, given in (("read", "read"), ("read decide", "read"), ("read write decide", "read write")):
            client = await register(http, scope=registered)
            assert (await client.connect(browser))["scope"] == given


async def test_two_people_behind_one_assistant_never_meet(app: FastAPI) -> None:
    async with reach(app) as http:
        client = await register(http)
        found = {}
        for user in ("mia", "tom"):
            async with logged_in(app, user=user) as browser:
                token = (await client.connect(browser))["access_token"]
                asked = {"name": "memory_remember", "arguments": {"content": f"The word of {user} is heliotrope."}}
                body = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": asked}
                headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
                assert (await http.post("/mcp", json=body, headers=headers)).status_code == 200
        for user in ("mia", "tom"):
            found[user] = [memory.text for memory in await app.state.warden.scope(user=user).find()]
        assert found == {user: [f"The word of {user} is heliotrope."] for user in ("mia", "tom")}


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic", None])
async def test_a_client_with_a_secret_has_to_give_it(app: FastAPI, method: str | None) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        client = await register(http, token_endpoint_auth_method=method)
        assert client.secret is not None
        code = (await consent(browser, client.request()))["code"]
        for wrong in (None, "", "wrong", client.secret + "x"):
            refused = await client.redeem(code, client_secret=wrong)
            assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
        form["code_verifier"] = client.verifier
        assert (await http.post("/token", data=form, auth=(client.id, "wrong"))).status_code == 401
        issued = await http.post("/token", data=form, auth=(client.id, client.secret))
        assert issued.status_code == 200, issued.text


async def test_the_page_for_consent_names_client_host_key_and_operations(app: FastAPI) -> None:
    name = '<script>alert(1)</script>"\u202e'
    async with (
        logged_in(app, name="Ana's phone", agent="planner") as browser,
        reach(app) as http,
    ):
        client = await register(http, client_name=name)
        page = await browser.get("/ui/connect", params=client.request(scope="read write decide"))
        for words in ("https://assistant.example", "Ana&#39;s phone", "planner", "read, write", "ana", "not verified"):
            assert words in page.text
        assert "<script>" not in page.text
        assert "\u202e" not in page.text
        local = await register(http, redirect_uris=["http://127.0.0.1:9/cb"])
        page = await browser.get("/ui/connect", params=local.request(redirect_uri="http://127.0.0.1:4321/cb"))
        assert "your own machine" in page.text


async def test_the_form_may_follow_the_redirects_of_an_assistant(app: FastAPI) -> None:
    """A policy would stop a callback that leads on to another site, and cannot name this address of the machine."""
    async with logged_in(app) as browser, reach(app) as http:
        client = await register(http, redirect_uris=["http://[::1]:4711/callback"])
        page = await browser.get("/ui/connect", params=client.request())
        policy = page.headers["content-security-policy"]
        assert "form-action" not in policy
        assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))


async def test_a_stranger_logs_in_and_comes_back_to_the_request(app: FastAPI) -> None:
    key = await make_key(app.state.warden, user="ana")
    async with reach(app) as browser:
        client = await register(browser)
        page = await browser.get("/ui/connect", params=client.request())
        assert 'name="key"' in page.text
        wrong = await browser.post("/ui/login", params=client.request(), data={"key": "mw_wrong"})
        assert wrong.status_code == 401
        assert 'action="/ui/login?response_type=code&amp;' in wrong.text
        back = await browser.post("/ui/login", params=client.request(), data={"key": key})
        assert (await browser.get(back.headers["location"])).text.count("asks to use the memory of") == 1


async def test_a_browser_that_comes_from_another_site_passes_a_page_of_ours(app: FastAPI) -> None:
    async with reach(app) as browser:
        client = await register(browser)
        page = await browser.get("/ui/connect", params=client.request(), headers={"Sec-Fetch-Site": "cross-site"})
        assert 'http-equiv="refresh" content="0; url=/ui/connect?response_type=code&amp;' in page.text


async def test_a_person_sees_and_ends_the_connections_of_their_key_alone(app: FastAPI) -> None:
    async with logged_in(app, name="one") as browser, logged_in(app, name="two") as other, reach(app) as http:
        client = await register(http, client_name="<b>Assistant")
        tokens = await client.connect(browser)
        page = await browser.get("/ui/connections")
        assert "&lt;b&gt;Assistant" in page.text
        found = re.findall(r'name="(token|id)" value="([^"]+)"', page.text)
        form = dict(found)
        page = await other.get("/ui/connections")
        assert "No assistant is connected" in page.text
        own_token = re.findall(r'name="token" value="(\w+)"', page.text)[0]
        stolen = await other.post("/ui/connections/end", data={"id": form["id"], "token": own_token})
        assert stolen.status_code == 404
        assert (await browser.post("/ui/connections/end", data={"id": form["id"]})).status_code == 403
        assert await greet(http, tokens["access_token"]) == 200
        assert (await browser.post("/ui/connections/end", data=form)).status_code == 303
        assert await greet(http, tokens["access_token"]) == 401
        assert (await http.get("/ui/connections")).headers["location"] == "/ui/login"


@pytest.mark.parametrize("word", ["refuse", "", "Allow"])
async def test_anything_but_allowing_is_a_refusal(app: FastAPI, word: str) -> None:
    async with logged_in(app) as browser:
        client = await register(browser)
        answer = await consent(browser, client.request(), word)
        assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "s t&te", BASE)
        assert "code" not in answer


async def test_clients_that_no_person_connected_go_and_connected_ones_stay(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with logged_in(app) as browser, reach(app) as http:
        used, unused = await register(http), await register(http)
        tokens = await used.connect(browser)
        later = clock.now() + timedelta(days=1, minutes=1)
        monkeypatch.setattr(clock, "now", lambda: later)
        assert (await used.refresh(tokens["refresh_token"])).status_code == 200
        gone = await unused.refresh("mwr_x")
        assert (gone.status_code, gone.json()["error"]) == (401, "invalid_client")


async def test_too_many_unconnected_clients_push_out_the_oldest() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        registry = ClientRegistry(warden.store)
        ids = [f"00000000-0000-0000-0000-{number:012d}" for number in range(1_010)]
        for id in ids:
            await registry.add(Client(id, "x", (CALLBACK,), ("read",), ()))
        assert [id for id in ids if await registry.find(id) is None] == ids[:10]


async def test_behind_a_proxy_with_tls_everything_is_https() -> None:
    base = "https://memory.example.org"
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        app = create_app(warden, ServerOptions(oauth=f"{base}:443/"), start=False)
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url=base) as http:
            server = (await http.get("/.well-known/oauth-authorization-server")).json()
            ends = ("authorize", "token", "register", "revoke")
            assert {value for name, value in server.items() if name.endswith("endpoint")} == {
                f"{base}/{end}" for end in ends
            }
            login = await http.post("/ui/login", data={"key": await make_key(warden, user="ana")})
            assert "Secure" in login.headers["set-cookie"]
            client = await register(http)
            request = client.request(resource=f"{base}/mcp")
            form = {"token": await form_token(http, request), "answer": "allow", "sure": "1"}
            sent = await http.post("/ui/connect", params=request, data=form, headers={"Origin": base})
            answer = read_answer(sent.headers["location"])
            assert answer["iss"] == base
            token = (await client.redeem(answer["code"])).json()["access_token"]
            assert await greet(http, token) == 200
        await app.state.proxy.close()


async def test_without_the_option_there_is_none_of_it(app: FastAPI) -> None:
    async with calling(app.state.warden, ServerOptions()) as http:
        for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"):
            assert (await http.get(path)).status_code == 404
        for path in ("register", "token", "revoke"):
            assert (await http.post(f"/{path}", json={})).status_code == 404
        key = await make_key(app.state.warden)
        login = await http.post("/ui/login", params={"client_id": "x"}, data={"key": key})
        assert login.headers["location"] == "/ui/"
        refused = await http.post("/mcp", json=GREETING)
        assert refused.headers["www-authenticate"] == 'Bearer realm="memwarden"'


async def test_keys_go_on_working_beside_tokens(app: FastAPI) -> None:
    key = await make_key(app.state.warden, user="ana")
    async with reach(app) as http:
        assert await greet(http, key) == 200
        assert await greet(http, key[:-1] + "!") == 401
