"""Undo: the changes that bring back the state before a decision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from memwarden.errors import Conflict
from memwarden.lifecycle import KEPT_AFTER_FORGETTING
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread
from memwarden.recall.time.past import read_entries_after
from memwarden.records import (
    APART,
    UNDOES,
    BatchChange,
    ChangeResult,
    Event,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    MessageResult,
    Namespace,
    Outcome,
    Put,
    RelationType,
    Remove,
    Restore,
    Signals,
    Unlink,
    WriteMode,
)
from memwarden.remember.resolve.proposals import was_closed_while_pending
from memwarden.remember.resolve.resolution import CANDIDATE_DAYS, STATE_BEFORE
from memwarden.stores.protocol import StoreReader

SUPERSEDES = str(RelationType.SUPERSEDES)
_EDGES = (Event.LINK, Event.UNLINK)
_APART = (Event.PROPOSE, Event.QUARANTINE)
_OUTCOMES: Final[Mapping[str, str]] = {
    "deleted": Outcome.DELETED,
    "restored": Outcome.RESTORED,
    "updated": Outcome.RESTORED,
    "missing": Outcome.RESTORED,
}
_PENDING_AGAIN: Final[Mapping[str, str]] = {
    MemoryState.CANDIDATE: Outcome.PROPOSED,
    MemoryState.QUARANTINED: Outcome.QUARANTINED,
}
# Which version a RESTORE wrote again: content that came back counts as unchanged for a further undo.
_CONTENT_OF = "content_of"
# Marks a RESTORE that took a merge back, so that undoing it merges again.
_MERGED = "was_merged"


async def plan_undo(
    store: StoreReader, embedder: Embedder | None, namespace: Namespace, entries: Sequence[JournalEntry], at: datetime
) -> tuple[tuple[BatchChange, ...], int]:
    """Read what an undo needs; return its changes and the revision at which they were decided.

    entries: all of the decision's step. Raises Conflict when a later change stands on the decision.
    """
    rev = (await store.head(namespace)).rev  # first: what changes after it makes the undo Stale
    later = [
        entry
        for memory_id in dict.fromkeys(entry.memory_id for entry in entries)
        for entry in await read_entries_after(store, namespace, entries[-1].seq, memory_id=memory_id)
    ]
    check_last(entries, later)
    replacing = find_replacing(entries, later)
    replaced = await store.get(namespace, sorted({_replaced_id(entry) for entry in replacing}))
    check_replaced(entries, replacing, {memory.id for memory in replaced if memory.valid_to is None})
    contents = await store.versions(namespace, versions_needed(entries))
    signals = await make_signals_in_thread([(content.text, content.said_at) for content in contents], embedder)
    keys = [(content.id, content.version) for content in contents]
    changes = invert(
        entries,
        dict(zip(keys, contents, strict=True)),
        dict(zip(keys, signals, strict=True)),
        at,
        at + KEPT_AFTER_FORGETTING,
    )
    await _check_ends(store, namespace, ends_needed(changes), entries[0].step)
    return changes, rev


async def _check_ends(store: StoreReader, namespace: Namespace, ends: Collection[str], step: int) -> None:
    there = {memory.id for memory in await store.get(namespace, sorted(ends))}
    for end in sorted(ends):
        if end not in there:
            raise Conflict(
                f"change {step} took a link of memory {end!r} away, which is not there now; restore it first"
            )


def versions_needed(entries: Sequence[JournalEntry]) -> list[tuple[str, int]]:
    """Return the versions that :func:`invert` needs: those that the decision replaced by another version."""
    return [
        (entry.memory_id, entry.old_version)
        for entry in entries
        if entry.event not in _EDGES and entry.old_version is not None and entry.new_version is not None
    ]


def check_last(entries: Sequence[JournalEntry], later: Iterable[JournalEntry]) -> None:
    """Raise Conflict unless every memory of a decision is as the decision left it.

    It is also as it was left when what came after was taken back: forgotten and restored, changed and undone.

    entries: of the decision. later: every entry after it of the memories that it changed, in the order of the journal.
    """
    left = {entry.memory_id: _state(entry) for entry in entries if entry.event not in _EDGES}
    now, same_as, last = dict(left), dict[tuple[str, int], int](), dict[str, JournalEntry]()
    for entry in later:
        if entry.event in _EDGES or entry.memory_id not in left:
            continue
        key, told = entry.memory_id, entry.meta or {}
        if entry.new_version is not None and _CONTENT_OF in told:
            before = int(told[_CONTENT_OF])
            same_as[key, entry.new_version] = same_as.get((key, before), before)
        where, version = _state(entry)
        now[key] = where, None if version is None else same_as.get((key, version), version)
        last[key] = entry
    for key in left:
        if now[key] != left[key]:
            raise Conflict(_why_not(entries[0].step, last[key]))


def find_replacing(entries: Sequence[JournalEntry], later: Sequence[JournalEntry]) -> list[JournalEntry]:
    """Return the later links by which a memory that a decision added took the place of another, unless undone."""
    added = {entry.memory_id for entry in entries if entry.event == Event.ADD}
    undone = {(entry.meta or {}).get(UNDOES) for entry in later}
    return [
        entry
        for entry in later
        if entry.memory_id in added
        and (entry.meta or {}).get("type") == SUPERSEDES
        and entry.event == Event.LINK
        and entry.step not in undone
    ]


def check_replaced(
    entries: Sequence[JournalEntry], replacing: Iterable[JournalEntry], reopened: Collection[str]
) -> None:
    """Raise Conflict for the ADD of a value that took the place of another: nothing would be current after its undo.

    reopened: ids of the replaced memories that hold again.
    """
    for entry in replacing:
        if _replaced_id(entry) not in reopened:
            raise Conflict(
                f"change {entries[0].step} added memory {entry.memory_id!r}, which took the place of "
                f"{_replaced_id(entry)!r} by change {entry.step}; undo that first"
            )


def _replaced_id(entry: JournalEntry) -> str:
    return str((entry.meta or {})["to"])


def _state(entry: JournalEntry) -> tuple[str, int | None]:
    """Return where a memory is after an entry, and its version, also while it is not active."""
    if entry.new_version is not None:
        return "active", entry.new_version
    return "apart" if entry.event in _APART else "gone", entry.old_version


def _why_not(step: int, last: JournalEntry) -> str:
    if (last.meta or {}).get(UNDOES) == step:
        return f"change {step} was undone already, by change {last.step}"
    return f"memory {last.memory_id!r} was changed since, by change {last.step} ({last.event}); undo that first"


def ends_needed(changes: Sequence[BatchChange]) -> set[str]:
    """Return the memories that an undo's links need, apart from those that it restores itself."""
    ends = {end for change in changes if isinstance(change, Link) for end in (change.from_id, change.to_id)}
    return ends - {change.id for change in changes if isinstance(change, Restore)}


