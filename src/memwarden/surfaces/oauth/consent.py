"""The pages on which a person lets a client use one of their keys, and ends that again."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memwarden.errors import Denied, InvalidInput
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.oauth.authorization import (
    Authorization,
    AuthorizationRefused,
    read_authorization,
    read_parameters,
)
from memwarden.surfaces.oauth.redirects import add_answer, is_on_loopback, origin_of
from memwarden.surfaces.oauth.tokens import ClientConnection, new_connection
from memwarden.surfaces.web.page import (
    POLICY,
    PageRoutes,
    WebPage,
    bare_values,
    go_to_login,
    keep_opener,
    not_found,
    root_of,
    show_login,
    with_headers,
)
from memwarden.surfaces.web.render import render

if TYPE_CHECKING:
    from memwarden.surfaces.oauth.server import AuthorizationServer

MAX_QUERY_CHARACTERS: Final = 8_000


def ask_for_login(request: Request) -> Response:
    """Return the login; for a request for consent one that leads back to it.

    The page of another site that led here does not carry the session's cookie along. A page of ours does, so a browser
    that says where it comes from is sent through one before anybody is asked for a key.
    """
    if not request.url.path.endswith("/connect"):
        return go_to_login(request)
    if request.headers.get("sec-fetch-site") == "cross-site" and request.method == "GET":
        values = {"root": root_of(request), "query": request.url.query}
        return keep_opener(show_bare(request, "connect_again.html", **values))
    return show_login(request, then=request.url.query)


async def lead_to_consent(request: Request) -> Response:
    """Lead the authorization endpoint to the page, which is where the session's cookie is sent."""
    return with_headers(lead_to(f"{root_of(request)}/connect?{request.url.query}"))


routes = PageRoutes(ask_for_login)


@routes.get("/connect")
async def ask(page: WebPage) -> Response:
    """Show who asks for what, and which key it would use."""
    try:
        authorization = await read_request(page)
    except AuthorizationRefused as error:
        return refuse_request(page, error)
    operations = choose_operations(page, authorization)
    uri = authorization.redirect_uri
    response = page.show(
        "connect.html",
        client=authorization.client,
        host=origin_of(uri),
        is_on_loopback=is_on_loopback(uri),
        allowed=operations,
        withheld=[item for item in authorization.operations if item not in operations],
        root=root_of(page.request),
        query=page.request.url.query,
    )
    return allow_redirects(response)


@routes.post("/connect", Operation.READ)
async def decide(page: WebPage) -> Response:
    """Lead back to the client, with a code or with the refusal."""
    authorization, server = await read_request(page), server_of(page)
    issuer, key = server.addresses.issuer, page.visitor.key
    if page.form.get("answer") != "allow":
        answer = authorization.answer_with(issuer, error="access_denied", error_description="the person refused")
        return lead_to(answer)
    if page.form.get("sure") != "1":
        raise InvalidInput("nothing was allowed: say first that you started this at the named address")
    operations = choose_operations(page, authorization)
    assert key is not None  # with OAuth the server takes nobody without a key
    client = authorization.client
    connection = new_connection(key.id, client, operations, server.addresses.resource)
    code = await server.tokens.issue_code(connection, authorization.challenge, authorization.redirect_uri)
    await server.clients.mark_connected(client)
    return lead_to(authorization.answer_with(issuer, code=code))


@routes.get("/connections")
async def list_connections(page: WebPage) -> Response:
    """List the assistants that use the visitor's key."""
    return page.show("connections.html", connections=await find_own(page))


@routes.post("/connections/end", Operation.READ)
async def end_connection(page: WebPage) -> Response:
    """End a connection of the visitor's key. Raises NotFound."""
    id = page.asked("id")
    if id not in [connection.id for connection in await find_own(page)]:
        raise not_found("connection")
    await server_of(page).tokens.end(str(id))
    return page.go("/connections", "disconnected")


async def find_own(page: WebPage) -> list[ClientConnection]:
    """Return the connections of the visitor's key."""
    assert page.visitor.key is not None  # with OAuth the server takes nobody without a key
    return await server_of(page).tokens.find_connections(page.visitor.key.id)


async def read_request(page: WebPage) -> Authorization:
    """Return the authorization request in the URL. Raises InvalidInput, AuthorizationRefused, StoreError."""
    if len(page.request.url.query) > MAX_QUERY_CHARACTERS:
        raise InvalidInput(f"the request has at most {MAX_QUERY_CHARACTERS:,} characters")
    values, server = read_parameters(page.request.query_params.multi_items()), server_of(page)
    client = await server.clients.find(values.get("client_id", ""))
    if client is None:
        raise InvalidInput(
            "this client is unknown or expired; remove the connector from the assistant and add it again"
        )
    return read_authorization(values, client, server.addresses)


def choose_operations(page: WebPage, authorization: Authorization) -> tuple[str, ...]:
    """Return the requested operations that the person's key has. Raises Denied without any."""
    allowed = tuple(item for item in authorization.operations if page.can(item))
    if Operation.READ not in allowed:
        raise Denied("this key cannot read, so an assistant could do nothing with it; log in with another key")
    return allowed


def refuse_request(page: WebPage, error: AuthorizationRefused) -> Response:
    """Return the page of a wrong request. The person decides whether to go back, so nobody is led away by a link."""
    issuer = server_of(page).addresses.issuer
    state = page.request.query_params.get("state")
    answer = {"error": error.error, "error_description": str(error), "state": state, "iss": issuer}
    back = add_answer(error.redirect_uri, answer)
    values = {"host": origin_of(error.redirect_uri), "back": back, "why": str(error)}
    return keep_opener(page.show("connect_refused.html", HTTPStatus.BAD_REQUEST, **values))


def allow_redirects(response: Response) -> Response:
    """Let the form of a page lead to an assistant.

    Browsers hold each redirect of a form to the policy, also those of the assistant's callback to other sites, which
    nobody knows. The policy cannot name ``[::1]`` either.
    """
    response.headers["Content-Security-Policy"] = POLICY.replace("form-action 'self'; ", "")
    return keep_opener(response)


def lead_to(url: str) -> Response:
    """Return the way to a URL, whichever method the request had."""
    return keep_opener(RedirectResponse(url, HTTPStatus.SEE_OTHER))


def show_bare(request: Request, template: str, **values: Any) -> Response:
    """Return a page for a visitor who is not known yet."""
    return HTMLResponse(render(template, {**bare_values(request), **values}))


def server_of(page: WebPage) -> AuthorizationServer:
    """Return the authorization server of the application."""
    return cast("AuthorizationServer", page.request.app.state.oauth)
