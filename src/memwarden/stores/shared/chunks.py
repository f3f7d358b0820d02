"""Cuts a batch into runs of independent changes, so that engines read and write in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, get_args

from memwarden.errors import InvalidInput
from memwarden.records import BatchChange, Link, Put, Unlink, WriteMode

MAX_CHUNK_CHANGES = 500
"""Maximum changes of a chunk."""


class EdgeKey(NamedTuple):
    """The unique key of an edge in its namespace."""

    from_id: str
    to_id: str
    type: str


def check_kinds(changes: Sequence[object]) -> None:
    """Raise InvalidInput for a change of an unknown kind or with missing values."""
    for change in changes:
        if not isinstance(change, BatchChange):
            known = ", ".join(kind.__name__ for kind in get_args(BatchChange))
            raise InvalidInput(f"a batch holds changes ({known}), not {change!r:.80}")
        if isinstance(change, Put) and change.signals is None and change.mode != WriteMode.UPDATE:
            raise InvalidInput(f"memory {change.memory.id!r} needs signals; only an update keeps those that are stored")
        if isinstance(change, Put) and change.keep_versions is not None and change.keep_versions < 0:
            raise InvalidInput(f"keep_versions is a number from 0, not {change.keep_versions}")


def edge_key(change: Link | Unlink) -> EdgeKey:
    """Return the key of the edge that a change writes."""
    return EdgeKey(change.from_id, change.to_id, str(change.type))


def ids_of(change: BatchChange) -> tuple[str, ...]:
    """Return the ids of the memories that a change reads."""
    if isinstance(change, Put):
        return (change.memory.id,)
    return (change.from_id, change.to_id) if isinstance(change, Link | Unlink) else (change.id,)


def cut_chunks(
    changes: Sequence[BatchChange], key_of: Callable[[Put], str | None]
) -> Iterator[list[tuple[int, BatchChange]]]:
    """Yield runs of independent changes with their places in the batch.

    ``key_of`` returns the text that stands for a put's source key (:func:`join_source_key`).

    Within a run no memory, source key or edge is written twice, or written by one change and read by another.
    """
    chunk: list[tuple[int, BatchChange]] = []
    written: set[object] = set()
    read: set[object] = set()
    for place, change in enumerate(changes):
        writes, reads = _marks(change, key_of)
        if len(chunk) == MAX_CHUNK_CHANGES or not written.isdisjoint(writes + reads) or not read.isdisjoint(writes):
            yield chunk
            chunk, written, read = [], set(), set()
        chunk.append((place, change))
        written.update(writes)
        read.update(reads)
    if chunk:
        yield chunk


def _marks(change: BatchChange, key_of: Callable[[Put], str | None]) -> tuple[list[object], list[object]]:
    ids: list[object] = [("id", item) for item in ids_of(change)]
    if isinstance(change, Link | Unlink):
        return [edge_key(change)], ids
    key = key_of(change) if isinstance(change, Put) else None
    return (ids if key is None else [*ids, ("source key", key)]), []
