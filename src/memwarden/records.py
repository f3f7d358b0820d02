"""The frozen records that every layer speaks in.

One record holds everything remembered: a :class:`Memory`. What a person or an agent said, word for word, is a memory
of the channel ``turn``; facts, episodes, insights, procedures and state values are memories of the other channels and
name the turns that they rest on in ``sources``. One table, one search path, one lifecycle, one history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from memwarden.late import Late


class Channel(StrEnum):
    """How a memory came to be. Not its subject (category) and not its sort (kind)."""

    TURN = "turn"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    INSIGHT = "insight"
    PROCEDURAL = "procedural"
    STATE = "state"


class Kind(StrEnum):
    """What sort of statement a memory is (designs C and E)."""

    UNKNOWN = "unknown"
    DISCOVERY = "discovery"
    BEHAVIOR = "behavior"
    OUTCOME = "outcome"
    NOTE = "note"
    INSIGHT = "insight"
    DECISION = "decision"
    ERROR_LESSON = "error_lesson"
    REASONING = "reasoning"
    TOOL_OUTPUT = "tool_output"
    CONVENTION = "convention"
    FAILURE = "failure"
    PREFERENCE = "preference"
    PATTERN = "pattern"


class MemoryState(StrEnum):
    """Where a memory is in its life. Only active ones are ever returned by a search.

    A ``soft_deleted`` one can be restored until it is purged; a ``merged`` one says what another memory says, which
    stands for both until the merge is undone. A ``candidate`` waits until it is heard again or confirmed, a
    ``quarantined`` one was held back because it looks like an attack, a ``proposed`` one needs a person's consent.
    """

    ACTIVE = "active"
    SOFT_DELETED = "soft_deleted"
    MERGED = "merged"
    CANDIDATE = "candidate"
    QUARANTINED = "quarantined"
    PROPOSED = "proposed"


APART = frozenset({MemoryState.CANDIDATE, MemoryState.QUARANTINED, MemoryState.PROPOSED})
"""States of what waits for somebody's word, and was no memory yet."""
EXTRACTED_BY = "memwarden"
"""The actor of what was extracted from turns: nobody stated it."""
CARD = "card"
"""The tag of an index card, and what says in the journal that an entry is of one."""


class Trust(StrEnum):
    """Whom a memory's words come from (F9): a person or the program that states them, the assistant, or anything else
    that was read, such as a tool's output, a page, a document or an import."""

    PERSON = "person"
    ASSISTANT = "assistant"
    EXTERNAL = "external"


class Event(StrEnum):
    """What a journal entry says happened: the words of B8, and others beside them.

    PROPOSE: a candidate, or something that needs consent, was stored apart. QUARANTINE: it was held back. Both also say
    that it was put back to wait. CONFIRM: what was stored apart became a memory, or a part of one. TTL: its time was
    over, and it was soft-deleted. PROMOTE: it was copied to a wider namespace. EVICT: its project held too many items,
    and it mattered least.
    """

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    MERGE = "MERGE"
    SUPERSEDE = "SUPERSEDE"
    LINK = "LINK"
    UNLINK = "UNLINK"
    RESTORE = "RESTORE"
    PROPOSE = "PROPOSE"
    QUARANTINE = "QUARANTINE"
    CONFIRM = "CONFIRM"
    TTL = "TTL"
    PROMOTE = "PROMOTE"
    EVICT = "EVICT"


