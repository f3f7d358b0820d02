"""Registered clients: programs that may ask people for tokens (RFC 7591)."""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from memwarden import clock
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import DropItem, Items, ItemSearch, PutItem, StoredItem, require_items

# Namespace that no scope and no tier can name.
PLACE: Final = Namespace("memwarden-server", "oauth")
# Anybody may register, so a client that no person connected goes soon, and the oldest of too many goes at once.
UNUSED_LIFETIME: Final = timedelta(days=1)
MAX_UNUSED: Final = 1_000
# Counted from the last token that a client fetched.
USED_LIFETIME: Final = timedelta(days=90)
NO_SECRET: Final = "none"
_UNUSED, _USED = "clients_unused", "clients_used"
_ID: Final = re.compile(r"[0-9a-f-]{36}")
_EVICTED_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Client:
    """A registered client.

    Attributes:
        name: what the client calls itself; not verified.
        operations: scopes that it may ask for.
        secret_hash: SHA-256 of its secret, hexadecimal; None for a public client.
        grant_types: of OAuth.
    """

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    operations: tuple[str, ...]
    grant_types: tuple[str, ...]
    secret_hash: str | None = None

    def has_secret(self, secret: str) -> bool:
        """Whether a secret is the client's. A public client has none to check."""
        return self.secret_hash is None or hmac.compare_digest(self.secret_hash, digest_of(secret))


class ClientRegistry:
    """Keeps clients in a store, for every process of a server."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, client: Client) -> None:
        """Keep a client until a day passes without a connection. Raises StoreError."""
        now = clock.microseconds(clock.now())
        await self._items.sweep(PLACE, now)
        await self._items.write(PLACE, [PutItem(store_item(_UNUSED, client.id, client, UNUSED_LIFETIME))])
        search = ItemSearch(_UNUSED, _EVICTED_AT_ONCE, MAX_UNUSED)
        surplus = [DropItem(_UNUSED, hit.item.key) for hit in await self._items.search(PLACE, search)]
        if surplus:
            await self._items.write(PLACE, surplus)

    async def find(self, id: str) -> Client | None:
        """Return a client by its id. None for an unknown or expired client."""
        if _ID.fullmatch(id) is None:
            return None
        now = clock.microseconds(clock.now())
        places = [(_USED, id), (_UNUSED, id)]
        stored = await self._items.get(PLACE, places, alive_at=now)
        return next((msgspec.json.decode(stored[at].value, type=Client) for at in places if at in stored), None)

    async def mark_connected(self, client: Client) -> None:
        """Keep a client that a person connected for 90 days. Raises StoreError."""
        used = PutItem(store_item(_USED, client.id, client, USED_LIFETIME))
        await self._items.write(PLACE, [used, DropItem(_UNUSED, client.id)])

    async def mark_used(self, client: Client) -> None:
        """Count the 90 days from now. Raises StoreError."""
        await self._items.refresh(PLACE, [(_USED, client.id)], clock.microseconds(clock.now()))

    @property
    def _items(self) -> Items:
        return require_items(self._store)


def store_item(path: str, key: str, value: object, lifetime: timedelta) -> StoredItem:
    """Return an item of a record that lives from now on."""
    now = clock.now()
    at, ends = clock.microseconds(now), clock.microseconds(now + lifetime)
    minutes = lifetime.total_seconds() / 60
    return StoredItem(path, key, msgspec.json.encode(value).decode(), at, at, minutes, ends)


def digest_of(secret: str) -> str:
    """Return the hash under which a secret is stored. Its 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
