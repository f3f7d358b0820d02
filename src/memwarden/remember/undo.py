"""Taking back one decision: the changes that make things as they were before it (F11)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from memwarden.errors import Conflict
from memwarden.records import (
    BatchChange,
    Event,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    Put,
    Remove,
    Restore,
    Signals,
    Unlink,
    WriteMode,
)
from memwarden.remember.resolve.candidates import CANDIDATE_DAYS, STATE_BEFORE
from memwarden.remember.resolve.consent.rules import was_closed_while_pending

_EDGES = (Event.LINK, Event.UNLINK)
_APART = (Event.PROPOSE, Event.QUARANTINE)
_UNDOES = "undoes"
_CONTENT_OF = "content_of"
"""Stands in the meta of a RESTORE that writes an old version's content again."""
_MERGED = "was_merged"
"""Stands in the meta of a RESTORE that takes a merge back, so that taking that back merges again."""


def versions_needed(entries: Sequence[JournalEntry]) -> list[tuple[str, int]]:
    """Which versions :func:`invert` needs: those that were active before the decision and another one after it."""
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


def _state(entry: JournalEntry) -> tuple[str, int | None]:
    """Where a memory is after an entry, and which version it holds, also while it is not active."""
    if entry.new_version is not None:
        return "active", entry.new_version
    return "apart" if entry.event in _APART else "gone", entry.old_version


def _why_not(step: int, last: JournalEntry) -> str:
    if (last.meta or {}).get(_UNDOES) == step:
        return f"change {step} was undone already, by change {last.step}"
    return f"memory {last.memory_id!r} was changed since, by change {last.step} ({last.event}); undo that first"


def ends_needed(changes: Sequence[BatchChange]) -> set[str]:
    """The memories that must be there for the links of an undo, apart from those that it brings back itself."""
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
        entries: of one step, in the order of the journal. contents: by id and version, see :func:`versions_needed`.
        signals: for those contents. at: when. purge_at: for what the decision had created.

    Raises Conflict when an old content is no longer there, and for a memory that was never active.
    """
    meta = {_UNDOES: entries[0].step}
    changes: list[BatchChange] = []
    for entry in reversed(entries):
        told = entry.meta or {}
        if STATE_BEFORE in told and (entry.event == Event.CONFIRM or entry.new_version is None):
            changes.append(_pend_again(entry, MemoryState(told[STATE_BEFORE]), at, meta))
            continue
        if was_closed_while_pending(entry):
            continue
        if entry.event == Event.LINK:
            edge = (entry.memory_id, str(told["to"]), str(told["type"]))
            changes.append(Link(*edge, float(told["was"]), meta=meta) if "was" in told else Unlink(*edge, meta=meta))
        elif entry.event == Event.UNLINK:
            edge = (entry.memory_id, str(told["to"]), str(told["type"]))
            changes.append(Link(*edge, float(told["was"]), meta=meta))
        elif entry.event in _APART and _UNDOES in told:
            changes.append(_decide_again(entry, purge_at, meta))
        elif entry.event in _APART:
            raise Conflict(
                f"change {entry.step} stored a memory apart ({entry.event}), where no answer finds it; discard it"
            )
        elif entry.old_version is None and told.get(_MERGED):
            changes.append(Remove(entry.memory_id, MemoryState.MERGED, Event.MERGE, meta=meta))
        elif entry.old_version is None:
            changes.append(Remove(entry.memory_id, MemoryState.SOFT_DELETED, Event.DELETE, purge_at, meta=meta))
        elif entry.new_version is None:
            was_merged = {_MERGED: True} if entry.event == Event.MERGE else {}
            changes.append(Restore(entry.memory_id, meta={**meta, **was_merged}))
        else:
            changes.append(_restore_content(entry, contents, signals, at, meta))
    return tuple(changes)


def _pend_again(entry: JournalEntry, state: MemoryState, at: datetime, meta: Mapping[str, int]) -> Remove:
    """What waited before somebody decided on it waits again."""
    event = Event.QUARANTINE if state == MemoryState.QUARANTINED else Event.PROPOSE
    purge_at = at + timedelta(days=CANDIDATE_DAYS) if state == MemoryState.CANDIDATE else None
    return Remove(entry.memory_id, state, event, purge_at, meta=meta)


def _decide_again(entry: JournalEntry, purge_at: datetime, meta: Mapping[str, int]) -> Remove | Restore:
    """What an undo had put back to wait is let in, or given up, as before that undo."""
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