@dataclass(frozen=True, slots=True, order=True)
class Namespace:
    """The unit of isolation and placement in a tenant: ``user/<id>``, ``project/<id>``, ``task/<id>`` or ``global``."""

    tenant: str
    path: str

    def __str__(self) -> str:
        return f"{self.tenant}:{self.path}"


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks. Everything of a user lives in the namespace ``user/<user>`` of the tenant."""

    tenant: str = "default"
    user: str = "default"
    agent: str | None = None
    thread: str | None = None
    run: str | None = None
    actor: str | None = None

    @property
    def namespace(self) -> Namespace:
        """Where this scope reads and writes."""
        return Namespace(self.tenant, f"user/{self.user}")


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered.

    Attributes:
        id: UUIDv7 text, or the caller's own id for items added through :class:`memwarden.tiers.backend.AsyncBackend`.
        namespace: where it lives. A memory lives in exactly one namespace.
        text: what is remembered; for a turn, word for word what was said. Never empty for turns and facts.
        importance: 0..1. Surfaces that show levels 1..5 or 1..10 convert with :mod:`memwarden.importance`.
        source: where it comes from, as a path or URI (``thread/t1``, ``task/k1/plan``), or None.
        sources: ids of the turns that it rests on. For a turn: its own source id, which is the caller's ``id`` of the
            message if there was one.
        name: who said it, if it was somebody with a name. ``role`` is the chat role.
        characters: who takes part in it (design C); a search can be limited to them.
        context: words about the occasion ("During the move, with Tomas").
        payload: a JSON object of the caller's.
        token_cost: the size in tokens that the caller gave, or None.
        version: 1 for a new memory, then one more for each change.
        created_at: when it was said or learned (aware, UTC). updated_at: when memwarden last wrote it.
        valid_from: since when it is true, if that is known to differ from created_at.
        valid_to: since when it is true no longer (that moment excluded), or None. A memory that was superseded is kept
            with its validity closed: it answers questions about the time before, never about now.
        purge_at: when a memory that is not active is removed for good; None for others.
        trust: whom its words come from (:class:`Trust`).
    """

    id: str
    namespace: Namespace
    text: str
    created_at: datetime
    updated_at: datetime
    channel: str = Channel.SEMANTIC
    kind: str = Kind.UNKNOWN
    category: str = "activity"
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    pinned: bool = False
    source: str | None = None
    sources: tuple[str, ...] = ()
    summary: str | None = None
    context: str | None = None
    characters: tuple[str, ...] = ()
    payload: Mapping[str, Any] | None = None
    token_cost: int | None = None
    role: str | None = None
    name: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    actor_id: str | None = None
    thread_id: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    state: str = MemoryState.ACTIVE
    version: int = 1
    purge_at: datetime | None = None
    trust: str = Trust.PERSON

    @property
    def since(self) -> datetime:
        """When it became true, as far as is known."""
        return self.valid_from or self.created_at

    def holds_at(self, moment: datetime) -> bool:
        """Whether it is true at a moment, whatever its state."""
        return self.since <= moment and (self.valid_to is None or moment < self.valid_to)


@dataclass(frozen=True, slots=True)
class Signals:
    """What recall knows of a text without the text: made once, when it is written.

    Attributes:
        terms: the term ids in order of appearance, as little-endian uint32 (see :mod:`memwarden.text.tokenizer`).
        vector: unit-length embedding as little-endian float16, or None when there is no embedder or nothing to embed.
        flags: bit set of :class:`memwarden.text.flags.Flag`.
        pieces: vectors of the word pieces that say something, 127 times unit length as int8, or None without them.
        days: the days that the text names, told from the day it was said (:func:`memwarden.text.dates.spans.encode`).
    """

    terms: bytes = b""
    vector: bytes | None = None
    flags: int = 0
    days: bytes = b""
    pieces: bytes | None = None


