"""The memory record, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from enum import StrEnum
from typing import Any


class Channel(StrEnum):
    """How a memory came to be. Not its subject (category) and not its sort (kind)."""

    TURN = "turn"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    INSIGHT = "insight"
    PROCEDURAL = "procedural"
    STATE = "state"


class Kind(StrEnum):
    """What sort of statement a memory is."""

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

    A ``soft_deleted`` memory can be restored until it is purged; a ``merged`` memory says what another memory says,
    which stands for both until the merge is undone. A ``candidate`` waits until it is heard again or confirmed, a
    ``quarantined`` memory looks like an attack, a ``proposed`` memory needs a person's consent. Of a ``purged`` memory
    nothing is left but its id, and nothing brings it back: no read finds it.
    """

    ACTIVE = "active"
    SOFT_DELETED = "soft_deleted"
    MERGED = "merged"
    CANDIDATE = "candidate"
    QUARANTINED = "quarantined"
    PROPOSED = "proposed"
    PURGED = "purged"


# States of what waits for somebody's word, and was no memory yet.
APART = frozenset({MemoryState.CANDIDATE, MemoryState.QUARANTINED, MemoryState.PROPOSED})
# The actor of what was extracted from turns: nobody stated it.
EXTRACTED_BY = "memwarden"
# The tag of an index card, and what says in the journal that an entry is of a card.
CARD = "card"
# The tag of a fact that repeats a turn word for word: where there is the turn, answers show that.
QUOTATION = "quotation"
# The kind of a turn whose words were wrong and were corrected, and of its quotations. It answers no question.
CORRECTED = "corrected"
# What stands for turns and is no answer beside them.
STANDING_IN = (CARD, QUOTATION)
# The name in the metadata of a memory for the document that states it.
DOCUMENT = "document_id"
# What says in the journal that a memory went with everything else.
RESET = "reset"


class Trust(StrEnum):
    """Whom a memory's words come from: a person or the program that states them, the assistant, or anything else
    that was read, such as a tool's output, a page, a document or an import."""

    PERSON = "person"
    ASSISTANT = "assistant"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True, order=True)
class Namespace:
    """The unit of isolation and placement in a tenant: ``user/<id>``, ``project/<id>``, ``task/<id>`` or ``global``."""

    tenant: str
    path: str

    def __str__(self) -> str:
        return f"{self.tenant}:{self.path}"


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks. Everything of a user lives in the namespace ``user/<user>`` of the tenant.

    project, task: what is searched beside it. role: whose words those are that are stated without a role.
    """

    tenant: str = "default"
    user: str = "default"
    agent: str | None = None
    thread: str | None = None
    run: str | None = None
    actor: str | None = None
    project: str | None = None
    task: str | None = None
    role: str | None = None
    # Made once: a call asks for them a dozen times.
    namespace: Namespace = field(init=False, repr=False, compare=False)
    """Where this scope reads and writes."""
    beside: tuple[Namespace, ...] = field(init=False, repr=False, compare=False)
    """What is searched beside it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "namespace", self.find_namespace())
        object.__setattr__(self, "beside", self.find_beside())

    def find_namespace(self) -> Namespace:
        """Return the namespace of the user."""
        return Namespace(self.tenant, f"user/{self.user}")

    def find_beside(self) -> tuple[Namespace, ...]:
        """Return the namespaces of the task, the project, and what holds for all projects."""
        named = [f"{kind}/{name}" for kind, name in (("task", self.task), ("project", self.project)) if name]
        return tuple(Namespace(self.tenant, path) for path in (*named, "global")) if named else ()


# The most minutes between two clocks, on either side: less than a day.
MAX_OFFSET = 24 * 60 - 1


def local_time(moment: datetime, utc_offset: int) -> datetime:
    """Return an aware moment by a clock that is so many minutes ahead of UTC, if it has a year there."""
    try:
        return moment.astimezone(timezone(timedelta(minutes=utc_offset)))
    except OverflowError:  # what is to hold until the end of the year 9999
        return moment


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing remembered.

    Attributes:
        id: UUIDv7 text, or the caller's own id for items added through :class:`memwarden.tiers.backend.AsyncBackend`.
        namespace: where it lives. A memory lives in exactly a single namespace.
        text: what is remembered; for a turn, word for word what was said. Never empty for turns and facts.
        importance: 0..1. Surfaces that show levels 1..5 or 1..10 convert with :mod:`memwarden.checks`.
        source: where it comes from, as a path or URI (``thread/t1``, ``task/k1/plan``), or None.
        sources: ids of the turns that it rests on. For a turn: its own source id, which is the caller's ``id`` of the
            message if there was any.
        name: who said it, if it was somebody with a name. ``role`` is the chat role.
        characters: who takes part in it; a search can be limited to them.
        context: words about the occasion ("During the move, with Tomas").
        payload: a JSON object of the caller's; :attr:`metadata` reads it.
        token_cost: the size in tokens that the caller gave, or None.
        version: 1 for a new memory, then 1 more for each change.
        created_at: when it was said or learned (aware, UTC). updated_at: when memwarden last wrote it.
        utc_offset: by how many minutes the clock of whoever said it was ahead of UTC then; its days are told by it.
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
    utc_offset: int = 0

    @property
    def said_at(self) -> datetime:
        """:attr:`created_at` by the clock of whoever said it, for the days that its words name."""
        return local_time(self.created_at, self.utc_offset) if self.utc_offset else self.created_at

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The caller's own values; empty without any."""
        return self.payload or {}

    @property
    def since(self) -> datetime:
        """When it became true, as far as is known."""
        return self.valid_from or self.created_at


def end_by_clock(memory: Memory, ended: datetime) -> datetime:
    """Return when a memory ended by the clock of whoever said it, who has another in the other half of a year.

    What was said in winter and ended at a midnight of summer ended at eleven in the evening by the winter's clock.
    """
    end = local_time(ended, memory.utc_offset)
    is_eleven = end.timetz().replace(tzinfo=None) == time(23)
    moved = is_eleven and _is_summer(end) and not _is_summer(memory.said_at) and end.date() < date.max
    return end + timedelta(hours=1) if moved else end


def _is_summer(moment: datetime) -> bool:
    """Whether clocks are put forward in most of the north then; in the south, of two moments, the other is."""
    return 4 <= moment.month <= 10


@dataclass(frozen=True, slots=True)
class Signals:
    """What recall knows of a text without the text: made once, when it is written.

    Attributes:
        terms: the term ids in order of appearance, as little-endian uint32 (see :mod:`memwarden.text.tokenizer`).
        vector: unit-length embedding as little-endian float16, or None when there is no embedder or nothing to embed.
        flags: bit set of :class:`memwarden.text.flags.Flag`.
        pieces: vectors of the word pieces that say something, 127 times unit length as int8, or None without them.
        days: the days that the text names, from the day it was said (:func:`memwarden.text.dates.recognizer.encode`).
        statements: who has which value of which attribute (:func:`memwarden.statements.statement.pack`), or None
            where they were not read.
        passages: of a text with several passages, how terms and word pieces are divided among them, and the vectors of
            all but the first (:class:`memwarden.records.passages.StoredPassages`); None for a text of one passage.
    """

    terms: bytes = b""
    vector: bytes | None = None
    flags: int = 0
    days: bytes = b""
    pieces: bytes | None = None
    statements: bytes | None = None
    passages: bytes | None = None
