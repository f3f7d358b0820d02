"""Answers of the verbs: of queries, writes, audits, reviews and consent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property, partial
from typing import Any, Literal

from memwarden.records.memory import Memory


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
class Statement:
    """Who has which value of which attribute, since when, as a text says it.

    Attributes:
        subject: keys of whom it is about, joined by "+": "self", "name:ana", "relation:sister"; empty for nobody.
        attribute: the likeliest attribute, for example "home city"; "none" for what fits no known attribute.
        value: the words that say it.
        since, until: the days from and up to which it holds, as far as the words say.
        sort: a "state" that holds, a "change" to a new value, or the "end" of a value.
        probability: the chance that the words state something that holds, times that of the attribute, less where they
            lie far from its other statements.
        start, end: the place of the words in the text.
        sources: as of the memory: ids of the turns that say it.
    """

    subject: str
    attribute: str
    value: str
    since: date
    until: date | None
    sort: Literal["state", "change", "end"]
    probability: float
    start: int
    end: int
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Why:
    """Why an item is in a result.

    statements: what its words state, by which it was found; none where no model reads statements.
    """

    words: tuple[str, ...] = ()
    features: tuple[Feature, ...] = ()
    note: str = ""
    statements: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class RecallItem:
    """A memory that a query found.

    Attributes:
        text: with ``returns="bullets"`` a line, ``[category] ...``, long ones cut to the part that matches; with
            ``"full"`` the whole text.
        score: calibrated 0..1, comparable between stores.
        sources: ids of the turns that it rests on; for a turn, the id that the caller gave it, and that of its partner.
        explain: gives ``why``, which is worked out when it is first read.
        memory: the whole record.
        partner: the turn that ``text`` shows, too: the reply to a question, or the question of a short reply.
    """

    id: str
    text: str
    category: str
    channel: str
    kind: str
    score: float
    sources: tuple[str, ...]
    created_at: datetime
    explain: Callable[[], Why] = field(repr=False, compare=False)
    memory: Memory
    partner: Memory | None = None

    # Most answers go to a prompt without it, and to match the words of each item takes a fifth of a hot query.
    @cached_property
    def why(self) -> Why:
        """Why the item is in the result."""
        return self.explain()

    def __getstate__(self) -> dict[str, Any]:
        # The explanation refers to the whole question and its ranking: a copy holds what came of it.
        why = self.why
        return {**vars(self), "explain": partial(Why, why.words, why.features, why.note, why.statements)}


# The id of the item of a block that is an overview.
OVERVIEW_ID = "overview"


@dataclass(frozen=True, slots=True)
class OverviewLine:
    """A value in an overview.

    Attributes:
        about: whose value it is; "" for a speaker without a name. attribute: "" where it is not surely known.
        value: the words that say it.
        said_at: when they were said, of a fact with valid_from since when it holds.
        changed: whether they told of a change, and lately. source: id of their memory.
    """

    about: str
    attribute: str
    value: str
    said_at: datetime
    changed: bool
    source: str


@dataclass(frozen=True, slots=True)
class Overview:
    """What is known of a person at a glance. True when anything is.

    Attributes:
        text: the lines as they would stand in a prompt. lines: what matters more stands first.
    """

    text: str
    tokens: int
    lines: tuple[OverviewLine, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        """Ids of the memories that it rests on, each once."""
        return tuple(dict.fromkeys(line.source for line in self.lines))

    def __bool__(self) -> bool:
        return bool(self.lines)


@dataclass(frozen=True, slots=True)
class Cut:
    """One memory that was left out. ``gate`` is the name of what stopped it, ``reason`` says it in words."""

    id: str
    gate: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Delta:
    """What changed in a namespace after revision ``since`` and up to ``rev``. True when something did.

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
        text: what changed, if something did, and the items as they would stand in a prompt, a bullet each.
        rev: the namespace's revision that the answer is true for.
        tokens: size of ``text`` in tokens, by the configured counter. Never above ``budget_tokens``.
        budget_tokens: the budget that was given.
        cut: what was left out and the gate that stopped it; the nearest ones, or with ``explain=True`` all.
        categories: the categories that were searched, or None for all of them.
        confidence: calibrated 0..1: how likely it is that ``top_k`` items hold the answer; of several questions the
            highest. The bar is held against the chance of a block, which is higher.
        confidences: the same of each question, in the order in which they were asked.
        preset: the named set of weights that ranked, ``chat`` or ``assistant``.
        relevant: whether an item was found for what was asked.
        related: 1 or 2 memories that are related to items, strongest first, as the last bullets of ``text``;
            they do not count in ``top_k``. None when nothing relevant was found.
        delta: what changed since the thread looked last, as the first lines of ``text``; None when nothing did, or when
            the budget has no room for it, and then the next answer tells it.
        pending: number of texts without a vector in the index that was searched. Words alone find these.
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
    confidences: tuple[float, ...] = ()
    pending: int = 0

    def __bool__(self) -> bool:
        return self.relevant


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """The block to put into a prompt before a turn. True when there is something to inject.

    Attributes:
        confidence: calibrated 0..1: how likely it is that a block holds what answers the message.
        relevant: whether an item was found for the message; an overview alone is none.
        unsure: whether a search on demand may find what the block does not hold.
        delta: what the thread's model was shown before and is no longer so, as the first lines of ``text``; None when
            all of it still holds.
        updated: the memories whose new words ``delta`` tells.
        overview_of: the memories that the overview among ``items`` rests on.
        pending: number of texts without a vector in the index that was searched. Words alone find these.
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
    delta: Delta | None = None
    updated: tuple[Memory, ...] = ()
    overview_of: tuple[Memory, ...] = ()
    pending: int = 0

    def __bool__(self) -> bool:
        return bool(self.items) or self.delta is not None


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """A chat model's answer to a question. True when the memories hold an answer.

    Attributes:
        text: the answer; empty when it is not known. known: whether the memories hold it.
        citations: ids of the memories that it rests on; at least one when it is known. items: these memories.
        queries: what was searched for, the question first. rounds: how often it was searched.
    """

    text: str
    known: bool
    citations: tuple[str, ...]
    items: tuple[RecallItem, ...]
    queries: tuple[str, ...]
    rounds: int

    def __bool__(self) -> bool:
        return self.known


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


# The reason of what was there before, with which it begins.
ALREADY = "already stored"


@dataclass(frozen=True, slots=True)
class MessageResult:
    """What became of a message or text.

    Attributes:
        id: None when nothing was kept of it. Of a text in parts: the first part, which stands for all.
        parts: number of memories that hold the text. More than 1 for a text over the limit of a single memory.
    """

    id: str | None
    outcome: Outcome
    reason: str = ""
    parts: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", Outcome(self.outcome))


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The answer to ``remember`` and ``observe``: durable when it is returned.

    Attributes:
        rev: the namespace's revision; a query that answers with this revision or a later has seen the write.
        results: a result for each message or text, in their order.
        undated: how many of the messages that were stored count as said now, because they have no time of their own or
            one that lies ahead.
    """

    rev: int
    results: tuple[MessageResult, ...] = field(default=())
    undated: int = 0


