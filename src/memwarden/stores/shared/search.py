"""What a store offers that can look for candidates itself, for namespaces too large to be held in memory.

It finds rows and does not rank them: :mod:`memwarden.recall.large.search` scores what it brings, with the same
features as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from memwarden.filters import Where
from memwarden.records import Head, IndexRow, Namespace


@dataclass(frozen=True, slots=True)
class OpenRows:
    """Which rows may be in an answer: active ones that fulfil every condition.

    Attributes:
        cards: whether index cards of exchanges may be. without: rows with one of these flags may not.
    """

    where: Where = ()
    cards: bool = False
    without: int = 0


@dataclass(frozen=True, slots=True)
class SearchLegs:
    """Where to look for candidates; each leg brings rows of its own.

    Attributes:
        open: which rows the legs may bring.
        vector: float16, little-endian; the ``near`` open rows nearest to it by inner product. None: no such leg.
        words: a tsquery over terms as :func:`format_term` writes them; at most ``holding`` rows that fulfil it.
        newest: so many rows that were written last, also those that are not open.
        times: spans of microseconds (both ends belong to it); of each the ``in_time`` open rows said last.
        always: every open row of these categories, at most :data:`MAX_ALWAYS`.
        filtered: at most so many open rows, the newest first; when fewer come, those are all.
    """

    open: OpenRows
    vector: bytes | None = None
    near: int = 0
    words: str = ""
    holding: int = 0
    newest: int = 0
    times: tuple[tuple[int, int], ...] = ()
    in_time: int = 0
    always: tuple[str, ...] = ()
    filtered: int = 0


MAX_ALWAYS = 1_000
"""So many memories of ``context: all`` categories are looked at: the pinned, the important, the newest."""


class PackedColumns(NamedTuple):
    """Found rows, column by column, in no particular order; numbers big-endian, one after the other.

    Attributes:
        n: int64, numbers of rows. said: int64, microseconds since 1970. open: bytes 0 or 1, see :class:`OpenRows`.
        turn: bytes 0 or 1, whether it is a message as it was said. flags: int16.
        ids, threads, names: texts; a thread or a name may be None.
        terms, days, vectors: as :class:`memwarden.records.Signals` holds them, one after the other, and the lengths of
            each in bytes, int32; the length of a vector that is not there is 0.
    """

    n: bytes
    said: bytes
    open: bytes
    turn: bytes
    flags: bytes
    ids: Sequence[str]
    threads: Sequence[str | None]
    names: Sequence[str | None]
    term_lengths: bytes
    terms: bytes
    day_lengths: bytes
    days: bytes
    vector_lengths: bytes
    vectors: bytes


class SearchRows(NamedTuple):
    """What the legs brought, in the order of :class:`SearchLegs`, from one snapshot.

    head: the namespace's counters. digest: the revision of its digest; None when there is none (any more).
    near, holding, newest, timely, always, filtered: rows of each leg.
    """

    head: Head
    digest: int | None
    near: PackedColumns
    holding: PackedColumns
    newest: PackedColumns
    timely: PackedColumns
    always: PackedColumns
    filtered: PackedColumns


class NamespaceStatus(NamedTuple):
    """How a namespace stands. rows: how many it ever had. digest: the revision of its digest, or None."""

    rows: int
    digest: int | None


def format_term(term: int) -> str:
    """Return a term id as it stands in a tsquery: its four bytes, little-endian, in hexadecimal."""
    return term.to_bytes(4, "little").hex()


@runtime_checkable
class SearchableStore(Protocol):
    """A store that can search within a namespace. Every method raises StoreError as those of the store do."""

    async def standing(self, namespace: Namespace) -> NamespaceStatus:
        """Return whether the namespace is large and made ready. Costs as much as ``head``."""

    async def make_search(self, namespace: Namespace, dimensions: int | None) -> bool:
        """Make the indexes that a search needs, unless they are there, without blocking writers; may take minutes.

        Return False when another process is making or dropping them. Raises StoreUnavailable when this login may not,
        or when vectors (``dimensions``) cannot be indexed here.
        """

    async def drop_search(self, namespace: Namespace) -> bool:
        """Take the digest and the indexes away; False when another process is at it."""

    async def digest(self, namespace: Namespace) -> tuple[int, bytes] | None:
        """Return the digest and the revision for which it was made."""

    async def save_digest(self, namespace: Namespace, rev: int, body: bytes) -> None:
        """Keep a digest of a namespace whose indexes are there; from now on every process searches it."""

    async def outline(self, namespace: Namespace) -> tuple[Head, PackedColumns]:
        """Return every active row of a namespace without its vector."""

    async def look(self, namespace: Namespace, legs: SearchLegs) -> SearchRows:
        """Return the candidates."""

    async def around(
        self, namespace: Namespace, seeds: Sequence[tuple[str, int]], reach: int, open_: OpenRows
    ) -> PackedColumns:
        """Return the active rows of a thread up to ``reach`` before and after each seed (thread, n), each once."""

    async def rows_by_number(self, namespace: Namespace, numbers: Sequence[int]) -> list[IndexRow]:
        """Return the rows with these numbers, in the order of writing; dead ones too."""
