"""Finds out who looks at a page, guards forms, and answers with HTML, errors included."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memwarden import AsyncScope, AsyncWarden
from memwarden.clock import new_id
from memwarden.errors import Denied, InvalidInput, KeyRefused, MemwardenError, NotFound
from memwarden.records import WriteResult
from memwarden.surfaces.http.access import Caller, Entrance
from memwarden.surfaces.http.gate import FAILURE_PAGE
from memwarden.surfaces.http.keys import AccessKey, Grant, Operation, open_scope
from memwarden.surfaces.http.problems import STATUSES, request_id_of
from memwarden.surfaces.web.render import digest_of, render
from memwarden.surfaces.web.sessions import COOKIE, LIFETIME, LoginSessions, form_token, is_form_token, new_session

ROOT: Final = "/ui"
LOOKING: Final = "memwarden-page"
MAX_FIELDS: Final = 2_000
# Name in the URL of a page for the ids of answers that repeat something, and how many of them it links.
ECHOES: Final = "echoes"
MAX_ECHOES: Final = 20
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# What a page says after something was done. The words never come from a URL.
SAID: Final = {
    "corrected": "Corrected.",
    "pinned": "Pinned.",
    "unpinned": "No longer pinned.",
    "forgotten": "Forgotten. It can be restored for 30 days.",
    "corrected_repeated": "Corrected. An answer of the assistant in the conversation repeats the old words and stays.",
    "forgotten_repeated": "Forgotten. An answer of the assistant in the conversation repeats it and stays.",
    "restored": "Restored.",
    "undone": "Undone.",
    "unchanged": "Nothing had to be changed.",
    "approved": "Approved.",
    "declined": "Declined. Nothing was changed.",
    "rejected": "Given up. That can be undone for 30 days.",
    "disconnected": "Disconnected.",
    "revoked": "The key opens nothing any more.",
    "cleared": "Removed.",
    "looked": "What was said in the last week was looked through.",
}


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who looks at pages. key: None where the server takes callers of this machine without a key."""

    grant: Grant
    session: str
    key: AccessKey | None


@dataclass(frozen=True, slots=True)
class WebPage:
    """A request of a visitor, and the ways to answer it. form: what was sent; empty for a request that reads."""

    request: Request
    visitor: Visitor
    form: FormData

    @property
    def warden(self) -> AsyncWarden:
        """The warden that is served."""
        warden: AsyncWarden = self.request.app.state.warden
        return warden

    @property
    def grant(self) -> Grant:
        """What the visitor may do."""
        return self.visitor.grant

    @property
    def user(self) -> str:
        """Whose memory the page is about. Raises Denied for somebody whom the key is not for."""
        return self.grant.narrow_user(self.asked("user"))

    @property
    def agent(self) -> str | None:
        """For which agent the page looks. Raises Denied for another than the key's."""
        return self.grant.narrow_agent(self.asked("agent"))

    @property
    def is_fragment(self) -> bool:
        """Whether a part of a page is wanted, to be put into the page that is there."""
        return "hx-request" in self.request.headers

    @property
    def connects(self) -> bool:
        """Whether the server lets assistants connect by OAuth."""
        return has_oauth(self.request)

    def can(self, operation: str) -> bool:
        """Whether the visitor's key allows an operation."""
        return operation in self.grant.operations

    def asked(self, name: str) -> str | None:
        """Return a value of the form, else of the URL; None for an empty or a missing value."""
        given = self.form.get(name) or self.request.query_params.get(name)
        return str(given) if given else None

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """Return a whole number of the form or the URL. Raises InvalidInput."""
        given = self.asked(name)
        if given is None:
            return default
        if not (given.isascii() and given.isdigit() and len(given) < 10 and least <= int(given) <= most):
            raise InvalidInput(f"{name} is a whole number from {least:,} to {most:,}, not {given!r:.40}")
        return int(given)

    def scope(self, operation: Operation = Operation.READ) -> AsyncScope:
        """Return the scope of the page's person for an operation. Raises Denied."""
        # What a thread was told counts as seen by it: a page looks in a thread that nobody goes on with.
        thread = LOOKING if operation == Operation.READ else None
        return open_scope(
            self.warden, self.grant, operation, user=self.asked("user"), agent=self.asked("agent"), thread=thread
        )

    def caller(self, operation: Operation) -> Caller:
        """Return who calls, for what belongs to nobody in particular. Raises Denied."""
        self.grant.check_operation(operation)
        return Caller(self.warden, self.grant, operation)

    def at(self, path: str, **values: object) -> str:
        """Return the URL of a page about the same person."""
        same = {"user": self.asked("user") if self.grant.user is None else None}
        same["agent"] = self.asked("agent") if self.grant.agent is None else None
        asked = {name: str(value) for name, value in {**same, **values}.items() if value not in (None, "")}
        return f"{root_of(self.request)}{path}" + (f"?{urlencode(asked)}" if asked else "")

    def show(self, template: str, status: int = HTTPStatus.OK, **values: Any) -> Response:
        """Return a page, or the fragment that the browser asked for."""
        text = render(template, {**self._values(), **values})
        return self._with_session(HTMLResponse(text, status))

    def go(self, path: str, said: str, result: WriteResult | None = None, **values: object) -> Response:
        """Return the way to a page that tells what was done, and lets it be undone."""
        change = None if result is None else result.rev
        return self._with_session(
            RedirectResponse(self.at(path, **values, said=said, change=change), HTTPStatus.SEE_OTHER)
        )

    def _values(self) -> dict[str, Any]:
        said, token = self.request.query_params.get("said", ""), form_token(self.visitor.session)
        return {
            "page": self,
            "person": self._person(),
            "at": self.at,
            "asset": lambda name: f"{root_of(self.request)}/static/{name}?v={digest_of(name)}",
            "hidden_token": lambda: Markup('<input type="hidden" name="token" value="{}">').format(token),
            "said": SAID.get(said, ""),
            "change": self.request.query_params.get("change", ""),
            "echoes": [id for id in self.request.query_params.get(ECHOES, "").split(",") if id][:MAX_ECHOES],
            "path": self.request.url.path.removeprefix(root_of(self.request)),
        }

    def _person(self) -> str:
        try:
            return self.user
        except MemwardenError:  # a page of an error names nobody whom the key is not for
            return ""

    def _with_session(self, response: Response) -> Response:
        if self.request.cookies.get(COOKIE) != self.visitor.session:
            put_session(self.request, response, self.visitor.session)
        return response


