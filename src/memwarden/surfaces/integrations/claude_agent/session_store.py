"""The Claude Agent SDK's ``SessionStore`` protocol on a user's namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from uuid_utils import uuid7

from memwarden.api.scope import AsyncScope
from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.remember.ingest.messages import checked_name
from memwarden.remember.ingest.transcripts import read_said
from memwarden.stores.shared.items import DropItem, ItemSearch, PutItem, StoredItem, check_name, require_items
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding
from memwarden.surfaces.integrations.item_paths import ALL_ITEMS, make_label, next_moment, read_label

# Labels of the items of all transcripts. Labels of the project and the session follow, then one of these.
PATH: Final = "claude.transcripts"
MAIN, SUB = "main", "sub"


class MemwardenSessionStore:
    """Transcripts of the Claude Agent SDK in a user's memory, shared by processes and hosts.

    >>> options = ClaudeAgentOptions(session_store=MemwardenSessionStore(warden.scope(user="ana")), resume=session_id)

    Entries are kept as they are given, in their order, each ``uuid`` once. What user and assistant say in a main
    transcript is also observed as turns of the thread ``session_id``.

    Args:
        warden: a scope of a :class:`memwarden.Warden` or :class:`memwarden.AsyncWarden`, or either of these,
            which stands for its default user. SQLite, PostgreSQL or memory.
        observe: whether messages are observed.

    Raises InvalidInput for a store without items, and in calls for names and entries that cannot be kept.
    """

    def __init__(self, warden: AnyWarden, *, observe: bool = True) -> None:
        self._bound = StoreBinding(warden)
        self._items = require_items(self._bound.runtime.store)
        self._space = self._bound.who.namespace
        self._observe = observe

    async def append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        """Append entries, all or none. They are durable on return. Raises InvalidInput, StoreError."""
        await self._bound.wait(self._append(key, entries))

    async def load(self, key: Mapping[str, str]) -> list[dict[str, Any]] | None:
        """Return the entries of a transcript, oldest first; None if nothing was written. Raises StoreError."""
        hits = await self._bound.wait(self._items.search(self._space, ItemSearch(_path(key), ALL_ITEMS)))
        return [json.loads(hit.item.value) for hit in reversed(hits)] or None

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        """Return ``session_id`` and ``mtime``, in milliseconds since 1970, of the sessions of a project."""
        return await self._bound.wait(self._list(project_key))

    async def delete(self, key: Mapping[str, str]) -> None:
        """Remove a transcript; a main transcript with its subpaths. What was observed stays remembered."""
        await self._bound.wait(self._delete(key))

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """Return the subpaths of a session."""
        under = f"{_session_path(key)}.{SUB}"
        paths = await self._bound.wait(self._items.paths(self._space, under))
        return sorted(read_label(path.rpartition(".")[2]) for path in paths)

    async def _append(self, key: Mapping[str, str], entries: Sequence[Mapping[str, Any]]) -> None:
        path = _path(key)
        named: dict[str, Mapping[str, Any]] = {}
        for entry in entries:
            named.setdefault(str(entry.get("uuid") or uuid7()), entry)
        known = await self._items.get(self._space, [(path, name) for name in named])
        new = {name: _encode(entry) for name, entry in named.items() if (path, name) not in known}
        if self._observe and "subpath" not in key:
            # First, because a repeated call finds the same turns again.
            await self._observe_new(key["session_id"], [named[name] for name in new])
        at = await next_moment(self._items, self._space, path)
        puts = [
            PutItem(StoredItem(path, check_name(name, "a uuid"), value, at + place, at + place))
            for place, (name, value) in enumerate(new.items())
        ]
        await self._items.write(self._space, puts)

    async def _observe_new(self, session_id: str, entries: Sequence[Mapping[str, Any]]) -> None:
        if messages := [message for entry in entries if (message := _read_spoken(entry)) is not None]:
            thread = replace(self._bound.who, thread=checked_name(session_id, "session_id"))
            await AsyncScope(self._bound.runtime, thread).observe(messages)

    async def _list(self, project_key: str) -> list[dict[str, Any]]:
        sessions = []
        for path in await self._items.paths(self._space, _project_path(project_key)):
            session, _, kind = path.removeprefix(f"{_project_path(project_key)}.").partition(".")
            if kind == MAIN:
                (newest,) = await self._items.search(self._space, ItemSearch(path, 1)) or (None,)
                if newest is not None:
                    sessions.append({"session_id": read_label(session), "mtime": newest.item.updated_at // 1_000})
        return sessions

    async def _delete(self, key: Mapping[str, str]) -> None:
        under = _path(key) if "subpath" in key else _session_path(key)
        hits = await self._items.search(self._space, ItemSearch(under, ALL_ITEMS))
        await self._items.write(self._space, [DropItem(hit.item.path, hit.item.key) for hit in hits])


def _project_path(project_key: str) -> str:
    return f"{PATH}.{make_label(project_key)}"


def _session_path(key: Mapping[str, str]) -> str:
    return f"{_project_path(key['project_key'])}.{make_label(key['session_id'])}"


def _path(key: Mapping[str, str]) -> str:
    """Return the path of a transcript. Raises InvalidInput for names that cannot be kept."""
    kind = f"{SUB}.{make_label(key['subpath'])}" if "subpath" in key else MAIN
    return check_name(f"{_session_path(key)}.{kind}", "the key of a session")


def _encode(entry: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(entry), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"an entry of a transcript is JSON, not {quote(entry)}: {error}") from None


def _read_spoken(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the message of a user or the assistant; None for results of tools and what the SDK adds itself."""
    content = read_said(entry)
    if content is not None and not isinstance(content, str | list):
        raise InvalidInput(f"the content of a message is a text or a list of parts, not {quote(content)}")
    texts = [content] if isinstance(content, str) else [_read_text(part) for part in content or ()]
    text = "\n".join(text for text in texts if text)
    if not text.strip():
        return None
    return {"role": entry["type"], "content": text, "id": entry.get("uuid")}


def _read_text(part: Any) -> str:
    text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else None
    return text if isinstance(text, str) else ""
