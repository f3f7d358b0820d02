"""Net changes of memories since a revision."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from memwarden.records import RESET, Event, JournalEntry, Memory

# The sign of each kind of change: ``deleted`` was forgotten, ``soft_deleted`` expired or was evicted.
SIGNS: Mapping[str, str] = {
    "created": "+",
    "updated": "↑",
    "merged": "↔",
    "deleted": "−",
    "soft_deleted": "~",
    "restored": "↺",
}
# Events of a memory in whose place another one is. A correction updates the quotations of the message.
_REPLACING = (Event.SUPERSEDE, Event.UPDATE)


class NetChange(NamedTuple):
    """The net change of a memory.

    Attributes:
        kind: a key of :data:`SIGNS`. version: the content to show: the new version, or the last version before removal.
        seq: of the last entry about it. notes: for merged memories, the number of statements it stands for now.
        wordless: whether it went with everything else, so that its words are not told.
    """

    memory_id: str
    kind: str
    version: int
    seq: int
    notes: int = 1
    wordless: bool = False


@dataclass(slots=True)
class _MemoryTrack:
    """State of a memory over the entries read so far.

    Attributes:
        was, now: the version that was active before the first, and after the last of them.
        seq: of the last entry. last: the version that was active last, 0 when none was.
        added: whether it was stored or confirmed in them. event: of the last entry. reset: whether that was a reset.
        into: the memory into which it was merged. by: the memory that superseded it.
        merged: the memories merged into it.
        same_as: versions that repeat the content of an earlier version, after an undo.
    """

    was: int | None
    now: int | None
    seq: int
    last: int = 0
    added: bool = False
    event: str = ""
    reset: bool = False
    into: str | None = None
    by: str | None = None
    merged: list[str] = field(default_factory=list)
    same_as: dict[int, int] = field(default_factory=dict)

    def take(self, entry: JournalEntry) -> None:
        told = entry.meta or {}
        if entry.new_version is not None and "content_of" in told:
            before = int(told["content_of"])
            self.same_as[entry.new_version] = self.same_as.get(before, before)
            self.by, self.merged = None, []
        elif entry.event in _REPLACING and "by" in told:
            self.by = str(told["by"])
        elif entry.event == Event.MERGE and "of" in told:
            self.merged.append(str(told["of"]))
        if entry.old_version is None and entry.new_version is not None and entry.event != Event.RESTORE:
            self.added, self.by, self.merged = True, None, []
        merged_away = entry.new_version is None and entry.event == Event.MERGE
        self.into = str(told.get("into", "")) if merged_away else None
        self.now, self.seq, self.event = entry.new_version, entry.seq, entry.event
        self.reset = RESET in told
        self.last = next((item for item in (entry.new_version, entry.old_version) if item is not None), self.last)

    def kind(self, hidden: Collection[str]) -> str | None:
        """Return the kind of the net change; None for no change, or a change shown with another memory."""
        if self.was is None:
            return None if self.now is None else "created" if self.added else "restored"
        if self.now is None:
            if self.into is not None and self.into not in hidden:
                return None
            return "soft_deleted" if self.event in (Event.TTL, Event.EVICT) else "deleted"
        if self.same_as.get(self.now, self.now) == self.was:
            return None
        return "merged" if self.count_merged(hidden) else "updated"

    def count_merged(self, hidden: Collection[str]) -> int:
        """Count the visible memories merged into it."""
        return sum(1 for item in self.merged if item not in hidden)


def last_versions(entries: Iterable[JournalEntry]) -> list[tuple[str, int]]:
    """Return each memory that journal entries change, with the version that was active last."""
    return [(item, track.last) for item, track in _tracks(entries).items()]


def net_changes(entries: Iterable[JournalEntry], hidden: Collection[str] = ()) -> list[NetChange]:
    """Return the net change of each memory over journal entries in their order, the newest first.

    Created and gone again is nothing, and so is changed and taken back. A fact that superseded another is a single
    change, an update, shown with the new fact. Links are left out.

    hidden: ids that must not be shown. The changes read as if they did not exist: what replaced a hidden memory is new.
    """
    tracks = {item: track for item, track in _tracks(entries).items() if item not in hidden}
    told_by = {track: successor for track in tracks if (successor := _successor(track, tracks)) is not None}
    replaced = {told_by[item] for item in told_by if tracks[item].was is not None}
    last = {item: track.seq for item, track in tracks.items()}
    for item, successor in told_by.items():
        last[successor] = max(last[successor], tracks[item].seq)
    nets = [
        NetChange(
            item,
            "updated" if item in replaced else kind,
            track.last,
            last[item],
            track.count_merged(hidden) + 1,
            track.reset,
        )
        for item, track in tracks.items()
        if (kind := track.kind(hidden)) is not None and item not in told_by
    ]
    return sorted(nets, key=lambda net: -net.seq)


def _tracks(entries: Iterable[JournalEntry]) -> dict[str, _MemoryTrack]:
    tracks: dict[str, _MemoryTrack] = {}
    for entry in entries:
        if entry.event not in (Event.LINK, Event.UNLINK):
            track = tracks.setdefault(entry.memory_id, _MemoryTrack(entry.old_version, entry.old_version, entry.seq))
            track.take(entry)
    return tracks


def _successor(text: str, tracks: Mapping[str, _MemoryTrack]) -> str | None:
    """Return the new memory that finally superseded another; None when there is none."""
    found, passed = None, {text}
    by = tracks[text].by if tracks[text].now is not None else None
    while by is not None and by not in passed and by in tracks:
        passed.add(by)
        track = tracks[by]
        if track.was is not None or track.now is None:
            break
        found, by = by, track.by
    return found


def list_outdated(
    nets: Iterable[NetChange], contents: Iterable[Memory], shown: Mapping[str, int], successors: Collection[str]
) -> list[tuple[NetChange, Memory]]:
    """Return the changes by which something that was shown is no longer so, with the content to tell.

    shown: the version of each memory as it was shown. successors: what took the place of a shown memory.
    """
    known = {(memory.id, memory.version): memory for memory in contents}
    found = []
    for net in nets:
        memory, before = (
            known.get((net.memory_id, net.version)),
            known.get((net.memory_id, shown.get(net.memory_id, 0))),
        )
        if memory is None or net.kind not in ("updated", "deleted", "soft_deleted"):
            continue
        if net.memory_id not in shown and net.memory_id not in successors:
            continue
        same = before is not None and _says(before) == _says(memory)
        if net.kind != "updated" or not same:
            found.append((net, memory))
    return found


def list_successors(entries: Iterable[JournalEntry], shown: Collection[str]) -> set[str]:
    """Return the memories that took the place of shown memories, or of what took their place."""
    found: set[str] = set()
    for entry in entries:
        by = (entry.meta or {}).get("by")
        if entry.event in _REPLACING and by is not None and (entry.memory_id in shown or entry.memory_id in found):
            found.add(str(by))
    return found


def _says(memory: Memory) -> tuple[str, str | None, datetime | None]:
    return memory.text, memory.summary, memory.valid_to
