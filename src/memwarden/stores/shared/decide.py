"""Decides the outcome of each change of a batch from what is stored, without I/O. Cuts batches into chunks.

An engine reads what a chunk of changes looks at (:class:`StoredMemory`, :class:`StoredEdge`), lets a
:class:`ChangePlan` decide, and writes the plan's lists. The memory store decides by itself: it is the reference that
engines are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar, get_args

from memwarden.clock import microseconds
from memwarden.errors import Conflict, InvalidInput, NotFound, Stale
from memwarden.records import (
    APART,
    Batch,
    BatchChange,
    ChangeResult,
    Channel,
    Event,
    ExtractionMark,
    IndexRow,
    JournalEntry,
    Link,
    Memory,
    MemoryState,
    Put,
    Remove,
    Restore,
    Signals,
    Unlink,
    WriteMode,
)
from memwarden.stores.transfer.pages import KEPT_VERSIONS

# Maximum changes of a chunk.
MAX_CHUNK_CHANGES = 500

# How the paths of the namespaces of tasks begin.
TASKS = "task/"


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
        if isinstance(change, Put) and change.mode == WriteMode.PURGE and change.memory.text:
            raise InvalidInput(f"memory {change.memory.id!r} is purged, so that it has no words")
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


# Maximum memories that a namespace can ever hold: SQLite keeps the number in the low 32 bits of a row id.
MAX_ROWS = 2**32 - 1
E = TypeVar("E")


class StoredMemory(NamedTuple):
    """A memory as stored. row: the engine's own row id. rev: the journal entry that last changed it."""

    row: int
    rev: int
    version: int
    state: str
    channel: str
    thread_id: str | None

    @property
    def live(self) -> bool:
        return self.state == MemoryState.ACTIVE


class StoredEdge(NamedTuple):
    """An edge as stored; ``live`` is False after it was removed."""

    strength: float
    live: bool


class Entry(NamedTuple):
    """A journal entry to write. See :class:`memwarden.records.JournalEntry`."""

    seq: int
    event: str
    memory_id: str
    old_version: int | None
    new_version: int | None
    thread_id: str | None
    channel: str
    step: int
    meta: Mapping[str, Any] | None


class MemoryInsert(NamedTuple, Generic[E]):
    """A memory to insert under the number ``n``."""

    n: int
    rev: int
    put: E


class MemoryUpdate(NamedTuple, Generic[E]):
    """A memory whose content is archived as a version and replaced."""

    row: int
    rev: int
    version: int
    put: E


class StateChange(NamedTuple):
    """A memory that moves to another state."""

    row: int
    rev: int
    state: str
    purge_at: datetime | None


class EdgeRow(NamedTuple):
    """An edge to insert or replace."""

    key: EdgeKey
    rev: int
    strength: float
    live: bool


def describe_creation(put: Put) -> tuple[Event, int | None]:
    """Return the event of a memory's creation, and its active version, if any."""
    if put.state == MemoryState.ACTIVE:
        return Event.ADD, 1
    return (Event.QUARANTINE if put.state == MemoryState.QUARANTINED else Event.PROPOSE), None


def can_be_removed(state: str, into: str) -> bool:
    """Return whether a :class:`Remove` may take a memory from a state to another."""
    return state == MemoryState.ACTIVE or state in APART or (state == MemoryState.SOFT_DELETED and into in APART)


def can_be_purged(state: str) -> bool:
    """Return whether the contents of a memory in a state may be taken away for good."""
    return state not in (MemoryState.ACTIVE, MemoryState.PURGED)


def check_mark(wanted: ExtractionMark, stands: int) -> None:
    """Raise Stale if a thread's extraction mark has moved since the work began."""
    if wanted.since != stands:
        raise Stale(f"thread {wanted.thread_id!r} was looked through up to {stands} meanwhile, not {wanted.since}")


