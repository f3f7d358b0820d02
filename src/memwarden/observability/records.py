"""Operational events: what was done, by which part, with what outcome. They never hold content.

The journal says what became of memories and is written with them. Events are a second stream beside it, written in
batches and as well as can be: they cover reads, skips and failures too, and some may be lost. :class:`EventFilter` is
the meaning of what a store is asked for; :func:`count_events` that of its counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from memwarden.clock import microseconds, moment
from memwarden.records import Namespace, Scope

DAY_SECONDS = 86_400
_REAL = (float, type(None))


class Node(StrEnum):
    """Which part did it. ``hotpath``: a call that somebody waits for. ``context``: making the block before a turn.

    ``episodic``: looking through what was said. ``overseer``: deciding which state a goal needs, and what of a tool's
    result is kept. ``session``: a chat with a model. ``worker`` and ``proxy`` are words for parts that run beside the
    calls; ``worker`` also tells how many events were lost.
    """

    HOTPATH = "hotpath"
    CONTEXT = "context"
    EPISODIC = "episodic"
    WORKER = "worker"
    OVERSEER = "overseer"
    PROXY = "proxy"
    SESSION = "session"


class Op(StrEnum):
    """What was done. The words of B14, and beside them ``link`` and ``ttl`` (2.15) and:

    ``restore``: what was removed is there again, also by an undo. ``model``: a model was asked and gave no answer that
    can be used, so that memwarden went on without it. ``drop``: events were lost, ``count`` of them. ``use``: a memory
    stood in a prompt, and it was judged whether that was of use. ``job``: a job of the upkeep ran, ``count`` changes of
    it; the reason names the job.
    """

    CLASSIFY = "classify"
    SEARCH = "search"
    CREATE = "create"
    UPDATE = "update"
    MERGE = "merge"
    DELETE = "delete"
    LINK = "link"
    TTL = "ttl"
    RESTORE = "restore"
    MODEL = "model"
    DROP = "drop"
    USE = "use"
    JOB = "job"


class Status(StrEnum):
    """How it ended.

    ``skipped``: nothing was wrong, and nothing was done or found. ``failed``: a job that is due again in an hour.
    """

    OK = "ok"
    ERROR = "error"
    SKIPPED = "skipped"
    FAILED = "failed"


class UseVerdict(StrEnum):
    """Of what use a memory was in a prompt. ``wrong``: it was not true, or harmed the answer.

    ``withdrawn``: what was judged of it is taken back.
    """

    USED = "used"
    UNUSED = "unused"
    WRONG = "wrong"
    WITHDRAWN = "withdrawn"

    @property
    def status(self) -> Status:
        """How an event of it ended, so that counts of events tell the verdicts apart."""
        return {UseVerdict.USED: Status.OK, UseVerdict.WRONG: Status.ERROR}.get(self, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class OpEvent:
    """One thing that was done.

    Attributes:
        id: UUIDv7 text. namespace: where it was done. ts: when (aware, UTC).
        node, op, status: words of :class:`Node`, :class:`Op` and :class:`Status`.
        user_id, agent_id, thread_id: who asked, as far as is known.
        memory_id: the memory that was changed, or the best that was found. category: its category then.
        sim: 0..1, how near the nearest neighbour was: the best item's score, a link's strength, the closeness of the
            merged. None where nothing was compared.
        rev: the revision of the write, which leads to the journal; of a ``use`` that of the block in the prompt.
        ms: how long the call had taken until then.
        count: how many such things it stands for: the turns of a call are a single event.
        reason: a word that says why, such as ``nothing_relevant``, ``rejected`` or the name of an error; never a text
            that somebody gave.
    """

    id: str
    namespace: Namespace
    node: str
    op: str
    status: str
    ts: datetime
    user_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    memory_id: str | None = None
    category: str | None = None
    sim: float | None = None
    rev: int | None = None
    ms: float | None = None
    count: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OpCount:
    """How often something was done in the time from ``ts`` on, as long as was asked for."""

    ts: datetime
    node: str
    op: str
    status: str
    count: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """In how many prompts a memory was used, unused and wrong. last: when it was judged last."""

    memory_id: str
    category: str | None
    used: int
    unused: int
    wrong: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Viewer:
    """An agent that looks: it sees events of memories in its categories, and of those without a memory only its own."""

    agent: str
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are asked for; None asks for all. since: included. until: excluded."""

    since: datetime | None = None
    until: datetime | None = None
    node: str | None = None
    op: str | None = None
    status: str | None = None
    thread_id: str | None = None
    memory_id: str | None = None
    viewer: Viewer | None = None

    def equal(self) -> dict[str, str]:
        """Return the fields that must have a certain value, by name."""
        names = ("node", "op", "status", "thread_id", "memory_id")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def matches(self, event: OpEvent) -> bool:
        """Whether an event is asked for."""
        if self.since is not None and event.ts < self.since:
            return False
        if self.until is not None and event.ts >= self.until:
            return False
        if any(getattr(event, name) != value for name, value in self.equal().items()):
            return False
        viewer = self.viewer
        if viewer is None:
            return True
        if event.category is None:
            return event.memory_id is None and event.agent_id == viewer.agent
        return event.category in viewer.categories


