"""The authorization server's endpoints for programs: metadata, registration, tokens, revocation, and its access tokens.

The SDK of MCP has the protocol's models, its registration and its token handler. Its authorization endpoint is not
used: it redirects on errors without asking, and it fills in a missing PKCE method.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final, NamedTuple, cast

from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.provider import RegistrationError, TokenError
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, ProtectedResourceMetadata
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memwarden.errors import InvalidInput, KeyRefused
from memwarden.stores.protocol import Store
from memwarden.stores.shared.counts import find_counts
from memwarden.surfaces.http.access import GRANT, Entrance, find_grant
from memwarden.surfaces.http.keys import DEFAULT_OPERATIONS, Grant
from memwarden.surfaces.http.limits import RateLimits
from memwarden.surfaces.http.problems import problem, problem_of, request_id_of
from memwarden.surfaces.oauth import addresses as at
from memwarden.surfaces.oauth import consent
from memwarden.surfaces.oauth.addresses import Addresses
from memwarden.surfaces.oauth.authorization import METHOD, SCOPES
from memwarden.surfaces.oauth.clients import Client, ClientRegistry, digest_of
from memwarden.surfaces.oauth.forms import field_of, read_body, read_credentials, read_form
from memwarden.surfaces.oauth.provider import ClientTokens
from memwarden.surfaces.oauth.redirects import check_redirect_uris
from memwarden.surfaces.oauth.tokens import ACCESS_PREFIX, TokenStore
from memwarden.surfaces.web.page import address_of

GRANT_TYPES: Final = ("authorization_code", "refresh_token")
AUTHENTICATION: Final = ["none", "client_secret_post", "client_secret_basic"]
MAX_NAME_CHARACTERS: Final = 200
# Registrations of an address. A hosted assistant registers a client for each connection.
REGISTRATIONS: Final = "60/hour"
# A shorter one could be guessed from its challenge (RFC 7636, section 4.1).
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
Handler = Callable[[Request], Awaitable[Response]]


class TokenForm(NamedTuple):
    """The parameters of a token request, as the SDK's handler reads them of a request."""

    values: dict[str, str]

    async def form(self) -> dict[str, str]:
        """Return the parameters, each of which came once."""
        return self.values


