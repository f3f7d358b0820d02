"""Computes the net change of each memory since a revision, renders them as a header, and arranges items by time.

Pure functions over journal entries and contents. The journal says of each change which version was active before and
after; what its ``meta`` names is told where it is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden import checks
from memwarden.clock import DEFAULT_THREAD, microseconds
from memwarden.errors import InvalidInput
from memwarden.recall.answer.excerpt import ELLIPSIS, one_line
from memwarden.recall.answer.frame import clean_line, frame_memory, with_notice
from memwarden.recall.answer.render import day_of, until_of
from memwarden.recall.answer.render import shown_words as shown_words
from memwarden.recall.time.past import read_entries_after
from memwarden.records import (
    CARD,
    RESET,
    Channel,
    Delta,
    Event,
    JournalEntry,
    Memory,
    Namespace,
    RecallItem,
    Scope,
    SeenMark,
    Trust,
)
from memwarden.stores.protocol import Store
from memwarden.text.tokenizer import TokenCounter

MAX_BULLETS = 3
# A bullet's text is cut to this length: it tells what changed, the memory itself is a query away.
MAX_BULLET_CHARACTERS = 100

# The sign of each kind of change: ``deleted`` was forgotten, ``soft_deleted`` expired or was evicted.
SIGNS: Mapping[str, str] = {
    "created": "+",
    "updated": "↑",
    "merged": "↔",
    "deleted": "−",
    "soft_deleted": "~",
    "restored": "↺",
}


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
        elif entry.event == Event.SUPERSEDE and "by" in told:
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


def render_change(net: NetChange, memory: Memory) -> str:
    """Render a net change, for instance ``+created: [Personal] Preferred name is Ana (imp=2)``."""
    if net.wordless:
        return _render_end(net.kind, memory)
    words = f"{_short_words(memory)}{until_of(memory)}"
    sign = f"{SIGNS[net.kind]}{net.kind}"
    if net.kind == "merged":
        return f"{sign}: Combined {net.notes} notes: {words}"
    level = f" (imp={checks.to_level(memory.importance)})" if net.kind == "created" else ""
    return f"{sign}: [{category_label(memory.category)}] {words}{level}"


def _short_words(memory: Memory) -> str:
    words = one_line(shown_words(memory))
    if len(words) > MAX_BULLET_CHARACTERS:
        words = words[: MAX_BULLET_CHARACTERS - 1].rstrip() + ELLIPSIS
    return frame_memory(memory, words)


def render_outdated(net: NetChange, memory: Memory, now: datetime, *, below: bool) -> str:
    """Render a change of what a model was shown, without the words that are no longer so.

    below: whether the new words stand among the memories of the same prompt.
    """
    label = category_label(memory.category)
    if net.kind == "updated" and (memory.valid_to is None or memory.valid_to > now):
        words = "(see the memories)" if below else _short_words(memory)
        return f"{SIGNS['updated']}updated: [{label}] {words}"
    return _render_end("soft_deleted" if net.kind == "updated" else net.kind, memory)


def _render_end(kind: str, memory: Memory) -> str:
    day = day_of(memory)
    return f"{SIGNS[kind]}{kind}: [{category_label(memory.category)}] what was known of {day} holds no longer"


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
        if entry.event == Event.SUPERSEDE and by is not None and (entry.memory_id in shown or entry.memory_id in found):
            found.add(str(by))
    return found


def _says(memory: Memory) -> tuple[str, str | None, datetime | None]:
    return memory.text, memory.summary, memory.valid_to


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


def tell_outdated(
    since: int, rev: int, found: Sequence[tuple[NetChange, Memory]], now: datetime, below: Collection[str] = ()
) -> Delta:
    """Make the delta of what was shown and is no longer so. below: ids of what the same text shows."""
    told = found[:MAX_BULLETS]
    bullets = tuple(render_outdated(net, memory, now, below=memory.id in below) for net, memory in told)
    return Delta(since, rev, bullets, len(found) - len(told), _text(since, bullets, len(found) - len(told)))


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


# Memories of which it is known that a thread's model was shown them; the oldest are dropped.
MAX_SHOWN = 200
# Threads whose cursor a process holds; the store knows the others' up to their last turn.
MAX_THREADS = 10_000


# Separates thread and agent in a mark's name; no name holds it, since names are printable.
SEPARATOR = "\x1f"


class IndexMoment(NamedTuple):
    """Revision counters of the index for which an answer is true.

    stated_rev: see :class:`memwarden.recall.index.namespace_index.NamespaceIndex`.
    """

    rev: int
    epoch: int
    stated_rev: int


@dataclass(slots=True)
class ShownMemories:
    """What a thread's model was shown: the version of each memory, and up to which revision it was told of changes."""

    epoch: int
    rev: int
    versions: dict[str, int] = field(default_factory=dict)