EVERYTHING = EventFilter()


def count_events(events: Iterable[OpEvent], seconds: int) -> list[OpCount]:
    """Count events by node, op and status over spans of time of ``seconds``, which begin at whole multiples since 1970.

    Sorted by time, node, op and status. Spans without events are left out.
    """
    span = seconds * 1_000_000
    sums: Counter[tuple[int, str, str, str]] = Counter()
    for event in events:
        at = microseconds(event.ts)
        sums[at - at % span, event.node, event.op, event.status] += event.count
    return [OpCount(moment(at), node, op, status, sums[at, node, op, status]) for at, node, op, status in sorted(sums)]


def summarize_uses(events: Iterable[OpEvent]) -> list[MemoryUse]:
    """Sum up events of the use of memories, the memory judged last first.

    A prompt is known by its thread and the revision of its block; of several verdicts there the last counts.
    """
    last: dict[tuple[str, str | None, int | None], OpEvent] = {}
    for item in sorted(events, key=lambda event: (event.ts, event.id)):
        if item.op == Op.USE and item.memory_id is not None:
            last[item.memory_id, item.thread_id, item.rev] = item
    of: dict[str, list[OpEvent]] = {}
    for entry in last.values():
        if entry.memory_id is not None and entry.reason != UseVerdict.WITHDRAWN:
            of.setdefault(entry.memory_id, []).append(entry)
    return sorted((_use(each) for each in of.values()), key=lambda use: (use.last, use.memory_id), reverse=True)


def _use(judged: list[OpEvent]) -> MemoryUse:
    newest = max(judged, key=lambda item: (item.ts, item.id))
    times = Counter(item.reason for item in judged)
    used, unused, wrong = (times[item] for item in (UseVerdict.USED, UseVerdict.UNUSED, UseVerdict.WRONG))
    return MemoryUse(str(newest.memory_id), newest.category, used, unused, wrong, newest.ts)


def in_utc(event: OpEvent) -> OpEvent:
    """The event as every store gives it back: plain words, the time in UTC, real numbers."""
    words_are_plain = type(event.node) is type(event.op) is type(event.status) is str
    if words_are_plain and event.ts.tzinfo is UTC and all(type(item) in _REAL for item in (event.sim, event.ms)):
        return event
    sim, ms = (None if item is None else float(item) for item in (event.sim, event.ms))
    node, op, status = (str(item) for item in (event.node, event.op, event.status))
    return replace(event, ts=moment(microseconds(event.ts)), node=node, op=op, status=status, sim=sim, ms=ms)


class EventDraft(NamedTuple):
    """What was done, without who, when and where. many: how many such things an event stands for."""

    op: Op
    status: Status = Status.OK
    reason: str = ""
    memory_id: str | None = None
    category: str | None = None
    sim: float | None = None
    many: int = 1


class PendingEvent(NamedTuple):
    """A draft with who, when and where; the queue makes an event of it later. at: microseconds since 1970."""

    at: int
    who: Scope
    namespace: Namespace
    node: Node
    draft: EventDraft
    rev: int | None
    ms: float | None


def event_of_pending(pending: PendingEvent) -> OpEvent:
    """Return the event of a pending event."""
    import uuid_utils  # here, so that importing memwarden does not load it

    at, who, namespace, node, draft, rev, ms = pending
    op, status, reason, memory_id, category, sim, many = draft
    return OpEvent(
        str(uuid_utils.uuid7()), namespace, node.value, op.value, status.value, moment(at), who.user or None,
        who.agent, who.thread, memory_id, category, sim, rev, None if ms is None else round(ms, 3), many, reason,
    )  # fmt: skip
