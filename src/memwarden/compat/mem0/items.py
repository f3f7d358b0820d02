"""Memories and their history in the shapes of mem0's answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from memwarden.checks import quote
from memwarden.errors import InvalidInput
from memwarden.records import Event, HistoryEntry, Memory
from memwarden.remember.documents import leave_out_own

# User of memories that are stored without a ``user_id``. Ids of mem0 have no space, so no user has this name.
NO_USER = "no user"
# Separates a memory's id from its user in the ids of answers: mem0's calls by id name no user.
_AT = "@"
_EVENTS: Mapping[str, str] = {
    Event.ADD: "ADD",
    Event.CONFIRM: "ADD",
    Event.RESTORE: "ADD",
    Event.UPDATE: "UPDATE",
    Event.SUPERSEDE: "UPDATE",
    Event.MERGE: "UPDATE",
    Event.DELETE: "DELETE",
    Event.TTL: "DELETE",
}


def make_id(memory_id: str, user: str) -> str:
    """Return the id of a memory in answers, which names its user."""
    return memory_id if user == NO_USER else f"{memory_id}{_AT}{user}"


def split_id(item_id: Any) -> tuple[str, str]:
    """Return the memory's id and its user. Raises InvalidInput for anything but a text."""
    if not isinstance(item_id, str) or not item_id:
        raise InvalidInput(f"a memory_id is a text, not {quote(item_id)}")
    memory_id, _, user = item_id.partition(_AT)
    return memory_id, user or NO_USER


def make_item(memory: Memory, user: str) -> dict[str, Any]:
    """Return a memory as ``get`` and ``get_all`` answer it, without ``score``."""
    metadata = leave_out_own(memory.metadata)
    fields = {
        "user_id": None if user == NO_USER else user,
        "agent_id": metadata.pop("agent_id", None),
        "run_id": metadata.pop("run_id", None),
        "actor_id": memory.name,
        "role": memory.role,
        "expiration_date": _last_day(memory.valid_to),
    }
    return {
        "id": make_id(memory.id, user),
        "memory": memory.text,
        "hash": hashlib.md5(memory.text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
    } | {name: value for name, value in fields.items() if value is not None}


def make_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what filters see of an answer: its fields, with the metadata beside them."""
    return {**(item["metadata"] or {}), **item, "data": item["memory"]}


def make_history(entries: Sequence[HistoryEntry], item_id: str) -> list[dict[str, Any]]:
    """Return the changes of a memory, oldest first. Links and proposals are not changes of its text."""
    changes = []
    for entry in entries:
        memory = entry.new or entry.old
        if entry.event not in _EVENTS or memory is None:
            continue
        changes.append(
            {
                "id": f"{item_id}/{entry.seq}",
                "memory_id": item_id,
                "old_memory": entry.old.text if entry.old else None,
                "new_memory": entry.new.text if entry.new else None,
                "event": _EVENTS[entry.event],
                "created_at": memory.created_at.isoformat(),
                "updated_at": entry.at.isoformat(),
                "is_deleted": _EVENTS[entry.event] == "DELETE",
                "actor_id": memory.name,
                "role": memory.role,
            }
        )
    return changes


def _last_day(end: datetime | None) -> str | None:
    """Return the last day on which a memory holds, UTC."""
    return None if end is None else (end - timedelta(microseconds=1)).date().isoformat()
