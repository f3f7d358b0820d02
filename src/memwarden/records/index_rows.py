"""Rows and edges as the index of a namespace reads them, and counters of a namespace."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from memwarden.records.memory import Signals


class Edge(NamedTuple):
    """A relation as an index needs it. ``live`` is False for a removed relation."""

    from_id: str
    to_id: str
    type: str
    strength: float
    live: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """One edge between two memories of a namespace. ``strength``: 0..1."""

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
    tuples of text. ``live`` is False for a tombstone, whose other fields may be stale; ``forgotten`` says of a
    tombstone that it was an active memory until it was forgotten or expired.
    """

    n: int
    id: str
    live: bool
    terms: bytes
    vector: bytes | None
    flags: int
    days: bytes
    pieces: bytes | None
    statements: bytes | None
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
    forgotten: bool = False


class Fill(NamedTuple):
    """Signals that follow a memory which was stored without them, for the version that they were made of."""

    id: str
    version: int
    signals: Signals


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
        shared: several processes may use a store at once and see each other's writes in the next answer.
        rows_enforced: the engine itself keeps scopes apart, below memwarden.
        exclusive: a single process (a single open store) at a time; a second gets StoreUnavailable.
    """

    durable: bool
    shared: bool
    rows_enforced: bool
    exclusive: bool = False