def invert(
    entries: Sequence[JournalEntry],
    contents: Mapping[tuple[str, int], Memory],
    signals: Mapping[tuple[str, int], Signals],
    at: datetime,
    purge_at: datetime,
) -> tuple[BatchChange, ...]:
    """Return the changes that take a decision back, in the order of applying.

    What a memory held before is written byte for byte; only ``version`` and ``updated_at`` go on.

    Args:
        entries: of a single step, in the order of the journal. contents: by id and version, see
            :func:`versions_needed`. signals: for those contents. at: when. purge_at: for what the decision created.

    Raises Conflict when an old content is no longer there, and for a memory that was never active.
    """
    meta = {UNDOES: entries[0].step}
    changes = (_invert_entry(entry, contents, signals, at, purge_at, meta) for entry in reversed(entries))
    return tuple(change for change in changes if change is not None)


def _invert_entry(
    entry: JournalEntry,
    contents: Mapping[tuple[str, int], Memory],
    signals: Mapping[tuple[str, int], Signals],
    at: datetime,
    purge_at: datetime,
    meta: Mapping[str, int],
) -> BatchChange | None:
    noted = entry.meta or {}
    if STATE_BEFORE in noted and (entry.event == Event.CONFIRM or entry.new_version is None):
        return _pend_again(entry, MemoryState(noted[STATE_BEFORE]), at, meta)
    if was_closed_while_pending(entry):
        return None
    if entry.event == Event.PURGE:
        raise Conflict(f"change {entry.step} purged memory {entry.memory_id!r}; nothing of it is left to bring back")
    if entry.event in _EDGES:
        return _invert_edge(entry, noted, meta)
    if entry.event in _APART:
        return _invert_pending(entry, noted, purge_at, meta)
    if entry.old_version is None:
        if noted.get(_MERGED):
            return Remove(entry.memory_id, MemoryState.MERGED, Event.MERGE, meta=meta)
        return Remove(entry.memory_id, MemoryState.SOFT_DELETED, Event.DELETE, purge_at, meta=meta)
    if entry.new_version is None:
        was_merged = {_MERGED: True} if entry.event == Event.MERGE else {}
        return Restore(entry.memory_id, meta={**meta, **was_merged})
    return _restore_content(entry, contents, signals, at, meta)


