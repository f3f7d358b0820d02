"""Computes the net change of each memory since a revision, and renders them as a header.

Pure functions over journal entries and contents. The journal says of each change which version was active before and
after; what its ``meta`` names is told where it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memwarden import importance
from memwarden.recall.answer.excerpt import ELLIPSIS, one_line
from memwarden.recall.answer.frame import clean_line, frame_memory, with_notice
from memwarden.recall.answer.render import format_day
from memwarden.recall.answer.render import shown_words as shown_words
from memwarden.records import Delta, Event, JournalEntry, Memory
from memwarden.tokens import TokenCounter

MAX_BULLETS = 3
MAX_BULLET_CHARACTERS = 100
"""A bullet's text is cut to this length: it tells what changed, the memory itself is a query away."""

SIGNS: Mapping[str, str] = {
    "created": "+",
    "updated": "↑",
    "merged": "↔",
    "deleted": "−",
    "soft_deleted": "~",
    "restored": "↺",
}
"""The sign of each kind of change: ``deleted`` was forgotten, ``soft_deleted`` expired or was
evicted."""


class NetChange(NamedTuple):
    """The net change of a memory.

    Attributes:
        kind: a key of :data:`SIGNS`. version: the content to show: the new version, or the last version before removal.
        seq: of the last entry about it. notes: for merged memories, the number of statements it stands for now.
    """

    memory_id: str
    kind: str
    version: int
    seq: int
    notes: int = 1


@dataclass(slots=True)
class _MemoryTrack:
    """State of a memory over the entries read so far.

    Attributes:
        was, now: the version that was active before the first, and after the last of them.
        seq: of the last entry. last: the version that was active last, 0 when none was.
        added: whether it was stored or confirmed in them. event: of the last entry.
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
        elif entry.event == Event.SUPERSEDE and "by" in told:
            self.by = str(told["by"])
        elif entry.event == Event.MERGE and "of" in told:
            self.merged.append(str(told["of"]))
        if entry.old_version is None and entry.new_version is not None and entry.event != Event.RESTORE:
            self.added, self.by, self.merged = True, None, []
        merged_away = entry.new_version is None and entry.event == Event.MERGE
        self.into = str(told.get("into", "")) if merged_away else None
        self.now, self.seq, self.event = entry.new_version, entry.seq, entry.event
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
        NetChange(item, "updated" if item in replaced else kind, track.last, last[item], track.count_merged(hidden) + 1)
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


def render_change(net: NetChange, memory: Memory) -> str:
    """Render a net change, for instance ``+created: [Personal] Preferred name is Ana (imp=2)``."""
    words = one_line(shown_words(memory))
    if len(words) > MAX_BULLET_CHARACTERS:
        words = words[: MAX_BULLET_CHARACTERS - 1].rstrip() + ELLIPSIS
    words = frame_memory(memory, words)
    if memory.valid_to is not None:
        words = f"{words} (until {format_day(memory.valid_to)})"
    sign = f"{SIGNS[net.kind]}{net.kind}"
    if net.kind == "merged":
        return f"{sign}: Combined {net.notes} notes: {words}"
    level = f" (imp={importance.to_level(memory.importance)})" if net.kind == "created" else ""
    return f"{sign}: [{category_label(memory.category)}] {words}{level}"


def category_label(category: str) -> str:
    """Return a category's display name: ``relationship_dynamic`` is ``Relationship dynamic``."""
    words = clean_line(category.replace("_", " "))
    return words[:1].upper() + words[1:]


def make_delta(since: int, rev: int, nets: Sequence[NetChange], contents: Iterable[Memory]) -> Delta:
    """Make the delta of net changes, newest first. contents: of the versions that the newest nets name."""
    known = {(memory.id, memory.version): memory for memory in contents}
    told = [(net, known.get((net.memory_id, net.version))) for net in nets[:MAX_BULLETS]]
    bullets = tuple(render_change(net, memory) for net, memory in told if memory is not None)
    return Delta(since, rev, bullets, len(nets) - len(bullets), _text(since, bullets, len(nets) - len(bullets)))


def fit_delta(whole: Delta, budget: int | None, count: TokenCounter) -> Delta | None:
    """Shorten a delta to a token budget; None when not even its header fits."""
    changes = len(whole.bullets) + whole.more
    for shown in range(len(whole.bullets), -1, -1):
        bullets, more = whole.bullets[:shown], changes - shown
        text = _text(whole.since, bullets, more)
        if budget is None or count(text) <= budget:
            return Delta(whole.since, whole.rev, bullets, more, text)
    return None


def _text(since: int, bullets: Sequence[str], more: int) -> str:
    if not bullets and not more:
        return ""
    others = [f"(+{more} more)"] if more else []
    head = f"Memory updates since rev {since}:"
    return "\n".join([head, with_notice("\n".join([*(f"- {change}" for change in bullets), *others]))])
