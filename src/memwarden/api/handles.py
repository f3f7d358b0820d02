"""The handles of a scope: review, journal, consent, usage and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memwarden import arguments, clock
from memwarden.agent.stored_sessions import check_allowed
from memwarden.categories import OWN_RECORDS, Categories
from memwarden.checks import NAME, check_whole, word
from memwarden.errors import Denied, InvalidInput, NotFound
from memwarden.filters import Condition
from memwarden.observability.instrument import instrumented, record_event
from memwarden.observability.records import (
    DAY_SECONDS,
    EventDraft,
    EventFilter,
    MemoryUse,
    Node,
    Op,
    OpCount,
    OpEvent,
    Status,
    UseVerdict,
    Viewer,
    count_events,
    summarize_uses,
)
from memwarden.recall.time.past import may_show_all, read_history
from memwarden.records import (
    Consent,
    ConsentState,
    Delta,
    HistoryEntry,
    Memory,
    MemoryState,
    Namespace,
    PendingReview,
    Scope,
    UserContext,
    WriteResult,
)
from memwarden.remember.ingest.messages import checked_name, checked_names
from memwarden.remember.resolve.user_context import CATEGORY, read_patch
from memwarden.remember.write_store import is_reserved
from memwarden.runtime.services import Runtime
from memwarden.stores.shared.checkpoints import CheckpointOutline

if TYPE_CHECKING:
    from memwarden.remember.resolve.proposals import Proposals


class ScopeHandle:
    """Base of a scope and of its handles: the runtime and the identity of the caller. Cheap, holds nothing open."""

    def __init__(self, runtime: Runtime, who: Scope) -> None:
        self._runtime = runtime
        self.who = who

    @property
    def _categories(self) -> Categories:
        return self._runtime.settings.categories

    @property
    def _readable(self) -> tuple[str, ...] | None:
        """The categories that the agent may read; None for all."""
        return self._categories.readable(self.who.agent, None)

    async def _get(self, memory_id: str) -> Memory:
        """Return a memory. Raises NotFound, also for a memory that the agent may not read."""
        found = await self._runtime.store.get(self.who.namespace, [arguments.check_memory_id(memory_id)])
        if not found or (self._readable is not None and found[0].category not in self._readable):
            raise NotFound(f"no memory {memory_id!r} in {self.who.namespace.path}")
        return found[0]


class AsyncReview(ScopeHandle):
    """Lists and decides on what is stored but in no answer yet: candidates and quarantined texts."""

    async def pending(self, state: str | None = None, *, limit: int = 100) -> list[PendingReview]:
        """List what is stored apart from all answers until somebody decides on it, newest first.

        The list is for a person's eyes: a quarantined text looks like orders for an assistant, so keep it out of
        prompts. Proposals for the user context are in ``scope.consent.proposals``.

        Args:
            state: ``candidate`` (a statement that is not certain enough until it is heard again) or ``quarantined`` (a
                text that looks like an attack). None: both; for an agent candidates alone, in categories that it may
                read.
            limit: the most entries.

        Raises InvalidInput; Denied for an agent that asks for quarantined texts.
        """
        from memwarden.remember.resolve.pending import REVIEWED_STATES, check_agent, list_pending

        if state is not None:
            word(sorted(REVIEWED_STATES)).check(state, "state")
            check_agent(self.who, state)
        states = [item for item in REVIEWED_STATES if state in (None, item)]
        if self.who.agent is not None:
            states = [MemoryState.CANDIDATE]
        most = check_whole(limit, "limit", 1, None)
        return await list_pending(self._runtime.store, self.who.namespace, states, self._readable, most)

    @instrumented(Node.HOTPATH, Op.RESTORE)
    async def approve(self, memory_id: str, *, vouch: bool = False) -> WriteResult:
        """Make a memory of what is pending; it is compared with what is known, as by ``scope.remember``.

        A quarantined text keeps its trust: it corrects nothing that a person said, and prompts show it without what
        reads like an order, even if nothing else is left. The decision is in the journal (CONFIRM). Its undo makes the
        text pending again.

        Args:
            vouch: a person has read the text and answers for its words. From now on they count as a person's: shown
                whole, and able to correct.

        Returns ``created``, ``merged`` or ``superseded``, as ``scope.remember``. Raises NotFound for an unknown id or
        a category that the agent may not read; Conflict for what is not pending; Denied for an agent that approves a
        quarantined text or vouches. InvalidInput, StoreError.
        """
        vouch = arguments.check_truth(vouch, "vouch")
        if vouch and self.who.agent is not None:
            raise Denied(f"agent {self.who.agent!r} cannot vouch for a text: use a scope without an agent for a person")
        return await self._runtime.services.reviews.approve(
            self.who, arguments.check_memory_id(memory_id), self._readable, vouch=vouch
        )

    @instrumented(Node.HOTPATH, Op.DELETE)
    async def reject(self, memory_id: str) -> WriteResult:
        """Give up what is pending. For 30 days that can be undone: then it is pending again.

        Raises as :meth:`approve`.
        """
        return await self._runtime.services.reviews.reject(
            self.who, arguments.check_memory_id(memory_id), self._readable
        )


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
        until an answer is empty. An agent sees the entries whose contents are all in categories that it may read; their
        ``meta`` is None where it names a memory that the agent may not read.

        Args:
            memory_id: of a single memory; None for all. since: a revision; only later entries. limit: the most entries.
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

        What a memory held before is there again to the byte; what the decision had created is forgotten, what it had
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
        certain is told by :meth:`history`; an event names the memory and the revision.

        An agent sees the events of memories in categories that it may read, and of those that name no memory its own.

        Args:
            since, until: datetime, ISO text or seconds since 1970; since is included, until is not. Events older
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
            seconds: the length of a span of time, 1 to 366 days; spans begin at whole multiples since 1970 UTC.

        Raises InvalidInput, StoreError.
        """
        wanted = self._filter(since, until, node, op, status, thread, memory_id)
        span = check_whole(seconds, "seconds", 1, MAX_SPAN_SECONDS)
        await self._runtime.events.flush()
        if wanted.viewer is not None:
            return count_events(await self._shown(wanted, _ALL, False), span)
        return await self._runtime.store.event_counts(self.who.namespace, wanted, seconds=span)

    async def _shown(self, wanted: EventFilter, limit: int, descending: bool) -> list[OpEvent]:
        """The events that whoever asks may see; for an agent more are read than are wanted, as some fall away."""
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


