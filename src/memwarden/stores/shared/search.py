"""The protocol of stores that find candidates themselves, for namespaces too large for memory.

A store finds rows and does not rank them: :mod:`memwarden.recall.large.search` scores them with the same features as
in memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from memwarden.clock import moment
from memwarden.filters import Where
from memwarden.records import Head, IndexRow, Memory, Namespace


class KnownRows(NamedTuple):
    """The unchanged rows that were known at a moment of the past.

    Attributes:
        rev: revision of the moment. A row that was changed since is not among them.
        last: number of the last row that was written by then.
        until: microseconds since 1970. Rows that began by then are known, later ones too if they are active.
            None: rows that were written by the revision.
    """

    rev: int
    last: int
    until: int | None = None


@dataclass(frozen=True, slots=True)
class OpenRows:
    """The rows that an answer may hold: active rows that fulfil every condition.

    Attributes:
        cards: whether index cards of exchanges are allowed. without: rows with any of these flags are not.
        known: searches bring no rows but these. None: all rows.
    """

    where: Where = ()
    cards: bool = False
    without: int = 0
    known: KnownRows | None = None


@dataclass(frozen=True, slots=True)
class SearchLegs:
    """The searches for candidates that a store runs together. Each leg returns rows of its own.

    Attributes:
        open: which rows the legs may bring.
        vector: float16, little-endian. The ``near`` open rows nearest to it by inner product. None: no such leg.
        words: a tsquery over terms as :func:`format_term` writes them. At most ``holding`` rows that fulfil it.
        newest: so many rows that were written last, also those that are not open.
        times: spans of microseconds (both ends belong to it). Of each the ``in_time`` open rows said last.
        always: every open row of these categories, at most :data:`MAX_ALWAYS`.
        filtered: at most so many open rows, the newest first. When fewer come, those are all.
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


# Maximum memories of ``context: all`` categories to consider: the pinned, the important, the newest.
MAX_ALWAYS = 1_000


# Bytes of a stored division that a search brings: the number of terms of 64 passages.
PASSAGE_BYTES = 258


class PackedColumns(NamedTuple):
    """Found rows as packed columns, in no particular order. Numbers big-endian.

    Attributes:
        n: int64, numbers of rows. said: int64, microseconds since 1970.
        marks: two int32 a row. The first is its minutes ahead of UTC. The second has bit 0 for a message as it was
            said, bit 1 for an open row (:class:`OpenRows`), and the row's flags from bit 8 on.
        threads, names: texts or None.
        lengths: two int32 a row, its bytes in terms and days, then after those of all rows two more each, its bytes in
            vectors and passages.
        terms, days, vectors: as :class:`memwarden.records.Signals` holds them, concatenated. A missing vector has
            length 0.
        passages: alike, of a long text the first :data:`PASSAGE_BYTES` of its division. Length 0 for one passage.
    """

    n: bytes
    said: bytes
    marks: bytes
    threads: Sequence[str | None]
    names: Sequence[str | None]
    lengths: bytes
    terms: bytes
    days: bytes
    vectors: bytes
    passages: bytes


NO_ROWS = PackedColumns(b"", b"", b"", (), (), *[b""] * 5)