class WriteMode(StrEnum):
    """What a :class:`Put` expects to find under its id."""

    CREATE = "create"
    UPSERT = "upsert"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Put:
    """Write one memory whole.

    Attributes:
        memory: the memory as it shall be. Its ``version``, ``state`` and ``purge_at`` are set by the store.
        signals: what the index will know of it; None, with ``update`` alone, keeps those that are stored, for a memory
            whose text and time stay as they are.
        mode: ``create`` refuses an id that is in use (Conflict), also by a memory that is not active; ``update``
            refuses one that is not the id of an active memory (NotFound); ``upsert`` takes both, and revives one that
            is not active (outcome ``created``, event ADD without an old version; its version numbers go on).
        source_key: when given, at most one memory per (namespace, thread, source_key) is ever created: a second one
            is answered with the id of the first and outcome ``duplicate``, also when the first was removed since. It
            counts where a memory would be created, and is looked at before the id.
        expected_version: with ``update``: refuse (Conflict) unless this is the stored version.
        event: what the journal calls the change of an active memory: UPDATE, MERGE, SUPERSEDE or RESTORE.
        state: for a memory that is created: where its life begins. What is not ``active`` is entered in the journal as
            PROPOSE (``candidate``, ``proposed``) or QUARANTINE, without a new version.
        purge_at: for a memory whose life begins in another state: when it may be removed for good.
        keep_versions: for what is written again and again (state by key): of the contents that it had in the channel
            ``state`` keep so many of the last and remove the older ones with this write. The journal says so: the entry
            has the number as ``kept_versions`` in its meta. None keeps all.
        step, meta: see :class:`Batch`.
    """

    memory: Memory
    signals: Signals | None
    mode: WriteMode = WriteMode.CREATE
    source_key: str | None = None
    expected_version: int | None = None
    event: Event = Event.UPDATE
    state: MemoryState = MemoryState.ACTIVE
    purge_at: datetime | None = None
    step: int = 0
    meta: Mapping[str, Any] | None = None
    keep_versions: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Take one memory out of every search, get and list. Its versions stay.

    What was stored apart is closed by it, without ever having been active: no version stands in its entry.

    Attributes:
        state: ``soft_deleted`` or ``merged``; or one of :data:`APART`, which puts it back to wait as it did before,
            also when it was soft-deleted since.
        event: DELETE, MERGE, TTL or EVICT, for the journal; CONFIRM when what was stored apart went into another
            memory; PROPOSE or QUARANTINE when it is put back to wait.
        purge_at: when it may be removed for good.
        step, meta: see :class:`Batch`.
    """

    id: str
    state: MemoryState = MemoryState.SOFT_DELETED
    event: Event = Event.DELETE
    purge_at: datetime | None = None
    step: int = 0
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """Make a memory that is not active active, as it was. Outcome ``missing`` when there is no such one.

    event: RESTORE, or CONFIRM for what was stored apart. step, meta: see :class:`Batch`.
    """

    id: str
    event: Event = Event.RESTORE
    step: int = 0
    meta: Mapping[str, Any] | None = None


class RelationType(StrEnum):
    """What an edge says. Links that memwarden makes by itself are ``related_to`` (B2)."""

    RELATED_TO = "related_to"
    SUPERSEDES = "supersedes"


@dataclass(frozen=True, slots=True)
class Link:
    """Put an edge between two active memories; one at most for each (from, to, type).

    Outcome ``created``, ``updated`` when it was there with another strength, ``duplicate`` when it was there as it is
    (no journal entry), ``missing`` when one of the two is not active (no journal entry).

    Attributes:
        strength: 0..1. step, meta: see :class:`Batch`.
    """

    from_id: str
    to_id: str
    type: str = RelationType.RELATED_TO
    strength: float = 1.0
    step: int = 0
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Unlink:
    """Take an edge away. Outcome ``deleted``, or ``missing`` when there is none (no journal entry)."""

    from_id: str
    to_id: str
    type: str = RelationType.RELATED_TO
    step: int = 0
    meta: Mapping[str, Any] | None = None


BatchChange = Put | Remove | Restore | Link | Unlink
"""Every way to change a namespace. A store refuses any other, and a test holds that each leaves a journal entry."""


@dataclass(frozen=True, slots=True)
class SeenMark:
    """Up to which revision a thread has been told what changed (B1). No change of a memory, so it is not journaled.

    ``thread_id`` names a thread, or an agent in it by a text of its own
    (:func:`memwarden.recall.time.change_cursor.looker`).
    """

    thread_id: str
    rev: int


@dataclass(frozen=True, slots=True)
class ExtractionMark:
    """Up to which revision a thread's turns have been looked through for what is worth keeping. Not journaled.

    ``since`` is the mark that the work began at: the batch is refused (Stale) when it stands elsewhere meanwhile, so
    that two processes never keep the same twice.
    """

    thread_id: str
    rev: int
    since: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that one call writes, in one namespace, applied whole or not at all.

    Every change has a ``step``, a number within the batch: what has the same one is one decision, and is undone
    together. Its ``meta`` is a small JSON object for the journal (the rule that decided, ids); never content.

    Attributes:
        key: idempotency key. A batch whose key was applied before in this namespace is not applied again; the answer
            of the first time is given. The same key with another ``fingerprint`` is a Conflict.
        fingerprint: stable hash of what the caller asked for; compared when a key comes again.
        actor: who did it, for the journal.
        at: the time of the write (aware, UTC).
        decided_at: the revision on whose contents the batch was decided: refuse it (Stale) when a memory that it
            updates, removes or restores was changed since. None: no matter.
        decided_on_all: refuse it as well when any memory that is no turn was written after ``decided_at``: what was
            decided to be new may be known since.
        seen: moves marks forward, with the batch; never back. extracted: moves the other one.
    """

    namespace: Namespace
    changes: tuple[BatchChange, ...]
    at: datetime
    key: str | None = None
    fingerprint: str | None = None
    actor: str | None = None
    decided_at: int | None = None
    decided_on_all: bool = False
    seen: tuple[SeenMark, ...] = ()
    extracted: ExtractionMark | None = None


