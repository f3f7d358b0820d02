"""Pages of a namespace: the exchange format between stores of any engine.

A page holds everything that the journal entries of a range of revisions changed last, with those entries. So a store
that loads pages in sequence always stands at a revision of the source, and can resume there after a break. Later
changes of the source come with later pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memwarden.errors import Conflict, InvalidInput
from memwarden.records import JournalEntry, Memory, MemoryState, Namespace, Receipt, Relation, Signals

# Key in a journal entry's meta: how many earlier contents of a state memory are kept.
KEPT_VERSIONS = "kept_versions"
# Default number of journal entries of a page.
PAGE = 500


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A stored memory, active or not, with all that a store knows of it.

    n: its number in the order of first writing. rev: the journal entry that last changed it. source_key: thread and
    source key of its creation as a text (:func:`memwarden.stores.shared.decide.join_source_key`), or None.
    """

    n: int
    rev: int
    source_key: str | None
    memory: Memory
    signals: Signals

    @property
    def live(self) -> bool:
        return self.memory.state == MemoryState.ACTIVE


class EarlierContent(NamedTuple):
    """An earlier content of the memory with the number ``n``, as an active memory."""

    n: int
    memory: Memory


class KeptEdge(NamedTuple):
    """An edge, or with ``live`` False its tombstone. rev: the journal entry that last changed it."""

    rev: int
    live: bool
    relation: Relation


class Mark(NamedTuple):
    """The marks of a thread: the revisions up to which it was notified and extracted. None: never."""

    thread_id: str
    seen: int | None
    extracted: int | None


class IdempotentAnswer(NamedTuple):
    """The stored answer to an idempotency key. at: the time of the write."""

    key: str
    fingerprint: str | None
    at: datetime
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Page:
    """The contents of the revisions after ``since`` and up to ``rev``, from a single snapshot.

    Attributes:
        head: the namespace's revision in that snapshot. The page is the last when ``rev`` is ``head``.
        rows: how many memories were ever written to the namespace.
        changes: the journal entries of these revisions, ascending.
        memories: those that were last changed in these revisions, by revision.
        earlier: the contents that these entries put into the history, by id and version. Some may be of memories that
            come with a later page.
        edges: those that were last changed in these revisions, by revision.
        marks: on the last page those of all threads, by thread. They have no revision.
        answers: with a revision from ``since`` (included) to ``rev``, by revision and key.
    """

    namespace: Namespace
    since: int
    rev: int
    head: int
    rows: int
    changes: tuple[JournalEntry, ...]
    memories: tuple[MemoryRow, ...]
    earlier: tuple[EarlierContent, ...]
    edges: tuple[KeptEdge, ...]
    marks: tuple[Mark, ...]
    answers: tuple[IdempotentAnswer, ...]


# Prefix of the tenants that ``memwarden doctor --leaks`` makes. Only these can be discarded.
CANARY_TENANT = "memwarden-canary-"


def check_canary(namespace: Namespace) -> None:
    """Raise InvalidInput unless a namespace is a canary."""
    if not namespace.tenant.startswith(CANARY_TENANT):
        raise InvalidInput(f"{namespace} is no canary of memwarden doctor; only those are discarded")


class Tally(NamedTuple):
    """Row counts of a namespace by kind. Memories in every state."""

    memories: int
    signals: int
    versions: int
    journal: int
    relations: int
    threads: int
    receipts: int


class About(NamedTuple):
    """Facts about a store.

    engine: its name and version. schema: number of the last migration; 0 where there are none. model: the embedding
    model that it is bound to, or None. bytes: what it takes on the disk, or None where it takes none.
    """

    engine: str
    schema: int
    model: str | None
    bytes: int | None


def last_revision(since: int, limit: int, head: int) -> int:
    """Return the last revision of a page. There is an entry for each revision."""
    return max(min(since + max(limit, 1), head), min(since, head))


def check_follows(page: Page, rev: int) -> None:
    """Raise Conflict unless a page begins at the namespace's revision."""
    if page.since != rev:
        raise Conflict(
            f"{page.namespace} stands at revision {rev} here, the page begins after {page.since}; somebody else wrote"
        )


def find_archived(changes: tuple[JournalEntry, ...]) -> list[tuple[str, int]]:
    """Return id and version of the contents that these entries archived. Some may be dropped since."""
    made = ((change.memory_id, change.new_version) for change in changes if change.new_version != change.old_version)
    return sorted({(memory_id, version - 1) for memory_id, version in made if version is not None and version > 1})
