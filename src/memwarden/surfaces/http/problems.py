"""Turns errors into problem documents (RFC 9457), the single place where that is decided."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from memwarden.errors import (
    Conflict,
    Denied,
    InvalidInput,
    KeyRefused,
    MemwardenError,
    ModelUnavailable,
    NotFound,
    NotKept,
    RateLimited,
    StoreError,
)
from memwarden.surfaces.proxy.shapes import find_provider, shape_error

PROBLEM_TYPE = "application/problem+json"
# The first that an error is decides.
STATUSES: Sequence[tuple[type[MemwardenError], HTTPStatus]] = (
    (KeyRefused, HTTPStatus.UNAUTHORIZED),
    (Denied, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (RateLimited, HTTPStatus.TOO_MANY_REQUESTS),
    (StoreError, HTTPStatus.SERVICE_UNAVAILABLE),
    (NotKept, HTTPStatus.SERVICE_UNAVAILABLE),
    (ModelUnavailable, HTTPStatus.SERVICE_UNAVAILABLE),
    (MemwardenError, HTTPStatus.INTERNAL_SERVER_ERROR),
)
# What HTTP alone refuses: the name of the error and what to do.
EXPLANATIONS: Mapping[int, tuple[str, str]] = {
    HTTPStatus.UNPROCESSABLE_ENTITY: ("InvalidInput", "the body is no JSON in UTF-8"),
    HTTPStatus.NOT_FOUND: ("NotFound", "there is no such route; /openapi.json lists them, and /ui/ is for people"),
    HTTPStatus.REQUEST_TIMEOUT: ("SlowBody", "the body came too slowly; send it again"),
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (
        "LargeBody",
        "the body is larger than this server takes; send less at once, or raise --max-body",
    ),
}
# Seconds after which a store that refuses may be asked again.
RETRY_SECONDS = 5
_MAX_MISTAKES = 20
# What the framework says of the commonest mistakes, in words for callers.
_SAID_PLAINLY: Mapping[str, str] = {
    "missing": "this is missing",
    "extra_forbidden": "there is no such field; /openapi.json lists them",
    "model_attributes_type": "this is to be a JSON object",
}
_WORDS = re.compile(r"(?<!^)(?=[A-Z])")

PROBLEM_SCHEMA: Mapping[str, Any] = {
    "title": "Problem",
    "description": "What went wrong, where, and what to do (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "error", "request_id"],
    "properties": {
        "type": {"type": "string", "description": "urn:memwarden:problem: and the error in words."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was wrong, where, and what to do."},
        "error": {"type": "string", "description": "The name of the error in the Python package."},
        "request_id": {"type": "string", "description": "As in the header X-Request-ID and the server's log."},
        "mistakes": {
            "type": "array",
            "description": "What of the request is wrong, each with its place.",
            "items": {
                "type": "object",
                "required": ["where", "what"],
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}


def problem(
    status: int,
    error: str,
    detail: str,
    request_id: str,
    mistakes: Iterable[Mapping[str, str]] = (),
    *,
    provider: str | None = None,
) -> Response:
    """Return a problem document as a response; to clients of a provider of models, an error as it writes them."""
    if provider is not None:
        shaped = shape_error(provider, status, error, detail, request_id)
        return Response(json.dumps(shaped), status, _headers_of(status), "application/json")
    words = " ".join(_WORDS.split(error)).lower()
    content: dict[str, Any] = {
        "type": f"urn:memwarden:problem:{words.replace(' ', '-')}",
        "title": words.capitalize(),
        "status": int(status),
        "detail": detail,
        "error": error,
        "request_id": request_id,
    }
    if listed := list(mistakes):
        content["mistakes"] = listed
    # Escapes, since a message may repeat what is no valid Unicode.
    return Response(json.dumps(content), status, _headers_of(status), PROBLEM_TYPE)


def _headers_of(status: int) -> dict[str, str]:
    headers = {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="memwarden"'
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(RETRY_SECONDS)
    return headers


def problem_of(error: MemwardenError, request_id: str, provider: str | None = None) -> Response:
    """Return the problem document of an error of the product."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    return problem(status, type(error).__name__, str(error), request_id, provider=provider)


def install_handlers(app: FastAPI) -> None:
    """Let an application answer every error with a problem document."""
    app.add_exception_handler(MemwardenError, _answer_error)
    app.add_exception_handler(RequestValidationError, _answer_mistakes)
    app.add_exception_handler(HTTPException, _answer_http)


def request_id_of(request: Request) -> str:
    """Return the id that the outer layer gave a request."""
    return str(request.scope.get("state", {}).get("request_id", ""))


async def _answer_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MemwardenError)
    return problem_of(error, request_id_of(request), find_provider(request.scope))


async def _answer_mistakes(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # Values stay out of it: they are the caller's content.
    is_json = "json" in request.headers.get("content-type", "")
    mistakes = [_describe_mistake(item, is_json) for item in error.errors()[:_MAX_MISTAKES]]
    said = "; ".join(f"{item['where']}: {item['what']}" for item in mistakes[:3])
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return problem(status, "InvalidInput", f"the request is wrong at {said}", request_id_of(request), mistakes)


def _describe_mistake(item: Mapping[str, Any], is_json: bool) -> Mapping[str, str]:
    """Return where a request is wrong and what to do. is_json: whether the body was sent as JSON."""
    where, kind = ".".join(map(str, item["loc"])), item["type"]
    if kind == "json_invalid":
        where = "body"
        what = f"this is no JSON at character {item['loc'][-1]}: {item.get('ctx', {}).get('error', 'it ends too soon')}"
    elif where == "body" and not is_json:
        what = "send a JSON object with Content-Type: application/json (curl has --json for it)"
    else:
        what = _SAID_PLAINLY.get(kind, str(item["msg"]))
    return {"where": where, "what": what}


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    if status == HTTPStatus.BAD_REQUEST:  # what the framework says of a body that is no text
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    headers = dict(error.headers or {})
    said = str(error.detail)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_find_methods(request))
        said = f"{request.method} does nothing here; this path takes {headers['Allow']}"
    known = EXPLANATIONS.get(status, (status.phrase.title().replace(" ", ""), said))
    response = problem(status, *known, request_id_of(request), provider=find_provider(request.scope))
    response.headers.update(headers)
    return response


def _find_methods(request: Request) -> list[str]:
    """Return the methods of a path: each is a route of its own, and the framework names those of the first."""
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.path and route.methods and compile_path(route.path)[0].match(request.url.path):
            methods |= set(route.methods)
    return sorted(methods)
