"""Attacks on the authorization server: each is refused, and nobody is led away by it."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlencode

import httpx2
import pytest
import pytest_asyncio
from fastapi import FastAPI

from http_calls import calling, make_key
from memwarden import AsyncWarden, clock
from memwarden.surfaces.http.app import ServerOptions
from oauth_calls import (
    BASE,
    CALLBACK,
    GREETING,
    Assistant,
    consent,
    form_token,
    greet,
    logged_in,
    oauth_app,
    reach,
    register,
)

CONFIG = {"embedder": "none"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Stage(NamedTuple):
    """Ana's browser, a client that she trusts, and an attacker without a key."""

    app: FastAPI
    browser: httpx2.AsyncClient
    client: Assistant
    attacker: httpx2.AsyncClient

    async def code(self) -> str:
        """A code that Ana gave the client."""
        return (await consent(self.browser, self.client.request()))["code"]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app() -> AsyncIterator[FastAPI]:
    """One application for all tests of the file, because making one takes longer than most tests."""
    async with oauth_app() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def stage(app: FastAPI) -> AsyncIterator[Stage]:
    async with logged_in(app) as browser, reach(app) as http, reach(app) as attacker:
        yield Stage(app, browser, await register(http), attacker)


async def assert_no_way_out(stage: Stage, request: dict[str, str], target: str = "evil") -> None:
    """Neither the page nor the form leads to a target, and no code is made."""
    token = await form_token(stage.browser, stage.client.request())
    shown = await stage.browser.get("/ui/connect", params=request)
    sent = await stage.browser.post(
        "/ui/connect", params=request, data={"token": token, "answer": "allow", "sure": "1"}
    )
    for answer in (shown, sent):
        assert answer.status_code >= 400
        assert "location" not in answer.headers
        assert f'href="{target}' not in answer.text
        assert "form-action 'self';" in answer.headers["content-security-policy"]


async def refusal(answer: httpx2.Response) -> str:
    assert answer.status_code in (400, 401), answer.text
    return str(answer.json()["error"])


# Redirects


@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example/callback",
        CALLBACK + "/more",
        CALLBACK + "/../evil",
        CALLBACK + "?next=https://evil.example",
        CALLBACK + "#fragment",
        "https://assistant.example@evil.example/callback",
        "https://evil@assistant.example/callback",
        "https://assistant.example.evil.example/callback",
        "https://assistant.example:444/callback",
        "http://assistant.example/callback",
        "HTTPS://ASSISTANT.EXAMPLE/callback",
        "https://assistant.example/%63allback",
        "javascript:alert(1)//assistant.example/callback",
        "",
    ],
)
async def test_a_redirect_that_was_not_registered(stage: Stage, uri: str) -> None:
    await assert_no_way_out(stage, stage.client.request(redirect_uri=uri), uri or "http")


async def test_a_request_without_a_redirect(stage: Stage) -> None:
    await assert_no_way_out(stage, stage.client.request(redirect_uri=None))


@pytest.mark.parametrize(
    "uri",
    ["javascript:alert(1)", "data:text/html,x", "http://evil.example/cb", "evil://cb", "https://a.example/#x",
     "https://u@a.example/", "https://a.example/?state=fixed"],
)  # fmt: skip
async def test_registration_of_a_dangerous_redirect(stage: Stage, uri: str) -> None:
    metadata = {"client_name": "x", "redirect_uris": [CALLBACK, uri]}
    answer = await stage.attacker.post("/register", json=metadata)
    assert await refusal(answer) == "invalid_redirect_uri"


@pytest.mark.parametrize(
    "changes",
    [{"scope": "everything"}, {"scope": "operate"}, {"response_type": "token"}, {"code_challenge": None},
     {"resource": "https://evil.example/mcp"}, {"response_mode": "fragment"}, {"state": 4_001 * "s"}],
)  # fmt: skip
async def test_an_open_redirect_by_an_error(stage: Stage, changes: dict[str, str | None]) -> None:
    """The page says what is wrong. The person clicks to go back; nothing leads them there."""
    trap = await register(stage.attacker, redirect_uris=["https://evil.example/phish"])
    request = trap.request(**changes)
    shown = await stage.browser.get("/ui/connect", params=request)
    assert shown.status_code == 400
    assert "location" not in shown.headers
    assert "refresh" not in shown.text
    token = await form_token(stage.browser, stage.client.request())
    sent = await stage.browser.post(
        "/ui/connect", params=request, data={"token": token, "answer": "allow", "sure": "1"}
    )
    assert sent.status_code == 422
    assert "location" not in sent.headers


