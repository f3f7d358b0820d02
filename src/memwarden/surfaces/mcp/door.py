"""The Model Context Protocol over HTTP: the key decides whose memory a request is about."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import nullcontext, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from memwarden import AsyncScope, AsyncWarden
from memwarden.agent.tools import Permission
from memwarden.errors import KeyRefused
from memwarden.surfaces.http.access import find_grant
from memwarden.surfaces.http.keys import Operation, open_scope
from memwarden.text.language import repair_json

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from memwarden.surfaces.oauth.server import AuthorizationServer

THREAD = "mcp"
# Half a surrogate pair, or a whole one.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# Without sessions there is no stream to open and nothing to delete.
METHODS = ["POST"]
# The package answers in a task that inherits the context of the request.
_SCOPE: ContextVar[AsyncScope] = ContextVar("memwarden_mcp_scope")


class McpDoor:
    """An ASGI application: streamable HTTP without sessions, so that any process may answer any request.

    extend: is given each server before it answers, to add tools, resources and prompts to it.
    oauth: the authorization server whose access tokens are taken, too; None: keys alone.
    """

    def __init__(
        self,
        warden: AsyncWarden,
        profile: str = "default",
        extend: Callable[[MCPServer[Any]], None] | None = None,
        oauth: AuthorizationServer | None = None,
    ) -> None:
        self._extend = extend
        self._oauth = oauth
        self._warden = warden
        self._profile = profile
        self._stop = asyncio.Event()
        self._lock = asyncio.Lock()
        self._managers: dict[tuple[Permission, bool], StreamableHTTPSessionManager] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises KeyRefused, RateLimited, Denied, StoreError."""
        request = Request(scope)
        try:
            grant = await (find_grant(request) if self._oauth is None else self._oauth.find_grant(request))
        except KeyRefused as error:
            if self._oauth is None:
                raise
            await self._oauth.challenge(request, error)(scope, receive, send)
            return
        me = open_scope(self._warden, grant, Operation.READ, thread=THREAD)
        token = _SCOPE.set(me)
        try:
            may_write, may_decide = (item in grant.operations for item in (Operation.WRITE, Operation.DECIDE))
            manager = await self._find_manager("write" if may_write else "read", may_decide)
            await manager.handle_request(scope, _repaired(receive), send)
        finally:
            _SCOPE.reset(token)

    async def close(self) -> None:
        """End what answers requests."""
        self._stop.set()
        await asyncio.gather(*self._tasks)

    async def _find_manager(self, permission: Permission, decides: bool) -> StreamableHTTPSessionManager:
        """Return what answers keys that may do so much; the package is loaded with the first request."""
        async with self._lock:
            if (permission, decides) not in self._managers:
                self._managers[permission, decides] = await self._start(permission, decides)
        return self._managers[permission, decides]

    async def _start(self, permission: Permission, decides: bool) -> StreamableHTTPSessionManager:
        from mcp.server.transport_security import TransportSecuritySettings

        from memwarden.surfaces.mcp.profiles import make_profile

        server = make_profile(self._warden, _SCOPE.get, nullcontext, permission, self._profile, decides=decides)
        if self._extend is not None:
            self._extend(server)
        # The outer layer has looked at Host and Origin already.
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(stateless_http=True, transport_security=checked)
        manager, ready = server.session_manager, asyncio.Event()

        async def run() -> None:
            async with manager.run():
                ready.set()
                await self._stop.wait()

        self._tasks.append(asyncio.create_task(run()))
        await ready.wait()
        return manager


def _repaired(receive: Receive) -> Receive:
    """Return what gives a request's body with the replacement character for half a surrogate pair.

    The package's parser refuses such a body, and the call would be lost.
    """

    async def receive_whole() -> Message:
        message = await receive()
        while message["type"] == "http.request" and message.get("more_body"):
            following = await receive()
            if following["type"] != "http.request":
                return following
            message = {**following, "body": message.get("body", b"") + following.get("body", b"")}
        if message["type"] == "http.request" and _SURROGATE.search(message.get("body", b"")):
            with suppress(ValueError, RecursionError):  # the package names what is wrong
                message = {**message, "body": json.dumps(repair_json(json.loads(message["body"]))).encode()}
        return message

    return receive_whole