class SearchRows(NamedTuple):
    """The rows of every leg, in the order of :class:`SearchLegs`. They may be of two snapshots.

    head: the namespace's counters. digest: the revision of its digest. None without a digest.
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
    """Size and readiness of a namespace.

    rows: how many it ever had. digest: revision of its digest, or None. indexed: whether it has all of its indexes,
    which it may not have after an upgrade.
    """

    rows: int
    digest: int | None
    indexed: bool


class ChangedRow(NamedTuple):
    """A row that was written by a revision and changed after it.

    Attributes:
        n, id: of the row. category: that it has now. version: that it has now.
        before: the version that was active at the revision. None: it was not active.
        same: whether text, time and speaker of the two versions are the same.
        only_purged: whether it was forgotten before and only its contents were removed since.
    """

    n: int
    id: str
    category: str
    version: int
    before: int | None
    same: bool
    only_purged: bool


class ChangesSince(NamedTuple):
    """Rows that were changed after a revision, and how far the namespace was and is.

    Attributes:
        head: the counters of the namespace now. last: number of the last row that was written by the revision.
        rows: those changed last, in no particular order.
    """

    head: Head
    last: int
    rows: list[ChangedRow]


class RowContent(NamedTuple):
    """What a memory holds beside its :class:`memwarden.records.IndexRow`. payload: JSON."""

    version: int
    token_cost: int | None
    summary: str | None
    context: str | None
    payload: str | None
    text: str

    def join(self, namespace: Namespace, row: IndexRow) -> Memory:
        """Return the active memory of an index row with this content."""
        return Memory(
            id=row.id,
            namespace=namespace,
            text=self.text,
            created_at=moment(row.created_at),
            updated_at=moment(row.updated_at),
            channel=row.channel,
            kind=row.kind,
            category=row.category,
            importance=row.importance,
            tags=row.tags,
            pinned=row.pinned,
            source=row.source,
            sources=row.sources,
            summary=self.summary,
            context=self.context,
            characters=row.characters,
            payload=None if self.payload is None else json.loads(self.payload),
            token_cost=self.token_cost,
            role=row.role,
            name=row.name,
            user_id=row.user_id,
            agent_id=row.agent_id,
            run_id=row.run_id,
            actor_id=row.actor_id,
            thread_id=row.thread_id,
            valid_from=None if row.valid_from is None else moment(row.valid_from),
            valid_to=None if row.valid_to is None else moment(row.valid_to),
            version=self.version,
            trust=row.trust,
            utc_offset=row.utc_offset,
        )


class SurroundingRow(NamedTuple):
    """A row that was read with its content.

    Attributes:
        is_open: see :class:`OpenRows`. values: of a :class:`RowContent`, which few of the rows need.
    """

    row: IndexRow
    is_open: bool
    values: tuple[Any, ...]

    @property
    def content(self) -> RowContent:
        """What the memory holds beside its index row."""
        return RowContent._make(self.values)


class Surroundings(NamedTuple):
    """Rows, the turns around some of them, and what rests on any of these, each in the order of writing.

    Attributes:
        rows: active rows. resting: rows that are no turns, also those that were forgotten.
    """

    rows: list[SurroundingRow]
    resting: list[SurroundingRow]


class RestingRows(NamedTuple):
    """What rests on some turns. active: the rows that are there. gone: numbers of those that were forgotten."""

    active: PackedColumns
    gone: list[int]


def format_term(term: int) -> str:
    """Return a term id as it stands in a tsquery: its four bytes, little-endian, in hexadecimal."""
    return term.to_bytes(4, "little").hex()


@runtime_checkable
class SearchableStore(Protocol):
    """A store that searches within a namespace. Its methods raise StoreError as those of the store do."""

    async def standing(self, namespace: Namespace) -> NamespaceStatus:
        """Return whether the namespace is large and its indexes are ready. Costs as much as ``head``."""

    async def make_search(self, namespace: Namespace, dimensions: int | None) -> bool:
        """Build missing search indexes without blocking writers. May take minutes.

        Returns False when another process is building or dropping them, or nobody is to. Raises StoreUnavailable
        when this login may not, or when vectors (``dimensions``) cannot be indexed here.
        """

    async def hold_search(self, model: str) -> None:
        """Let no process build search indexes while the store moves to a model."""

    async def release_search(self, model: str | None = None) -> None:
        """Let processes build them again: the move to a model ended, or with None whatever move there was."""

    async def drop_search(self, namespace: Namespace) -> bool:
        """Remove the digest and the indexes. False when another process is building or dropping them."""

    async def digest(self, namespace: Namespace) -> tuple[int, bytes] | None:
        """Return the digest and the revision for which it was made."""

    async def save_digest(self, namespace: Namespace, rev: int, body: bytes) -> None:
        """Store the digest of an indexed namespace. From now on every process searches it."""

    async def outline(self, namespace: Namespace) -> tuple[Head, PackedColumns]:
        """Return every active row of a namespace without its vector."""

    async def look(self, namespace: Namespace, legs: SearchLegs) -> SearchRows:
        """Return the candidates of all legs."""

    async def surround(
        self, namespace: Namespace, numbers: Sequence[int], seeds: Sequence[tuple[str, int, int]], open_: OpenRows
    ) -> Surroundings:
        """Return the active rows with these numbers and those around the seeds, and what rests on them.

        Args:
            seeds: thread, number of a row, number of rows of the thread before and after it.
        """

    async def resting(self, namespace: Namespace, numbers: Sequence[int], open_: OpenRows) -> RestingRows:
        """Return the rows that are no turns and name any of the turns with these numbers as a source."""

    async def lacking(
        self, namespace: Namespace, after: int, limit: int, statements: bytes | None
    ) -> list[tuple[int, str]]:
        """Return number and id of the first active rows after a number whose signals are still to be made.

        These are turns without a vector, and rows whose statements do not begin with the bytes given; None: statements
        are not looked at.
        """

    async def stating(
        self, namespace: Namespace, after: int, limit: int, open_: OpenRows
    ) -> list[tuple[int, int, bytes]]:
        """Return number, time and statements of the first open rows after a number that state anything.

        The time is in microseconds since 1970.
        """

    async def changes_since(self, namespace: Namespace, rev: int, limit: int) -> ChangesSince:
        """Return the rows that were there at a revision and changed since, at most ``limit``, the last changed."""

    async def numbers(
        self, namespace: Namespace, open_: OpenRows, limit: int, *, order_by: str, descending: bool
    ) -> list[int]:
        """Return the numbers of open rows in the order of :meth:`memwarden.stores.protocol.Store.find`."""

    async def rows_by_number(self, namespace: Namespace, numbers: Sequence[int]) -> list[IndexRow]:
        """Return the rows with these numbers, in the order of writing. Dead ones too."""