class Outdated(NamedTuple):
    """What a thread's model was shown and is no longer so, since a revision. gone: ids of what is not there now."""

    since: int
    changes: tuple[tuple[NetChange, Memory], ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def updated(self) -> tuple[Memory, ...]:
        """The memories that hold new words."""
        return tuple(memory for net, memory in self.changes if net.kind == "updated")


class ChangeCursor:
    """Reports to each thread the changes since its last look.

    Marks are stored for each agent of a thread, so that an agent does not take the changes from the others.
    """

    def __init__(self, store: Store, *, external: bool = True) -> None:
        """external: whether changes of what nobody vouches for are told."""
        self._store = store
        self._external = external
        self._marks: OrderedDict[tuple[Namespace, str], dict[str | None, tuple[int, int]]] = OrderedDict()
        self._shown: OrderedDict[tuple[Namespace, str, str | None], ShownMemories] = OrderedDict()

    def seen(self, scope: Scope) -> tuple[SeenMark, ...]:
        """Return up to which revision each agent that asked in the scope's thread was told."""
        marks = self._marks.get(_key(scope), {})
        return tuple(SeenMark(cursor_name(scope.thread, agent), rev) for agent, (_, rev) in marks.items())

    def acknowledge(self, scope: Scope, moment: IndexMoment) -> None:
        """Move the mark: an answer reported the changes up to this moment."""
        marks = self._marks.setdefault(_key(scope), {})
        epoch, rev = marks.get(scope.agent, (moment.epoch, 0))
        marks[scope.agent] = (moment.epoch, max(rev, moment.rev) if epoch == moment.epoch else moment.rev)
        self._marks.move_to_end(_key(scope))
        if len(self._marks) > MAX_THREADS:
            self._marks.popitem(last=False)

    def is_unchanged(self, scope: Scope, moment: IndexMoment) -> bool:
        """Whether only turns were written since the mark, decided without the store."""
        mark = self._mark(scope, moment)
        return moment.stated_rev == 0 or (mark is not None and moment.stated_rev <= mark)

    async def since(
        self, scope: Scope, moment: IndexMoment, since_rev: int | None, readable: tuple[str, ...] | None
    ) -> Delta:
        """Return what changed up to a moment since the scope's thread looked, or since a revision.

        readable: the categories that may be told; None for all. Raises InvalidInput for a revision that there is not.
        """
        if since_rev is not None and since_rev > moment.rev:
            raise InvalidInput(
                f"since_rev {since_rev} is no revision of {scope.namespace.path}, which has {moment.rev}"
            )
        since = await self._last_look(scope, moment) if since_rev is None else since_rev
        entries = await read_entries_after(self._store, scope.namespace, since, turns=False)
        entries = [entry for entry in entries if entry.seq <= moment.rev and not _is_unreported(entry)]
        all_told = readable is None and self._external
        hidden = () if all_told else await self._hidden(scope.namespace, entries, readable)
        nets = net_changes(entries, hidden)
        versions = [(net.memory_id, net.version) for net in nets[:MAX_BULLETS]]
        contents = await self._store.versions(scope.namespace, versions) if versions else []
        return make_delta(since, moment.rev, nets, contents)

    def note_shown(
        self, scope: Scope, moment: IndexMoment, memories: Iterable[Memory], told: Outdated | None = None
    ) -> None:
        """Note what the model of a thread was shown. told: what it was told to be no longer so."""
        key = (*_key(scope), scope.agent)
        shown = self._shown.get(key)
        if shown is None or shown.epoch != moment.epoch:
            shown = self._shown[key] = ShownMemories(moment.epoch, moment.rev)
        if told is not None:
            shown.rev = moment.rev
            for memory_id in (*told.gone, *(net.memory_id for net, _ in told.changes)):
                shown.versions.pop(memory_id, None)
            memories = (*memories, *told.updated)
        for memory in memories:
            shown.versions.pop(memory.id, None)
            shown.versions[memory.id] = memory.version
        while len(shown.versions) > MAX_SHOWN:
            del shown.versions[next(iter(shown.versions))]
        self._shown.move_to_end(key)
        if len(self._shown) > MAX_THREADS:
            self._shown.popitem(last=False)

    async def outdated(
        self, scope: Scope, moment: IndexMoment, readable: tuple[str, ...] | None, is_there: Callable[[str], bool]
    ) -> Outdated:
        """Return what the model of a thread was shown and is no longer so. is_there: whether a memory is active."""
        shown = self._shown.get((*_key(scope), scope.agent))
        if shown is None or shown.epoch != moment.epoch:
            return Outdated(moment.rev)
        gone = tuple(memory_id for memory_id in shown.versions if not is_there(memory_id))
        if moment.stated_rev <= shown.rev and not gone:
            return Outdated(shown.rev)
        entries = await read_entries_after(self._store, scope.namespace, shown.rev, turns=bool(gone))
        entries = [entry for entry in entries if entry.seq <= moment.rev and not _is_unreported(entry)]
        successors = list_successors(entries, shown.versions)
        entries = [entry for entry in entries if entry.memory_id in shown.versions or entry.memory_id in successors]
        hidden = () if readable is None else await self._hidden(scope.namespace, entries, readable)
        nets = net_changes(entries, hidden)
        now = {(net.memory_id, net.version) for net in nets}
        then = {(memory_id, shown.versions[memory_id]) for memory_id, _ in now if memory_id in shown.versions}
        contents = await self._store.versions(scope.namespace, sorted(now | then)) if nets else []
        return Outdated(shown.rev, tuple(list_outdated(nets, contents, shown.versions, successors)), gone)

    async def _hidden(
        self, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str] | None
    ) -> Collection[str]:
        """Return the memories whose last content, then or now, is in no readable category or may not be told.

        What is no longer in the store is hidden too: nobody knows what it was.
        """
        last = last_versions(entries)
        if not last:
            return ()
        then = await self._store.versions(namespace, last)
        now = await self._store.get(namespace, [item for item, _ in last], removed=True)
        may = {item.id for item in then if self._is_told(item, readable)}
        may &= {item.id for item in now if self._is_told(item, readable)}
        return {item for item, _ in last} - may

    def _is_told(self, memory: Memory, readable: Collection[str] | None) -> bool:
        known = readable is None or memory.category in readable
        return known and (self._external or memory.trust != Trust.EXTERNAL)

    async def _last_look(self, scope: Scope, moment: IndexMoment) -> int:
        """Return the revision of the thread's last look, at most 20 of its turns back."""
        marks = await self._store.thread(scope.namespace, scope.thread or DEFAULT_THREAD)
        known = self._mark(scope, moment)
        if known is None:
            seen = marks.seen
            if scope.agent is not None:
                seen = (await self._store.thread(scope.namespace, cursor_name(scope.thread, scope.agent))).seen
            known = seen if seen is not None else marks.began - 1 if marks.began is not None else moment.rev
        return min(max(known, marks.recent), moment.rev)

    def _mark(self, scope: Scope, moment: IndexMoment) -> int | None:
        epoch, rev = self._marks.get(_key(scope), {}).get(scope.agent, (None, 0))
        return rev if epoch == moment.epoch else None