class ChangeResult(NamedTuple):
    """What became of one change of a batch.

    outcome: created, updated, deleted, restored, duplicate or missing. id: the memory's; of a link its ``from``.
    """

    id: str
    outcome: str
    step: int = 0


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to an applied batch.

    Attributes:
        rev: the namespace's revision after the batch (for a replayed key: after the first application).
        applied: one per change, in their order.
        replayed: True when the key had been applied before and nothing was written now.
    """

    rev: int
    applied: tuple[ChangeResult, ...]
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One entry of a namespace's journal. It holds no content, only references.

    Attributes:
        old_version, new_version: the version that was active before and is active after; None where none was. For LINK
            and UNLINK both are the version of the memory that the edge starts from.
        channel: of the memory.
        step: ``seq`` of the first entry of the same decision.
        meta: what decided it: ids, names of rules, numbers.
    """

    seq: int
    namespace: Namespace
    event: str
    memory_id: str
    old_version: int | None
    new_version: int | None
    actor: str | None
    thread_id: str | None
    at: datetime
    channel: str
    step: int
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of a history (B8): what happened to a memory, when, by whom and why.

    Attributes:
        seq: the revision that it made. event: one of :class:`Event`.
        old, new: the memory before and after; None where none was active, for links, and for what is no longer stored.
        actor, thread_id: who did it, and the memory's thread. at: when.
        step: ``seq`` of the first entry of the same decision; what has the same one is undone together.
        meta: what decided it: ids, names of rules, numbers.
    """

    seq: int
    event: str
    memory_id: str
    old: Memory | None
    new: Memory | None
    actor: str | None
    thread_id: str | None
    at: datetime
    step: int
    meta: Mapping[str, Any] | None = None


class Edge(NamedTuple):
    """A relation as an index needs it. ``live`` is False for one that was taken away."""

    from_id: str
    to_id: str
    type: str
    strength: float
    live: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """One edge between two memories of a namespace (B2). ``strength``: 0..1."""

    from_id: str
    to_id: str
    type: str
    strength: float
    created_at: datetime


class ThreadMarks(NamedTuple):
    """What the journal knows of a thread.

    seen: the revision up to which it was told what changed, or None. began: seq of its first entry, or None.
    recent: seq of the turn that is as many turns back as was asked for; 0 when there are not so many.
    extracted: the revision up to which its turns have been looked through; 0 when they never were.
    """

    seen: int | None
    began: int | None
    recent: int
    extracted: int = 0


class IndexRow(NamedTuple):
    """One memory as the namespace index needs it: signals and the columns to filter by, without its text.

    ``n`` numbers the rows of a namespace in the order in which they were first written, from 1, without meaning
    outside its store. Times are integer microseconds since 1970 UTC. ``tags``, ``characters`` and ``sources`` are
    tuples of text. ``live`` is False for a tombstone, whose other fields may be stale.
    """

    n: int
    id: str
    live: bool
    terms: bytes
    vector: bytes | None
    flags: int
    days: bytes
    pieces: bytes | None
    created_at: int
    updated_at: int
    channel: str
    kind: str
    category: str
    importance: float
    pinned: bool
    tags: tuple[str, ...]
    characters: tuple[str, ...]
    source: str | None
    sources: tuple[str, ...]
    role: str | None
    name: str | None
    user_id: str | None
    agent_id: str | None
    run_id: str | None
    actor_id: str | None
    thread_id: str | None
    valid_from: int | None
    valid_to: int | None
    trust: str


class Head(NamedTuple):
    """A namespace's counters. rev: journal sequence number. epoch: changes when a cache of it must be thrown away."""

    rev: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows and edges changed after a revision, and the head of the same snapshot. Rows are ordered by ``n``."""

    rows: list[IndexRow]
    head: Head
    edges: list[Edge] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Promises:
    """What a backend promises; the conformance suite asserts it.

    Attributes:
        durable: an acknowledged write survives the death of the process at any instruction.
        shared: several processes may use one store at once and see each other's writes in the next answer.
        rows_enforced: the engine itself keeps scopes apart, below memwarden.
        exclusive: one process (one open store) at a time; a second one gets StoreUnavailable.
    """

    durable: bool
    shared: bool
    rows_enforced: bool
    exclusive: bool = False


@dataclass(frozen=True, slots=True)
class Feature:
    """One part of a score: its raw value, the weight of the preset, and value x weight."""

    name: str
    value: float
    weight: float

    @property
    def contribution(self) -> float:
        """What this feature added to the ranking score."""
        return self.value * self.weight


@dataclass(frozen=True, slots=True)
class Why(Late):
    """Why an item is in a result (F14). Worked out when it is read, since most answers go to a prompt without it."""

    words: tuple[str, ...] = ()
    features: tuple[Feature, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class RecallItem:
    """One found memory.

    Attributes:
        text: with ``returns="bullets"`` one line, ``[category] ...``, long ones cut to the part that matches; with
            ``"full"`` the whole text.
        score: calibrated 0..1, comparable between stores.
        sources: ids of the turns that it rests on; for a turn, the id that the caller gave it.
        memory: the whole record.
    """

    id: str
    text: str
    category: str
    channel: str
    kind: str
    score: float
    sources: tuple[str, ...]
    created_at: datetime
    why: Why
    memory: Memory


@dataclass(frozen=True, slots=True)
class Cut:
    """One memory that was left out. ``gate`` is the name of what stopped it, ``reason`` says it in words."""

    id: str
    gate: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed in a namespace after revision ``since`` and up to ``rev`` (B1). True when something did.

    Attributes:
        bullets: at most three changes, the newest first, for instance ``+created: [Goals] Ship v1 by Sep (imp=3)``.
        more: how many changes are not told.
        text: the header as it stands in a prompt; empty when nothing changed.
    """

    since: int
    rev: int
    bullets: tuple[str, ...]
    more: int
    text: str

    def __bool__(self) -> bool:
        return bool(self.bullets) or self.more > 0


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a query found. True when something relevant was found.

    Attributes:
        items: best first.
        text: what changed, if something did, and the items as they would stand in a prompt, one bullet each.
        rev: the namespace's revision that the answer is true for.
        tokens: size of ``text`` in tokens, by the configured counter. Never above ``budget_tokens``.
        budget_tokens: the budget that was given.
        cut: what was left out and the gate that stopped it; the nearest ones, or with ``explain=True`` all.
        categories: the categories that were searched, or None for all of them.
        confidence: calibrated 0..1: how likely it is that the store holds an answer at all.
        preset: the named set of weights that ranked, ``chat`` or ``assistant``.
        relevant: whether an item was found for what was asked, apart from those that are always offered.
        related: one or two memories that are related to items, strongest first (B2), as the last bullets of ``text``;
            they do not count in ``top_k``. None when nothing relevant was found.
        delta: what changed since the thread looked last, as the first lines of ``text``; None when nothing did, or when
            the budget has no room for it, and then the next answer tells it.
    """

    items: tuple[RecallItem, ...]
    text: str
    rev: int
    tokens: int
    budget_tokens: int | None
    cut: tuple[Cut, ...]
    categories: tuple[str, ...] | None
    confidence: float
    preset: str
    relevant: bool
    related: tuple[RecallItem, ...] = ()
    delta: Delta | None = None

    def __bool__(self) -> bool:
        return self.relevant


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The block to put into a prompt before a turn (C6). True when there is something to inject.

    Attributes:
        confidence: calibrated 0..1: how likely it is that the store holds something for the message.
        relevant: whether an item was found for the message, apart from those that are always offered.
        unsure: whether a search on demand may find what the block does not hold (B11).
    """

    text: str
    items: tuple[RecallItem, ...]
    tokens: int
    budget_tokens: int
    rev: int
    cut: tuple[Cut, ...] = ()
    confidence: float = 0.0
    relevant: bool = False
    unsure: bool = False

    def __bool__(self) -> bool:
        return bool(self.items)