@pytest.mark.parametrize("query", ["https://evil.example/", "//evil.example", "\r\nLocation: https://evil.example/"])
async def test_an_open_redirect_by_the_login(stage: Stage, query: str) -> None:
    key = await make_key(stage.app.state.warden)
    answer = await stage.browser.post("/ui/login", params={query: query}, data={"key": key})
    assert answer.headers["location"].startswith("/ui/connect?")
    assert answer.headers.get_list("location") == [answer.headers["location"]]


async def test_a_state_that_is_to_break_the_redirect(stage: Stage) -> None:
    state = 'x&code=forged&iss=https://evil.example#"><script>\r\nX-Evil: 1\u2028'
    answer = await consent(stage.browser, stage.client.request(state=state))
    assert answer["state"] == state
    assert answer["iss"] == BASE


async def test_a_mix_up_of_servers_shows_in_the_issuer(stage: Stage) -> None:
    issuer = (await stage.attacker.get("/.well-known/oauth-authorization-server")).json()["issuer"]
    for word in ("allow", "refuse"):
        assert (await consent(stage.browser, stage.client.request(), word))["iss"] == issuer


async def test_a_foreign_host_does_not_change_the_metadata(stage: Stage) -> None:
    answer = await stage.attacker.get("/.well-known/oauth-authorization-server", headers={"Host": "evil.example"})
    assert answer.status_code == 421
    own = await stage.attacker.get(
        "/.well-known/oauth-authorization-server", headers={"X-Forwarded-Host": "evil.example"}
    )
    assert "evil" not in own.text


# The page for consent


async def test_consent_without_the_token_of_the_form(stage: Stage) -> None:
    for token in ("", "0" * 64):
        form = {"token": token, "answer": "allow", "sure": "1"}
        answer = await stage.browser.post("/ui/connect", params=stage.client.request(), data=form)
        assert answer.status_code == 403
        assert "location" not in answer.headers


async def test_consent_with_the_token_of_another_session(stage: Stage) -> None:
    async with logged_in(stage.app, user="mallory") as own:
        token = await form_token(own, stage.client.request())
    form = {"token": token, "answer": "allow", "sure": "1"}
    assert (await stage.browser.post("/ui/connect", params=stage.client.request(), data=form)).status_code == 403


async def test_consent_sent_by_a_page_of_another_site(stage: Stage) -> None:
    request = stage.client.request()
    form = {"token": await form_token(stage.browser, request), "answer": "allow", "sure": "1"}
    answer = await stage.browser.post(
        "/ui/connect", params=request, data=form, headers={"Origin": "https://evil.example"}
    )
    assert answer.status_code == 403


async def test_consent_by_a_single_click(stage: Stage) -> None:
    """A page of another site may open ours under the second click of a double click, so one click allows nothing."""
    request = stage.client.request()
    form = {"token": await form_token(stage.browser, request), "answer": "allow"}
    answer = await stage.browser.post("/ui/connect", params=request, data=form)
    assert answer.status_code == 422
    assert "location" not in answer.headers


async def test_consent_by_a_link(stage: Stage) -> None:
    token = await form_token(stage.browser, stage.client.request())
    request = {**stage.client.request(), "answer": "allow", "sure": "1", "token": token}
    answer = await stage.browser.get("/ui/connect", params=request)
    assert answer.status_code == 200
    assert "location" not in answer.headers


async def test_consent_in_a_frame_and_by_a_session_of_another_site(stage: Stage) -> None:
    page = await stage.browser.get("/ui/connect", params=stage.client.request())
    login = await stage.attacker.get("/ui/connect", params=stage.client.request())
    wrong = await stage.browser.get("/ui/connect", params=stage.client.request(scope="x"))
    for answer in (page, login, wrong):
        assert answer.headers["x-frame-options"] == "DENY"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
    logged_in = await stage.attacker.post("/ui/login", data={"key": await make_key(stage.app.state.warden)})
    assert {"HttpOnly", "SameSite=strict"} <= set(logged_in.headers["set-cookie"].split("; "))


async def test_consent_of_a_stranger(stage: Stage) -> None:
    answer = await stage.attacker.post(
        "/ui/connect", params=stage.client.request(), data={"answer": "allow", "sure": "1"}
    )
    assert "location" not in answer.headers
    assert 'name="key"' in answer.text