Handler = Callable[[WebPage], Awaitable[Response]]


class PageRoutes:
    """Collects the pages of a module, each with the operation that its key has to allow.

    stranger: answers a visitor who is not logged in; by default with the way to the login.
    """

    def __init__(self, stranger: Callable[[Request], Response] | None = None) -> None:
        self.routes: list[Route] = []
        self._stranger = stranger or go_to_login

    def get(self, path: str, operation: Operation = Operation.READ) -> Callable[[Handler], Handler]:
        """Return a decorator for what answers a request that reads."""
        return self._add(path, "GET", operation)

    def post(self, path: str, operation: Operation, *, files: int = 0) -> Callable[[Handler], Handler]:
        """Return a decorator for what answers a form with so many files at most."""
        return self._add(path, "POST", operation, files)

    def _add(self, path: str, method: str, operation: Operation, files: int = 0) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            async def answer(request: Request) -> Response:
                request.scope["route"] = route  # the log of requests names it
                return await answer_page(request, handler, operation, files, self._stranger)

            route = Route(ROOT + path, answer, methods=[method], name=handler.__name__)
            self.routes.append(route)
            return handler

        return add


async def answer_page(
    request: Request, handler: Handler, operation: Operation, files: int, stranger: Callable[[Request], Response]
) -> Response:
    """Return what a handler answers a visitor; a login for strangers, and a page for what went wrong."""
    state = request.scope.setdefault("state", {})
    state[FAILURE_PAGE] = lambda status, said: with_headers(show_error(request, None, HTTPException(status, said)))
    try:
        page = WebPage(request, await find_visitor(request), FormData())
    except KeyRefused:
        return with_headers(stranger(request))
    except MemwardenError as error:
        return with_headers(show_error(request, None, error))
    try:
        open_scope(page.warden, page.grant, operation)  # refuses, with an event
        if request.method == "POST":
            page = await read_form(page, files)
        return with_headers(await handler(page))
    except (MemwardenError, HTTPException) as error:
        return with_headers(show_error(request, page, error))