def _invert_edge(entry: JournalEntry, noted: Mapping[str, Any], meta: Mapping[str, int]) -> Link | Unlink:
    edge = (entry.memory_id, str(noted["to"]), str(noted["type"]))
    # A LINK without "was" made the edge; with it, or by an UNLINK, the edge had that strength before.
    return Link(*edge, float(noted["was"]), meta=meta) if "was" in noted else Unlink(*edge, meta=meta)


def _invert_pending(
    entry: JournalEntry, noted: Mapping[str, Any], purge_at: datetime, meta: Mapping[str, int]
) -> Remove | Restore:
    if UNDOES in noted:
        return _decide_again(entry, purge_at, meta)
    raise Conflict(f"change {entry.step} stored a memory apart ({entry.event}), where no answer finds it; discard it")


def _pend_again(entry: JournalEntry, state: MemoryState, at: datetime, meta: Mapping[str, int]) -> Remove:
    """Return the change that makes a decided memory pending again."""
    event = Event.QUARANTINE if state == MemoryState.QUARANTINED else Event.PROPOSE
    purge_at = at + timedelta(days=CANDIDATE_DAYS) if state == MemoryState.CANDIDATE else None
    return Remove(entry.memory_id, state, event, purge_at, meta=meta)


def _decide_again(entry: JournalEntry, purge_at: datetime, meta: Mapping[str, int]) -> Remove | Restore:
    """Return the change that approves or rejects again what an undo had made pending."""
    was = MemoryState.QUARANTINED if entry.event == Event.QUARANTINE else MemoryState.CANDIDATE
    told = {**meta, STATE_BEFORE: str(was)}
    if entry.old_version is None:
        return Remove(entry.memory_id, purge_at=purge_at, meta=told)
    return Restore(entry.memory_id, Event.CONFIRM, meta=told)


def _restore_content(
    entry: JournalEntry,
    contents: Mapping[tuple[str, int], Memory],
    signals: Mapping[tuple[str, int], Signals],
    at: datetime,
    meta: Mapping[str, int],
) -> Put:
    assert entry.old_version is not None
    key = (entry.memory_id, entry.old_version)
    if key not in contents:
        raise Conflict(f"version {key[1]} of memory {key[0]!r} is no longer there; change {entry.step} stays")
    content = replace(contents[key], updated_at=at)
    told = {**meta, _CONTENT_OF: entry.old_version}
    return Put(content, signals[key], WriteMode.UPDATE, event=Event.RESTORE, meta=told)


def tell_undo(changes: Sequence[BatchChange], applied: Sequence[ChangeResult], step: int) -> tuple[MessageResult, ...]:
    """Return what an undo did with each memory."""
    told = {
        result.id: MessageResult(result.id, Outcome(_undo_outcome(change, result)), _undo_reason(change, step))
        for change, result in zip(changes, applied, strict=True)
        if not isinstance(change, Link | Unlink)
    }
    return tuple(told.values())


def _undo_outcome(change: BatchChange, applied: ChangeResult) -> str:
    """Return the outcome of an undo for a memory."""
    if isinstance(change, Remove) and change.state in APART:
        return _PENDING_AGAIN[change.state]
    return _OUTCOMES[applied.outcome]


def _undo_reason(change: BatchChange, step: int) -> str:
    """Return in words what an undo did with a memory."""
    if isinstance(change, Put):
        return f"its content is as it was before change {step}"
    if isinstance(change, Restore):
        return f"change {step} had taken it out of answers; it is back"
    if change.state in APART:  # type: ignore[union-attr]  # links have no result
        return f"change {step} had decided on it; it is pending again"
    if change.state == MemoryState.MERGED:  # type: ignore[union-attr]
        return f"change {step} had taken its merge back; it is merged again"
    return f"change {step} had added it; it is forgotten"