class AuthorizationServer:
    """Answers clients, and finds the grant of an access token."""

    def __init__(self, addresses: Addresses, store: Store, entrance: Entrance) -> None:
        self.addresses = addresses
        self.clients = ClientRegistry(store)
        self.tokens = TokenStore(store)
        self._entrance = entrance
        self._registrations = RateLimits(REGISTRATIONS, find_counts(store), "registrations")

    def add_to(self, app: Starlette) -> None:
        """Add the endpoints and the page for consent to an application, before other pages."""
        metadata = (at.RESOURCE_METADATA_PATH, at.RESOURCE_METADATA_PATH + at.RESOURCE_PATH)
        routes: list[tuple[str, Handler, str]] = [
            *((path, self.describe_resource, "GET") for path in metadata),
            (at.SERVER_METADATA_PATH, self.describe_server, "GET"),
            (at.AUTHORIZATION_PATH, consent.lead_to_consent, "GET"),
            (at.REGISTRATION_PATH, self.register, "POST"),
            (at.TOKEN_PATH, self.issue_tokens, "POST"),
            (at.REVOCATION_PATH, self.revoke, "POST"),
            *((at.RESOURCE_PATH, self.refuse_stream, method) for method in ("GET", "DELETE")),
        ]
        for path, handler, method in routes:
            app.add_route(path, handler, methods=[method], include_in_schema=False)
        app.router.routes.extend(consent.routes.routes)
        app.state.oauth = self

    async def describe_resource(self, request: Request) -> Response:
        """Answer with the metadata of the MCP server (RFC 9728)."""
        made = ProtectedResourceMetadata.model_validate(
            {
                "resource": self.addresses.resource,
                "authorization_servers": [self.addresses.issuer],
                "scopes_supported": list(DEFAULT_OPERATIONS),
                "resource_name": "memwarden",
            }
        )
        return JSONResponse(made.model_dump(mode="json", exclude_none=True))

    async def describe_server(self, request: Request) -> Response:
        """Answer with the metadata of the authorization server (RFC 8414)."""
        issuer = self.addresses.issuer
        made = OAuthMetadata.model_validate(
            {
                "issuer": issuer,
                "authorization_endpoint": issuer + at.AUTHORIZATION_PATH,
                "token_endpoint": issuer + at.TOKEN_PATH,
                "registration_endpoint": issuer + at.REGISTRATION_PATH,
                "revocation_endpoint": issuer + at.REVOCATION_PATH,
                "scopes_supported": list(SCOPES),
                "response_modes_supported": ["query"],
                "grant_types_supported": list(GRANT_TYPES),
                "token_endpoint_auth_methods_supported": AUTHENTICATION,
                "revocation_endpoint_auth_methods_supported": AUTHENTICATION,
                "code_challenge_methods_supported": [METHOD],
                "authorization_response_iss_parameter_supported": True,
            }
        )
        return JSONResponse(made.model_dump(mode="json", exclude_none=True))

    async def register(self, request: Request) -> Response:
        """Register a client (RFC 7591). Raises RateLimited, StoreError."""
        await self._registrations.count(f"network {_network_of(address_of(request))}", _state_of(request))
        try:
            body = await read_body(request)
            registration = Registration(self.clients, check_redirect_uris(field_of(body, "redirect_uris")))
        except InvalidInput as error:
            return _refuse(TokenError("invalid_request", str(error)), code="invalid_redirect_uri")
        scopes = [str(scope) for scope in SCOPES]
        options = ClientRegistrationOptions(enabled=True, valid_scopes=scopes, default_scopes=scopes)
        handler = RegistrationHandler(cast(Any, registration), options)
        return _without_caching(await handler.handle(request))

    async def issue_tokens(self, request: Request) -> Response:
        """Redeem a code or a refresh token. Raises RateLimited, StoreError."""
        await self._count(request)
        try:
            form = await read_form(request)
            client = await self._authenticate(request, form)
            self._check_request(form)
        except TokenError as error:
            return _refuse(error)
        own = ClientTokens(client, self.clients, self.tokens, self._entrance.keys)
        handler = TokenHandler(cast(Any, own), cast(Any, own))
        answer: Response = await handler.handle(cast(Request, TokenForm({**form, "client_id": client.id})))
        return answer

    async def revoke(self, request: Request) -> Response:
        """End the connection of a token of the client (RFC 7009). An unknown token is no error."""
        await self._count(request)
        try:
            form = await read_form(request)
            client = await self._authenticate(request, form)
            if "token" not in form:
                raise TokenError("invalid_request", "the parameter token is missing")
        except TokenError as error:
            return _refuse(error)
        connection = await self.tokens.find_connection(form["token"])
        if connection is not None and connection.client_id == client.id:
            await self.tokens.end(connection.id)
        return Response(headers=_NO_STORE)

    async def find_grant(self, request: Request) -> Grant:
        """Return the grant of a request to the MCP server, by an access token or a key.

        An access token grants what its key grants, for the operations that the person allowed.
        Raises KeyRefused, RateLimited, StoreError.
        """
        scheme, _, text = request.headers.get("authorization", "").partition(" ")
        token = text.strip()
        if scheme.lower() != "bearer" or not token.startswith(ACCESS_PREFIX):
            return await find_grant(request)
        state = _state_of(request)
        await self._entrance.categories.follow()
        access = await self.tokens.find_access(token)
        if access is None or access[0].resource != self.addresses.resource:
            await self._count(request)
            raise KeyRefused("this access token is unknown, expired, revoked or of another server; connect again")
        connection, operations = access
        key = await self._entrance.keys.get(connection.key_id)
        await self._entrance.limits.count(f"key {key.id}", state)
        state["key_id"] = key.id
        allowed = tuple(item for item in key.grant.operations if item in operations)
        state[GRANT] = replace(key.grant, operations=allowed)
        return cast(Grant, state[GRANT])

    async def refuse_stream(self, request: Request) -> Response:
        """Answer a client that opens or ends a stream of the MCP server, which has none.

        A client may do that first, and learns where to get a token all the same. Raises RateLimited, StoreError.
        """
        try:
            await self.find_grant(request)
        except KeyRefused as error:
            return self.challenge(request, error)
        said = "there are no streams here; send each message by POST"
        response = problem(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", said, request_id_of(request))
        response.headers["Allow"] = "POST"
        return response

    def challenge(self, request: Request, error: KeyRefused) -> Response:
        """Return the 401 of the MCP server, which says where a client gets a token (RFC 9728, section 5.1)."""
        response = problem_of(error, request_id_of(request))
        parts = [f'resource_metadata="{self.addresses.resource_metadata}"', f'scope="{" ".join(DEFAULT_OPERATIONS)}"']
        if "authorization" in request.headers:
            parts.insert(0, 'error="invalid_token"')
        response.headers["WWW-Authenticate"] = f"Bearer {', '.join(parts)}"
        return response

    async def _count(self, request: Request) -> None:
        await self._entrance.limits.count(f"address {address_of(request)}", _state_of(request))

    async def _authenticate(self, request: Request, form: dict[str, str]) -> Client:
        """Return the client of a request. Raises TokenError."""
        id, secret = read_credentials(request, form)
        client = await self.clients.find(id)
        if client is None:
            raise TokenError("invalid_client", "the client is unknown or expired; register again")
        if not client.has_secret(secret):
            raise TokenError("invalid_client", "this is not the client's secret")
        return client

    def _check_request(self, form: dict[str, str]) -> None:
        """Raise TokenError for a request that the SDK's handler would not refuse, or not by the right error."""
        if form.get("grant_type") not in GRANT_TYPES:
            raise TokenError("unsupported_grant_type", f"grant_type is {' or '.join(GRANT_TYPES)}")
        if not self.addresses.is_resource(form.get("resource", self.addresses.resource)):
            raise TokenError("invalid_target", f"resource is {self.addresses.resource}")
        if "code_verifier" in form and _VERIFIER.fullmatch(form["code_verifier"]) is None:
            raise TokenError("invalid_request", "code_verifier is 43 to 128 letters, digits and - . _ ~")


class Registration(NamedTuple):
    """Keeps the client that the SDK's registration handler checked.

    redirect_uris: as the client wrote them. The handler's parsed URIs are spelled otherwise.
    """

    clients: ClientRegistry
    redirect_uris: tuple[str, ...]

    async def register_client(self, made: OAuthClientInformationFull) -> None:
        """Keep a client; of its secret the hash. Raises RegistrationError."""
        name = made.client_name or "unnamed"
        if len(name) > MAX_NAME_CHARACTERS:
            raise RegistrationError("invalid_client_metadata", f"client_name has at most {MAX_NAME_CHARACTERS}")
        secret_hash = None if made.client_secret is None else digest_of(made.client_secret)
        operations = tuple((made.scope or "").split())
        grant_types = tuple(item for item in GRANT_TYPES if item in made.grant_types)
        await self.clients.add(Client(made.client_id, name, self.redirect_uris, operations, grant_types, secret_hash))


def _refuse(error: TokenError, code: str | None = None) -> Response:
    """Return an error of OAuth (RFC 6749, section 5.2). code: of an endpoint with codes of its own."""
    status = HTTPStatus.UNAUTHORIZED if error.error == "invalid_client" else HTTPStatus.BAD_REQUEST
    headers = {**_NO_STORE, "WWW-Authenticate": "Basic"} if status == HTTPStatus.UNAUTHORIZED else _NO_STORE
    return JSONResponse({"error": code or error.error, "error_description": error.error_description}, status, headers)


def _network_of(address: str) -> str:
    """Return an address, of IPv6 the /64 that it is in: a single machine may take any address of its own."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    is_own = isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None
    return f"{int(ip) >> 64:x}/64" if is_own else address


def _without_caching(response: Response) -> Response:
    response.headers.update(_NO_STORE)
    return response


def _state_of(request: Request) -> dict[str, Any]:
    return cast(dict[str, Any], request.scope.setdefault("state", {}))
