"""Requests of clients: short bodies, forms without repetitions, and the credentials in them."""

from __future__ import annotations

import base64
import binascii
import json
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote_plus

from mcp.server.auth.provider import TokenError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from memwarden.errors import InvalidInput
from memwarden.surfaces.oauth.authorization import read_parameters

MAX_BODY_BYTES: Final = 16_384


async def read_body(request: Request) -> bytes:
    """Return a short body. Raises InvalidInput before a long one is read."""
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
        raise InvalidInput(f"the body has a Content-Length of at most {MAX_BODY_BYTES:,} bytes")
    return await request.body()


def field_of(body: bytes, name: str) -> object:
    """Return a field of a JSON object. Raises InvalidInput."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("the body is not JSON") from None
    return read.get(name) if isinstance(read, dict) else None


async def read_form(request: Request) -> dict[str, str]:
    """Return the parameters of a form, each of which may come once. Raises TokenError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise TokenError("invalid_request", "the body is application/x-www-form-urlencoded")
    if request.url.query:
        raise TokenError("invalid_request", "parameters are sent in the body; URLs are logged on their way")
    try:
        await read_body(request)
        form = await request.form()
        return read_parameters((name, str(value)) for name, value in form.multi_items())
    except InvalidInput as error:
        raise TokenError("invalid_request", str(error)) from None
    except HTTPException as error:
        if error.status_code != HTTPStatus.BAD_REQUEST:
            raise
        raise TokenError("invalid_request", error.detail) from None


def read_credentials(request: Request, form: dict[str, str]) -> tuple[str, str]:
    """Return id and secret of a client, of the header Authorization or of the form. Raises TokenError."""
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if not scheme:
        return form.get("client_id", ""), form.get("client_secret", "")
    try:
        if scheme.lower() != "basic":
            raise ValueError(scheme)
        id, colon, secret = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (ValueError, binascii.Error):
        raise TokenError("invalid_client", "the header Authorization is Basic, with client id and secret") from None
    id, secret = unquote_plus(id), unquote_plus(secret)
    if not colon or "client_secret" in form or form.get("client_id", id) != id:
        raise TokenError("invalid_request", "a client names itself once: by the header Authorization or by the form")
    return id, secret
