"""History and operational events of a user."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from memwarden import arguments, clock
from memwarden.api.handle import ScopeHandle
from memwarden.categories import OWN_RECORDS
from memwarden.checks import check_whole, word
from memwarden.errors import NotFound
from memwarden.filters import Condition
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import (
    DAY_SECONDS,
    EventFilter,
    Node,
    Op,
    OpCount,
    OpEvent,
    Status,
    Viewer,
    count_events,
)
from memwarden.recall.time.past import may_show_all, read_history
from memwarden.records import Delta, HistoryEntry, Memory, MemoryState, Namespace, WriteResult
from memwarden.remember.ingest.messages import checked_name
from memwarden.remember.write_store import is_reserved

When = datetime | str | float | None
# When too few of what was read may be shown, so many times as much is read.
_MORE = 4
_ALL = 2**62
MAX_SPAN_SECONDS = 366 * DAY_SECONDS


class AsyncJournal(ScopeHandle):
    """Tells what was changed, takes decisions back, and lists operational events. See ``scope.journal``."""

    async def history(
        self, memory_id: str | None = None, *, since: int = 0, limit: int = 100, descending: bool = False
    ) -> list[HistoryEntry]:
        """Return what happened to a memory, or to everything of this user: oldest first, the content before and after.

        Memories that were forgotten or merged have a history too. To read all of it, pass the last ``seq`` as ``since``
        until an answer is empty. An agent sees the entries whose contents are all in categories that it may read. Their
        ``meta`` is None where it names a memory that the agent may not read.

        Args:
            memory_id: of a single memory. None for all. since: a revision. Only later entries. limit: the most entries.
            descending: the newest first.

        Raises NotFound, InvalidInput, StoreError.
        """
        return await read_history(
            self._runtime.store,
            self.who.namespace,
            None if memory_id is None else arguments.check_memory_id(memory_id),
            since=check_whole(since, "since", 0, None),
            limit=check_whole(limit, "limit", 1, None),
            readable=self._readable,
            descending=arguments.check_truth(descending, "descending"),
        )

    @instrumented(Node.HOTPATH, Op.RESTORE)
    async def undo(self, change: int) -> WriteResult:
        """Take a decision back, whole: everything that was changed together with a journal entry.

        What a memory held before is there again to the byte. What the decision had created is forgotten, what it had
        removed or merged is there again, links too. An undo is a change like any other, and can be undone.

        Args:
            change: ``seq`` of any of its entries, as :meth:`history` gives it.

        Raises NotFound for a change that there is not, or when the agent may not read all of what was decided with it
        (both contents of each entry, both ends of each link); Conflict when it was undone already, when any of its
        memories was changed later (undo that first), or when a link that it took away leads to a memory that is not
        there now (restore that first).
        """
        wanted = check_whole(change, "change", 1, None)
        store, namespace = self._runtime.store, self.who.namespace
        found = await store.journal(namespace, since=wanted - 1, limit=1)
        entries = await store.journal(namespace, step=found[0].step, limit=10**9) if found else []
        if wanted not in [entry.seq for entry in entries]:
            raise NotFound(await self._why_unknown(wanted))
        if not await may_show_all(store, namespace, entries, self._readable):
            raise NotFound(f"no change {wanted} in {namespace.path}; history lists them")
        return await self._runtime.services.writer.undo(self.who, entries)

    async def _why_unknown(self, change: int) -> str:
        namespace = self.who.namespace
        rev = (await self._runtime.store.head(namespace)).rev
        if change <= rev:
            return f"no change {change} in {namespace.path}; history lists them"
        last = f"its history ends at change {rev}" if rev else "nothing is kept there"
        # Of whom an erasure removed nothing is left that could tell it: not even that there was somebody.
        return (
            f"no change {change} in {namespace.path}: {last}. If the memory was erased, no undo brings it back: an "
            "erasure takes the history, too"
        )

    async def forgotten(self, memory_id: str | None = None, *, limit: int = 100) -> list[Memory]:
        """List what was forgotten and can still be restored, the last forgotten first; ``purge_at`` tells until when.

        Args:
            memory_id: a single memory; the list is empty when it is not forgotten. limit: the most memories.

        Raises InvalidInput, StoreError.
        """
        wanted = None if memory_id is None else arguments.check_memory_id(memory_id)
        most = check_whole(limit, "limit", 1, None)
        where: tuple[Condition, ...] = () if wanted is None else (Condition("id", "$eq", wanted),)
        if self._readable is not None:
            where = (*where, Condition("category", "$in", self._readable))
        # Proposals that were declined are memories of ours, and were none of the person's.
        found = await self._runtime.store.find(
            self.who.namespace,
            (*where, Condition("category", "$ne", OWN_RECORDS)),
            limit=most,
            order_by="updated_at",
            state=MemoryState.SOFT_DELETED,
        )
        return [item for item in found if not is_reserved(item.id)]

    async def delta(self, since_rev: int | None = None) -> Delta:
        """Return what changed since this thread looked last, or since a revision: facts, not turns.

        Every answer to a query tells it too, as the first lines of its text. What was told counts as seen when this
        process answers the next time, and for others when the thread's next turn is observed: it is told at least once,
        and not further back than 20 turns of the thread. Raises InvalidInput, StoreError.
        """
        since = None if since_rev is None else check_whole(since_rev, "since_rev", 0, None)
        return await self._runtime.services.recall.delta(self.who, since)

    async def events(
        self,
        *,
        since: When = None,
        until: When = None,
        node: str | None = None,
        op: str | None = None,
        status: str | None = None,
        thread: str | None = None,
        memory_id: str | None = None,
        limit: int = 100,
        descending: bool = True,
    ) -> list[OpEvent]:
        """Return what was done with this user's memory: writes, searches, what was skipped and what failed. No content.

        Events are written about a second after what they tell of, and as well as can be: a process that is killed loses
        those of its last second. What this warden did is written first, so it is told. What became of a memory for
        certain is told by :meth:`history`. An event names the memory and the revision.

        An agent sees the events of memories in categories that it may read, and of those that name no memory its own.

        Args:
            since, until: datetime, ISO text or seconds since 1970. Since is included, until is not. Events older
            than the
                setting ``events_days`` are never told.
            node, op, status: words of :class:`memwarden.observability.records.Node`,
            :class:`~memwarden.observability.records.Op` and
                :class:`~memwarden.observability.records.Status`. thread, memory_id: only events of these.
            limit: the most events. descending: the newest first, else the oldest.

        Raises InvalidInput, StoreError.
        """
        wanted = self._filter(since, until, node, op, status, thread, memory_id)
        most = check_whole(limit, "limit", 1, None)
        newest_first = arguments.check_truth(descending, "descending")
        await self._runtime.events.flush()
        return await self._shown(wanted, most, newest_first)

    async def event_counts(
        self,
        *,
        seconds: int = DAY_SECONDS,
        since: When = None,
        until: When = None,
        node: str | None = None,
        op: str | None = None,
        status: str | None = None,
        thread: str | None = None,
        memory_id: str | None = None,
    ) -> list[OpCount]:
        """Return how often what was done, by node, op and status over time: sorted by time, then by these words.

        Counted are the events that :meth:`events` would list.

        Args:
            seconds: the length of a span of time, 1 to 366 days. Spans begin at whole multiples since 1970 UTC.

        Raises InvalidInput, StoreError.
        """
        wanted = self._filter(since, until, node, op, status, thread, memory_id)
        span = check_whole(seconds, "seconds", 1, MAX_SPAN_SECONDS)
        await self._runtime.events.flush()
        if wanted.viewer is not None:
            return count_events(await self._shown(wanted, _ALL, False), span)
        return await self._runtime.store.event_counts(self.who.namespace, wanted, seconds=span)

    async def _shown(self, wanted: EventFilter, limit: int, descending: bool) -> list[OpEvent]:
        """The events that whoever asks may see. For an agent more are read than are wanted, as some fall away."""
        store, namespace, viewer = self._runtime.store, self.who.namespace, wanted.viewer
        most = limit
        while True:
            found = await store.events(namespace, wanted, limit=most, descending=descending)
            if viewer is None:
                return found
            hidden = await self._moved_away(namespace, found, viewer)
            shown = [item for item in found if item.memory_id not in hidden]
            if len(shown) >= limit or len(found) < most:
                return shown[:limit]
            most *= _MORE

    async def _moved_away(self, namespace: Namespace, found: list[OpEvent], viewer: Viewer) -> set[str]:
        """Of the memories that events name, those that stand in a category now that the agent may not read."""
        ids = list(dict.fromkeys(item.memory_id for item in found if item.memory_id is not None))
        stored = await self._runtime.store.get(namespace, ids, removed=True) if ids else []
        return {item.id for item in stored if item.category not in viewer.categories}

    def _filter(
        self, since: When, until: When, node: Any, op: Any, status: Any, thread: str | None, memory_id: str | None
    ) -> EventFilter:
        who, settings = self.who, self._runtime.settings
        oldest = clock.now() - timedelta(days=settings.events_days)
        readable = settings.categories.readable(who.agent, None)
        return EventFilter(
            since=oldest if since is None else max(oldest, clock.parse(since, "since")),
            until=None if until is None else clock.parse(until, "until"),
            node=_word(node, Node),
            op=_word(op, Op),
            status=_word(status, Status),
            thread_id=checked_name(thread, "thread"),
            memory_id=None if memory_id is None else arguments.check_memory_id(memory_id),
            viewer=None if who.agent is None or readable is None else Viewer(who.agent, readable),
        )


def _word(value: Any, words: type[StrEnum]) -> str | None:
    return None if value is None else str(word(words).check(value, words.__name__.lower()))