# How a person's decision reached us.
WAYS = ("api", "cli", "ui", "chat")


class AsyncConsent(ScopeHandle):
    """Reads the user context, proposes changes of it, and records the person's decisions. See ``scope.consent``."""

    @property
    def _proposals(self) -> Proposals:
        return self._runtime.services.consents

    async def user_context(self) -> UserContext:
        """Return how the person wants to be called and spoken to, and what they aim for.

        All fields are None or empty until something is known. The same text stands in the category ``profile`` among
        the memories, as ``user-context``, for those agents that may read that category.

        Raises CategoryDenied for an agent that may not read ``profile``.
        """
        self._check_readable()
        return await self._proposals.context(self.who.namespace)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def propose(
        self, patch: Mapping[str, Any], *, sources: Sequence[str] = (), confident: bool = False
    ) -> WriteResult:
        """Propose a change of the user context.

        ``preferred_name``, ``pronouns``, ``city`` and ``language`` change with the person's consent only, and so
        does what
        is taken out; a proposal waits for it for 7 days. ``tone`` and ``goals_add`` are changed at once when two
        different
        turns of the person speak for them, or a confident insight does; else they wait, too. A tone also waits while
        another does, or when the person decided on it before.

        Args:
            patch: field to value; None empties a field. ``goals_add`` and ``goals_remove`` take a goal or a list of
            them. sources: ids of the turns, or of the memories resting on turns, that speak for it. Those of the person
            count. confident: it is an insight that is sure of itself; this counts for ``tone`` and ``goals_add`` alone.

        Returns a result for each change, in the order of the patch: ``updated`` (made), ``proposed`` with the id to
        decide on, or ``rejected`` when there is nothing to change; the reason begins with the field.

        Raises InvalidInput, CategoryDenied, Conflict, StoreError.
        """
        self._check_readable()
        arguments.check_truth(confident, "confident")
        return await self._proposals.propose(self.who, read_patch(patch), checked_names(sources, "sources"), confident)

    async def proposals(self, state: str | None = "pending", *, limit: int = 100, fill: bool = True) -> list[Consent]:
        """List proposed changes of the user context, the newest first.

        In a scope of the person, what their own turns of the last seven days say ("My pronouns are they/them", "Please
        keep answers short", "Call me Bo", in a dozen languages) is proposed first: nobody has to call :meth:`propose`.

        Args:
            state: ``pending``, ``approved``, ``declined``, ``expired``, ``applied``, ``replaced``, or None for all.
            What
                was decided is listed for 30 days; the journal keeps the decision.
            fill: False proposes nothing first and writes nothing, for who may only read.

        Raises InvalidInput, CategoryDenied.
        """
        self._check_readable()
        if state is not None:
            word(ConsentState).check(state, "state")
        check_whole(limit, "limit", 1, None)
        if arguments.check_truth(fill, "fill"):
            await self._fill()
        return await self._proposals.consents(self.who.namespace, state, limit)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def decide(self, consent_id: str, approve: bool, *, way: str = "api") -> Consent:
        """Write down the person's decision on a proposal, and make the change if they approve.

        The journal tells who decided (the scope's actor, else its user) and how, never the value. An approval can be
        undone.

        Args:
            way: how the person decided: ``api``, ``cli``, ``ui`` or ``chat``.

        Raises NotFound; Conflict for a proposal that was decided on already or has expired; Denied for an agent: nobody
        consents for somebody else. InvalidInput, StoreError.
        """
        self._refuse_agent()
        NAME.check(consent_id, "a consent id")
        arguments.check_truth(approve, "approve")
        word(WAYS).check(way, "way")
        return await self._proposals.decide(self.who, consent_id, approve, way=way, by=self.who.actor or self.who.user)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def acknowledge(self, turn_id: str) -> list[Consent]:
        """Take a person's turn as consent, or as the refusal of it, if it plainly is. Returns what was decided.

        It is when the turn right before it in the thread is the assistant's, was stored after the proposal, ends
        with its
        only question, which asks whether to keep exactly the proposed value for that field, and the person says yes
        or no and nothing else (English, German, Spanish, French, Japanese). Whatever is less plain decides nothing.

        Args:
            turn_id: of a turn that :meth:`observe` stored, as it returns it.

        Raises NotFound for an id that is no turn of this user; Denied for an agent, as :meth:`decide`.
        """
        NAME.check(turn_id, "a turn id")
        self._refuse_agent()
        await self._fill()
        return await self._proposals.acknowledge(self.who, turn_id)

    async def _fill(self) -> None:
        if self.who.agent is None:
            from memwarden.remember.resolve.told_context import fill_inbox  # read where somebody looks into the inbox

            await fill_inbox(self._runtime.store, self._proposals, self.who)

    def _refuse_agent(self) -> None:
        if self.who.agent is not None:
            raise Denied(
                f"agent {self.who.agent!r} cannot consent for a person; decide, or acknowledge the person's answer, in "
                "a scope without an agent"
            )

    def _check_readable(self) -> None:
        if self.who.agent is not None:
            self._categories.readable(self.who.agent, (CATEGORY,))


