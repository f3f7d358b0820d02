"""A client of the authorization server and a person in a browser, over plain HTTP: what tests of OAuth share."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from fastapi import FastAPI

from http_calls import make_key
from memwarden import AsyncWarden
from memwarden.surfaces.http.app import ServerOptions, create_app

BASE = "http://localhost"
CALLBACK = "https://assistant.example/callback"
OAUTH = ServerOptions(oauth=BASE)
GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
Answer = dict[str, str]


_addresses = count(1)


@asynccontextmanager
async def oauth_app() -> AsyncIterator[FastAPI]:
    """An application with OAuth over a store in memory."""
    async with AsyncWarden.open("memory://", config={"embedder": "none"}) as warden:
        app = create_app(warden, OAUTH, start=False)
        yield app
        await app.state.proxy.close()


def reach(app: FastAPI) -> httpx2.AsyncClient:
    """A client of the application, from an address of its own."""
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False, client=(f"192.0.2.{next(_addresses)}", 1))
    return httpx2.AsyncClient(transport=transport, base_url=BASE)


@asynccontextmanager
async def logged_in(app: FastAPI, **grant: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that a person logged in with a new key."""
    key = await make_key(app.state.warden, **{"user": "ana", **grant})
    async with reach(app) as browser:
        assert (await browser.post("/ui/login", data={"key": key})).status_code == 303
        yield browser


@dataclass
class Assistant:
    """A registered client. http: how it reaches the server. secret: None for a public client."""

    http: httpx2.AsyncClient
    id: str
    secret: str | None = None
    callback: str = CALLBACK
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def request(self, **changes: str | None) -> dict[str, str]:
        """The parameters of an authorization request. None leaves one out."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        values = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.callback,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "state": "s t&te",
            "resource": f"{BASE}/mcp",
            **changes,
        }
        return {name: value for name, value in values.items() if value is not None}

    async def post(self, path: str, **values: str | None) -> httpx2.Response:
        """Send a form of the client to an endpoint."""
        own = {"client_id": self.id, "client_secret": self.secret}
        form = {name: value for name, value in {**own, **values}.items() if value is not None}
        return await self.http.post(f"/{path}", data=form)

    async def redeem(self, code: str, **changes: str | None) -> httpx2.Response:
        """Redeem a code."""
        values: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.callback,
            "code_verifier": self.verifier,
        }
        return await self.post("token", **{**values, **changes})

    async def refresh(self, token: str, **changes: str | None) -> httpx2.Response:
        """Redeem a refresh token."""
        return await self.post("token", **{"grant_type": "refresh_token", "refresh_token": token, **changes})

    async def connect(self, browser: httpx2.AsyncClient, **changes: str | None) -> dict[str, Any]:
        """Go the whole way; return the answer of the token endpoint."""
        answer = await self.redeem((await consent(browser, self.request(**changes)))["code"])
        assert answer.status_code == 200, answer.text
        return dict(answer.json())


async def register(http: httpx2.AsyncClient, **changes: Any) -> Assistant:
    """Register a client, a public one unless told otherwise."""
    metadata = {
        "client_name": "Assistant",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
        **changes,
    }
    answer = await http.post("/register", json=metadata)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    return Assistant(http, made["client_id"], made.get("client_secret"), made["redirect_uris"][0])


async def form_token(browser: httpx2.AsyncClient, request: dict[str, str]) -> str:
    """The token in the form of the page for consent."""
    page = await browser.get("/ui/connect", params=request)
    found = re.search(r'name="token" value="(\w+)"', page.text)
    assert found is not None, page.text
    return found[1]


async def consent(browser: httpx2.AsyncClient, request: dict[str, str], answer: str = "allow") -> Answer:
    """Decide as the person; return what the redirect says to the client."""
    form = {"token": await form_token(browser, request), "answer": answer, "sure": "1"}
    decided = await browser.post("/ui/connect", params=request, data=form)
    assert decided.status_code == 303, decided.text
    assert decided.headers["location"].startswith(request["redirect_uri"])
    return read_answer(decided.headers["location"])


def read_answer(location: str) -> Answer:
    """The parameters of a redirect, each of which comes once."""
    parameters = parse_qs(urlsplit(location).query, keep_blank_values=True)
    assert all(len(values) == 1 for values in parameters.values())
    return {name: values[0] for name, values in parameters.items()}


async def greet(http: httpx2.AsyncClient, token: str) -> int:
    """The status of a request to the MCP server with a token."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    return (await http.post("/mcp", json=GREETING, headers=headers)).status_code
