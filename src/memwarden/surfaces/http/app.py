"""Puts the server together: an application over a warden."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware

from memwarden import AsyncWarden, __version__
from memwarden.errors import InvalidConfig, missing_extra
from memwarden.stores.shared.counts import find_counts
from memwarden.surfaces.http.access import Entrance, RememberedKeys
from memwarden.surfaces.http.categories import KeptCategories
from memwarden.surfaces.http.gate import Gate
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.http.limits import RateLimits
from memwarden.surfaces.http.paths import WholeNames
from memwarden.surfaces.http.problems import PROBLEM_SCHEMA, PROBLEM_TYPE, install_handlers
from memwarden.surfaces.http.routes import (
    changes,
    data,
    health,
    jobs,
    journal,
    memories,
    memory,
    operation,
    people,
    state,
    tier_items,
    tiers,
    traces,
    turns,
)
from memwarden.surfaces.mcp.door import METHODS, McpDoor
from memwarden.surfaces.oauth.addresses import Addresses, read_addresses
from memwarden.surfaces.proxy import routes as models
from memwarden.surfaces.proxy.routes import ModelProxy
from memwarden.surfaces.proxy.shapes import ERROR_SCHEMA, is_passed_on
from memwarden.surfaces.web.app import add_pages

if TYPE_CHECKING:
    from memwarden.surfaces.oauth.server import AuthorizationServer

ABOUT = """The memory of LLM agents: what to load before a turn, what to keep after it, and why.

Every operation takes a key (`Authorization: Bearer mw_...`), unless the store has none and the server listens on this
machine alone. Errors are problem documents (RFC 9457)."""
_COMMON = {
    "401": "No key, or a key that is unknown, expired or revoked.",
    "403": "The key or the agent may not do this.",
    "422": "The request is wrong.",
    "429": "Too many calls.",
    "503": "The store or a model refuses; nothing was kept that was not acknowledged.",
}
_ERROR_SCHEMAS = {"Problem": dict(PROBLEM_SCHEMA), "ModelError": dict(ERROR_SCHEMA)}


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How an application serves.

    Attributes:
        hosts: names in the header Host that are served, beside localhost and the addresses of this machine.
        origins: pages that may call from a browser.
        open_door: whether a store without keys may be used without a key; for servers on this machine alone.
        rate: the most calls of a key, such as ``600/minute``; None for no limit.
        max_body: the most bytes of a request's body. body_seconds: the longest wait for a part of it, and for
            all of it, beside a second for each 10 KB.
        root_path: where a reverse proxy mounts the server.
        mcp: the profile of the Model Context Protocol at ``/mcp``: default, full or graph; empty for none.
        oauth: public base URL, such as ``https://memory.example.org``, under which hosted assistants get tokens for
            ``/mcp``; empty for keys alone. Nobody is served without a key then.
    """

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    open_door: bool = False
    rate: str | None = "6000/minute"
    max_body: int = 8_388_608
    body_seconds: float = 30.0
    root_path: str = ""
    mcp: str = "default"
    oauth: str = ""


