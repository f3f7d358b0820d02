"""Mark of the changes that each thread knows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memwarden.clock import DEFAULT_THREAD
from memwarden.errors import InvalidInput
from memwarden.recall.time.changes import NetChange, last_versions, list_outdated, list_successors, net_changes
from memwarden.recall.time.delta import MAX_BULLETS, make_delta
from memwarden.recall.time.past import read_entries_after
from memwarden.records import CARD, Channel, Delta, JournalEntry, Memory, Namespace, Scope, SeenMark, Trust
from memwarden.stores.protocol import Store

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
