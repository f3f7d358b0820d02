"""The SDK's token handler over our stores: it checks code, redirect URI, PKCE and scopes, and issues nothing itself."""

from __future__ import annotations

from typing import Final

from mcp.server.auth.provider import AuthorizationCode, RefreshToken, TokenError
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from memwarden.errors import KeyRefused
from memwarden.surfaces.http.keys import KeyRing
from memwarden.surfaces.oauth.clients import Client, ClientRegistry
from memwarden.surfaces.oauth.tokens import ACCESS_LIFETIME, ClientConnection, PendingCode, TokenPair, TokenStore

_USED_TWICE: Final = TokenError("invalid_grant", "it was redeemed before; the connection has ended")


class ClientTokens:
    """Tokens of the client that a request authenticated, by the methods that the SDK's token handler calls."""

    def __init__(self, client: Client, clients: ClientRegistry, tokens: TokenStore, keys: KeyRing) -> None:
        self._client = client
        self._clients = clients
        self._tokens = tokens
        self._keys = keys
        self._pending: PendingCode | None = None
        self._connection: ClientConnection | None = None

    async def authenticate_request(self, request: object) -> OAuthClientInformationFull:
        """Return the client, whose secret was checked before."""
        return OAuthClientInformationFull(client_id=self._client.id, grant_types=list(self._client.grant_types))

    async def load_authorization_code(self, client: object, code: str) -> AuthorizationCode | None:
        """Return a code of the client that can be redeemed."""
        pending = await self._tokens.read_code(code)
        if pending is None or not await self._is_own(pending.connection):
            return None
        self._pending = pending
        return AuthorizationCode(
            code=code,
            scopes=list(pending.connection.operations),
            expires_at=pending.expires_at,
            client_id=self._client.id,
            code_challenge=pending.challenge,
            redirect_uri=AnyUrl(pending.redirect_uri),
            redirect_uri_provided_explicitly=True,
            resource=pending.connection.resource,
        )

    async def exchange_authorization_code(self, client: object, code: AuthorizationCode) -> OAuthToken:
        """Return the tokens of a code. Raises TokenError for a code that another caller redeemed meanwhile."""
        assert self._pending is not None
        return await self._answer_with(await self._tokens.redeem_code(code.code, self._pending))

    async def load_refresh_token(self, client: object, token: str) -> RefreshToken | None:
        """Return a refresh token of the client that was not used before."""
        connection = await self._tokens.read_refresh(token)
        if connection is None or not await self._is_own(connection):
            return None
        self._connection = connection
        return RefreshToken(token=token, client_id=self._client.id, scopes=list(connection.operations))

    async def exchange_refresh_token(self, client: object, token: RefreshToken, scopes: list[str]) -> OAuthToken:
        """Return the next tokens. Raises TokenError for a token that another caller used meanwhile."""
        assert self._connection is not None
        operations = tuple(dict.fromkeys(scopes))
        return await self._answer_with(await self._tokens.rotate(token.token, self._connection, operations))

    async def _is_own(self, connection: ClientConnection) -> bool:
        """Whether a connection is the client's, and its key is alive."""
        if connection.client_id != self._client.id:
            return False
        try:
            await self._keys.get(connection.key_id)
        except KeyRefused:
            return False
        return True

    async def _answer_with(self, pair: TokenPair | None) -> OAuthToken:
        if pair is None:
            raise _USED_TWICE
        await self._clients.mark_used(self._client)
        return OAuthToken(
            access_token=pair.access,
            expires_in=int(ACCESS_LIFETIME.total_seconds()),
            scope=" ".join(pair.operations),
            refresh_token=pair.refresh if "refresh_token" in self._client.grant_types else None,
        )
