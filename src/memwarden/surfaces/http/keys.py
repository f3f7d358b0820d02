"""Keys of the server: opaque, stored as hashes, bound to a tenant, a user, an agent and operations."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from memwarden import AsyncScope, AsyncWarden, clock
from memwarden.checks import word
from memwarden.errors import Denied, InvalidInput, KeyRefused, NotFound
from memwarden.observability.records import Op
from memwarden.records import Namespace, Scope
from memwarden.remember.ingest.messages import checked_name
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import Items, PutItem, StoredItem, require_items

# A namespace that no scope and no tier can name, so that no verb reaches a key.
_PLACE = Namespace("memwarden-server", "keys")
_PATH = "keys"
_SECRET_BYTES = 32
_FORM = re.compile(r"mw_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")


class Operation(StrEnum):
    """What a key may do. A person's decisions and the running of the server are apart from reading and writing."""

    READ = "read"
    WRITE = "write"
    DECIDE = "decide"
    OPERATE = "operate"


DEFAULT_OPERATIONS = (Operation.READ, Operation.WRITE)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a key stands for. user, agent: None stands for any."""

    tenant: str = "default"
    user: str | None = None
    agent: str | None = None
    operations: tuple[str, ...] = tuple(DEFAULT_OPERATIONS)

    def check_operation(self, operation: Operation) -> None:
        """Raise Denied unless the key may do this."""
        if operation not in self.operations:
            raise Denied(
                f"this key may {', '.join(self.operations)}, and this takes {operation.value!r}; "
                f"make a key with memwarden key create --operation {operation.value}"
            )

    def narrow_user(self, user: str | None) -> str:
        """Return whose memory a call is about. Raises Denied for a user other than the key's."""
        return self._narrow("user", self.user, user) or "default"

    def narrow_agent(self, agent: str | None) -> str | None:
        """Return the agent of a call. Raises Denied for an agent other than the key's."""
        return self._narrow("agent", self.agent, agent)

    @staticmethod
    def _narrow(what: str, granted: str | None, asked: str | None) -> str | None:
        asked = checked_name(asked, what)
        if granted is not None and asked is not None and asked != granted:
            raise Denied(f"this key is for the {what} {granted!r}; leave the {what} out, or use another key")
        return asked if granted is None else granted


# Whoever may call without a key: a program on this machine, while the store holds no key.
EVERYTHING_GRANTED = Grant(operations=tuple(Operation))


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key without its secret. name: a note for people. All times are aware, UTC."""

    id: str
    grant: Grant
    created_at: datetime
    name: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_alive(self, at: datetime) -> bool:
        """Whether the key opens anything at a moment."""
        return self.revoked_at is None and (self.expires_at is None or at < self.expires_at)


class NewKey(NamedTuple):
    """A key that was just made, with its text, which is shown this once."""

    key: AccessKey
    text: str


class KeyRing:
    """Makes, lists, checks and revokes the keys of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def create(
        self,
        *,
        tenant: str = "default",
        user: str | None = None,
        agent: str | None = None,
        operations: Sequence[str] = DEFAULT_OPERATIONS,
        name: str | None = None,
        lifetime: timedelta | None = None,
    ) -> NewKey:
        """Make a key. Its text is returned once; the store keeps a hash. Raises InvalidInput, StoreError."""
        grant = _check_grant(tenant, user, agent, operations)
        if lifetime is not None and lifetime <= timedelta():
            raise InvalidInput("a key's lifetime is above 0")
        id, secret, at = secrets.token_hex(8), secrets.token_urlsafe(_SECRET_BYTES), clock.now()
        end = None if lifetime is None else at + lifetime
        key = AccessKey(id, grant, at, checked_name(name, "name"), end)
        await self._write(key, _hash(secret))
        return NewKey(key, f"mw_{id}_{secret}")

    async def find(self) -> list[AccessKey]:
        """Return all keys, the revoked ones too, the oldest first."""
        items = self._items()
        ids = await items.keys(_PLACE, _PATH)
        stored = await items.get(_PLACE, [(_PATH, id) for id in ids])
        return sorted((_read(item)[0] for item in stored.values()), key=lambda key: (key.created_at, key.id))

    async def has_keys(self) -> bool:
        """Whether a key was ever made for this store."""
        if getattr(self._store, "items", None) is None:
            return False
        return bool(await self._items().keys(_PLACE, _PATH))

    async def check(self, text: str) -> AccessKey:
        """Return the key with this text. Raises KeyRefused for an unknown, expired or revoked key."""
        form = _FORM.fullmatch(text)
        if form is None or getattr(self._store, "items", None) is None:
            raise KeyRefused("this is no key of this server; memwarden key create makes keys")
        stored = await self._items().get(_PLACE, [(_PATH, form[1])])
        # An unknown key is compared too, so that time tells nothing of which ids there are.
        key, digest = _read(stored[_PATH, form[1]]) if stored else (None, _hash(""))
        if not hmac.compare_digest(digest, _hash(form[2])) or key is None:
            raise KeyRefused("this is no key of this server; memwarden key create makes keys")
        return _check_alive(key)

    async def get(self, id: str) -> AccessKey:
        """Return a key by its id. Raises KeyRefused for an unknown, expired or revoked key."""
        stored = await self._items().get(_PLACE, [(_PATH, id)])
        if not stored:
            raise KeyRefused(f"there is no key {id!r:.80}; memwarden key create makes keys")
        return _check_alive(_read(stored[_PATH, id])[0])

    async def revoke(self, id: str) -> AccessKey:
        """End a key at once. Raises NotFound. Revoking it again changes nothing."""
        stored = await self._items().get(_PLACE, [(_PATH, id)])
        if not stored:
            raise NotFound(f"no key {id!r:.80}; memwarden key list shows them")
        key, digest = _read(stored[_PATH, id])
        if key.revoked_at is None:
            key = replace(key, revoked_at=clock.now())
            await self._write(key, digest)
        return key

    def _items(self) -> Items:
        return require_items(self._store)

    async def _write(self, key: AccessKey, digest: str) -> None:
        at = clock.microseconds(clock.now())
        item = StoredItem(_PATH, key.id, json.dumps({**_plain(key), "hash": digest}), at, at)
        await self._items().write(_PLACE, [PutItem(item)])


