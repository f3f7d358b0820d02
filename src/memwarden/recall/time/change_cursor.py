"""Who was told what: the revision up to which a thread has seen what changed, and what changed since (B1).

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
from memwarden.recall.time.past import entries_after
from memwarden.records import CARD, Channel, Delta, JournalEntry, Namespace, Scope, SeenMark
from memwarden.stores.protocol import Store

MOST_THREADS = 10_000
"""Of so many threads a process knows what it told them; of others the store does, up to their last turn."""


BETWEEN = "\x1f"
"""Stands between a thread and an agent in the name of their mark. No name holds it: names are printable."""


class Moment(NamedTuple):
    """For what an answer is true: counters of its index. stated_rev: see
    :class:`memwarden.recall.index.namespace_index`."""

    rev: int
    epoch: int
    stated_rev: int


class ChangeCursor:
    """Tells threads what changed since they looked.

    Marks are kept and stored for each agent of a thread: one that looks does not take the news from the others.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._marks: OrderedDict[tuple[Namespace, str], dict[str | None, tuple[int, int]]] = OrderedDict()

    def seen(self, scope: Scope) -> tuple[SeenMark, ...]:
        """Return up to which revision each agent that asked in the scope's thread was told."""
        marks = self._marks.get(_key(scope), {})
        return tuple(SeenMark(looker(scope.thread, agent), rev) for agent, (_, rev) in marks.items())

    def told(self, scope: Scope, moment: Moment) -> None:
        """Note that an answer told what there was to tell."""
        marks = self._marks.setdefault(_key(scope), {})
        epoch, rev = marks.get(scope.agent, (moment.epoch, 0))
        marks[scope.agent] = (moment.epoch, max(rev, moment.rev) if epoch == moment.epoch else moment.rev)
        self._marks.move_to_end(_key(scope))
        if len(self._marks) > MOST_THREADS:
            self._marks.popitem(last=False)

    def nothing(self, scope: Scope, moment: Moment) -> bool:
        """Whether there is nothing to tell, without asking the store: only turns were written since."""
        mark = self._mark(scope, moment)
        return moment.stated_rev == 0 or (mark is not None and moment.stated_rev <= mark)

    async def since(
        self, scope: Scope, moment: Moment, since_rev: int | None, readable: tuple[str, ...] | None
    ) -> Delta:
        """Return what changed up to a moment since the scope's thread looked, or since a revision.

        readable: the categories that may be told; None for all. Raises InvalidInput for a revision that there is not.
        """
        if since_rev is not None and since_rev > moment.rev:
            raise InvalidInput(
                f"since_rev {since_rev} is no revision of {scope.namespace.path}, which has {moment.rev}"
            )
        since = await self._looked(scope, moment) if since_rev is None else since_rev
        entries = await entries_after(self._store, scope.namespace, since, turns=False)
        entries = [entry for entry in entries if entry.seq <= moment.rev and not _is_no_news(entry)]
        hidden = () if readable is None else await self._hidden(scope.namespace, entries, readable)
        nets = changes.net_changes(entries, hidden)
        versions = [(net.memory_id, net.version) for net in nets[: changes.MOST_BULLETS]]
        contents = await self._store.versions(scope.namespace, versions) if versions else []
        return changes.delta(since, moment.rev, nets, contents)

    async def _hidden(
        self, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str]
    ) -> Collection[str]:
        """The memories of journal entries whose last content, in them or now, is in no category that may be told.

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

    async def _looked(self, scope: Scope, moment: Moment) -> int:
        """The revision at which the thread looked last, and not more than 20 of its turns back."""
        marks = await self._store.thread(scope.namespace, scope.thread or DEFAULT_THREAD)
        known = self._mark(scope, moment)
        if known is None:
            seen = marks.seen
            if scope.agent is not None:
                seen = (await self._store.thread(scope.namespace, looker(scope.thread, scope.agent))).seen
            known = seen if seen is not None else marks.began - 1 if marks.began is not None else moment.rev
        return min(max(known, marks.recent), moment.rev)

    def _mark(self, scope: Scope, moment: Moment) -> int | None:
        epoch, rev = self._marks.get(_key(scope), {}).get(scope.agent, (None, 0))
        return rev if epoch == moment.epoch else None


def looker(thread: str | None, agent: str | None) -> str:
    """Under which name the mark of an agent in a thread is stored; without an agent it is the thread's own."""
    name = thread or DEFAULT_THREAD
    return name if agent is None else f"{name}{BETWEEN}{agent}"


_SAVED = ("state:", "session:", "in-prompt:")
"""How the ids of what is saved by key begin; the user context, which is of the same channel, is news."""


def _is_no_news(entry: JournalEntry) -> bool:
    """An index card is no news: the exchange is known to who had it. Steps and state are told to who asks for them."""
    saved = entry.channel == Channel.STATE and entry.memory_id.startswith(_SAVED)
    return saved or entry.channel == Channel.PROCEDURAL or (entry.meta is not None and CARD in entry.meta)


def _key(scope: Scope) -> tuple[Namespace, str]:
    return scope.namespace, scope.thread or DEFAULT_THREAD
