"""Authorization requests: what a client asks a person for, checked parameter by parameter (OAuth 2.1, 4.1.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from memwarden.errors import InvalidInput
from memwarden.surfaces.http.keys import DEFAULT_OPERATIONS, Operation
from memwarden.surfaces.oauth.addresses import Addresses
from memwarden.surfaces.oauth.clients import Client
from memwarden.surfaces.oauth.redirects import add_answer, is_registered

# Operations that a token may have. What runs the server stays with keys.
SCOPES: Final = (Operation.READ, Operation.WRITE, Operation.DECIDE)
METHOD: Final = "S256"
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
MAX_STATE_CHARACTERS: Final = 4_000


@dataclass(frozen=True, slots=True)
class Authorization:
    """A valid authorization request.

    Attributes:
        redirect_uri: as the client sent it; registered by it.
        challenge: SHA-256 of the code verifier in base64url (RFC 7636).
        operations: scopes that are requested.
    """

    client: Client
    redirect_uri: str
    state: str | None
    challenge: str
    operations: tuple[str, ...]

    def answer_with(self, issuer: str, **values: str) -> str:
        """Return the redirect URI with an answer, the state and the issuer (RFC 9207)."""
        return add_answer(self.redirect_uri, {**values, "state": self.state, "iss": issuer})


class AuthorizationRefused(InvalidInput):
    """A wrong request of a known client.

    Attributes:
        error: code of OAuth for the client.
        redirect_uri: where the client learns of it; registered by it.
    """

    def __init__(self, error: str, description: str, redirect_uri: str) -> None:
        super().__init__(description)
        self.error = error
        self.redirect_uri = redirect_uri


def read_parameters(items: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return parameters by their names. Raises InvalidInput for a parameter that comes twice."""
    values: dict[str, str] = {}
    for name, value in items:
        if name in values:
            raise InvalidInput(f"the parameter {name!r:.40} comes more than once")
        values[name] = value
    return values


def read_authorization(values: Mapping[str, str], client: Client, addresses: Addresses) -> Authorization:
    """Return the request of a client.

    Raises AuthorizationRefused, and InvalidInput for a redirect URI that the client did not register: nothing may be
    sent there.
    """
    redirect_uri, state = values.get("redirect_uri", ""), values.get("state")
    if not is_registered(redirect_uri, client.redirect_uris):
        raise InvalidInput("this redirect URI is not one that the client registered; nothing is sent there")
    error = _find_mistake(values, addresses)
    if error is not None:
        raise AuthorizationRefused(*error, redirect_uri)
    # A client that names no scope gets the usual ones of those that it registered.
    usual = tuple(item for item in DEFAULT_OPERATIONS if item in client.operations)
    operations = tuple(dict.fromkeys(values.get("scope", "").split())) or usual
    if not set(operations) <= set(client.operations) or Operation.READ not in operations:
        allowed = " ".join(client.operations)
        raise AuthorizationRefused("invalid_scope", f"a scope is of: {allowed}; read is always needed", redirect_uri)
    return Authorization(client, redirect_uri, state, values["code_challenge"], tuple(map(str, operations)))


def _find_mistake(values: Mapping[str, str], addresses: Addresses) -> tuple[str, str] | None:
    """Return the error code and the description of the first wrong parameter."""
    if values.get("response_type") != "code":
        return "unsupported_response_type", "response_type is code"
    if values.get("response_mode", "query") != "query":
        return "invalid_request", "response_mode is query"
    if values.get("code_challenge_method") != METHOD:
        return "invalid_request", "PKCE with code_challenge_method S256 is required"
    if _CHALLENGE.fullmatch(values.get("code_challenge", "")) is None:
        return "invalid_request", "code_challenge is 43 characters of base64url"
    if len(values.get("state", "")) > MAX_STATE_CHARACTERS:
        return "invalid_request", f"state has at most {MAX_STATE_CHARACTERS:,} characters"
    if not addresses.is_resource(values.get("resource", addresses.resource)):
        return "invalid_target", f"resource is {addresses.resource}"
    return None