class Outcome(StrEnum):
    """What became of something given to a verb that writes.

    ``merged``: it says what another memory says, whose id is given. ``superseded``: it was stored, and took the place
    of an older fact, which is kept with its validity closed.
    """

    CREATED = "created"
    UPDATED = "updated"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    RESTORED = "restored"
    PROPOSED = "proposed"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"
    DELETED = "deleted"


ALREADY = "already stored"
"""The reason of what was there before, with which it begins."""


@dataclass(frozen=True, slots=True)
class MessageResult:
    """What became of one message or text. ``id`` is None when nothing was kept of it."""

    id: str | None
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The answer to ``remember`` and ``observe``: durable when it is returned.

    Attributes:
        rev: the namespace's revision; a query that answers with this revision or a later one has seen the write.
        results: one per message or text, in their order.
    """

    rev: int
    results: tuple[MessageResult, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class PendingReview:
    """What is stored apart until somebody decides on it: a candidate, or a text that was held back.

    Attributes:
        memory: as it would be. Its ``state`` says which of the two it is; ``purge_at`` until when it waits, or None.
        why: in words; for a text that was held back the kinds of what is suspicious about it.
    """

    memory: Memory
    why: str

    @property
    def id(self) -> str:
        """The id of the memory, which ``release`` and ``discard`` take."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class UserContext:
    """How a person wants to be called and spoken to, and what they aim for (B10): apart from what is remembered.

    Attributes:
        decided: names of the fields that the person decided on; what they decided changes by their word only.
        version: of the memory that holds it, 0 when nothing is known. updated_at: when it last changed, or None.
    """

    preferred_name: str | None = None
    pronouns: str | None = None
    city: str | None = None
    language: str | None = None
    tone: str | None = None
    goals: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    version: int = 0
    updated_at: datetime | None = None