def cursor_name(thread: str | None, agent: str | None) -> str:
    """Return the name under which the mark of an agent in a thread is stored."""
    name = thread or DEFAULT_THREAD
    return name if agent is None else f"{name}{SEPARATOR}{agent}"


# How the ids of what is saved by key begin; the user context, which is of the same channel, is news.
_UNREPORTED_CATEGORIES = ("state:", "session:", "in-prompt:")


def _is_unreported(entry: JournalEntry) -> bool:
    """Whether an entry is left out of the changes: index cards, steps and state are."""
    saved = entry.channel == Channel.STATE and entry.memory_id.startswith(_UNREPORTED_CATEGORIES)
    return saved or entry.channel == Channel.PROCEDURAL or (entry.meta is not None and CARD in entry.meta)


def _key(scope: Scope) -> tuple[Namespace, str]:
    return scope.namespace, scope.thread or DEFAULT_THREAD


# Cosine of two items from which on they are about the same matter.
MIN_ALIKE = 0.25
# The same for vectors that are means of a table: there all texts lie nearer to each other.
MIN_ALIKE_OF_TABLE = 0.6
# Among fewer memories two items are seldom about the same matter, however alike they are: there an item whose logit is
# lower by more than MAX_SCORE_GAP stays below.
FEW_MEMORIES = 100
MAX_SCORE_GAP = 0.3
# A longer list is a ranking for somebody who goes on with it, no answer: there the newest of dozens would lead.
MAX_ARRANGED = 40


