"""Codes, access tokens and refresh tokens, which the store keeps as hashes, and the connections that they belong to."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeVar

import msgspec

from memwarden import clock
from memwarden.clock import new_id
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import DropItem, Items, ItemSearch, PutItem, require_items
from memwarden.surfaces.oauth.clients import PLACE, Client, digest_of, store_item

CODE_LIFETIME: Final = timedelta(seconds=60)
ACCESS_LIFETIME: Final = timedelta(hours=1)
# Counted from the last refresh. A connection that nobody uses for so long ends.
CONNECTION_LIFETIME: Final = timedelta(days=30)
ACCESS_PREFIX: Final = "mwa_"
MAX_LISTED: Final = 200
# A process removes what ended no more often, because the store looks at every record for it.
SWEEP_INTERVAL: Final = timedelta(hours=1)
_CODE_PREFIX, _REFRESH_PREFIX = "mwc_", "mwr_"
_SECRET_BYTES: Final = 32
_CONNECTIONS, _CODES, _ACCESS, _REFRESH = "connections", "codes", "access", "refresh"
# Hashes of codes and refresh tokens that were redeemed, with their connections.
_SPENT: Final = "spent"
_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """What a person allowed a client. Without it none of its tokens works.

    Attributes:
        key_id: the key that it rests on.
        client_name: what the client calls itself; not verified.
        connected_at: when the person allowed it, UTC.
        operations: scopes; a token has the same or fewer.
        resource: URL that its tokens are for.
    """

    id: str
    key_id: str
    client_id: str
    client_name: str
    operations: tuple[str, ...]
    resource: str
    connected_at: datetime


@dataclass(frozen=True, slots=True)
class PendingCode:
    """An authorization code that waits to be redeemed. expires_at: seconds since 1970."""

    connection: ClientConnection
    challenge: str
    redirect_uri: str
    expires_at: float


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A stored token. operations: its scopes."""

    connection_id: str
    operations: tuple[str, ...]


class TokenPair(NamedTuple):
    """Texts of new tokens, which are shown this once, and the scopes of the access token."""

    access: str
    refresh: str
    operations: tuple[str, ...]


