"""Changes that are written together, their receipt, and the entries of the journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from memwarden.records.memory import EXTRACTED_BY, QUOTATION, Memory, MemoryState, Namespace, Signals


class Event(StrEnum):
    """What a journal entry says happened: the words of B8, and others beside them.

    PROPOSE: a candidate, or something that needs consent, was stored apart. QUARANTINE: it was held back. Both also say
    that it was put back to wait. CONFIRM: what was stored apart became a memory, or a part of a memory. TTL: its
    time was
    over, and it was soft-deleted. PROMOTE: it was copied to a wider namespace. EVICT: its project held too many items,
    and it mattered least. PURGE: its contents were removed for good, after the time in which it could be restored.
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
    PURGE = "PURGE"


# What removes a memory because it mattered little, and not because it is wrong or over.
MATTERED_LITTLE: Final = (Event.TTL, Event.EVICT)
# In the ``meta`` of an entry that takes a change back: the step that it takes back.
UNDOES = "undoes"


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

    def takes_back(self, memory: Memory) -> bool:
        """Whether this entry, which removed a memory, takes back what it said: its turns must not say it either.

        What an undo removed never was. What left while it held, since nobody needed it, takes nothing back; nor does
        the quotation of a turn, which hid no turn while it was there.
        """
        if self.event in MATTERED_LITTLE:
            quoted = memory.actor_id == EXTRACTED_BY and memory.tags == (QUOTATION,)
            return memory.valid_to is not None and not quoted
        return self.old_version is not None and UNDOES not in (self.meta or {})


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


class WriteMode(StrEnum):
    """What a :class:`Put` expects to find under its id."""

    CREATE = "create"
    UPSERT = "upsert"
    UPDATE = "update"
    PURGE = "purge"


