"""Tracks the revision up to which each thread has seen the changes.

Reads never write. What an answer has told is kept in this process; it is stored with the next turn that the thread
observes, so that what was told is told again after a crash rather than never.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memwarden.errors import InvalidInput
from memwarden.recall.index.namespace_index import DEFAULT_THREAD
from memwarden.recall.time import changes
from memwarden.recall.time.past import read_entries_after
from memwarden.records import CARD, Channel, Delta, JournalEntry, Namespace, Scope, SeenMark
from memwarden.stores.protocol import Store

MAX_THREADS = 10_000
"""Threads whose cursor a process holds; the store knows the others' up to their last turn."""


SEPARATOR = "\x1f"
"""Separates thread and agent in a mark's name; no name holds it, since names are printable."""


class IndexMoment(NamedTuple):
    """Revision counters of the index for which an answer is true.

    stated_rev: see :class:`memwarden.recall.index.namespace_index.NamespaceIndex`.
    """

    rev: int
    epoch: int
    stated_rev: int


class ChangeCursor:
    """Reports to each thread the changes since its last look.

    Marks are stored for each agent of a thread, so that an agent does not take the changes from the others.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: OrderedDict[tuple[Namespace, str], dict[str | None, tuple[int, int]]] = OrderedDict()

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
        hidden = () if readable is None else await self._hidden(scope.namespace, entries, readable)
        nets = changes.net_changes(entries, hidden)
        versions = [(net.memory_id, net.version) for net in nets[: changes.MAX_BULLETS]]
        contents = await self._store.versions(scope.namespace, versions) if versions else []
        return changes.make_delta(since, moment.rev, nets, contents)

    async def _hidden(
        self, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str]
    ) -> Collection[str]:
        """Return the memories whose last content, then or now, is in no readable category.

        What is no longer in the store is hidden too: nobody knows what it was.
        """
        last = changes.last_versions(entries)
        if not last:
            return ()
        then = await self._store.versions(namespace, last)
        now = await self._store.get(namespace, [item for item, _ in last], removed=True)
        may = {item.id for item in then if item.category in readable}
        may &= {item.id for item in now if item.category in readable}
        return {item for item, _ in last} - may

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


_UNREPORTED_CATEGORIES = ("state:", "session:", "in-prompt:")
"""How the ids of what is saved by key begin; the user context, which is of the same channel, is news."""


def _is_unreported(entry: JournalEntry) -> bool:
    """Whether an entry is left out of the changes: index cards, steps and state are."""
    saved = entry.channel == Channel.STATE and entry.memory_id.startswith(_UNREPORTED_CATEGORIES)
    return saved or entry.channel == Channel.PROCEDURAL or (entry.meta is not None and CARD in entry.meta)


def _key(scope: Scope) -> tuple[Namespace, str]:
    return scope.namespace, scope.thread or DEFAULT_THREAD
