"""Adds the pages to the server's application: logins, files of the page, and what each module shows."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlencode

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from memwarden.errors import KeyRefused, MemwardenError
from memwarden.surfaces.http.access import Entrance
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.web import data, graph, inbox, jobs, memories, operation, people, preview, shown, threads
from memwarden.surfaces.web.page import (
    HEADERS,
    ROOT,
    PageRoutes,
    WebPage,
    address_of,
    consent_query,
    keep_opener,
    not_found,
    put_session,
    root_of,
    show_login,
    status_of,
    with_headers,
)
from memwarden.surfaces.web.render import ASSETS, HERE
from memwarden.surfaces.web.sessions import LoginSessions

MAX_LOGIN_BYTES: Final = 4_096
MODULES: Final = (people, memories, preview, shown, inbox, threads, graph, operation, jobs, data)
home_routes = PageRoutes()
last_routes = PageRoutes()


def add_pages(app: FastAPI) -> None:
    """Add the pages to an application that has a warden and an entrance in its state."""
    app.add_route("/", lead_to_pages, methods=["GET"], include_in_schema=False)
    app.add_route(f"{ROOT}/login", ask_for_key, methods=["GET"], include_in_schema=False)
    app.add_route(f"{ROOT}/login", log_in, methods=["POST"], include_in_schema=False)
    app.add_route(f"{ROOT}/static/{{name}}", send_file, methods=["GET"], include_in_schema=False)
    for route in find_pages():
        app.router.routes.append(route)


async def lead_to_pages(request: Request) -> Response:
    """Lead a browser that asks for the server alone to its pages."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}{ROOT}/", HTTPStatus.TEMPORARY_REDIRECT)


def find_pages() -> list[Route]:
    """Return all pages that take a key, in the order in which they are looked up."""
    return [*home_routes.routes, *(route for module in MODULES for route in module.routes.routes), *last_routes.routes]


async def ask_for_key(request: Request) -> Response:
    """Show the login. A query is that of a request for consent, which follows."""
    return show_login(request, then=consent_query(request))


async def log_in(request: Request) -> Response:
    """Begin a session for whoever has a key, and go on with the request for consent that asked for it."""
    entrance: Entrance = request.app.state.entrance
    state = request.scope.setdefault("state", {})
    length, then = request.headers.get("content-length", ""), consent_query(request)
    # The body of a stranger is read: it is to be a key, and no more.
    if not length.isdecimal() or int(length) > MAX_LOGIN_BYTES:
        return show_login(request, "that is no key", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    try:
        form = await request.form(max_files=0, max_fields=2)
        await entrance.find_grant(str(form.get("key", "")).strip(), address_of(request), state)
        session = await LoginSessions(request.app.state.warden.store).begin(state["key_id"])
    except KeyRefused as error:
        return show_login(request, str(error), HTTPStatus.UNAUTHORIZED, then)
    except (MemwardenError, HTTPException) as error:
        status, said = status_of(error)
        return show_login(request, said, HTTPStatus(status), then)
    # The path is ours whatever the query holds, so that a login leads nobody to another site.
    place = f"/connect?{urlencode(parse_qsl(then, keep_blank_values=True))}" if then else "/"
    response = RedirectResponse(f"{root_of(request)}{place}", HTTPStatus.SEE_OTHER)
    put_session(request, response, session)
    return with_headers(keep_opener(response) if then else response)


async def send_file(request: Request) -> Response:
    """Send a file of the page: they are listed, nothing else of the disk can be named."""
    place, kind = ASSETS.get(request.path_params["name"], ("", ""))
    path = HERE / place
    if not place or not path.is_file():
        return Response("There is no such file; in a checkout, run make.", HTTPStatus.NOT_FOUND, HEADERS)
    headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
    return FileResponse(path, media_type=kind, headers=headers)


@home_routes.get("/")
async def home(page: WebPage) -> Response:
    """Lead to the only person, or let choose among several."""
    if page.grant.user is not None:
        return RedirectResponse(page.at("/overview"), HTTPStatus.SEE_OTHER)
    known = await page.warden.users(tenant=page.grant.tenant)
    if len(known) == 1:
        return RedirectResponse(page.at("/overview", user=known[0]), HTTPStatus.SEE_OTHER)
    return page.show("people.html", people=known)


@home_routes.get("/people")
async def list_people(page: WebPage) -> Response:
    """List the people whom the key may read."""
    known = await page.warden.users(tenant=page.grant.tenant)
    return page.show("people.html", people=[user for user in known if page.grant.user in (None, user)])


@home_routes.post("/logout", Operation.READ)
async def log_out(page: WebPage) -> Response:
    """End the session."""
    await LoginSessions(page.warden.store).end(page.visitor.session)
    response = RedirectResponse(f"{root_of(page.request)}/login", HTTPStatus.SEE_OTHER)
    response.delete_cookie("memwarden_session", path=root_of(page.request))
    return response


@last_routes.get("/{rest:path}")
async def missing(page: WebPage) -> Response:
    """Say that there is no such page."""
    raise not_found("page")