async def find_visitor(request: Request) -> Visitor:
    """Return who looks, by the session's cookie. Raises KeyRefused for strangers, RateLimited, StoreError."""
    entrance: Entrance = request.app.state.entrance
    state = request.scope.setdefault("state", {})
    session = request.cookies.get(COOKIE, "")
    key_id = await LoginSessions(request.app.state.warden.store).find_key(session) if session else None
    if key_id is None:
        grant = await entrance.find_grant(None, address_of(request), state)
        return Visitor(grant, session or new_session(), None)
    key = await entrance.keys.get(key_id)
    await entrance.limits.count(f"key {key.id}", state)
    state["key_id"] = key.id
    return Visitor(key.grant, session, key)


async def read_form(page: WebPage, files: int) -> WebPage:
    """Return a page with the form that was sent. Raises Denied for a form of another page or session."""
    form = await page.request.form(max_files=files, max_fields=MAX_FIELDS)
    if not is_form_token(str(form.get("token", "")), page.visitor.session):
        raise Denied("this form is out of date or came from another page; open the page again and repeat it")
    return WebPage(page.request, page.visitor, form)


def show_error(request: Request, page: WebPage | None, error: MemwardenError | HTTPException) -> Response:
    """Return a page that says what went wrong and what to do."""
    status, said = status_of(error)
    values = {"status": status, "said_error": said, "request_id": request_id_of(request)}
    if page is None:
        template = "error_part.html" if "hx-request" in request.headers else "stranger.html"
        return HTMLResponse(render(template, {**bare_values(request), **values}), status)
    # Whose page it was is left out: the name may be what was refused.
    refused = WebPage(request, page.visitor, FormData())
    template = "error_part.html" if page.is_fragment else "error.html"
    return HTMLResponse(render(template, {**refused._values(), **values}), status)


def status_of(error: MemwardenError | HTTPException) -> tuple[int, str]:
    """Return the HTTP status of an error and its words."""
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail)
    return next(int(status) for kind, status in STATUSES if isinstance(error, kind)), str(error)


def go_to_login(request: Request) -> Response:
    """Return the way to the login; for a part of a page, of the whole page."""
    login = f"{root_of(request)}/login"
    if "hx-request" in request.headers:
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": login})
    return RedirectResponse(login, HTTPStatus.SEE_OTHER)


def show_login(request: Request, said: str = "", status: int = HTTPStatus.OK, then: str = "") -> Response:
    """Return the page that asks for a key. then: query of the request for consent that follows."""
    values = {**bare_values(request), "said_error": said, "then": then}
    response = HTMLResponse(render("login.html", values), status)
    return with_headers(keep_opener(response) if then else response)


def put_session(request: Request, response: Response, session: str) -> None:
    """Give a browser its session; no script reads it, and no other site's page sends it."""
    response.set_cookie(
        COOKIE, session, max_age=int(LIFETIME.total_seconds()), path=root_of(request), httponly=True,
        samesite="strict", secure=request.url.scheme == "https",
    )  # fmt: skip


def with_headers(response: Response) -> Response:
    """Return a response with the headers that keep pages apart."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def has_oauth(request: Request) -> bool:
    """Whether the server lets assistants connect by OAuth."""
    return getattr(request.app.state, "oauth", None) is not None


def consent_query(request: Request) -> str:
    """Return the query of the request for consent that a login leads back to; empty without one."""
    return request.url.query if has_oauth(request) else ""


def keep_opener(response: Response) -> Response:
    """Return a page on the way to consent. An assistant may open it in a window whose callback answers the opener."""
    response.headers["Cross-Origin-Opener-Policy"] = "unsafe-none"
    return response


def root_of(request: Request) -> str:
    """Return where the pages are mounted, behind a reverse proxy too."""
    return str(request.scope.get("root_path", "")).rstrip("/") + ROOT


def address_of(request: Request) -> str:
    """Return the address of a caller, to count calls by."""
    return request.client.host if request.client else "unknown"


def new_thread() -> str:
    """Return the name of a thread for a single look."""
    return f"page-{new_id()}"


def not_found(what: str) -> NotFound:
    """Return the error of something that there is not, for this visitor."""
    return NotFound(f"there is no {what} that you may see")


def bare_values(request: Request) -> dict[str, Any]:
    """Return the values of a template for a visitor who is not known."""
    return {"asset": lambda name: f"{root_of(request)}/static/{name}?v={digest_of(name)}", "root": root_of(request)}
