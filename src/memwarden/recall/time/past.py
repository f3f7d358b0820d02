"""Builds the index of a namespace as of a past revision or time.

Rows that did not change since come from the store's scan; the others are made anew from the versions that the journal
names. So the past is ranked by today's code, and what is ranked is what stood there.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memwarden import clock
from memwarden.errors import InvalidInput, NotFound
from memwarden.filters import WRITTEN, Where
from memwarden.models.protocols import Embedder
from memwarden.records import Edge, Event, Head, HistoryEntry, IndexRow, JournalEntry, Memory, Namespace, Scan
from memwarden.stores.protocol import Store, StoreReader
from memwarden.stores.shared.decide import index_row

if TYPE_CHECKING:
    from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes

# A revision: what was recorded then. A time: what is known to have been true then.
AsOf = int | datetime

# Indexes of the past that are kept, for further questions about the same moment.
MAX_PASTS = 2
# Journal entries read at a time.
JOURNAL_PAGE = 5_000


class PastNamespace:
    """A namespace as of a moment.

    Attributes:
        index: what was there. moment: the time from which it is looked at.
    """

    def __init__(
        self, namespace: Namespace, index: NamespaceIndex, moment: datetime, versions: dict[str, int], followed: int
    ) -> None:
        """versions: the version that counts of each memory changed since; up to the journal entry ``followed``."""
        self.index = index
        self.moment = moment
        self._namespace = namespace
        self._versions = versions
        self._followed = followed
        self._changed = dict.fromkeys(versions, followed)
        self._categories: dict[str, tuple[int, str | None]] = {}

    async def read(self, store: Store, ids: Sequence[str]) -> list[Memory]:
        """Return memories as they were then; those whose content is no longer in the store are left out."""
        # First what is there now, then what changed: so a change in between is seen.
        now = {item.id: item.version for item in await store.get(self._namespace, ids, removed=True)}
        await self._follow(store)
        wanted = [(item, self._versions.get(item, now[item])) for item in ids if item in now]
        return await store.versions(self._namespace, wanted)

    async def hidden(self, store: Store, readable: Collection[str] | None) -> list[int]:
        """Return the places of memories whose last category may not be read now.

        What was moved out of somebody's reach must not be in reach by asking about the time before.
        """
        if readable is None:
            return []
        await self._follow(store)
        places = {item: place for item in self._changed if (place := self.index.place(item)) is not None}
        stale = {place: self._changed[place] for place in places if self._last_seen(place) != self._changed[place]}
        if stale:
            now = {item.id: item.category for item in await store.get(self._namespace, list(stale), removed=True)}
            self._categories.update((item, (seq, now.get(item))) for item, seq in stale.items())
        return [place for item, place in places.items() if self._categories[item][1] not in readable]

    def _last_seen(self, memory_id: str) -> int:
        """The last change of a memory before its category was read."""
        return self._categories.get(memory_id, (-1, None))[0]

    async def _follow(self, store: Store) -> None:
        """Take in what was changed since the store was read last."""
        for entry in await read_entries_after(store, self._namespace, self._followed):
            if entry.old_version is not None:
                self._versions.setdefault(entry.memory_id, entry.old_version)
            if entry.event not in (Event.LINK, Event.UNLINK):
                self._changed[entry.memory_id] = entry.seq
            self._followed = max(self._followed, entry.seq)

    def list_ids(
        self, where: Where, hidden: Sequence[int], *, limit: int, order_by: str, descending: bool
    ) -> list[str]:
        """Return the ids of what fulfils the conditions, in the order of :meth:`memwarden.stores.protocol.Store.find`.

        hidden: places that are left out.
        """
        import numpy as np  # a journal is read without

        index = self.index
        mask = index.mask(where)
        mask[list(hidden)] = False
        if not any(condition.field == "valid_to" for condition in where):
            valid = index.valid(self.moment)
            mask = mask if valid is None else mask & valid
        places = np.flatnonzero(mask)
        ordered = places[np.argsort(index.order[places], kind="stable")].tolist()
        if descending:
            ordered.reverse()
        if order_by != WRITTEN:
            values = {place: index.columns.value(order_by, place) for place in ordered}
            having = [place for place in ordered if values[place] is not None]
            lacking = [place for place in ordered if values[place] is None]
            ordered = [*sorted(having, key=values.__getitem__, reverse=descending), *lacking]
        return [index.columns.ids[place] for place in ordered[:limit]]


class PastIndexes:
    """Builds indexes of the past, and keeps the last within a number of bytes."""

    def __init__(self, store: Store, indexes: NamespaceIndexes, embedder: Embedder | None, max_bytes: int) -> None:
        self._store = store
        self._indexes = indexes
        self._embedder = embedder
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[object, ...], PastNamespace] = OrderedDict()
        self._building = asyncio.Lock()

    async def at(self, namespace: Namespace, as_of: AsOf) -> PastNamespace:
        """Return the namespace as of a revision or a time. Raises InvalidInput for a revision that there is not."""
        head = await self._store.head(namespace)
        key: tuple[object, ...] = (namespace, head.epoch, as_of)
        if isinstance(as_of, datetime):
            key = (*key, head.rev)  # what is learned later may be true of then
        check_revision(namespace, as_of, head)
        async with self._building:
            past = self._kept.pop(key, None) or await self._make(namespace, as_of)
            self._keep(key, past)
        return past

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def _keep(self, key: tuple[object, ...], past: PastNamespace) -> None:
        self._kept[key] = past
        while self._kept and (len(self._kept) > MAX_PASTS or self._nbytes > self._max_bytes):
            self._kept.popitem(last=False)

    @property
    def _nbytes(self) -> int:
        return sum(past.index.nbytes for past in self._kept.values())

    async def _make(self, namespace: Namespace, as_of: AsOf) -> PastNamespace:
        store = self._store
        rev, moment = await find_moment(store, namespace, as_of)
        scan = await store.scan(namespace)
        changes = [item for item in await read_entries_after(store, namespace, rev) if item.seq <= scan.head.rev]
        versions = _versions_before(changes)
        rows = await self._rows(namespace, scan.rows, changes)
        edges = restore_edges(scan.edges, changes)
        if isinstance(as_of, datetime):
            known = {row.id: row for row in scan.rows if row.live}
            versions = {**_versions_after(changes), **versions}
            rows = select_known(rows, known, clock.microseconds(moment))
            edges = scan.edges
        recorded = Scan(rows, Head(rev, scan.head.epoch), [edge for edge in edges if edge.live])
        return PastNamespace(namespace, await self._indexes.build(recorded), moment, versions, scan.head.rev)

    async def _rows(
        self, namespace: Namespace, now: Sequence[IndexRow], changes: Sequence[JournalEntry]
    ) -> list[IndexRow]:
        """The rows of what was active before the changes or forgotten by then, in the order of first writing."""
        before = {change.memory_id: change.old_version for change in reversed(changes)}
        after = {change.memory_id: change.new_version for change in changes}
        as_now = {row.id: row for row in now if row.live and before.get(row.id) == after.get(row.id)}
        n = {row.id: row.n for row in now}
        wanted = [
            (item, version)
            for item, version in before.items()
            if version is not None and item in n and item not in as_now
        ]
        contents = await self._store.versions(namespace, wanted)
        from memwarden.recall.index.encode import make_signals_in_thread, said_text  # numpy

        signals = await make_signals_in_thread([said_text(content) for content in contents], self._embedder)
        made = [index_row(n[item.id], item, signal) for item, signal in zip(contents, signals, strict=True)]
        # A purge changes nothing of what was forgotten before it.
        changed = {change.memory_id for change in changes if change.event != Event.PURGE}
        forgotten = [row for row in now if row.forgotten and row.id not in changed]
        return sorted([*as_now.values(), *made, *forgotten], key=lambda row: row.n)


def check_revision(namespace: Namespace, as_of: AsOf, head: Head) -> None:
    """Raise InvalidInput for a revision that a namespace does not have."""
    if not isinstance(as_of, datetime) and not 0 <= as_of <= head.rev:
        raise InvalidInput(
            f"as_of {as_of} is no revision of {namespace.path}, which has 0 to {head.rev}; "
            "give a time as a datetime, ISO text or seconds as a float"
        )


async def find_moment(store: StoreReader, namespace: Namespace, as_of: AsOf) -> tuple[int, datetime]:
    """Return the revision and the time of a moment."""
    if isinstance(as_of, datetime):
        return await store.revision_at(namespace, as_of), as_of
    entries = await store.journal(namespace, since=as_of - 1, limit=1) if as_of else []
    return as_of, entries[0].at if entries else clock.now()


def _versions_before(changes: Sequence[JournalEntry]) -> dict[str, int]:
    """Return the version that each memory active before the changes had."""
    before = {change.memory_id: change.old_version for change in reversed(changes)}
    return {item: version for item, version in before.items() if version is not None}


def _versions_after(changes: Sequence[JournalEntry]) -> dict[str, int]:
    """Return the version that each memory active after the changes has."""
    after = {change.memory_id: change.new_version for change in changes}
    return {item: version for item, version in after.items() if version is not None}


def select_known(rows: Iterable[IndexRow], now: dict[str, IndexRow], moment: int) -> list[IndexRow]:
    """Return the rows recorded by a moment, and later rows dated before it.

    When something began and ended is taken as it is known now, where it is still there: who learns in June that Ana
    moved in March knows where she lived in April. What began after the moment is left out.

    Args:
        rows: as they were recorded. now: the rows of what is active now. moment: microseconds since 1970.
    """
    recorded = [
        row
        if (known := now.get(row.id)) is None
        else row._replace(valid_from=known.valid_from, valid_to=known.valid_to)
        for row in rows
    ]
    there = {row.id for row in recorded}
    later = [row for row in now.values() if row.id not in there]
    dated = [row for row in (*recorded, *later) if _since(row) <= moment]
    return sorted(dated, key=lambda row: row.n)


def _since(row: IndexRow) -> int:
    return row.created_at if row.valid_from is None else row.valid_from


def restore_edges(now: Iterable[Edge], changes: Iterable[JournalEntry]) -> list[Edge]:
    """Return the edges as they were before the changes, which tell what was there before each."""
    edges = {(edge.from_id, edge.to_id, edge.type): edge for edge in now}
    seen = set()
    for change in changes:
        if change.event not in (Event.LINK, Event.UNLINK):
            continue
        meta = change.meta or {}
        key = (change.memory_id, str(meta["to"]), str(meta["type"]))
        if key not in seen:
            seen.add(key)
            was = meta.get("was")
            edges[key] = Edge(*key, float(was or 0), was is not None)
    return list(edges.values())


async def read_entries_after(
    store: StoreReader, namespace: Namespace, since: int, *, turns: bool = True, memory_id: str | None = None
) -> list[JournalEntry]:
    """Return every journal entry after a revision, oldest first; without ``turns`` those of turns are left out.

    memory_id: only those of this memory.
    """
    entries: list[JournalEntry] = []
    while True:
        page = await store.journal(namespace, since=since, turns=turns, memory_id=memory_id, limit=JOURNAL_PAGE)
        entries += page
        if len(page) < JOURNAL_PAGE:
            return entries
        since = page[-1].seq


HISTORY_PAGE = 500
EDGE_EVENTS = (Event.LINK, Event.UNLINK)
# Under these names the meta of an entry holds the id of another memory.
META_IDS = ("by", "of", "into", "near", "to")


class JournalContents(NamedTuple):
    """What the store knows of journal entries: contents by id and version, and the categories of memories now."""

    contents: Mapping[tuple[str, int], Memory]
    categories: Mapping[str, str]


async def read_history(
    store: Store,
    namespace: Namespace,
    memory_id: str | None,
    *,
    since: int,
    limit: int,
    readable: Collection[str] | None,
    descending: bool = False,
) -> list[HistoryEntry]:
    """Return journal entries after a revision with their contents, oldest first, at most ``limit``.

    Args:
        memory_id: of a single memory; None for the whole namespace.
        readable: the categories that may be shown; None for all. What is about others too is left out, and so is the
            meta that names them.
        descending: the newest first.

    Raises NotFound for a memory that there never was, or that may not be shown.
    """
    if memory_id is not None:
        found = await store.get(namespace, [memory_id], removed=True)
        if not found or (readable is not None and found[0].category not in readable):
            raise NotFound(f"no memory {memory_id!r} in {namespace.path}")
    if descending:
        return await _read_newest(store, namespace, memory_id, since, limit, readable)
    shown: list[HistoryEntry] = []
    while len(shown) < limit:
        most = min(HISTORY_PAGE, limit - len(shown)) if readable is None else HISTORY_PAGE
        page = await store.journal(namespace, since=since, memory_id=memory_id, limit=most)
        shown += await _show_entries(store, namespace, page, readable)
        if len(page) < most:
            break
        since = page[-1].seq
    return shown[:limit]


async def _read_newest(
    store: Store,
    namespace: Namespace,
    memory_id: str | None,
    since: int,
    limit: int,
    readable: Collection[str] | None,
) -> list[HistoryEntry]:
    """The newest entries first. A store has no pages from behind, so twice as many are read each time."""
    shown: list[HistoryEntry] = []
    most, below = limit if readable is None else HISTORY_PAGE, None
    while True:
        page = await store.journal(namespace, since=since, memory_id=memory_id, descending=True, limit=most)
        shown += await _show_entries(
            store, namespace, [item for item in page if below is None or item.seq < below], readable
        )
        if len(page) < most or len(shown) >= limit:
            return shown[:limit]
        most, below = 2 * most, page[-1].seq


async def may_show_all(
    store: Store, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str] | None
) -> bool:
    """Whether a history would show each of these entries."""
    if readable is None:
        return True
    known = await _read_contents(store, namespace, entries, categories=True)
    return all(_may_be_shown(entry, known, readable) for entry in entries)


async def _show_entries(
    store: Store, namespace: Namespace, entries: Sequence[JournalEntry], readable: Collection[str] | None
) -> list[HistoryEntry]:
    known = await _read_contents(store, namespace, entries, categories=readable is not None)
    if readable is None:
        return [_make_entry(entry, known, entry.meta) for entry in entries]
    return [
        _make_entry(entry, known, entry.meta if _may_be_named(entry, known, readable) else None)
        for entry in entries
        if _may_be_shown(entry, known, readable)
    ]


async def _read_contents(
    store: Store, namespace: Namespace, entries: Sequence[JournalEntry], *, categories: bool
) -> JournalContents:
    wanted = [(entry.memory_id, version) for entry in entries for version in _versions(entry)]
    found = await store.versions(namespace, list(dict.fromkeys(wanted))) if wanted else []
    ids = (
        dict.fromkeys(item for entry in entries for item in (entry.memory_id, *_ids_in_meta(entry)))
        if categories
        else ()
    )
    now = await store.get(namespace, list(ids), removed=True) if ids else []
    contents = {(memory.id, memory.version): memory for memory in found}
    return JournalContents(contents, {memory.id: memory.category for memory in now})


def _may_be_shown(entry: JournalEntry, known: JournalContents, readable: Collection[str]) -> bool:
    """Whether an entry's contents and its memories as they are now may all be shown.

    What is no longer in the store may not: nobody knows what it was.
    """
    contents = [known.contents.get((entry.memory_id, version)) for version in _versions(entry)]
    then = {memory.category for memory in contents if memory is not None}
    now = [known.categories.get(item) for item in _ids_about(entry)]
    return then <= set(readable) and all(item in readable for item in now)


def _may_be_named(entry: JournalEntry, known: JournalContents, readable: Collection[str]) -> bool:
    """Whether every memory that the meta names may be shown; if not, the meta is hidden."""
    return all(known.categories.get(item) in readable for item in _ids_in_meta(entry))


def _ids_in_meta(entry: JournalEntry) -> Iterator[str]:
    """Yield the ids of the memories in an entry's meta."""
    for name in META_IDS:
        told = (entry.meta or {}).get(name)
        if isinstance(told, str):
            yield told