def check_all(batch: Batch, stated_since: bool) -> None:
    """Raise Stale for a batch that was decided on all statements, if another was stored since."""
    if batch.decided_on_all and stated_since:
        raise Stale(f"something was stated in {batch.namespace} after revision {batch.decided_at}; decide again")


def build_rewrite_meta(put: Put) -> Mapping[str, Any] | None:
    """Return the meta of a rewrite's journal entry. It says how many versions are kept."""
    return put.meta if put.keep_versions is None else {**(put.meta or {}), KEPT_VERSIONS: put.keep_versions}


class Steps:
    """Step numbers of a batch: the journal names a step by its first entry."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}

    def of(self, step: int, seq: int) -> int:
        """Return the step of the entry ``seq``."""
        return self._first.setdefault(step, seq)


class ChangePlan(Generic[E]):
    """The changes that a chunk of a batch makes.

    Args:
        rev, rows: the namespace's counters before the chunk. head: its revision before the batch.
        encoded: the engine's own form of each put, by place in the batch.
    """

    def __init__(self, batch: Batch, steps: Steps, *, head: int, rev: int, rows: int, encoded: Mapping[int, E]) -> None:
        self.rev = rev
        self.rows = rows
        self.created: list[MemoryInsert[E]] = []
        self.rewritten: list[MemoryUpdate[E]] = []
        self.moved: list[StateChange] = []
        self.purged: list[MemoryUpdate[E]] = []
        self.edges: list[EdgeRow] = []
        self.entries: list[Entry] = []
        self._batch = batch
        self._steps = steps
        self._head = head
        self._encoded = encoded

    def decide(
        self,
        chunk: Sequence[tuple[int, BatchChange]],
        found: Mapping[str, StoredMemory],
        first: Mapping[int, str],
        edges: Mapping[EdgeKey, StoredEdge],
    ) -> list[ChangeResult]:
        """Return the outcome of each change. Raises Conflict, NotFound, InvalidInput; nothing is written yet.

        Args:
            first: for the place of a put with a source key that is known: the id of the memory that has it.
        """
        return [self._decide(place, change, found, first, edges) for place, change in chunk]

    def _decide(
        self,
        place: int,
        change: BatchChange,
        found: Mapping[str, StoredMemory],
        first: Mapping[int, str],
        edges: Mapping[EdgeKey, StoredEdge],
    ) -> ChangeResult:
        if isinstance(change, Put):
            return self._put(place, change, found.get(change.memory.id), first.get(place))
        if isinstance(change, Remove):
            return self._remove(change, found.get(change.id))
        if isinstance(change, Restore):
            return self._restore(change, found.get(change.id))
        if isinstance(change, Link):
            return self._link(change, found, edges.get(edge_key(change)))
        return self._unlink(change, found, edges.get(edge_key(change)))

    def _put(self, place: int, put: Put, found: StoredMemory | None, first: str | None) -> ChangeResult:
        memory, namespace = put.memory, self._batch.namespace
        if put.mode == WriteMode.UPDATE:
            if found is None or not found.live:
                raise NotFound(f"there is no memory {memory.id!r} in {namespace} to update")
            if put.expected_version not in (None, found.version):
                raise Stale(
                    f"memory {memory.id!r} has version {found.version}, not {put.expected_version}; read it again"
                )
            return self._rewrite(place, put, found)
        if put.mode == WriteMode.UPSERT and found is not None:
            return self._rewrite(place, put, found)
        if put.mode == WriteMode.PURGE:
            return self._purge(place, put, found)
        if first is not None:
            return ChangeResult(first, "duplicate", put.step)
        if found is not None:
            raise Conflict(f"the id {memory.id!r} is in use in {namespace}")
        return self._create(place, put)

    def _create(self, place: int, put: Put) -> ChangeResult:
        memory = put.memory
        self.rows += 1
        if self.rows > MAX_ROWS:
            raise InvalidInput(f"{self._batch.namespace} is full: {MAX_ROWS} memories were written to it")
        event, version = describe_creation(put)
        rev = self._log(put, event, memory.id, (None, version), memory.thread_id, memory.channel)
        self.created.append(MemoryInsert(self.rows, rev, self._encoded[place]))
        return ChangeResult(memory.id, "created", put.step)

    def _rewrite(self, place: int, put: Put, found: StoredMemory) -> ChangeResult:
        self._check_unchanged(put.memory.id, found)
        memory, version = put.memory, found.version + 1
        event, old = (put.event, found.version) if found.live else (Event.ADD, None)
        rev = self._log(
            put, event, memory.id, (old, version), memory.thread_id, memory.channel, build_rewrite_meta(put)
        )
        self.rewritten.append(MemoryUpdate(found.row, rev, version, self._encoded[place]))
        return ChangeResult(memory.id, "updated" if found.live else "created", put.step)

    def _purge(self, place: int, put: Put, found: StoredMemory | None) -> ChangeResult:
        if found is None or not can_be_purged(found.state):
            return ChangeResult(put.memory.id, "missing", put.step)
        self._check_unchanged(put.memory.id, found)
        rev = self._log(put, Event.PURGE, put.memory.id, (None, None), found.thread_id, found.channel)
        self.purged.append(MemoryUpdate(found.row, rev, found.version, self._encoded[place]))
        return ChangeResult(put.memory.id, "deleted", put.step)

    def _remove(self, change: Remove, found: StoredMemory | None) -> ChangeResult:
        if found is None:
            return ChangeResult(change.id, "missing", change.step)
        self._check_unchanged(change.id, found)
        if not can_be_removed(found.state, change.state):
            return ChangeResult(change.id, "missing", change.step)
        old = found.version if found.live else None
        rev = self._log(change, change.event, change.id, (old, None), found.thread_id, found.channel)
        self.moved.append(StateChange(found.row, rev, str(change.state), change.purge_at))
        return ChangeResult(change.id, "deleted", change.step)

    def _restore(self, change: Restore, found: StoredMemory | None) -> ChangeResult:
        if found is None or found.live or found.state == MemoryState.PURGED:
            return ChangeResult(change.id, "missing", change.step)
        self._check_unchanged(change.id, found)
        rev = self._log(change, change.event, change.id, (None, found.version), found.thread_id, found.channel)
        self.moved.append(StateChange(found.row, rev, MemoryState.ACTIVE, None))
        return ChangeResult(change.id, "restored", change.step)

    def _link(self, change: Link, found: Mapping[str, StoredMemory], stored: StoredEdge | None) -> ChangeResult:
        ends = [found.get(change.from_id), found.get(change.to_id)]
        start = ends[0]
        if start is None or change.from_id == change.to_id or not all(end and end.live for end in ends):
            return ChangeResult(change.from_id, "missing", change.step)
        there = stored is not None and stored.live
        if there and stored is not None and stored.strength == change.strength:
            return ChangeResult(change.from_id, "duplicate", change.step)
        meta = {"to": change.to_id, "type": str(change.type), "strength": change.strength, **(change.meta or {})}
        if there and stored is not None:
            meta["was"] = stored.strength
        rev = self._log_edge(change, Event.LINK, start, meta)
        self.edges.append(EdgeRow(edge_key(change), rev, change.strength, True))
        return ChangeResult(change.from_id, "updated" if there else "created", change.step)

    def _unlink(self, change: Unlink, found: Mapping[str, StoredMemory], stored: StoredEdge | None) -> ChangeResult:
        start = found.get(change.from_id)
        if start is None or stored is None or not stored.live:
            return ChangeResult(change.from_id, "missing", change.step)
        meta = {"to": change.to_id, "type": str(change.type), "was": stored.strength, **(change.meta or {})}
        rev = self._log_edge(change, Event.UNLINK, start, meta)
        self.edges.append(EdgeRow(edge_key(change), rev, stored.strength, False))
        return ChangeResult(change.from_id, "deleted", change.step)

    def _check_unchanged(self, memory_id: str, found: StoredMemory) -> None:
        decided_at = self._batch.decided_at
        if decided_at is not None and decided_at < found.rev <= self._head:
            raise Stale(f"memory {memory_id!r} was changed at revision {found.rev}, after {decided_at}; read it again")

    def _log_edge(self, change: Link | Unlink, event: Event, start: StoredMemory, meta: Mapping[str, Any]) -> int:
        active = start.version if start.live else None
        self.rev += 1
        step = self._steps.of(change.step, self.rev)
        self.entries.append(
            Entry(self.rev, event.value, change.from_id, active, active, start.thread_id, start.channel, step, meta)
        )
        return self.rev

    def _log(
        self,
        change: Put | Remove | Restore,
        event: Event,
        memory_id: str,
        versions: tuple[int | None, int | None],
        thread_id: str | None,
        channel: str,
        meta: Mapping[str, Any] | None = None,
    ) -> int:
        self.rev += 1
        step, meta = self._steps.of(change.step, self.rev), change.meta if meta is None else meta
        self.entries.append(
            Entry(self.rev, Event(event).value, memory_id, *versions, thread_id, str(channel), step, meta)
        )
        return self.rev


def join_source_key(thread: str | None, source_key: str | None) -> str | None:
    """Return an unambiguous text for a thread and a source key, or None without a source key."""
    if source_key is None:
        return None
    return f":{source_key}" if thread is None else f"{len(thread)}:{thread}{source_key}"


def check_text(*values: object) -> None:
    """Raise InvalidInput for a text among these values that is not valid Unicode."""
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidInput(f"text that no file can hold (half of a character pair): {error}") from None


def may_leave(memory: Memory) -> bool:
    """Tell whether an earlier content may be removed: of state, and of tasks, which end."""
    return memory.channel == Channel.STATE or memory.namespace.path.startswith(TASKS)


def find_purged(changes: Iterable[JournalEntry]) -> list[str]:
    """Return the ids whose contents these entries took away for good."""
    return [change.memory_id for change in changes if change.event == Event.PURGE]


def find_dropped(changes: Iterable[JournalEntry]) -> dict[str, int]:
    """Return the ids whose earlier contents these entries dropped, and below which version."""
    found: dict[str, int] = {}
    for change in changes:
        kept = (change.meta or {}).get(KEPT_VERSIONS)
        if kept is not None and change.new_version is not None:
            found[change.memory_id] = max(change.new_version - kept, found.get(change.memory_id, 0))
    return found


def index_row(n: int, memory: Memory, signals: Signals, *, live: bool = True, forgotten: bool = False) -> IndexRow:
    """Return the row of a memory with its signals; ``n`` is its number in the order of first writing."""
    return IndexRow(
        n=n,
        id=memory.id,
        live=live,
        terms=signals.terms,
        vector=signals.vector,
        flags=signals.flags,
        days=signals.days,
        pieces=signals.pieces,
        statements=signals.statements,
        passages=signals.passages,
        created_at=microseconds(memory.created_at),
        updated_at=microseconds(memory.updated_at),
        channel=memory.channel,
        kind=memory.kind,
        category=memory.category,
        importance=memory.importance,
        pinned=memory.pinned,
        tags=memory.tags,
        characters=memory.characters,
        source=memory.source,
        sources=memory.sources,
        role=memory.role,
        name=memory.name,
        user_id=memory.user_id,
        agent_id=memory.agent_id,
        run_id=memory.run_id,
        actor_id=memory.actor_id,
        thread_id=memory.thread_id,
        valid_from=None if memory.valid_from is None else microseconds(memory.valid_from),
        valid_to=None if memory.valid_to is None else microseconds(memory.valid_to),
        trust=memory.trust,
        utc_offset=memory.utc_offset,
        forgotten=forgotten,
    )
