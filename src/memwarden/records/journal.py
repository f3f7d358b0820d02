"""Entries of the journal and of histories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from memwarden.records.memory import Memory, Namespace


class Event(StrEnum):
    """What a journal entry says happened: the words of B8, and others beside them.

    PROPOSE: a candidate, or something that needs consent, was stored apart. QUARANTINE: it was held back. Both also say
    that it was put back to wait. CONFIRM: what was stored apart became a memory, or a part of a memory. TTL: its
    time was
    over, and it was soft-deleted. PROMOTE: it was copied to a wider namespace. EVICT: its project held too many items,
    and it mattered least.
    """

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    MERGE = "MERGE"
    SUPERSEDE = "SUPERSEDE"
    LINK = "LINK"
    UNLINK = "UNLINK"
    RESTORE = "RESTORE"
    PROPOSE = "PROPOSE"
    QUARANTINE = "QUARANTINE"
    CONFIRM = "CONFIRM"
    TTL = "TTL"
    PROMOTE = "PROMOTE"
    EVICT = "EVICT"


UNDOES = "undoes"
"""In the ``meta`` of an entry that takes a change back: the step that it takes back."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One entry of a namespace's journal. It holds no content, only references.

    Attributes:
        old_version, new_version: the version that was active before and is active after; None where none was. For LINK
            and UNLINK both are the version of the memory that the edge starts from.
        channel: of the memory.
        step: ``seq`` of the first entry of the same decision.
        meta: what decided it: ids, names of rules, numbers.
    """

    seq: int
    namespace: Namespace
    event: str
    memory_id: str
    old_version: int | None
    new_version: int | None
    actor: str | None
    thread_id: str | None
    at: datetime
    channel: str
    step: int
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of a history: what happened to a memory, when, by whom and why.

    Attributes:
        seq: the revision that it made. event: a word of :class:`Event`.
        old, new: the memory before and after; None where none was active, for links, and for what is no longer stored.
        actor, thread_id: who did it, and the memory's thread. at: when.
        step: ``seq`` of the first entry of the same decision; entries with the same step are undone together.
        meta: what decided it: ids, names of rules, numbers.
    """

    seq: int
    event: str
    memory_id: str
    old: Memory | None
    new: Memory | None
    actor: str | None
    thread_id: str | None
    at: datetime
    step: int
    meta: Mapping[str, Any] | None = None