def _ids_about(entry: JournalEntry) -> Iterable[str]:
    """Return the memory id of an entry, and that of the edge's other end."""
    return (entry.memory_id, str((entry.meta or {})["to"])) if entry.event in EDGE_EVENTS else (entry.memory_id,)


def _versions(entry: JournalEntry) -> list[int]:
    """Return the versions that an entry refers to; a link changes no content."""
    if entry.event in EDGE_EVENTS:
        return []
    return [version for version in (entry.old_version, entry.new_version) if version is not None]


def _make_entry(entry: JournalEntry, known: JournalContents, meta: Mapping[str, Any] | None) -> HistoryEntry:
    contents = known.contents
    old, new = (entry.old_version, entry.new_version) if entry.event not in EDGE_EVENTS else (None, None)
    return HistoryEntry(
        seq=entry.seq,
        event=entry.event,
        memory_id=entry.memory_id,
        old=None if old is None else contents.get((entry.memory_id, old)),
        new=None if new is None else contents.get((entry.memory_id, new)),
        actor=entry.actor,
        thread_id=entry.thread_id,
        at=entry.at,
        step=entry.step,
        meta=meta,
    )


_BEFORE: Final = re.compile(
    r"\b(?:before|prior to|vor|bevor|antes de|avant)\b(?P<rest>.+)|(?P<front>.{1,30}?)(?:の前|以前|之前|する前)",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(
    r"\b(?:after|nach|después de|tras|après)\b(?P<rest>.+)|(?P<front>.{1,30}?)(?:の後|以后|之后)", re.IGNORECASE
)


def order_values(text: str, newest: Sequence[int], weigh: Callable[[int, str], float]) -> list[int]:
    """Order the places of a value, newest first, for a question about its past.

    "Before Porto" starts from the place that names Porto and gets the place before it first, "after" the place after
    it. Without such words a question starts from the newest. weigh: how much of some words a place holds.
    """
    point, way = _find_start(text, newest, weigh)
    number = newest.index(point)
    earlier, later = list(newest[number + 1 :]), list(newest[:number][::-1])
    near, far = (earlier, later) if way < 0 else (later, earlier)
    return [*near[:1], point, *near[1:], *far]


def _find_start(text: str, newest: Sequence[int], weigh: Callable[[int, str], float]) -> tuple[int, int]:
    for pattern, way in ((_BEFORE, -1), (_AFTER, 1)):
        found = pattern.search(text)
        words = (found["rest"] or found["front"]).strip(" ?？.!") if found else ""
        held = {place: weigh(place, words) for place in newest} if words else {}
        best = max(held, key=lambda place: held[place], default=newest[0])
        if held.get(best):
            return best, way
    return newest[0], -1
