"""What changed in a namespace since somebody looked (B1): the net change of each memory, and the header that tells it.

Pure functions over journal entries and contents. The journal says of each change which version was active before and
after; what its ``meta`` names is told where it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memwarden import importance
from memwarden.recall.answer.excerpt import ELLIPSIS, one_line
from memwarden.recall.answer.render import day
from memwarden.recall.answer.render import words as shown_words
from memwarden.records import Delta, Event, JournalEntry, Memory
from memwarden.tokens import TokenCounter

MOST_BULLETS = 3
CHARACTERS = 100
"""A bullet's text is cut to this length: it tells what changed, the memory itself is a query away."""

SIGNS: Mapping[str, str] = {
    "created": "+",
    "updated": "↑",
    "merged": "↔",
    "deleted": "−",
    "soft_deleted": "~",
    "restored": "↺",
}
"""The sign of each kind of change: design B's for the first three, our own for the others. ``deleted`` was forgotten,
``soft_deleted`` had its time, or had to make room."""


class Net(NamedTuple):
    """The net change of one memory.

    Attributes:
        kind: a key of :data:`SIGNS`. version: the content that tells it: the new one, for what is gone the last one.
        seq: of the last entry about it. notes: for what was merged, how many statements it stands for now.
    """

    memory_id: str
    kind: str
    version: int
    seq: int
    notes: int = 1


@dataclass(slots=True)
class _Track:
    """What the entries say of one memory so far.

    Attributes:
        was, now: the version that was active before the first, and after the last of them.
        seq: of the last one. last: the version that was active last, 0 when none was.
        added: whether it was stored or confirmed in them. event: of the last entry.
        into: the one that says the same, after which this one went. by: what took its place.
        merged: which ones joined it.
        same_as: versions that repeat the content of an earlier one, since a decision was taken back.
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
        """What became of the memory, or None when nothing did, or what did is told of another one."""
        if self.was is None:
            return None if self.now is None else "created" if self.added else "restored"
        if self.now is None:
            if self.into is not None and self.into not in hidden:
                return None
            return "soft_deleted" if self.event in (Event.TTL, Event.EVICT) else "deleted"
        if self.same_as.get(self.now, self.now) == self.was:
            return None
        return "merged" if self.joined(hidden) else "updated"

    def joined(self, hidden: Collection[str]) -> int:
        """How many others it stands for, of those that may be told."""
        return sum(1 for item in self.merged if item not in hidden)


def last_versions(entries: Iterable[JournalEntry]) -> list[tuple[str, int]]:
    """Return each memory that journal entries change, with the version that was active last."""
    return [(item, track.last) for item, track in _tracks(entries).items()]


def net_changes(entries: Iterable[JournalEntry], hidden: Collection[str] = ()) -> list[Net]:
    """Return the net change of each memory over journal entries in their order, the newest first.

    Created and gone again is nothing, and so is changed and taken back. A fact that took the place of another is one
    change, an update, told by the new one. Links are left out.

    hidden: ids that must not be told. What is told is as if they were not there: what replaced one of them is new.
    """
    tracks = {item: track for item, track in _tracks(entries).items() if item not in hidden}
    told_by = {track: successor for track in tracks if (successor := _successor(track, tracks)) is not None}
    replaced = {told_by[item] for item in told_by if tracks[item].was is not None}
    last = {item: track.seq for item, track in tracks.items()}
    for item, successor in told_by.items():
        last[successor] = max(last[successor], tracks[item].seq)
    nets = [
        Net(item, "updated" if item in replaced else kind, track.last, last[item], track.joined(hidden) + 1)
        for item, track in tracks.items()
        if (kind := track.kind(hidden)) is not None and item not in told_by
    ]
    return sorted(nets, key=lambda net: -net.seq)


def _tracks(entries: Iterable[JournalEntry]) -> dict[str, _Track]:
    tracks: dict[str, _Track] = {}
    for entry in entries:
        if entry.event not in (Event.LINK, Event.UNLINK):
            track = tracks.setdefault(entry.memory_id, _Track(entry.old_version, entry.old_version, entry.seq))
            track.take(entry)
    return tracks


def _successor(text: str, tracks: Mapping[str, _Track]) -> str | None:
    """The memory, new in these entries, that took the place of another at the end of all; None when there is none."""
    found, passed = None, {text}
    by = tracks[text].by if tracks[text].now is not None else None
    while by is not None and by not in passed and by in tracks:
        passed.add(by)
        track = tracks[by]
        if track.was is not None or track.now is None:
            break
        found, by = by, track.by
    return found


def bullet(net: Net, memory: Memory) -> str:
    """A net change in design B's words, for instance ``+created: [Personal] Preferred name is Ana (imp=2)``."""
    words = one_line(shown_words(memory))
    if len(words) > CHARACTERS:
        words = words[: CHARACTERS - 1].rstrip() + ELLIPSIS
    if memory.valid_to is not None:
        words = f"{words} (until {day(memory.valid_to)})"
    sign = f"{SIGNS[net.kind]}{net.kind}"
    if net.kind == "merged":
        return f"{sign}: Combined {net.notes} notes: {words}"
    level = f" (imp={importance.to_level(memory.importance)})" if net.kind == "created" else ""
    return f"{sign}: [{label(memory.category)}] {words}{level}"


def label(category: str) -> str:
    """A category's name as people read it: ``relationship_dynamic`` is ``Relationship dynamic``."""
    words = one_line(category.replace("_", " "))
    return words[:1].upper() + words[1:]


def delta(since: int, rev: int, nets: Sequence[Net], contents: Iterable[Memory]) -> Delta:
    """Make the delta of net changes, newest first. contents: of the versions that the newest nets name."""
    known = {(memory.id, memory.version): memory for memory in contents}
    told = [(net, known.get((net.memory_id, net.version))) for net in nets[:MOST_BULLETS]]
    bullets = tuple(bullet(net, memory) for net, memory in told if memory is not None)
    return Delta(since, rev, bullets, len(nets) - len(bullets), _text(since, bullets, len(nets) - len(bullets)))


def fitted(whole: Delta, budget: int | None, count: TokenCounter) -> Delta | None:
    """Return a delta whose text fits a budget, with fewer bullets if need be; None when not even its header fits."""
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
    return "\n".join([f"Memory updates since rev {since}:", *(f"- {bullet}" for bullet in bullets), *others])