def open_scope(
    warden: AsyncWarden,
    grant: Grant,
    operation: Operation = Operation.READ,
    *,
    user: str | None = None,
    agent: str | None = None,
    thread: str | None = None,
    run: str | None = None,
    actor: str | None = None,
    project: str | None = None,
    task: str | None = None,
    role: str | None = None,
) -> AsyncScope:
    """Return the scope that a grant opens for an operation; what is asked for may equal or narrow the grant.

    What projects and tasks remember belongs to a whole tenant: it takes a grant that is bound to no user and no agent.

    Raises Denied and records it as an event of the key's user. Raises what ``warden.scope`` raises.
    """
    try:
        grant.check_operation(operation)
        whose, by = grant.narrow_user(user), grant.narrow_agent(agent)
        if (project or task) and (grant.user is not None or grant.agent is not None):
            raise Denied("the memory of projects and tasks takes a key that is bound to no user and no agent")
    except Denied:
        who = Scope(grant.tenant, grant.user or "default", grant.agent, checked_name(thread, "thread"))
        warden.record_refusal(who, Op.SEARCH if operation == Operation.READ else Op.UPDATE, "key")
        raise
    return warden.scope(
        user=whose, agent=by, thread=thread, run=run, actor=actor, project=project, task=task, role=role,
        tenant=grant.tenant,
    )  # fmt: skip


def _check_grant(tenant: str, user: str | None, agent: str | None, operations: Sequence[str]) -> Grant:
    words = dict.fromkeys(str(word(Operation).check(item, "an operation")) for item in operations)
    if not words:
        raise InvalidInput(f"a key needs an operation: {', '.join(Operation)}")
    named = checked_name(tenant, "tenant")
    assert named is not None
    return Grant(named, checked_name(user, "user"), checked_name(agent, "agent"), tuple(words))


def _check_alive(key: AccessKey) -> AccessKey:
    if not key.is_alive(clock.now()):
        raise KeyRefused(f"key {key.id} was revoked or has expired; memwarden key create makes another")
    return key


def _hash(secret: str) -> str:
    # 256 random bits need no slow hash: there is nothing to guess from.
    return hashlib.sha256(secret.encode()).hexdigest()


def _plain(key: AccessKey) -> dict[str, Any]:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(key).items()}


def _read(item: StoredItem) -> tuple[AccessKey, str]:
    held: Mapping[str, Any] = json.loads(item.value)
    grant = Grant(**{**held["grant"], "operations": tuple(held["grant"]["operations"])})
    times = {
        name: None if held[name] is None else datetime.fromisoformat(held[name])
        for name in ("created_at", "expires_at", "revoked_at")
    }
    return AccessKey(id=held["id"], grant=grant, name=held["name"], **times), held["hash"]  # type: ignore[arg-type]