class Flaw(StrEnum):
    """What can be wrong with memories.

    DUPLICATE: two facts say the same. CONTRADICTION: two facts hold now, and the newer gives a new value for what
    the older says. RESTATED_PROMPT: it holds what memwarden itself put into a prompt. CHATTER: a greeting, thanks
    or small talk kept as a fact. SECRET: a secret stands in its words. SOURCE_GONE: all turns that a fact rests on were
    forgotten. SUCCESSOR_GONE: a fact was replaced, and what replaced it was forgotten, so that neither holds now.
    WRONG_END: a rule ended a fact by a newer fact, and both can be true. OTHER_SUBJECT: an extracted fact has names or
    numbers that its turns do not, or is shown with words about another subject. MEANINGLESS: an extracted text does not
    say what it is about.
    """

    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    RESTATED_PROMPT = "restated_prompt"
    CHATTER = "chatter"
    SECRET = "secret"
    SOURCE_GONE = "source_gone"
    SUCCESSOR_GONE = "successor_gone"
    WRONG_END = "wrong_end"
    OTHER_SUBJECT = "other_subject"
    MEANINGLESS = "meaningless"


@dataclass(frozen=True, slots=True)
class Fix:
    """What would mend a finding: a verb of a scope for a memory, and its other arguments. ``undo`` takes it back.

    verb: ``forget``, ``update``, ``restore``, or ``undo`` of a change.
    """

    verb: str
    memory_id: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that is wrong.

    Attributes:
        kind: a word of :class:`Flaw`.
        ids: the memories that it is about. Of a duplicate the memory that stays, then the other; of a contradiction the
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
    """How many memories are in a state. oldest: when the memory that was written longest ago was; None for none."""

    state: str
    count: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Audit:
    """What is wrong in a namespace. Nothing was changed.

    Attributes:
        findings: in an order in which every fix can be applied, in turn.
        counts: an entry for each of :class:`MemoryState`, in its order.
        looked_at: how many active memories were looked at, the newest.
    """

    findings: tuple[AuditFinding, ...]
    counts: tuple[StateCount, ...]
    looked_at: int


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
    """How a person wants to be called and spoken to, and what they aim for: apart from what is remembered.

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
        replaces: of a pending proposal, what the context holds in its place now, or None.
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
