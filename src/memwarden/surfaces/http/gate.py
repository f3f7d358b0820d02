"""The outer layer of the server: request ids, checks of Host and Origin, limits of bodies, the log of requests."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import time
import traceback
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memwarden.clock import new_id
from memwarden.errors import MemwardenError
from memwarden.observability.instrument import REQUEST_ID
from memwarden.surfaces.http.access import find_grant
from memwarden.surfaces.http.metrics import count_request
from memwarden.surfaces.http.problems import EXPLANATIONS, problem, problem_of
from memwarden.surfaces.proxy.shapes import find_provider, path_of, unify_azure

log = structlog.get_logger("memwarden.http")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ALWAYS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_PARTS_OF_FRAMES = 8
# In the state of a request: what makes a page of a failure, of its status and its words.
FAILURE_PAGE = "failure_page"
# Bytes a second that a long body comes with at the least, on the whole.
MIN_BODY_RATE = 10_000
# Any word is a method to HTTP; what strangers make up is not counted apart.
# Paths that say whether the server works, and nothing else.
PROBES = ("/healthz", "/readyz")
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class Gate:
    """Wraps an application: what is refused here never reaches it.

    Args:
        hosts: names in the header Host that are served, beside the addresses of this machine; ``*`` serves all.
        origins: pages that may call from a browser.
        max_body: the most bytes of a body. body_seconds: how long a caller may take for the next part of it, and for
            all of it, beside a second for each 10 KB.
    """

    def __init__(
        self, app: ASGIApp, *, hosts: Sequence[str], origins: Sequence[str], max_body: int, body_seconds: float
    ) -> None:
        self._app = app
        self._max_body = max_body
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origins)
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # answered as GET; the server leaves the body out
            scope = {**scope, "method": "GET"}
        scope = unify_azure(scope)
        call = Call(scope, send)
        # Whatever is logged or traced on the way has the id: the log of the library, spans of verbs.
        REQUEST_ID.set(call.id)
        structlog.contextvars.bind_contextvars(request_id=call.id)
        headers = Headers(scope=scope)
        refusal = None if is_probe(scope) else self._find_refusal(headers)
        if refusal is not None:
            await problem(*refusal, call.id, provider=find_provider(scope))(scope, receive, call.send)
        elif (refused := await find_stranger(scope, headers)) is not None:
            await problem_of(refused, call.id, find_provider(scope))(scope, receive, call.send)
        else:
            await self._pass_on(call, receive)
        call.write_log()

    async def _pass_on(self, call: Call, receive: Receive) -> None:
        try:
            await self._app(call.scope, self._limit(receive), call.send)
        except Exception as error:
            call.failure = describe_failure(error)
            said = "the server failed; its log tells where, under this request's id"
            await call.refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "ServerFailure", said)

    def _limit(self, receive: Receive) -> Receive:
        """Limit size and slowness of the body. What comes after it is a hang-up, for which nobody waits."""
        whole, size, began = False, 0, time.monotonic()

        async def receive_within_limits() -> Message:
            nonlocal whole, size
            if whole:
                return await receive()
            # A body that trickles is given up like a body that stops: it may take longer only as far as it is long.
            left = began + self._body_seconds + size / MIN_BODY_RATE - time.monotonic()
            try:
                message = await asyncio.wait_for(receive(), min(max(left, 0.0), self._body_seconds))
            except TimeoutError:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT) from None
            whole = not message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > self._max_body:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        return receive_within_limits

    def _find_refusal(self, headers: Headers) -> tuple[HTTPStatus, str, str] | None:
        """Return why a request is refused: its name for this server, or the page that sent it."""
        host = _host_of(headers.get("host", ""))
        # Pages of a rebound name reach this machine under that name, never under an address or localhost.
        if not (host in self._hosts or "*" in self._hosts or _is_own(host)):
            said = "this server does not answer to that Host; name it with --allow-host"
            return HTTPStatus.MISDIRECTED_REQUEST, "HostRefused", said
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and not _is_same(origin, headers.get("host", "")):
            said = "pages of that origin may not call this server; allow them with --cors-origin"
            return HTTPStatus.FORBIDDEN, "OriginRefused", said
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > self._max_body:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, *EXPLANATIONS[HTTPStatus.REQUEST_ENTITY_TOO_LARGE]
        return None


class Call:
    """A request and what became of it. failure: where it failed, without what anybody said."""

    def __init__(self, scope: Scope, send: Send) -> None:
        given = Headers(scope=scope).get("x-request-id", "")
        self.id = given if _REQUEST_ID.fullmatch(given) else new_id()
        self.scope = scope
        self.state: dict[str, Any] = scope.setdefault("state", {})
        self.state["request_id"] = self.id
        self.status = 0
        self.failure: Mapping[str, Any] = {}
        self._send = send
        self._began = time.perf_counter()

    @property
    def method(self) -> str:
        """The method; ``other`` for what strangers make up."""
        return self.scope["method"] if self.scope["method"] in METHODS else "other"

    @property
    def route(self) -> str:
        """The path of the route that answered, without ids."""
        return getattr(self.scope.get("route"), "path", None) or "none"

    async def send(self, message: Message) -> None:
        """Send a part of the answer, the first with the headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            headers = MutableHeaders(scope=message)
            headers.setdefault("X-Request-ID", self.id)  # what was passed on has its provider's
            headers.update(self.state.get("limit_headers", {}))
            for name, value in _ALWAYS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def refuse(self, status: HTTPStatus, error: str, detail: str) -> None:
        """Answer with a problem, unless the answer has begun."""
        if not self.status:
            # Whoever looks at a page gets a page; programs get a problem document.
            make_page = self.state.get(FAILURE_PAGE)
            refusal = problem(status, error, detail, self.id, provider=find_provider(self.scope))
            answer = refusal if make_page is None else make_page(status, detail)
            await answer(self.scope, _nothing, self.send)

    def write_log(self) -> None:
        """Write what became of the request to the log: no path with ids, no query, no content."""
        took = time.perf_counter() - self._began
        status = self.status or 499  # whoever hangs up gets none
        count_request(self.method, self.route, status, took)
        said = {"method": self.method, "route": self.route, "status": status, "ms": round(1000 * took, 2)}
        write = log.error if self.failure else log.info
        write("request", request_id=self.id, key=self.state.get("key_id"), **said, **self.failure)


async def find_stranger(scope: Scope, headers: Headers) -> MemwardenError | None:
    """Return why a caller with a body is refused: nobody's body is read before the key is known."""
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if not has_body or not path_of(scope).startswith("/v1/"):
        return None
    try:
        await find_grant(Request(scope))
    except MemwardenError as error:
        return error
    return None


def describe_failure(error: Exception) -> dict[str, Any]:
    """Return the kind of an error and where it was raised. Its message may hold content, and stays out."""
    frames = traceback.extract_tb(error.__traceback__)[-_PARTS_OF_FRAMES:]
    return {"error": type(error).__name__, "where": [f"{item.name}:{item.lineno}" for item in frames]}


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _host_of(netloc: str) -> str:
    """Return the host of ``host:port``, in small letters, an address of six without brackets."""
    host = netloc.lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def is_probe(scope: Scope) -> bool:
    """Return whether a request asks for health alone, as probes do under any name or address of a container."""
    return scope["method"] in ("GET", "HEAD") and scope["path"] in PROBES


def _is_same(origin: str, host: str) -> bool:
    """Whether a page came from the server itself: from its name and its port."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _is_own(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
