"""The bodies of answers: records of the product as JSON, read from them by their attributes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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


class MemoryPage(RecordView):
    """A page of memories. cursor: for the next page; None on the last."""

    items: list[MemoryView]
    cursor: str | None


class FeatureView(RecordView):
    """A part of a score."""

    name: str
    value: float
    weight: float


class WhyView(RecordView):
    """Why an item is in an answer."""

    words: tuple[str, ...]
    features: tuple[FeatureView, ...]
    note: str


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


class MessageResultView(RecordView):
    """What became of a message or text."""

    id: str | None
    outcome: str
    reason: str


class WriteView(RecordView):
    """The answer to a write: durable when it is sent. An answer with this revision or a later has seen it."""

    rev: int
    results: tuple[MessageResultView, ...]
    undated: int


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
    """Whether the server is well, by part."""

    status: str
    checks: Mapping[str, str]