def put_newest_first(
    items: Sequence[RecallItem], last: Collection[str] = (), first: Sequence[str] = ()
) -> list[RecallItem]:
    """Return items with what was said last first: it is what holds now.

    last: ids of what stands below the others. first: of what stands above them, in order.
    """
    newest = sorted(items, key=lambda item: (item.id not in last, item.created_at), reverse=True)
    leading = {memory_id: number for number, memory_id in enumerate(first)}
    return sorted(newest, key=lambda item: leading.get(item.id, len(leading)))


def put_newer_first(
    items: Sequence[RecallItem],
    vectors: npt.NDArray[np.float32],
    alike: float = MIN_ALIKE,
    memories: int = FEW_MEMORIES,
    moment: int | None = None,
) -> list[RecallItem]:
    """Return items best first, but of items that say alike things the newest at the first of their places.

    What was said later about the same matter holds now. The n-th item keeps the n-th score.

    vectors: a row of unit length for each item; a row of zeros is like no other. alike: the cosine of like items.
    memories: among how many they were found; few are seldom about the same matter. moment: a time that is asked about,
    in microseconds: what was said later stands below.
    """
    if len(items) > MAX_ARRANGED:
        return list(items)
    close = vectors @ vectors.T >= alike
    if memories < FEW_MEMORIES:
        odds = np.array([item.score for item in items]).clip(1e-6, 1 - 1e-6)
        logits = np.log(odds / (1 - odds))
        close &= logits[None] - logits[:, None] <= MAX_SCORE_GAP
    leaders: list[int] = []
    groups: dict[int, list[int]] = {}
    for place in range(len(items)):
        leader = next((earlier for earlier in leaders if close[place, earlier]), None)
        if leader is None:
            leaders.append(place)
        groups.setdefault(place if leader is None else leader, []).append(place)
    arranged = list(items)
    for places in groups.values():
        # Equal times stay best first.
        newest = sorted(places, key=lambda place: _recency(items[place], moment), reverse=True)
        for place, taken in zip(places, newest, strict=True):
            if taken != place:
                arranged[place] = replace(items[taken], score=items[place].score)
    return arranged


def _recency(item: RecallItem, moment: int | None) -> tuple[bool, datetime]:
    said = microseconds(item.created_at) + 60_000_000 * item.memory.utc_offset
    return moment is None or said <= moment, item.created_at


def drop_last(arranged: Sequence[RecallItem], best: str | None, always: Container[str], most: int) -> list[RecallItem]:
    """Return at most so many items, the best of them and the first of the others, and all that are always there."""
    others = [item.id for item in arranged if item.id not in always and item.id != best]
    dropped = set(others[most - (best is not None) :])
    return [item for item in arranged if item.id not in dropped]


# From this on a place surely tells what is asked for.
MIN_SURE: Final = 0.6
# The same for what was said after all of these: "we moved to Cork" is less plain than "I live in Leeds".
MIN_SURE_LATER: Final = 0.5


def find_sure(
    told: npt.NDArray[np.float32], total: npt.NDArray[np.float32], said: npt.NDArray[np.int64], *, later: bool
) -> npt.NDArray[np.bool_]:
    """Return which places tell the value that is asked for.

    told: how surely, and how likely, each place tells it. total: what each place scores; -inf for what may not be told.
    later: whether a later value that is told less surely, or in unusual words but scores more, is among them.
    """
    sure, likely = told
    open_places = total > float("-inf")
    found: npt.NDArray[np.bool_] = open_places & (sure >= MIN_SURE)
    if later and found.any():
        after = open_places & (said > said[found].max())
        found |= after & ((sure >= MIN_SURE_LATER) | ((likely >= MIN_SURE) & (total > total[found].max())))
    return found
