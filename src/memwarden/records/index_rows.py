"""Rows and edges as the index of a namespace reads them, and counters of a namespace."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from memwarden.records.memory import Signals
from memwarden.records.passages import without_vectors


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
    tombstone that it was an active memory until it was forgotten, or
    expired after its end.
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
    passages: bytes | None
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
    utc_offset: int = 0
    forgotten: bool = False


class Fill(NamedTuple):
    """Signals that follow a memory which was stored without them, for the version that they were made of."""

    id: str
    version: int
    signals: Signals


# What stands at the end of word pieces behind which the signals of a second model are kept.
SECOND_MODEL: Final = b"\xf7mw2nd\x01\x00"
# A digest of the model's name, and how long each part is; -1 for a part that there is not.
_LENGTHS: Final = struct.Struct("<8siiiii")
_TAIL: Final = _LENGTHS.size + len(SECOND_MODEL)


def add_second(own: Signals, model: str, made: Signals) -> Signals:
    """Return signals with what a second model made of the same text behind the word pieces, where no search looks.

    So a store that moves to another model keeps both, in the same row: whatever erases, copies or backs up the row
    takes both along.
    """
    parts = (split_second(own.pieces)[0], made.vector, made.pieces, made.statements, made.passages)
    lengths = _LENGTHS.pack(_digest(model), *(-1 if part is None else len(part) for part in parts))
    return replace(own, pieces=b"".join((*(part or b"" for part in parts), lengths, SECOND_MODEL)))


def split_second(stored: bytes | None) -> tuple[bytes | None, tuple[bytes, Signals] | None]:
    """Return stored word pieces without what stands behind them, and that: a digest of the model, and its signals."""
    if stored is None or not stored.endswith(SECOND_MODEL):
        return stored, None
    model, *lengths = _LENGTHS.unpack(stored[-_TAIL : -len(SECOND_MODEL)])
    parts, start = [], 0
    for length in lengths:
        parts.append(None if length < 0 else stored[start : start + length])
        start += max(length, 0)
    own, vector, pieces, statements, passages = parts
    return own, (model, Signals(vector=vector, pieces=pieces, statements=statements, passages=passages))


def holds_second(stored: bytes | None, model: str) -> bool:
    """Whether the signals of a model stand behind stored word pieces."""
    second = split_second(stored)[1]
    return second is not None and second[0] == _digest(model)


def choose_model(row: IndexRow, model: str, width: int) -> IndexRow:
    """Return a row with the signals that a model made, and no vector (empty bytes) where another model made them.

    width: how many bytes a vector of the model has.
    """
    own, second = split_second(row.pieces)
    if second is not None and second[0] == _digest(model):
        made = second[1]
        return row._replace(
            vector=made.vector, pieces=made.pieces, statements=made.statements, passages=made.passages or row.passages
        )
    if row.vector is None or len(row.vector) == width:
        return row._replace(pieces=own)
    return row._replace(vector=b"", pieces=None, statements=None, passages=without_vectors(row.passages))


@cache
def _digest(model: str) -> bytes:
    return hashlib.blake2b(model.encode(), digest_size=8).digest()


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
