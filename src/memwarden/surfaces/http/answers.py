"""The bodies of answers: records of the product as JSON, read from them by their attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class RecordView(BaseModel):
    """Base of answers: made of a record's attributes."""

    model_config = ConfigDict(from_attributes=True)


class PlaceView(RecordView):
    """Where a memory lives."""

    tenant: str
    path: str


class MemoryView(RecordView):
    """A memory, whole. Its version is its ETag."""

    id: str
    namespace: PlaceView
    text: str
    created_at: datetime
    updated_at: datetime
    channel: str
    kind: str
    category: str
    importance: float
    tags: tuple[str, ...]
    pinned: bool
    source: str | None
    sources: tuple[str, ...]
    summary: str | None
    context: str | None
    characters: tuple[str, ...]
    payload: Mapping[str, Any] | None
    token_cost: int | None
    role: str | None
    name: str | None
    user_id: str | None
    agent_id: str | None
    run_id: str | None
    actor_id: str | None
    thread_id: str | None
    valid_from: datetime | None
    valid_to: datetime | None
    state: str
    version: int
    purge_at: datetime | None
    trust: str
    utc_offset: int


class MemoryPage(RecordView):
    """A page of memories. cursor: for the next page; None on the last."""

    items: list[MemoryView]
    cursor: str | None


class ImportView(RecordView):
    """The counts of an import."""

    formats: tuple[str, ...]
    users: tuple[str, ...]
    threads: int
    documents: int
    stored: int
    known: int
    ended: int
    linked: int
    nodes: int
    undated: int
    skipped: Mapping[str, int]
    refused: Mapping[str, int]
    first_at: str | None
    last_at: str | None
    dry_run: bool


class ErasureView(RecordView):
    """The receipt of an erasure. finished_at None: nothing was erased."""

    tenant: str
    path: str
    store: str
    engine: str
    started_at: str
    finished_at: str | None
    kinds: Mapping[str, int]
    counts: Mapping[str, int]
    sample: tuple[str, ...]
    left_to_do: tuple[str, ...]
    digest: str
    thread: str | None
    memory: str | None


class TracesView(RecordView):
    """What contradicts the receipt of an erasure: nothing where all is gone."""

    absent: bool
    found: Sequence[str]


class FeatureView(RecordView):
    """A part of a score."""

    name: str
    value: float
    weight: float


class StatementView(RecordView):
    """Who has which value of which attribute, since when, as a text says it. sources: ids of the turns that say it."""

    subject: str
    attribute: str
    value: str
    since: date
    until: date | None
    sort: str
    probability: float
    start: int
    end: int
    sources: tuple[str, ...]


class WhyView(RecordView):
    """Why an item is in an answer. statements: what its words state."""

    words: tuple[str, ...]
    features: tuple[FeatureView, ...]
    note: str
    statements: tuple[StatementView, ...]


class ItemView(RecordView):
    """A memory that was found. memory: the whole record."""

    id: str
    text: str
    category: str
    channel: str
    kind: str
    score: float
    sources: tuple[str, ...]
    created_at: datetime
    why: WhyView
    memory: MemoryView
    partner: MemoryView | None


class CutView(RecordView):
    """A memory that was left out, and the gate that stopped it."""

    id: str
    gate: str
    score: float
    reason: str


class DeltaView(RecordView):
    """What changed after a revision."""

    since: int
    rev: int
    bullets: tuple[str, ...]
    more: int
    text: str


class QueryView(RecordView):
    """What a query found. relevant: whether there is an answer."""

    items: tuple[ItemView, ...]
    text: str
    rev: int
    tokens: int
    budget_tokens: int | None
    cut: tuple[CutView, ...]
    categories: tuple[str, ...] | None
    confidence: float
    preset: str
    relevant: bool
    related: tuple[ItemView, ...]
    delta: DeltaView | None
    confidences: tuple[float, ...]
    pending: int


class BlockView(RecordView):
    """The block to put before a turn; text is empty when nothing is relevant."""

    text: str
    items: tuple[ItemView, ...]
    tokens: int
    budget_tokens: int
    rev: int
    cut: tuple[CutView, ...]
    confidence: float
    relevant: bool
    unsure: bool
    delta: DeltaView | None
    updated: tuple[MemoryView, ...]
    overview_of: tuple[MemoryView, ...]
    pending: int


class MessageResultView(RecordView):
    """What became of a message or text. parts: number of memories that hold it, more than 1 for a long text."""

    id: str | None
    outcome: str
    reason: str
    parts: int


class WriteView(RecordView):
    """The answer to a write: durable when it is sent. An answer with this revision or a later has seen it."""

    rev: int
    results: tuple[MessageResultView, ...]
    undated: int


class DueExtraction(RecordView):
    """What was decided about a conversation; None when it was not looked through now."""

    result: WriteView | None


class PlacedBlockView(RecordView):
    """A block of memories at its place in a conversation."""

    anchor: str
    text: str
    tokens: int
    marks: Mapping[str, str]


class LayoutView(RecordView):
    """The memories in a conversation: a snapshot early, and deltas before later messages."""

    snapshot: PlacedBlockView
    deltas: tuple[PlacedBlockView, ...]


class LayoutAnswer(RecordView):
    """A layout; None for a conversation without a user's message."""

    layout: LayoutView | None


class UseView(RecordView):
    """In how many prompts a memory was used, unused and wrong."""

    memory_id: str
    category: str | None
    used: int
    unused: int
    wrong: int
    last: datetime


class PromotionView(RecordView):
    """The id of a copy in a project."""

    id: str


class RelationView(RecordView):
    """An edge between two memories."""

    from_id: str
    to_id: str
    type: str
    strength: float
    created_at: datetime