class ConsentState(StrEnum):
    """What became of a proposed change of the user context.

    ``applied``: it was heard often enough to need no word. ``replaced``: a proposal of the same, with more signals,
    stands for it.
    """

    PENDING = "pending"
    APPROVED = "approved"
    DECLINED = "declined"
    EXPIRED = "expired"
    APPLIED = "applied"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Consent:
    """A proposed change of the user context, and what was decided about it.

    Attributes:
        field: ``preferred_name``, ``pronouns``, ``city``, ``language``, ``tone``, ``goals_add`` or ``goals_remove``.
        value: what it shall be; None empties the field.
        replaces: of a pending one, what the context holds in its place now, or None.
        sources: what the person said that speaks for it: ids of turns.
        expires_at: until when it waits. decided_at, decided_by, way: when, by whom and how it was decided.
    """

    id: str
    field: str
    value: str | None
    replaces: str | None
    state: str
    sources: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None = None
    decided_by: str | None = None
    way: str | None = None


class Flaw(StrEnum):
    """What can be wrong with memories (F8).

    DUPLICATE: two facts say the same. CONTRADICTION: two facts hold now, and the newer one gives a new value for what
    the older one says. RESTATED_PROMPT: it holds what memwarden itself put into a prompt. CHATTER: a greeting, thanks
    or small talk kept as a fact. SECRET: a secret stands in its words. SOURCE_GONE: all turns that a fact rests on were
    forgotten. SUCCESSOR_GONE: a fact was replaced, and what replaced it was forgotten, so that neither holds now.
    """

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    RESTATED_PROMPT = "restated_prompt"
    CHATTER = "chatter"
    SECRET = "secret"
    SOURCE_GONE = "source_gone"
    SUCCESSOR_GONE = "successor_gone"


@dataclass(frozen=True, slots=True)
class Fix:
    """What would mend a finding: a verb of a scope for one memory, and its other arguments. ``undo`` takes it back.

    verb: ``forget``, ``update`` or ``restore``.
    """

    verb: str
    memory_id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that is wrong.

    Attributes:
        kind: one of :class:`Flaw`.
        ids: the memories that it is about. Of a duplicate the one that stays, then the other; of a contradiction the
            older, then the newer; of ``source_gone`` the fact, then the turns; of ``successor_gone`` the fact, then
            what replaced it last.
        why: in words; it repeats nothing of a memory.
    """

    kind: str
    ids: tuple[str, ...]
    why: str
    fix: Fix


@dataclass(frozen=True, slots=True)
class StateCount:
    """How many memories are in a state. oldest: when the one that was last written longest ago was; None for none."""

    state: str
    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong in a namespace. Nothing was changed.

    Attributes:
        findings: in an order in which every fix can be applied, one after the other.
        counts: one for each of :class:`MemoryState`, in its order.
        looked_at: how many active memories were looked at, the newest.
    """

    findings: tuple[AuditFinding, ...]
    counts: tuple[StateCount, ...]
    looked_at: int