def create_app(
    warden: AsyncWarden,
    options: ServerOptions | None = None,
    *,
    start: bool = True,
    extend_mcp: Callable[[Any], None] | None = None,
) -> FastAPI:
    """Return the application that serves a warden's store.

    Args:
        start: whether the application opens and closes the warden; False for an open warden of the caller's.
        extend_mcp: is given each MCP server before it answers, to add tools, resources and prompts of the caller's.

    Further surfaces are mounted on it (``app.mount``); ``app.state.entrance`` finds the grant of their callers, and
    :func:`memwarden.surfaces.http.keys.open_scope` makes a scope of it.
    """
    chosen = options or ServerOptions()
    limits, categories = RateLimits(chosen.rate, find_counts(warden.store)), KeptCategories(warden)
    addresses = find_addresses(chosen)
    open_door = chosen.open_door and addresses is None
    entrance = Entrance(KeyRing(warden.store), limits, open_door, categories, RememberedKeys())
    oauth = None if addresses is None else _make_oauth(warden, addresses, entrance)
    # Without the extra there is no such path.
    door = McpDoor(warden, chosen.mcp, extend_mcp, oauth) if chosen.mcp and find_spec("mcp") else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if not start:
            yield
            return
        async with warden:
            try:
                await app.state.proxy.warm()
                yield
            finally:
                await app.state.proxy.close()
                if door is not None:
                    await door.close()

    app = FastAPI(
        title="memwarden",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        root_path=chosen.root_path,
        redirect_slashes=False,  # a redirect is no problem document, and most clients do not repeat a POST
        generate_unique_id_function=_name_operation,
    )
    app.state.warden = warden
    app.state.entrance = entrance
    install_handlers(app)
    app.state.streams = set()
    app.state.proxy = ModelProxy(warden)
    # Routes are tried in order, and a stream's first byte waits for it.
    for noun in (
        models, memory, memories, journal, turns, changes, people, data, state, tiers, tier_items, operation, health,
        jobs, traces,
    ):  # fmt: skip
        app.include_router(noun.router)
    app.include_router(operation.scrape_router)
    if door is not None:
        app.add_route("/mcp", door, methods=METHODS, include_in_schema=False)  # type: ignore[arg-type]  # it is ASGI
    if chosen.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=chosen.origins,
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=["WWW-Authenticate"],  # a client of MCP reads there where it gets a token
            max_age=600,
        )
    if oauth is not None:
        oauth.add_to(app)
    add_pages(app)
    app.add_middleware(WholeNames)
    app.add_middleware(
        Gate,
        hosts=chosen.hosts if addresses is None else (*chosen.hosts, addresses.host),
        origins=chosen.origins,
        max_body=chosen.max_body,
        body_seconds=chosen.body_seconds,
    )
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]  # as FastAPI documents it
    return app


def find_addresses(options: ServerOptions) -> Addresses | None:
    """Return where hosted assistants find the server; None without OAuth. Raises InvalidConfig."""
    if not options.oauth:
        return None
    addresses = read_addresses(options.oauth)
    if not options.mcp or options.root_path:
        raise InvalidConfig("oauth guards /mcp at a host of its own: leave out --mcp off and --root-path")
    if not find_spec("mcp"):
        raise missing_extra("OAuth for MCP", "mcp")
    return addresses


def _make_oauth(warden: AsyncWarden, addresses: Addresses, entrance: Entrance) -> AuthorizationServer:
    from memwarden.surfaces.oauth.server import AuthorizationServer

    return AuthorizationServer(addresses, warden.store, entrance)


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the problems of every operation."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        made["components"]["schemas"] = {
            name: schema
            for name, schema in {**made["components"]["schemas"], **_ERROR_SCHEMAS}.items()
            if name not in ("HTTPValidationError", "ValidationError")
        }
        for path, methods in made["paths"].items():
            for method, operation in methods.items():
                operation["responses"] |= _problems(path, method, operation)
        app.openapi_schema = made
    return app.openapi_schema


def _problems(path: str, method: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers to what may go wrong with an operation, told from its shape."""
    said = dict(_COMMON) if "security" in operation else {}
    # Clients of a provider of models are told errors as it writes them.
    kind, name = ("application/json", "ModelError") if is_passed_on(path) else (PROBLEM_TYPE, "Problem")
    # A body names things, too, and without an upstream there is nothing to pass on.
    if "{" in path or "requestBody" in operation or is_passed_on(path):
        said["404"] = "There is no such thing that this key may see."
    if method != "get":
        said["409"] = "Somebody else changed it, or an idempotency key was used for something else."
    if "requestBody" in operation:
        said |= {"408": "The body came too slowly.", "413": "The body is larger than this server takes."}
    said |= {code: item["description"] for code, item in operation["responses"].items() if code in ("412", "503")}
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {code: {"description": text, "content": {kind: {"schema": schema}}} for code, text in said.items()}


def _name_operation(route: APIRoute) -> str:
    return route.name