class HistoryView(RecordView):
    """A change: what a memory held before and after. Changes of the same step are undone together."""

    seq: int
    event: str
    memory_id: str
    old: MemoryView | None
    new: MemoryView | None
    actor: str | None
    thread_id: str | None
    at: datetime
    step: int
    meta: Mapping[str, Any] | None


class HealthView(RecordView):
    """Whether the server is well, by part. pending: number of texts for which this process has yet to make vectors."""

    status: str
    checks: Mapping[str, str]
    pending: int = 0


class OverviewLineView(RecordView):
    """An open value of a person."""

    about: str
    attribute: str
    value: str
    said_at: datetime
    changed: bool
    source: str


class OverviewView(RecordView):
    """What is known of a person at a glance."""

    text: str
    tokens: int
    lines: tuple[OverviewLineView, ...]


class UserList(RecordView):
    """Users of whom something was ever kept, by name."""

    items: list[str]


class UserContextView(RecordView):
    """How a person wants to be called and spoken to. decided: fields that only their own word changes."""

    preferred_name: str | None
    pronouns: str | None
    city: str | None
    language: str | None
    tone: str | None
    goals: tuple[str, ...]
    decided: tuple[str, ...]
    version: int
    updated_at: datetime | None


class ConsentView(RecordView):
    """A proposed change of the user context, and what was decided."""

    id: str
    field: str
    value: str | None
    replaces: str | None
    state: str
    sources: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None
    decided_by: str | None
    way: str | None


class PendingView(RecordView):
    """What is stored apart from all answers until somebody decides on it."""

    id: str
    why: str
    memory: MemoryView


class ThreadView(RecordView):
    """The last turns of a conversation, the oldest first, and the facts that were made of it."""

    turns: list[MemoryView]
    facts: list[MemoryView]


class EventView(RecordView):
    """An operational event. It holds no content."""

    id: str
    namespace: PlaceView
    node: str
    op: str
    status: str
    ts: datetime
    user_id: str | None
    agent_id: str | None
    thread_id: str | None
    memory_id: str | None
    category: str | None
    sim: float | None
    rev: int | None
    ms: float | None
    count: int
    reason: str


class EventCountView(RecordView):
    """How often something was done in a span of time."""

    ts: datetime
    node: str
    op: str
    status: str
    count: int


class FixView(RecordView):
    """What would mend a finding: a verb for a memory, and its arguments."""

    verb: str
    memory_id: str
    arguments: Mapping[str, Any]


class FindingView(RecordView):
    """A thing that is wrong with what is remembered."""

    kind: str
    ids: tuple[str, ...]
    why: str
    fix: FixView


class StateCountView(RecordView):
    """How many memories are in a state."""

    state: str
    count: int
    oldest: datetime | None


class AuditView(RecordView):
    """What is wrong in a namespace. Nothing was changed."""

    findings: tuple[FindingView, ...]
    counts: tuple[StateCountView, ...]
    looked_at: int


class StateKeyView(RecordView):
    """A key with the metadata of its value."""

    key: str
    updated_at: str
    size_bytes: int
    description: str | None
    preview: str | None
    expires_at: str | None


class StateList(RecordView):
    """Saved keys. results: the values by key, when they were asked for."""

    count: int
    keys: list[StateKeyView]
    results: dict[str, Any] | None


class StateValue(RecordView):
    """A saved value."""

    key: str
    value: Any


class SessionList(RecordView):
    """Ids of stored sessions, the last changed first."""

    items: list[str]


class PreparedMessages(RecordView):
    """Messages for an agent, the user's last."""

    messages: list[dict[str, Any]]


class CachedResult(RecordView):
    """A cached entry of a tool's call; None where there is none."""

    entry: dict[str, Any] | None


class TierItemView(RecordView):
    """An item of a tier."""

    context_item_id: str
    kind: str
    source: str | None
    timestamp: str
    tags: list[str]
    importance: float | None
    token_cost: int | None
    payload: Mapping[str, Any]


class TierItemList(RecordView):
    """Items of a tier, newest or largest first."""

    items: list[TierItemView]


class OptionalItem(RecordView):
    """An item; None when the person declined."""

    item: TierItemView | None


class OptionalPromotion(RecordView):
    """The id of a copy; None when the person declined."""

    id: str | None


class OptionalWrite(RecordView):
    """The answer to a write; None when the person declined."""

    result: WriteView | None


class TaskStateAnswer(RecordView):
    """Whether a task's memory was cleared."""

    cleared: bool


class RemovedCount(RecordView):
    """How many items were removed."""

    removed: int


class CheckpointKeyView(RecordView):
    """Where a checkpoint lies: the conversation, the subgraph, its id."""

    thread: str
    ns: str
    id: str


class CheckpointView(RecordView):
    """A checkpoint of an agent's graph, without its values."""

    key: CheckpointKeyView
    parent: str | None
    metadata: Mapping[str, Any]
    has: frozenset[str]


class CategoryView(RecordView):
    """A category. always: in every context block, ahead of the bar. rag_length: the most candidates of it.

    expire_days, expire_below, half_life_days, never_expires: its policy of expiry.
    """

    name: str
    always: bool
    rag_length: int | None
    expire_days: int | None
    expire_below: float | None
    half_life_days: float | None
    never_expires: bool


class CategoriesView(RecordView):
    """The categories and the agents' allowlists in force."""

    categories: list[CategoryView]
    allowlists: Mapping[str, tuple[str, ...]]


class AllowlistView(RecordView):
    """The categories that an agent may read and write."""

    agent: str
    categories: tuple[str, ...]