async def test_consent_with_a_key_that_cannot_read(stage: Stage) -> None:
    async with logged_in(stage.app, operations=("write",)) as browser:
        answer = await browser.get("/ui/connect", params=stage.client.request())
        assert answer.status_code == 403
        assert "location" not in answer.headers


async def test_a_name_that_is_a_script(stage: Stage) -> None:
    trap = await register(stage.attacker, client_name='"><script>alert(1)</script><form action="https://evil.example">')
    page = await stage.browser.get("/ui/connect", params=trap.request())
    assert "<script" not in page.text
    assert page.text.count("<form") == 1


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "code_challenge", "resource"])
async def test_a_parameter_that_comes_twice(stage: Stage, name: str) -> None:
    request = [*stage.client.request().items(), (name, "evil")]
    answer = await stage.browser.get(f"/ui/connect?{urlencode(request)}")
    assert answer.status_code == 422
    assert "more than once" in answer.text


async def test_a_client_that_does_not_exist(stage: Stage) -> None:
    for id in ("", "x", "../keys", "00000000-0000-0000-0000-000000000000", 9_000 * "x"):
        await assert_no_way_out(stage, stage.client.request(client_id=id))


# PKCE and codes


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge": None},
        {"code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": "s256"},
        {"code_challenge": "short"},
        {"code_challenge": ""},
    ],
)
async def test_a_request_without_pkce_of_sha_256(stage: Stage, changes: dict[str, str | None]) -> None:
    answer = await stage.browser.get("/ui/connect", params=stage.client.request(**changes))
    assert answer.status_code == 400
    assert "location" not in answer.headers


@pytest.mark.parametrize("verifier", [None, "", "wrong", 43 * "a"])
async def test_a_stolen_code_without_its_verifier(stage: Stage, verifier: str | None) -> None:
    answer = await stage.client.redeem(await stage.code(), code_verifier=verifier)
    assert await refusal(answer) in ("invalid_grant", "invalid_request")


@pytest.mark.parametrize("verifier", ["a", 42 * "a", 129 * "a", 43 * "é"])
async def test_a_verifier_that_can_be_guessed(stage: Stage, verifier: str) -> None:
    stage.client.verifier = verifier
    assert await refusal(await stage.client.redeem(await stage.code())) == "invalid_request"


async def test_the_challenge_is_not_the_verifier(stage: Stage) -> None:
    challenge = stage.client.request()["code_challenge"]
    assert await refusal(await stage.client.redeem(await stage.code(), code_verifier=challenge)) == "invalid_grant"


async def test_a_code_that_is_redeemed_again_ends_the_tokens_of_the_first(stage: Stage) -> None:
    code = await stage.code()
    tokens = (await stage.client.redeem(code)).json()
    assert await greet(stage.attacker, tokens["access_token"]) == 200
    assert await refusal(await stage.client.redeem(code)) == "invalid_grant"
    assert await greet(stage.attacker, tokens["access_token"]) == 401
    assert await refusal(await stage.client.refresh(tokens["refresh_token"])) == "invalid_grant"


async def test_a_code_of_another_client(stage: Stage) -> None:
    thief = await register(stage.attacker)
    thief.verifier = stage.client.verifier
    assert await refusal(await thief.redeem(await stage.code())) == "invalid_grant"


async def test_a_code_for_another_redirect(stage: Stage) -> None:
    for uri in (None, CALLBACK + "/", "https://evil.example/callback"):
        answer = await stage.client.redeem(await stage.code(), redirect_uri=uri)
        assert await refusal(answer) in ("invalid_grant", "invalid_request")


