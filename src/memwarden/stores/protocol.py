"""The protocol that every store fulfils.

A store keeps memories durably, numbers their changes and answers by id, by filter and by "what changed since". It
knows nothing of ranking: :mod:`memwarden.recall.index.namespace_index` does that over any store. The shipped
:class:`memwarden.testing.store_tests.StoreTests` pass on every implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Protocol

from memwarden.filters import Where
from memwarden.observability.records import DAY_SECONDS, EVERYTHING, EventFilter, OpCount, OpEvent
from memwarden.records import (
    Batch,
    Fill,
    Head,
    IndexRow,
    JournalEntry,
    Memory,
    MemoryState,
    Namespace,
    Promises,
    Receipt,
    Relation,
    Scan,
    ThreadMarks,
)
from memwarden.stores.shared.checkpoints import Checkpoints
from memwarden.stores.transfer.erasure import ErasedPart, Holdings
from memwarden.stores.transfer.pages import PAGE, About, Page, Tally


class StoreReader(Protocol):
    """The reads of a store that deciding about a write takes."""

    async def head(self, namespace: Namespace) -> Head:
        """Return the namespace's counters; (0, 0) if it was never written to. Cheap enough for every query."""

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        """Return the active memories with these ids, in the order of ``ids``. Missing ones are left out.

        An id that is given twice is answered twice. ``removed`` adds the memories that are not active, as they were
        last. Their ``state`` tells.
        """

    async def find(
        self,
        namespace: Namespace,
        where: Where = (),
        *,
        limit: int = 100,
        order_by: str = "created_at",
        descending: bool = True,
        state: MemoryState = MemoryState.ACTIVE,
    ) -> list[Memory]:
        """Return memories in a state that match every condition, filtered and ordered by the engine.

        Equal values keep the order of writing, the last first with ``descending``. Memories without a value for
        ``order_by`` come last. ``order_by`` is a name of :data:`memwarden.filters.SORTABLE`; ``written`` is the order
        of first writing. Any other raises InvalidFilter; a negative ``limit`` InvalidInput, here and in ``journal``.
        """

    async def count(self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE) -> int:
        """Return the number of memories in a state that match."""

    async def find_ids(
        self, namespace: Namespace, where: Where = (), *, state: MemoryState = MemoryState.ACTIVE
    ) -> list[str]:
        """Return the ids of all memories in a state that match, in the order of first writing."""

    async def index_rows(self, namespace: Namespace, ids: Sequence[str]) -> list[IndexRow]:
        """Return the rows of :meth:`Store.scan` that active memories have, in any order. Unknown ids are left out."""

    async def versions(self, namespace: Namespace, wanted: Sequence[tuple[str, int]]) -> list[Memory]:
        """Return memories as they were in versions (id, version), in the given order.

        They come as active memories, whatever their state is now. Unknown versions are left out.
        """

    async def journal(
        self,
        namespace: Namespace,
        *,
        since: int = 0,
        memory_id: str | None = None,
        thread_id: str | None = None,
        step: int | None = None,
        turns: bool = True,
        descending: bool = False,
        limit: int = 1000,
    ) -> list[JournalEntry]:
        """Return journal entries with seq > ``since``, at most ``limit``, in ascending order unless ``descending``.

        Args:
            memory_id: only the entries of this memory. thread_id: only those of this thread's memories. step: only
                those of this decision.
            turns: False leaves out the entries of turns.
        """

    async def revision_at(self, namespace: Namespace, moment: datetime) -> int:
        """Return the seq of the last journal entry written at or before a moment; 0 without any."""

    async def relations(self, namespace: Namespace, ids: Sequence[str]) -> list[Relation]:
        """Return the edges that begin or end at these memories, sorted by from, to and type."""

    async def thread(self, namespace: Namespace, thread_id: str, *, turns: int = 20) -> ThreadMarks:
        """Return what the journal knows of a thread; ``recent`` is the entry of the turn ``turns`` turns back."""


class BatchStore(StoreReader, Protocol):
    """The reads of a store, and batches: all that the write path needs."""

    async def apply(self, batch: Batch) -> Receipt:
        """Apply a batch atomically, with its journal entries and revision. Return when it is durable.

        Raises Conflict, NotFound (see :class:`memwarden.records.Put`, :class:`memwarden.records.Batch`), and
        InvalidInput for a memory of another namespace, a time without a zone, a payload or meta that is not JSON, text
        that is not valid Unicode, or a change of another kind; then nothing of the batch is kept. A Remove of an id
        that is not there is no error (outcome ``missing``, no journal entry).
        Changes take effect in order, each seeing those before it. Batches of a namespace are applied in sequence. The
        revision grows by 1 for each journal entry. A cancelled call may have been applied.
        """


