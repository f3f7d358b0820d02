"""Sessions of browsers: who logged in with which key, and the token that guards forms."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from datetime import timedelta

from memwarden import clock
from memwarden.records import Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import DropItem, PutItem, StoredItem, require_items

COOKIE = "memwarden_session"
# A working day; whoever is asked more often than that writes the key down.
LIFETIME = timedelta(hours=12)
# A namespace that no scope and no tier can name, beside that of the keys.
_PLACE = Namespace("memwarden-server", "sessions")
_PATH = "sessions"


class LoginSessions:
    """Keeps in the store which session belongs to which key, so that every process of a server knows it.

    The store holds a hash of the session, never the session or the key.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def begin(self, key_id: str) -> str:
        """Begin a session of a key and return its text, for the cookie. Raises StoreError."""
        session, now = new_session(), clock.now()
        items, at = require_items(self._store), clock.microseconds(now)
        await items.sweep(_PLACE, at)
        ends = clock.microseconds(now + LIFETIME)
        minutes = LIFETIME.total_seconds() / 60
        item = StoredItem(_PATH, _digest(session), json.dumps({"key": key_id}), at, at, minutes, ends)
        await items.write(_PLACE, [PutItem(item)])
        return session

    async def find_key(self, session: str) -> str | None:
        """Return the id of the key that a session was begun with; None when there is no such session any more."""
        if getattr(self._store, "items", None) is None:
            return None
        place = (_PATH, _digest(session))
        at = clock.microseconds(clock.now())
        stored = await require_items(self._store).get(_PLACE, [place], alive_at=at)
        return str(json.loads(stored[place].value)["key"]) if stored else None

    async def end(self, session: str) -> None:
        """End a session. An unknown session is no error."""
        if getattr(self._store, "items", None) is not None:
            await require_items(self._store).write(_PLACE, [DropItem(_PATH, _digest(session))])


def new_session() -> str:
    """Return a text that nobody can guess."""
    return secrets.token_urlsafe(32)


def form_token(session: str) -> str:
    """Return what every form of a session carries, so that no other page can send them."""
    return hashlib.sha256(f"form {session}".encode()).hexdigest()


def is_form_token(token: str, session: str) -> bool:
    """Whether a form was made for a session."""
    return hmac.compare_digest(token.encode(), form_token(session).encode())


def _digest(session: str) -> str:
    return hashlib.sha256(session.encode()).hexdigest()