_ALL_USES = 10**9


class AsyncUsage(ScopeHandle):
    """Takes feedback on memories that stood in prompts, and counts their use.

    A signal is an operational event: it lies beside the journal, takes no lock, changes no memory, and may be lost.
    """

    async def feedback(self, memory_id: str, verdict: str, *, rev: int) -> None:
        """Record of what use a memory was in a prompt of this thread; it replaces what was judged or said before.

        A turn judges by itself, from the words of the answer. This verb is for what a person or a better judge knows.
        It changes no memory; the job ``weigh`` moves importance by what was judged.

        Args:
            verdict: ``used``, ``unused``, ``wrong`` (it was not true, or harmed the answer), or ``withdrawn``, which
                takes back what was said and judged.
            rev: ``rev`` of the block that the memory stood in (``turn.block.rev``); it names the prompt.

        Raises NotFound, InvalidInput.
        """
        memory = await self._get(memory_id)
        said = UseVerdict(word(UseVerdict).check(verdict, "verdict"))
        draft = EventDraft(Op.USE, said.status, said, memory.id, memory.category)
        known = check_whole(rev, "rev", 0, None)
        if self._runtime.events.takes:
            record_event(self._runtime.events.put, self.who, Node.HOTPATH, draft, known)

    async def uses(self, *, memory_id: str | None = None, since: When = None) -> list[MemoryUse]:
        """Return how often memories that were put into prompts were of use there, the last judged first.

        For each prompt the last word counts: that of :meth:`feedback`, else that of the turn. It covers the days of the
        setting ``events_days`` (30), and is empty with the setting ``events`` off.

        Args:
            memory_id: of a single memory; None: of all. since: only prompts that were judged since then (included).

        Raises InvalidInput, StoreError.
        """
        journal = AsyncJournal(self._runtime, self.who)
        return summarize_uses(await journal.events(since=since, op=Op.USE, memory_id=memory_id, limit=_ALL_USES))


class AsyncThreadCheckpoints(ScopeHandle):
    """The checkpoints that LangGraph's saver keeps of a person's threads, to be looked at, copied and removed.

    An agent with an allowlist needs the category ``state`` in it. All raise InvalidInput, CategoryDenied, StoreError.
    """

    async def outlines(self, thread: str) -> list[CheckpointOutline]:
        """Return the outline of each checkpoint of a thread, without its values, the oldest first."""
        return await self._runtime.store.checkpoints.outlines(self._namespace, _thread_name(thread))

    async def copy_thread(self, source: str, target: str) -> None:
        """Copy all checkpoints of a thread to another, replacing what has the same keys."""
        names = _thread_name(source), _thread_name(target)
        await self._runtime.store.checkpoints.copy_thread(self._namespace, *names)

    async def delete_thread(self, thread: str) -> None:
        """Remove all checkpoints of a thread; an unknown thread is no error."""
        await self._runtime.store.checkpoints.delete_threads(self._namespace, [_thread_name(thread)])

    @property
    def _namespace(self) -> Namespace:
        check_allowed(self._runtime, self.who)
        return self.who.namespace


def _thread_name(thread: str) -> str:
    name = checked_name(thread, "thread")
    if name is None:
        raise InvalidInput("thread is a text, not None")
    return name