class Store(BatchStore, Protocol):
    """Where memories live.

    Every method raises :class:`memwarden.errors.StoreError` (or a subclass) when the storage refuses, and
    :class:`memwarden.errors.StoreUnavailable` before ``open`` and after ``close``. Methods are called from a
    single event loop at a time. Calls may overlap. A store may be opened again after ``close`` has returned.
    """

    promises: ClassVar[Promises]

    @property
    def place(self) -> str:
        """Where the store is, as a URL without a login."""

    @property
    def checkpoints(self) -> Checkpoints:
        """The saved states of agents, beside the memories and outside the journal."""

    async def open(self) -> None:
        """Make the store ready, creating or migrating it. Calling it twice does nothing the second time."""

    async def close(self) -> None:
        """Finish acknowledged and pending writes and release every file and thread. May be called twice."""

    async def identity(self, model: str, instead_of: str | None = None) -> str:
        """Bind the store to an embedding model on first use. Return the name of the model that it is bound to.

        instead_of: a store that is bound to this model is bound anew, and the epoch of every namespace grows by 1, in
            a single transaction.
        """

    async def fill(self, namespace: Namespace, fills: Sequence[Fill]) -> None:
        """Replace the signals of memories that still hold the version that the signals were made of.

        Others are passed over. Signals say nothing that the text does not say, so nothing is journaled and no revision
        moves: whoever holds the namespace in RAM asks :meth:`index_rows` for what it lacks. May be less durable than
        a batch.
        """

    async def touch(self, namespace: Namespace, ids: Sequence[str], at: datetime) -> None:
        """Note when memories last stood in an answer. The latest counts, and unknown ids are passed over.

        Nothing is journaled and no revision moves. May be less durable than a batch.
        """

    async def accesses(self, namespace: Namespace, ids: Sequence[str]) -> dict[str, datetime]:
        """Return when memories last stood in an answer, as far as it was noted."""

    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        """Return every row and edge changed after revision ``since``, and the head, from a single snapshot.

        Rows and edges that are gone are returned too, marked as not live.
        """

    async def record(self, events: Sequence[OpEvent]) -> None:
        """Write operational events, of any namespaces, in transactions of their own.

        They may be less durable than batches: a loss of power may take the latest. No event is written in a batch's
        transaction or under a lock that numbers batches. An event whose time and id are known already is skipped.
        Raises InvalidInput for text that is not valid Unicode, and then keeps nothing.
        """

    async def events(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, limit: int = 100, descending: bool = True
    ) -> list[OpEvent]:
        """Return matching events of a namespace in the order of time and id, the newest first.

        :meth:`EventFilter.matches` is the meaning of ``where``. A negative ``limit`` is InvalidInput.
        """

    async def event_counts(
        self, namespace: Namespace, where: EventFilter = EVERYTHING, *, seconds: int = DAY_SECONDS
    ) -> list[OpCount]:
        """Return the number of matching events by span of time, node, operation and status.

        :func:`memwarden.observability.records.count_events` of these events is the meaning. ``seconds`` below 1 is
        InvalidInput.
        """

    async def prune_events(self, namespace: Namespace, *, before: datetime, most: int) -> int:
        """Remove a namespace's events from before a moment, and all but the newest ``most``. Return how many."""

    async def namespaces(self) -> list[Namespace]:
        """Return every namespace that was ever written to, sorted."""

    async def about(self) -> About:
        """Return facts about the store. Binds it to no model."""

    async def tally(self, namespace: Namespace) -> Tally:
        """Return the number of rows of a namespace. Zeros if it was never written to."""

    async def dump_page(self, namespace: Namespace, since: int = 0, *, limit: int = PAGE) -> Page:
        """Return what the ``limit`` revisions after ``since`` hold, for :meth:`load_page` of another store.

        With ``since`` at the head or above it the page has no entries. It is the last page.
        """

    async def load_page(self, page: Page) -> None:
        """Import a page of another store with its numbers, times and journal entries.

        Atomic, and durable on return. No journal entry is added. Memories, edges and marks that exist already are
        replaced. The namespace's epoch changes, so that caches are rebuilt. Raises Conflict unless the page begins
        at the namespace's revision. For moving a store. Everything else goes through ``apply``.
        """

    async def holdings(self, namespace: Namespace) -> Holdings:
        """Return the rows of a namespace by table. Zeros if it was never written to."""

    async def erase(self, namespace: Namespace) -> Holdings:
        """Remove a namespace for good and return what it held: memories, versions, journal, checkpoints, items, events.

        Atomic, and durable on return. A missing namespace is no error. A later namespace of the same name begins at
        an epoch that no cache knows. Bytes may stay in free space until :meth:`reclaim`. Raises StoreUnavailable where
        this login may not remove rows.
        """

    async def erase_part(self, namespace: Namespace, part: ErasedPart) -> None:
        """Remove memories and what a namespace holds of threads for good. The rest stays as it is.

        With the memories go their signals, versions, edges, events and the answers to idempotency keys that name them.
        Journal entries stay, since they are counted, and name nothing. The namespace's epoch changes. Atomic, and
        durable on return. What is not there is no error. Checkpoints are not touched.
        """

    async def reclaim(self) -> list[str]:
        """Rewrite the storage without the free space that removed rows left, as far as this store can.

        Returns what the operator has to do where it cannot, as sentences. May hold up writers.
        """

    def files(self) -> list[Path]:
        """Return the files that hold the store's bytes. None for a store in memory or on a server."""
