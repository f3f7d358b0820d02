"""A large namespace as of a moment of the past.

Rows that did not change since are searched in the store, with the moment as a condition. The rows that changed since
are read as they were and are candidates of every question. Of a moment when little was known all rows are read.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Final, NamedTuple

import numpy as np

from memwarden import clock
from memwarden.filters import UNSET_OR_AFTER, WRITTEN, Condition, Where
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals_in_thread, said_text
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.recall.large.search import LargeNamespace, RestoredRows, mask_known, mask_open
from memwarden.recall.time.past import AsOf, PastNamespace, check_revision, find_moment, select_known
from memwarden.records import Edge, Head, IndexRow, Memory, Namespace, Scan, Signals
from memwarden.stores.protocol import Store
from memwarden.stores.shared.decide import index_row
from memwarden.stores.shared.search import ChangedRow, KnownRows, OpenRows, SearchableStore

# Maximum memories known at a moment for all of them to be read, in place of a search.
MAX_READ: Final = 4_000
# Maximum memories that are read as they were. When more have changed since, the namespace is read whole.
MAX_CHANGED: Final = 5_000
# Minimum number of rows on which signals are measured.
MIN_SAMPLE: Final = 400
# Moments of the past that are kept.
MAX_KEPT: Final = 2


class ChangedRows(NamedTuple):
    """The rows that changed since a moment, as they were then.

    Attributes:
        active: index of those that were active.
        rows: the same and those that were forgotten by then, in the order of writing.
        numbers: of all rows that changed, also of those that were not there.
        versions: the version that counts, by id. categories: that the rows have now, by id.
    """

    active: NamespaceIndex
    rows: list[IndexRow]
    numbers: frozenset[int]
    versions: dict[str, int]
    categories: dict[str, str]


class LargePast:
    """A large namespace as of a moment.

    Attributes:
        moment: the time from which it is looked at. head: its revision then, and the epoch.
        known: the rows that did not change since. changed: those that did.
        whole: an index of all that was known. None if it is to be searched.
        large: the digest and the sample that count, of a moment that is searched.
    """

    def __init__(
        self,
        namespace: Namespace,
        moment: datetime,
        head: Head,
        known: KnownRows,
        changed: ChangedRows,
        followed: int,
        large: LargeNamespace,
        whole: NamespaceIndex | None = None,
    ) -> None:
        """followed: revision up to which the store was read."""
        self.moment = moment
        self.head = head
        self.known = known
        self.changed = changed
        self.whole = whole
        self.large = large
        self._namespace = namespace
        self._followed = followed

    def view(self, index: NamespaceIndex) -> PastNamespace:
        """Return the moment with an index of some of its rows."""
        return PastNamespace(self._namespace, index, self.moment, dict(self.changed.versions), self._followed)

    async def read(self, store: Store, ids: Sequence[str]) -> list[Memory]:
        """Return memories as they were then."""
        return await self.view(self.changed.active).read(store, ids)

    def restore(self, open_: OpenRows, readable: Collection[str] | None) -> RestoredRows:
        """Return the rows that changed since. open_: which of them an answer may hold.

        readable: the categories that may be read now, in which a row has to be still. None: all.
        """
        index, categories = self.changed.active, self.changed.categories
        mask = mask_open(index, open_)
        shown = {
            item
            for item, is_open in zip(index.columns.ids, mask.tolist(), strict=True)
            if is_open and (readable is None or categories.get(item) in readable)
        }
        return RestoredRows(self.changed.rows, [row.id in shown for row in self.changed.rows])

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self.changed.active.nbytes + (0 if self.whole is None else self.whole.nbytes)


class LargePasts:
    """Opens large namespaces as of moments, and keeps the last within a number of bytes."""

    def __init__(self, store: Store, indexes: NamespaceIndexes, embedder: Embedder | None, max_bytes: int) -> None:
        self._memories = store
        self._indexes = indexes
        self._embedder = embedder
        self._max_bytes = max_bytes
        self._kept: OrderedDict[tuple[object, ...], LargePast | None] = OrderedDict()
        self._opening = asyncio.Lock()

    async def at(
        self, store: SearchableStore, namespace: Namespace, large: LargeNamespace, as_of: AsOf
    ) -> LargePast | None:
        """Return the namespace as of a revision or a time. None: too much has changed since for a search.

        A moment that several questions ask about at once is opened once. Raises InvalidInput for a revision that there
        is not.
        """
        async with self._opening:
            head = await self._memories.head(namespace)
            check_revision(namespace, as_of, head)
            key = (namespace, head, as_of)
            if key not in self._kept:
                self._kept[key] = await self._open(store, namespace, large, as_of, head)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and (len(self._kept) > MAX_KEPT or self._nbytes > self._max_bytes):
                self._kept.popitem(last=False)
            return self._kept[key]

    async def list_rows(
        self,
        store: SearchableStore,
        namespace: Namespace,
        large: LargeNamespace,
        as_of: AsOf,
        where: Where,
        limit: int,
        order_by: str,
        descending: bool,
    ) -> PastNamespace | None:
        """Return the first rows that fulfil conditions as of a moment, with all that changed since.

        None: too much has changed since.
        """
        past = await self.at(store, namespace, large, as_of)
        if past is None:
            return None
        if past.whole is not None:
            return past.view(past.whole)
        over = any(condition.field == "valid_to" for condition in where)
        valid = () if over else (Condition("valid_to", UNSET_OR_AFTER, past.moment),)
        open_ = OpenRows((*where, *valid), cards=True, known=past.known)
        numbers = await store.numbers(namespace, open_, limit, order_by=order_by, descending=descending)
        rows = await self._read_rows(store, namespace, numbers, past.changed)
        return past.view(await self._indexes.build(Scan(rows, past.head)))

    @property
    def _nbytes(self) -> int:
        return sum(past.nbytes for past in self._kept.values() if past is not None)

    async def _open(
        self, store: SearchableStore, namespace: Namespace, large: LargeNamespace, as_of: AsOf, head: Head
    ) -> LargePast | None:
        rev, moment = await find_moment(self._memories, namespace, as_of)
        changes = await store.changes_since(namespace, rev, MAX_CHANGED + 1)
        if len(changes.rows) > MAX_CHANGED:
            return None
        until = clock.microseconds(moment) if isinstance(as_of, datetime) else None
        known = KnownRows(rev, changes.last, until)
        changed = await self._restore(store, namespace, changes.rows, until, Head(rev, head.epoch))
        past = LargePast(namespace, moment, Head(rev, head.epoch), known, changed, changes.head.rev, large)
        everything = OpenRows(cards=True, known=known)
        numbers = await store.numbers(namespace, everything, MAX_READ + 1, order_by=WRITTEN, descending=False)
        if len(numbers) + len(changed.rows) <= MAX_READ:
            gone = (await store.resting(namespace, numbers, everything)).gone
            numbers += [n for n in gone if n <= changes.last]
            rows = await self._read_rows(store, namespace, numbers, changed)
            edges = await self._read_edges(namespace, [row.id for row in rows if row.live], as_of, moment)
            past.whole = await self._indexes.build(Scan(rows, past.head, edges))
        else:
            past.large = await self._reduce(store, namespace, large, known, clock.microseconds(moment))
        return past

    async def _reduce(
        self, store: SearchableStore, namespace: Namespace, large: LargeNamespace, known: KnownRows, until: int
    ) -> LargeNamespace:
        """Return the sample's rows that were known then, where they are enough, with their share of the digest."""
        rows = self._indexes.of_model(await store.rows_by_number(namespace, large.whole.sample.tolist()))
        active = [row for row in rows if row.live]
        mask = mask_known(large.index, known)
        numbers = frozenset(large.index.order[mask].tolist())
        then = [row for row in active if row.n in numbers]
        if len(then) < MIN_SAMPLE:
            then = active
        whole = large.whole.reduce(np.array([row.n for row in then], np.int64), until)
        return LargeNamespace(whole, await self._indexes.build(Scan(then, Head(known.rev, 0))))

    async def _read_edges(self, namespace: Namespace, ids: Sequence[str], as_of: AsOf, moment: datetime) -> list[Edge]:
        """Return the relations between memories, of a revision those that began by then and are still there."""
        return [
            Edge(each.from_id, each.to_id, each.type, each.strength, live=True)
            for each in await self._memories.relations(namespace, ids)
            if isinstance(as_of, datetime) or each.created_at <= moment
        ]

    async def _read_rows(
        self, store: SearchableStore, namespace: Namespace, numbers: Sequence[int], changed: ChangedRows
    ) -> list[IndexRow]:
        """Return unchanged rows and all that changed since, in the order of writing."""
        same = [n for n in numbers if n not in changed.numbers]
        rows = self._indexes.of_model(await store.rows_by_number(namespace, same))
        there = [row for row in rows if row.live or row.forgotten]
        return sorted([*there, *changed.rows], key=_number)

    async def _restore(
        self,
        store: SearchableStore,
        namespace: Namespace,
        changes: Sequence[ChangedRow],
        until: int | None,
        head: Head,
    ) -> ChangedRows:
        """Return changed rows as they were. until: microseconds since 1970, see :class:`KnownRows`."""
        read = self._indexes.of_model(await store.rows_by_number(namespace, [change.n for change in changes]))
        now = {row.n: row for row in read}
        there = [change for change in changes if change.n in now]
        rows = [now[change.n] for change in there if _is_as_now(change, now[change.n])]
        restored = [
            (change, change.before)
            for change in there
            if change.before is not None and not _is_as_now(change, now[change.n])
        ]
        contents = await self._memories.versions(namespace, [(change.id, before) for change, before in restored])
        rows += await self._make_rows({change.id: change for change, _ in restored}, contents, now.__getitem__)
        versions = {change.id: change.before for change in there if change.before is not None}
        if until is not None:
            live = {row.id: row for row in now.values() if row.live}
            versions = {change.id: change.version for change in there if change.id in live} | versions
            rows = select_known(rows, live, until)
        rows.sort(key=_number)
        index = await self._indexes.build(Scan([row for row in rows if row.live], head))
        categories = {change.id: change.category for change in changes}
        return ChangedRows(index, rows, frozenset(change.n for change in changes), versions, categories)

    async def _make_rows(
        self, changes: dict[str, ChangedRow], contents: Sequence[Memory], now: Callable[[int], IndexRow]
    ) -> list[IndexRow]:
        """Return rows of earlier contents; signals are made where the text was another."""
        same = [content for content in contents if changes[content.id].same]
        others = [content for content in contents if not changes[content.id].same]
        made = await make_signals_in_thread([said_text(content) for content in others], self._embedder)
        known = [_read_signals(now(changes[content.id].n)) for content in same]
        return [
            index_row(changes[content.id].n, content, signals)
            for content, signals in zip((*same, *others), (*known, *made), strict=True)
        ]


def _is_as_now(change: ChangedRow, row: IndexRow) -> bool:
    """Whether a row is now as it was: active with the same version, or forgotten by then."""
    return (change.only_purged and row.forgotten) or (row.live and change.before == change.version)


def _read_signals(row: IndexRow) -> Signals:
    return Signals(**{field.name: getattr(row, field.name) for field in fields(Signals)})


def _number(row: IndexRow) -> int:
    return row.n