class TokenStore:
    """Issues, redeems and ends. A code and a refresh token work once: a second use ends the connection."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._swept_at: datetime | None = None

    async def issue_code(self, connection: ClientConnection, challenge: str, redirect_uri: str) -> str:
        """Begin a connection and return the code that its client redeems. Raises StoreError."""
        now, code = clock.now(), _CODE_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        await self._sweep(now)
        pending = PendingCode(connection, challenge, redirect_uri, (now + CODE_LIFETIME).timestamp())
        begun = PutItem(store_item(_CONNECTIONS, connection.id, connection, CONNECTION_LIFETIME))
        await self._items.write(PLACE, [begun, PutItem(store_item(_CODES, digest_of(code), pending, CODE_LIFETIME))])
        return code

    async def read_code(self, code: str) -> PendingCode | None:
        """Return a code that can be redeemed. A code that was redeemed before ends its connection."""
        pending = await self._read_unspent(_CODES, code, PendingCode)
        alive = pending is not None and await self._find_connection(pending.connection.id)
        return pending if alive else None

    async def redeem_code(self, code: str, pending: PendingCode) -> TokenPair | None:
        """Return the tokens of a code. None: another process was first, so its tokens end."""
        connection = pending.connection
        return await self._exchange(DropItem(_CODES, digest_of(code)), connection, connection.operations)

    async def read_refresh(self, token: str) -> ClientConnection | None:
        """Return the connection of a refresh token. A token that was used before ends its connection."""
        record = await self._read_unspent(_REFRESH, token, TokenRecord)
        return None if record is None else await self._find_connection(record.connection_id)

    async def rotate(self, token: str, connection: ClientConnection, operations: tuple[str, ...]) -> TokenPair | None:
        """Return the tokens that follow a refresh token. None: another process was first, so the connection ends."""
        pair = await self._exchange(DropItem(_REFRESH, digest_of(token)), connection, operations)
        if pair is not None:
            place = (_CONNECTIONS, connection.id)
            await self._items.refresh(PLACE, [place], clock.microseconds(clock.now()))
        return pair

    async def find_access(self, token: str) -> tuple[ClientConnection, tuple[str, ...]] | None:
        """Return connection and scopes of an access token. None for an unknown, expired or revoked token."""
        record = await self._read(_ACCESS, digest_of(token), TokenRecord)
        connection = None if record is None else await self._find_connection(record.connection_id)
        return None if record is None or connection is None else (connection, record.operations)

    async def find_connection(self, token: str) -> ClientConnection | None:
        """Return the connection of an access token or a refresh token of any age. None for an unknown token."""
        for path in (_ACCESS, _REFRESH, _SPENT):
            record = await self._read(path, digest_of(token), TokenRecord)
            if record is not None:
                return await self._find_connection(record.connection_id)
        return None

    async def find_connections(self, key_id: str) -> list[ClientConnection]:
        """Return the connections of a key, the newest first, 200 at most. Raises StoreError."""
        now = clock.microseconds(clock.now())
        # Ids of keys are hexadecimal, so their text occurs in the stored JSON as it is.
        search = ItemSearch(_CONNECTIONS, MAX_LISTED, matches=lambda text: _decode(text).key_id == key_id, alive_at=now)
        hits = await self._items.search(PLACE, search._replace(needles=((key_id,),)))
        connections = [_decode(hit.item.value) for hit in hits]
        return sorted(connections, key=lambda connection: connection.connected_at, reverse=True)

    async def end(self, connection_id: str) -> None:
        """End a connection with all of its tokens, in every process. Raises StoreError."""
        await self._items.write(PLACE, [DropItem(_CONNECTIONS, connection_id)])

    async def _exchange(
        self, redeemed: DropItem, connection: ClientConnection, operations: tuple[str, ...]
    ) -> TokenPair | None:
        """Replace a code or a refresh token by new tokens in one transaction."""
        await self._sweep(clock.now())
        access = ACCESS_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        refresh = _REFRESH_PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        record = TokenRecord(connection.id, operations)
        whole = TokenRecord(connection.id, connection.operations)
        removed = await self._items.write(
            PLACE,
            [
                redeemed,
                PutItem(store_item(_SPENT, redeemed.key, whole, CONNECTION_LIFETIME)),
                PutItem(store_item(_ACCESS, digest_of(access), record, ACCESS_LIFETIME)),
                PutItem(store_item(_REFRESH, digest_of(refresh), whole, CONNECTION_LIFETIME)),
            ],
        )
        if removed == 1:
            return TokenPair(access, refresh, operations)
        # Two callers redeemed it at once, and one of them is a thief. The store counts one removal alone.
        await self.end(connection.id)
        return None

    async def _sweep(self, now: datetime) -> None:
        """Remove what ended, unless this process did so within the hour."""
        if self._swept_at is None or now - self._swept_at >= SWEEP_INTERVAL:
            self._swept_at = now
            await self._items.sweep(PLACE, clock.microseconds(now))

    async def _read_unspent(self, path: str, secret: str, kind: type[_Record]) -> _Record | None:
        digest = digest_of(secret)
        record = await self._read(path, digest, kind)
        if record is None and (spent := await self._read(_SPENT, digest, TokenRecord)) is not None:
            await self.end(spent.connection_id)
        return record

    async def _find_connection(self, id: str) -> ClientConnection | None:
        return await self._read(_CONNECTIONS, id, ClientConnection)

    async def _read(self, path: str, key: str, kind: type[_Record]) -> _Record | None:
        now = clock.microseconds(clock.now())
        stored = await self._items.get(PLACE, [(path, key)], alive_at=now)
        return msgspec.json.decode(stored[path, key].value, type=kind) if stored else None

    @property
    def _items(self) -> Items:
        return require_items(self._store)


def new_connection(key_id: str, client: Client, operations: tuple[str, ...], resource: str) -> ClientConnection:
    """Return a connection that begins now, with an id of its own."""
    return ClientConnection(new_id(), key_id, client.id, client.name, operations, resource, clock.now())


def _decode(text: str) -> ClientConnection:
    return msgspec.json.decode(text, type=ClientConnection)