@dataclass(frozen=True, slots=True)
class Put:
    """Write a memory whole.

    Attributes:
        memory: the memory as it shall be. Its ``version``, ``state`` and ``purge_at`` are set by the store.
        signals: what the index will know of it; None, with ``update`` alone, keeps those that are stored, for a memory
            whose text and time stay as they are.
        mode: ``create`` refuses an id that is in use (Conflict), also by a memory that is not active; ``update``
            refuses an id that no active memory has (NotFound); ``upsert`` takes both, and revives a memory that
            is not active (outcome ``created``, event ADD without an old version; its version numbers go on).
            ``purge`` takes every content of a memory that is not active away for good: what is written is a memory
            without words, in the state ``purged`` (outcome ``deleted``, event PURGE); for an active memory, or none,
            the outcome is ``missing``. If it has sources it is forgotten for :meth:`Store.scan`.
        source_key: when given, at most a single memory per (namespace, thread, source_key) is ever created: a second
            is answered with the id of the first and outcome ``duplicate``, also when the first was removed since. It
            counts where a memory would be created, and is looked at before the id.
        expected_version: with ``update``: refuse (Conflict) unless this is the stored version.
        event: what the journal calls the change of an active memory: UPDATE, MERGE, SUPERSEDE or RESTORE.
        state: for a memory that is created: where its life begins. What is not ``active`` is entered in the journal as
            PROPOSE (``candidate``, ``proposed``) or QUARANTINE, without a new version.
        purge_at: for a memory whose life begins in another state: when it may be removed for good.
        keep_versions: for what is written again and again (state by key), or ends (tasks): of the contents that it had
            in the channel ``state`` or in a task keep so many of the last and remove the older ones with this write.
            The journal says so: the entry has the number as ``kept_versions`` in its meta. None keeps all.
        step, meta: see :class:`Batch`.
    """

    memory: Memory
    signals: Signals | None
    mode: WriteMode = WriteMode.CREATE
    source_key: str | None = None
    expected_version: int | None = None
    event: Event = Event.UPDATE
    state: MemoryState = MemoryState.ACTIVE
    purge_at: datetime | None = None
    step: int = 0
    meta: Mapping[str, Any] | None = None
    keep_versions: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a memory out of every search, get and list. Its versions stay.

    What was stored apart is closed by it, without ever having been active: no version stands in its entry.

    Attributes:
        state: ``soft_deleted`` or ``merged``; or a state of :data:`APART`, which puts it back to wait as it did before,
            also when it was soft-deleted since.
        event: DELETE, MERGE, TTL or EVICT, for the journal; CONFIRM when what was stored apart went into another
            memory; PROPOSE or QUARANTINE when it is put back to wait.
        purge_at: when it may be removed for good.
        step, meta: see :class:`Batch`.
    """

    id: str
    state: MemoryState = MemoryState.SOFT_DELETED
    event: Event = Event.DELETE
    purge_at: datetime | None = None
    step: int = 0
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """Make a memory that is not active active, as it was. Outcome ``missing`` when there is none.

    event: RESTORE, or CONFIRM for what was stored apart. step, meta: see :class:`Batch`.
    """

    id: str
    event: Event = Event.RESTORE
    step: int = 0
    meta: Mapping[str, Any] | None = None


class RelationType(StrEnum):
    """What an edge says. Links that memwarden makes by itself are ``related_to``."""

    RELATED_TO = "related_to"
    SUPERSEDES = "supersedes"


@dataclass(frozen=True, slots=True)
class Link:
    """Put an edge between two active memories; at most a single edge for each (from, to, type).

    Outcome ``created``, ``updated`` when it was there with another strength, ``duplicate`` when it was there as it is
    (no journal entry), ``missing`` when either of the two is not active (no journal entry).

    Attributes:
        strength: 0..1. step, meta: see :class:`Batch`.
    """

    from_id: str
    to_id: str
    type: str = RelationType.RELATED_TO
    strength: float = 1.0
    step: int = 0
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Unlink:
    """Take an edge away. Outcome ``deleted``, or ``missing`` when there is none (no journal entry)."""

    from_id: str
    to_id: str
    type: str = RelationType.RELATED_TO
    step: int = 0
    meta: Mapping[str, Any] | None = None


# Every way to change a namespace. A store refuses any other, and a test holds that each leaves a journal entry.
BatchChange = Put | Remove | Restore | Link | Unlink


@dataclass(frozen=True, slots=True)
class SeenMark:
    """Up to which revision a thread has been told what changed. No change of a memory, so it is not journaled.

    ``thread_id`` names a thread, or an agent in it by a text of its own
    (:func:`memwarden.recall.time.change_cursor.cursor_name`).
    """

    thread_id: str
    rev: int


@dataclass(frozen=True, slots=True)
class ExtractionMark:
    """Up to which revision a thread's turns have been looked through for what is worth keeping. Not journaled.

    ``since`` is the mark that the work began at: the batch is refused (Stale) when it stands elsewhere meanwhile, so
    that two processes never keep the same twice.
    """

    thread_id: str
    rev: int
    since: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that a call writes, in a single namespace, applied whole or not at all.

    Every change has a ``step``, a number within the batch: changes with the same step are a decision, and are undone
    together. Its ``meta`` is a small JSON object for the journal (the rule that decided, ids); never content.

    Attributes:
        key: idempotency key. A batch whose key was applied before in this namespace is not applied again; the answer
            of the first time is given. The same key with another ``fingerprint`` is a Conflict.
        fingerprint: stable hash of what the caller asked for; compared when a key comes again.
        actor: who did it, for the journal.
        agent: the agent for which it is written, held to its allowlist; None for a person, a program or memwarden.
        at: the time of the write (aware, UTC).
        decided_at: the revision on whose contents the batch was decided: refuse it (Stale) when a memory that it
            updates, removes or restores was changed since. None: no matter.
        decided_on_all: refuse it as well when any memory that is no turn was written after ``decided_at``: what was
            decided to be new may be known since.
        seen: moves marks forward, with the batch; never back. extracted: moves the mark of extraction.
    """

    namespace: Namespace
    changes: tuple[BatchChange, ...]
    at: datetime
    key: str | None = None
    fingerprint: str | None = None
    actor: str | None = None
    decided_at: int | None = None
    decided_on_all: bool = False
    seen: tuple[SeenMark, ...] = ()
    extracted: ExtractionMark | None = None
    agent: str | None = None


class ChangeResult(NamedTuple):
    """What became of a change of a batch.

    outcome: created, updated, deleted, restored, duplicate or missing. id: the memory's; of a link its ``from``.
    """

    id: str
    outcome: str
    step: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to an applied batch.

    Attributes:
        rev: the namespace's revision after the batch (for a replayed key: after the first application).
        applied: a result for each change, in their order.
        replayed: True when the key had been applied before and nothing was written now.
    """

    rev: int
    applied: tuple[ChangeResult, ...]
    replayed: bool = False
