"""The Agents SDK's ``Session`` protocol on a user's namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

from uuid_utils import uuid7

from memwarden.api.scope import AsyncScope
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import checked_name
from memwarden.stores.shared.items import (
    DropItem,
    ItemSearch,
    PutItem,
    StoredItem,
    check_name,
    require_items,
)
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding
from memwarden.surfaces.integrations.item_paths import ALL_ITEMS, make_label, next_moment

# Labels of the items of all sessions. The last label of a path is the session's id.
PATH: Final = "openai.sessions"
# Characters of JSON. Longest entry of a conversation, for example a message with a picture.
MAX_CHARACTERS: Final = 15_000_000
# Digits of an entry's place within a call of add_items.
_DIGITS: Final = 9
_SPOKEN: Final = ("user", "assistant")


class SessionLimit(Protocol):
    """The part of the SDK's ``SessionSettings`` that a session reads."""

    limit: int | None


class MemwardenSession:
    """A conversation of the OpenAI Agents SDK in a user's memory, shared by processes.

    >>> session = MemwardenSession("thread-1", warden.scope(user="ana"))
    >>> await Runner.run(agent, "I am allergic to peanuts.", session=session)

    Entries are kept as they are given, in their order. What user and assistant say is also observed as turns of the
    thread, so that ``query`` and ``context`` find it in every later conversation of the user.

    Args:
        session_id: name of the conversation, apart for each user.
        warden: a scope of a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`, or either of these,
            which stands for its default user. SQLite, PostgreSQL or memory.
        observe: whether messages are observed as turns of the thread ``session_id``.
        session_settings: the SDK's ``SessionSettings``; its ``limit`` is the default of :meth:`get_items`.

    Raises InvalidInput for a name that cannot be kept and for a store without items.
    """

    def __init__(
        self,
        session_id: str,
        warden: AnyWarden,
        *,
        observe: bool = True,
        session_settings: SessionLimit | None = None,
    ) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise InvalidInput(f"a session_id is a text with a character at least, not {quote(session_id)}")
        self.session_id = session_id
        self.session_settings: Any = session_settings
        self._bound = StoreBinding(warden)
        self._items = require_items(self._bound.runtime.store)
        self._path = check_name(f"{PATH}.{make_label(session_id)}", "a session_id")
        self._thread = replace(self._bound.who, thread=checked_name(session_id, "session_id") if observe else None)
        self._observe = observe

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the conversation, oldest entry first.

        limit: the latest entries only; below 0 all. None: the limit of the settings, else all.
        """
        default = None if self.session_settings is None else self.session_settings.limit
        most = default if limit is None else limit
        found = await self._bound.wait(self._newest(ALL_ITEMS if most is None or most < 0 else most))
        return [json.loads(item.value)["item"] for item in reversed(found)]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Append entries, all or none. They are durable on return.

        Raises InvalidInput for an entry that is not JSON or longer than 15,000,000 characters, StoreError.
        """
        values = [_encode(item) for item in items]
        if values:
            await self._bound.wait(self._append(values, [message for item in items for message in _spoken(item)]))

    async def pop_item(self) -> Any | None:
        """Remove and return the latest entry; None without any. Of several callers each gets another entry.

        What was observed stays remembered. Raises StoreError.
        """
        return await self._bound.wait(self._pop())

    async def clear_session(self) -> None:
        """Remove all entries. What was observed stays remembered. Raises StoreError."""
        await self._bound.wait(self._clear())

    async def _newest(self, most: int) -> list[StoredItem]:
        if most == 0:
            return []
        hits = await self._items.search(self._bound.who.namespace, ItemSearch(self._path, most))
        return [hit.item for hit in hits]

    async def _append(self, values: Sequence[str], messages: Sequence[Mapping[str, Any]]) -> None:
        if messages and self._observe:
            # First, because a repeated call finds the same turns again, and would append the same entries twice.
            await AsyncScope(self._bound.runtime, self._thread).observe(messages)
        at = await next_moment(self._items, self._bound.who.namespace, self._path)
        batch = uuid7()
        # At equal times the store lists items by key, the first as the newest.
        keys = [f"{batch}.{len(values) - place:0{_DIGITS}}" for place in range(len(values))]
        puts = [PutItem(StoredItem(self._path, key, value, at, at)) for key, value in zip(keys, values, strict=True)]
        await self._items.write(self._bound.who.namespace, puts)

    async def _pop(self) -> Any | None:
        while newest := await self._newest(1):
            (item,) = newest
            if await self._items.write(self._bound.who.namespace, [DropItem(item.path, item.key)]):
                return json.loads(item.value)["item"]
        return None

    async def _clear(self) -> None:
        keys = await self._items.keys(self._bound.who.namespace, self._path)
        await self._items.write(self._bound.who.namespace, [DropItem(self._path, key) for key in keys])


def _encode(item: Any) -> str:
    try:
        value = json.dumps({"item": item}, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"an entry of a session is JSON, not {quote(item)}: {error}") from None
    if len(value) > MAX_CHARACTERS:
        raise InvalidInput(f"an entry has at most {MAX_CHARACTERS:,} characters as JSON, not {len(value):,}")
    return value


def _spoken(item: Any) -> list[dict[str, Any]]:
    """Return the message of a user or assistant as it is observed; nothing for calls of tools and the rest."""
    if not isinstance(item, Mapping) or item.get("role") not in _SPOKEN or not item.get("content"):
        return []
    return [{"role": item["role"], "content": item["content"]}]