async def test_a_code_that_is_late(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    code, later = await stage.code(), clock.now() + timedelta(seconds=61)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert await refusal(await stage.client.redeem(code)) == "invalid_grant"


async def test_a_code_that_was_made_up(stage: Stage) -> None:
    for code in ("", "mwc_", "mwc_" + 43 * "A", "\x00", "é", 9_000 * "x"):
        assert await refusal(await stage.client.redeem(code)) in ("invalid_grant", "invalid_request")


# Tokens


async def test_a_stolen_refresh_token_ends_the_connection_for_both(stage: Stage) -> None:
    tokens = (await stage.client.redeem(await stage.code())).json()
    stolen = (await stage.client.refresh(tokens["refresh_token"])).json()
    assert await refusal(await stage.client.refresh(tokens["refresh_token"])) == "invalid_grant"
    assert await greet(stage.attacker, stolen["access_token"]) == 401
    assert await refusal(await stage.client.refresh(stolen["refresh_token"])) == "invalid_grant"


async def test_a_refresh_token_of_another_client(stage: Stage) -> None:
    tokens = (await stage.client.redeem(await stage.code())).json()
    thief = await register(stage.attacker)
    assert await refusal(await thief.refresh(tokens["refresh_token"])) == "invalid_grant"
    assert (await thief.post("revoke", token=tokens["refresh_token"])).status_code == 200
    assert await greet(stage.attacker, tokens["access_token"]) == 200


async def test_a_wider_scope_by_refreshing(stage: Stage) -> None:
    tokens = (await stage.client.redeem(await stage.code())).json()
    for scope in ("read write decide", "operate", "read  write", "READ"):
        assert await refusal(await stage.client.refresh(tokens["refresh_token"], scope=scope)) == "invalid_scope"


async def test_a_wider_scope_than_the_client_registered(stage: Stage) -> None:
    modest = await register(stage.attacker, scope="read")
    assert (await stage.browser.get("/ui/connect", params=modest.request(scope="read write"))).status_code == 400
    answer = await stage.attacker.post("/register", json={"redirect_uris": [CALLBACK], "scope": "read operate"})
    assert await refusal(answer) == "invalid_client_metadata"


async def test_a_token_for_another_audience(stage: Stage) -> None:
    """Asked for by the client, or issued when the server had another name."""
    for resource in ("https://evil.example/mcp", BASE, "http://localhost/mcp/x", "http://localhost:81/mcp"):
        answer = await stage.browser.get("/ui/connect", params=stage.client.request(resource=resource))
        assert answer.status_code == 400
        assert await refusal(await stage.client.redeem(await stage.code(), resource=resource)) == "invalid_target"
    token = (await stage.client.redeem(await stage.code())).json()["access_token"]
    async with calling(stage.app.state.warden, ServerOptions(oauth="https://other.example")) as other:
        assert await greet(other, token) == 401


async def test_an_access_token_at_any_other_door(stage: Stage) -> None:
    token = (await stage.client.redeem(await stage.code())).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    for path in ("/v1/memories", "/v1/export", "/metrics"):
        assert (await stage.attacker.get(path, headers=headers)).status_code == 401
    assert (await stage.attacker.post("/v1/memory/query", json={"query": "x"}, headers=headers)).status_code == 401
    assert (await stage.attacker.post("/ui/login", data={"key": token})).status_code == 401


async def test_a_token_in_the_address(stage: Stage) -> None:
    token = (await stage.client.redeem(await stage.code())).json()["access_token"]
    for name in ("access_token", "token", "authorization"):
        assert (await stage.attacker.post("/mcp", params={name: token}, json=GREETING)).status_code == 401


async def test_secrets_in_the_address_of_the_token_endpoint(stage: Stage) -> None:
    code, client = await stage.code(), stage.client
    form = {
        "grant_type": "authorization_code",
        "client_id": client.id,
        "redirect_uri": CALLBACK,
        "code_verifier": client.verifier,
        "code": code,
    }
    answer = await stage.attacker.post("/token", params={"code": code}, data=form)
    assert await refusal(answer) == "invalid_request"
    assert (await stage.attacker.post("/token", data=form)).status_code == 200


async def test_other_secrets_as_access_tokens(stage: Stage) -> None:
    code = await stage.code()
    tokens = (await stage.client.redeem(code)).json()
    access = tokens["access_token"]
    made_up = ("mwa_" + 43 * "A", access[:-1], access + "A", access.upper(), "mwa_", "null", "")
    for text in (code, tokens["refresh_token"], stage.client.id, *made_up):
        assert await greet(stage.attacker, text) == 401


async def test_an_access_token_that_is_late(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    token = (await stage.client.redeem(await stage.code())).json()["access_token"]
    later = clock.now() + timedelta(hours=1, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert await greet(stage.attacker, token) == 401


async def test_a_token_outlives_its_key_by_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async with logged_in(stage.app, lifetime=timedelta(minutes=10)) as browser:
        tokens = await stage.client.connect(browser)
    later = clock.now() + timedelta(minutes=10, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert await greet(stage.attacker, tokens["access_token"]) == 401
    assert await refusal(await stage.client.refresh(tokens["refresh_token"])) == "invalid_grant"


@pytest.mark.parametrize("grant_type", ["password", "client_credentials", "implicit", "", None,
                                        "urn:ietf:params:oauth:grant-type:jwt-bearer"])  # fmt: skip
async def test_other_ways_to_a_token(stage: Stage, grant_type: str | None) -> None:
    answer = await stage.client.post("token", grant_type=grant_type, username="ana", password="x", assertion="x")
    assert await refusal(answer) == "unsupported_grant_type"


async def test_a_key_is_no_secret_of_a_client(stage: Stage) -> None:
    headers = {"Authorization": f"Bearer {await make_key(stage.app.state.warden)}"}
    form = {"grant_type": "authorization_code", "code": await stage.code(), "client_id": stage.client.id}
    answer = await stage.attacker.post("/token", data=form, headers=headers)
    assert await refusal(answer) == "invalid_client"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"grant_type=refresh_token&grant_type=authorization_code", FORM),
        (b'{"grant_type": "refresh_token"}', {"Content-Type": "application/json"}),
        (b"grant_type=refresh_token", {}),
        (b"x=" + 20_000 * b"y", FORM),
        (b"&".join(b"%d=" % number for number in range(1_100)), FORM),
        (b"\xff\xfe", FORM),
    ],
)
async def test_malformed_token_requests(stage: Stage, body: bytes, headers: dict[str, str]) -> None:
    for path in ("token", "revoke"):
        answer = await stage.attacker.post(f"/{path}", content=body, headers=headers)
        assert await refusal(answer) in ("invalid_request", "invalid_client")


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"x"', b"{", 20_000 * b"[", b'{"redirect_uris": 1}', b"\xff"])
async def test_malformed_registrations(stage: Stage, body: bytes) -> None:
    assert (await stage.attacker.post("/register", content=body)).status_code == 400


async def test_a_flood_of_registrations(stage: Stage) -> None:
    metadata = {"redirect_uris": [CALLBACK]}
    statuses = [(await stage.attacker.post("/register", json=metadata)).status_code for _ in range(65)]
    assert statuses[:60] == 60 * [201]
    assert set(statuses[60:]) == {429}


async def test_a_flood_of_registrations_from_many_addresses_of_a_machine(stage: Stage) -> None:
    async def statuses(*addresses: str) -> set[int]:
        answers = set()
        for address in addresses:
            transport = httpx2.ASGITransport(app=stage.app, client=(address, 1))
            async with httpx2.AsyncClient(transport=transport, base_url=BASE) as http:
                answers.add((await http.post("/register", json={})).status_code)
        return answers

    assert await statuses(*(f"2001:db8::{number:x}" for number in range(60))) == {400}
    assert await statuses("2001:db8::ffff:0:0:1") == {429}
    assert await statuses("2001:db8:0:1::1", *(f"::ffff:192.0.3.{number}" for number in range(62))) == {400}


async def test_a_store_without_keys_is_closed_too() -> None:
    options = ServerOptions(oauth=BASE, open_door=True)
    async with AsyncWarden.open("memory://", config=CONFIG) as empty, calling(empty, options) as http:
        assert (await http.post("/mcp", json=GREETING)).status_code == 401
        client = await register(http)
        assert 'name="key"' in (await http.get("/ui/connect", params=client.request())).text


async def test_nonsense_is_refused_and_fails_nothing(stage: Stage) -> None:
    choose = random.Random(1)
    fields = ("grant_type", "client_secret", "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "token",
              "resource", "state", "code_challenge", "response_type")  # fmt: skip
    values = ("", "\x00", "\ud800", "é\u202e", 5_000 * "A", "{{7*7}}", "../..", CALLBACK, "read", "code", "S256",
              "none", "authorization_code", "refresh_token", 43 * "a", "mwr_x", "\r\nX: y")  # fmt: skip
    for _ in range(100):
        form = {name: choose.choice(values).encode(errors="surrogatepass") for name in fields if choose.random() < 0.5}
        text = urlencode({**form, "client_id": stage.client.id})
        value = choose.choice(values)
        kinds: tuple[object, ...] = (value, [value], {}, 1, None)
        metadata = {name: choose.choice(kinds) for name in fields}
        answers = (
            await stage.attacker.post(f"/{choose.choice(('token', 'revoke'))}", content=text.encode(), headers=FORM),
            await stage.browser.get(f"/ui/connect?{text}"),
            await stage.browser.post(f"/ui/connect?{text}", content=text.encode(), headers=FORM),
        )
        assert all(400 <= answer.status_code < 500 or answer.text == "" for answer in answers)
        body = json.dumps({"redirect_uris": [CALLBACK], **metadata, "client_name": choose.choice(values)})
        assert (await stage.attacker.post("/register", content=body.encode())).status_code in (201, 400, 429)
