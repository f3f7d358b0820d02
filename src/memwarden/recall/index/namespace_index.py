"""The index of a namespace in RAM, over any store: vectors, postings, filter columns, links of turns.

The index never decides anything; it answers with arrays. It follows its store by revision: rows that changed since are
added, their older versions are marked dead. A cold index and an index that followed every change answer alike.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from memwarden.clock import DEFAULT_THREAD, UNSET
from memwarden.concurrency.collection import paused_collection
from memwarden.filters import UNSET_OR_AFTER, Condition, Where
from memwarden.recall.index.columns import (
    Columns,
    Counts,
    Floats,
    GrowingArray,
    Ints,
    Mask,
    Rows,
    StatementTable,
    count_stems,
)
from memwarden.recall.index.passages import PassageTable, sum_by_place
from memwarden.recall.index.rows import ModelWatch, RelatedEdges
from memwarden.recall.index.view import (
    Edges,
    NamespaceView,
    derive_links,
    unpack_spans,
)
from memwarden.records import CARD, EXTRACTED_BY, STANDING_IN, Channel, IndexRow, Namespace, Scan, read_part
from memwarden.records.index_rows import SECOND_MODEL, choose_model
from memwarden.statements.reader import lacks_signals
from memwarden.stores.protocol import Store
from memwarden.text.tokenizer import SURFACE_BIT

# More changed rows than this are built into the index in a worker thread, so that the event loop goes on.
THREAD_PAGE = 500
# Changes of a namespace whose reading takes longer than to load the check of names: 20,000 take 200 to 300 ms.
LONG_READ = 5_000

_NUMBERS = count()

# What an index without rows takes.
EMPTY_BYTES = 13_000

# Stands for no thread in particular: ids that memwarden made are known in all of them.
ANY_THREAD = -1

# What clients put into ``name`` that is nobody's name.
NAMELESS_ROLES = frozenset({"user", "human", "assistant", "ai", "bot", "chatbot", "model", "system", "agent"})


class NamespaceIndex:
    """The live memories of a namespace as arrays, a place for each memory version, in the order of arrival.

    Attributes:
        lacking: ids of what has no vector or no statements yet.
        number: tells it from every other index of this process.
        rev, epoch: the store's counters that the index is true for.
        stated_rev: the revision after the last change of something that is no turn, or a later revision; 0 for none.
        columns: what to filter by. edges: the relations between memories.
    """

    def __init__(
        self,
        session_gap: int,
        dimensions: int | None,
        piece_dimensions: int | None = None,
        second_dimensions: int | None = None,
        stating: bool = False,
    ) -> None:
        """session_gap: microseconds of silence that end a session. dimensions: of the vectors, None for no vectors.

        piece_dimensions: of the word pieces' vectors, None for a model without them.
        second_dimensions: of the multilingual vectors that stand behind the first ones, None without them.
        stating: whether a model reads statements, so that rows without are to be read.
        """
        self.number = next(_NUMBERS)
        self.rev = 0
        self.epoch = 0
        self.stated_rev = 0
        self.columns = Columns()
        self.edges = Edges()
        self._passages = PassageTable(dimensions, piece_dimensions, second_dimensions)
        self._session_gap = session_gap
        self._place_of: dict[str, int] = {}
        self._n = GrowingArray(np.int64)
        self._live = GrowingArray(np.bool_)
        self._flags = GrowingArray(np.uint8)
        self._length = GrowingArray(np.float32)
        self._day_places = GrowingArray(np.int64)
        self._days = GrowingArray(np.int32, 2)
        self._statements = StatementTable()
        self._stating = stating
        self._sources: list[tuple[str, ...]] = []
        self._has_ends = False
        self._view: NamespaceView | None = None
        self._whole_view: NamespaceView | None = None
        self._joined: RelatedEdges | None = None
        self._facts: dict[tuple[int, str], list[int]] | None = None
        self._forgotten: dict[str, list[tuple[str | None, str]]] = {}
        self._under_forgotten: set[tuple[str | None, str]] | None = None
        self.lacking: set[str] = set()

    def follow(self, scan: Scan) -> None:
        """Take in what changed since ``rev``."""
        replaced = False
        # In an empty index nothing is replaced, and most rows were not forgotten.
        for row in scan.rows if self.size or self._forgotten else [row for row in scan.rows if row.forgotten]:
            old = self._place_of.pop(row.id, None)
            self.lacking.discard(row.id)
            self._follow_forgotten(row)
            if old is not None:
                self._live.array[old] = False
                replaced = True
        self._append([row for row in scan.rows if row.live])
        self.edges.follow(scan.edges)
        if scan.edges or (len(self.edges) and self.edges.touches([row.id for row in scan.rows])):
            self._joined = self.edges.list_related(self._place_of)
        self.rev, self.epoch = scan.head
        stated = any(row.channel != Channel.TURN for row in scan.rows)
        if stated:
            self.stated_rev = self.rev
        if scan.rows or scan.edges:
            self._view = self._whole_view = None
        if stated or replaced:  # what is only said more changes nothing of what rests on what
            self._facts = None

    def _follow_forgotten(self, row: IndexRow) -> None:
        """Note the turns under a fact that was forgotten: they say it still."""
        self._forgotten.pop(row.id, None)
        if row.forgotten and row.sources and row.channel != Channel.TURN and CARD not in row.tags:
            thread = row.thread_id or DEFAULT_THREAD
            self._forgotten[row.id] = [key for source in row.sources for key in ((thread, source), (None, source))]
        self._under_forgotten = None

    def refill(self, rows: Sequence[IndexRow]) -> None:
        """Take in rows whose signals came after them; each gets a new place, so that answers see all of it or none."""
        made = [row for row in rows if row.id in self.lacking and row.id in self._place_of]
        known = [row for row in made if not lacks_signals(row, self._stating)]
        for row in known:
            self._live.array[self._place_of.pop(row.id)] = False
        if known:
            self._append(known)
            self._joined = self.edges.list_related(self._place_of) if len(self.edges) else self._joined
            self._view = self._whole_view = None
            self._facts = None

    @property
    def statements(self) -> StatementTable:
        """What the texts state."""
        return self._statements

    @property
    def size(self) -> int:
        """Number of places in the arrays, dead places included."""
        return len(self.columns.ids)

    @property
    def alive(self) -> int:
        """How many memories are active."""
        return len(self._place_of)

    def extracted(self, *named: str) -> Mask | None:
        """Mask of what was extracted and has only this tag, or any of these ("": none at all); None without any."""
        actors, tags = self.columns.coded["actor_id"], self.columns.coded["tags"]
        codes = [tags.code(key) for tag in named if (key := (tag,) if tag else ()) in tags.values]
        if EXTRACTED_BY not in actors.values or not codes:
            return None
        return np.asarray((actors.codes == actors.code(EXTRACTED_BY)) & np.isin(tags.codes, codes), np.bool_)

    def of_channel(self, channel: Channel) -> Mask | None:
        """Which places hold memories of a channel; None without any."""
        channels = self.columns.coded["channel"]
        if channel not in channels.values:
            return None
        return np.asarray(channels.codes == channels.code(channel), np.bool_)

    @property
    def live(self) -> Mask:
        return self._live.array

    @property
    def flags(self) -> npt.NDArray[np.uint8]:
        return self._flags.array

    @property
    def length(self) -> Floats:
        """Number of terms a memory."""
        return self._length.array

    @property
    def dimensions(self) -> int | None:
        """Numbers of a vector of the first side; None without an embedder."""
        return self._passages.dimensions

    def vectors_of(self, places: npt.ArrayLike) -> Floats:
        """Return the unit vectors of places, (len(places), dimensions): of a long text that of its first passage.

        A row of zeros where there is none. Requires an embedder.
        """
        return self._passages.first_vectors(places)

    @property
    def order(self) -> npt.NDArray[np.int64]:
        """The store's row numbers: the order in which memories were first written. Ties of score go to the smaller."""
        return self._n.array

    @property
    def view(self) -> NamespaceView:
        """The arrays that features see, true for the present state.

        Index cards and quotations count as dead: a message and its quotation would count twice in frequencies, means
        and sessions.
        """
        if self._view is None:
            standing_in = self.extracted(*STANDING_IN)
            self._view = self.whole_view if standing_in is None else self._make_view(standing_in)
        return self._view

    @property
    def whole_view(self) -> NamespaceView:
        """The view with index cards and quotations, for requests that ask for them by their channel."""
        if self._whole_view is None:
            self._whole_view = self._make_view(None)
        return self._whole_view

    def place(self, memory_id: str) -> int | None:
        """Return the place of a live memory."""
        return self._place_of.get(memory_id)

    def is_active(self, memory_id: str) -> bool:
        """Whether a memory is active."""
        return memory_id in self._place_of

    def postings(self, term: int) -> tuple[Rows, Counts]:
        """Return the places of the live memories that hold a term, ascending, and how often each does."""
        return self._postings_of(None, term)

    def passage_postings(self, term: int) -> tuple[Rows, Counts]:
        """Return the passages of live memories that hold a term, ascending, and how often each does."""
        return self._passage_postings_of(None, term)

    def _postings_of(self, live: Mask | None, term: int) -> tuple[Rows, Counts]:
        passages, counts = self._passage_postings_of(live, term)
        if self._passages.single:
            return passages, counts
        return sum_by_place(passages, counts, self._passages.owners)

    def _passage_postings_of(self, live: Mask | None, term: int) -> tuple[Rows, Counts]:
        """Return the passages of places that hold a term, ascending, and how often each does. live: None for all."""
        passages, counts = self._passages.postings.of(term)
        if live is None and len(self._place_of) == self.size:
            return passages, counts
        places = passages if self._passages.single else self._passages.owners[passages]
        alive = (self.live if live is None else live)[places]
        return passages[alive], counts[alive]

    def mask(self, where: Where) -> Mask:
        """Return which live memories fulfil every condition."""
        return self.live & self.columns.mask(where) if where else self.live.copy()

    def valid(self, moment: datetime) -> Mask | None:
        """Return which memories are not over at a moment; None when none has an end, which most namespaces never have.

        A memory that begins later counts: a query about now finds what is planned.
        """
        if not self._has_ends:
            return None
        return self.columns.mask((Condition("valid_to", UNSET_OR_AFTER, moment),))

    @property
    def has_facts(self) -> bool:
        """Whether any derived memory names a turn that it rests on."""
        if self._facts is None:
            self._facts = self._find_facts()
        return bool(self._facts)

    def facts_on(self, turn: int) -> list[int]:
        """Return the live memories that rest on a turn: those that name its id, or in its thread its source id."""
        if not self.has_facts or self._facts is None:
            return []
        thread = int(self.columns.coded["thread_id"].codes[turn])
        keys = [(thread, source) for source in self._sources[turn]] + [(ANY_THREAD, self.columns.ids[turn])]
        return list(dict.fromkeys(fact for key in keys for fact in self._facts.get(key, ()) if fact != turn))

    @property
    def has_forgotten(self) -> bool:
        """Whether a fact that rests on a turn was forgotten since the index was built."""
        return bool(self._forgotten)

    def rests_under_forgotten(self, turn: int) -> bool:
        """Whether a fact that rests on a turn was forgotten."""
        if not self._forgotten:
            return False
        if self._under_forgotten is None:
            self._under_forgotten = {key for keys in self._forgotten.values() for key in keys}
        thread = self.columns.coded["thread_id"]
        named = thread.values[thread.codes[turn]]
        keys = [*((named, source) for source in self._sources[turn]), (None, self.columns.ids[turn])]
        return not self._under_forgotten.isdisjoint(keys)

    def _find_facts(self) -> dict[tuple[int, str], list[int]]:
        """The derived memories by each turn that they name, as a caller's id in their thread and as an id of ours."""
        channel, thread = self.columns.coded["channel"], self.columns.coded["thread_id"]
        unnamed, default = thread.code(None), thread.code(DEFAULT_THREAD)
        facts: dict[tuple[int, str], list[int]] = {}
        for place in np.flatnonzero(self.live & (channel.codes != channel.code(Channel.TURN))).tolist():
            in_thread = int(thread.codes[place])
            for source in self._sources[place]:
                facts.setdefault((default if in_thread == unnamed else in_thread, source), []).append(place)
                facts.setdefault((ANY_THREAD, source), []).append(place)
        return facts

    def same_words(self, terms: Sequence[int], *, stated: bool = False) -> list[int]:
        """Return the live turns whose words are these and no others, in any order; with ``stated`` memories, too."""
        if not terms:
            return []
        holding: list[Rows] = []
        for term in set(terms):
            holding.append(self.postings(term)[0])
            if not len(holding[-1]):
                return []
        holding.sort(key=len)
        turns, length = self.live if stated else self.view.turns, self.length
        stems = sum(term < SURFACE_BIT for term in terms)
        places = [place for place in holding[0].tolist() if length[place] == stems and turns[place]]
        return [place for place in places if all(_holds(others, place) for others in holding[1:])]

    def sources(self, place: int) -> tuple[str, ...]:
        return self._sources[place]

    def whole_of(self, place: int) -> str | None:
        """Return the id that the parts of a long text share. None for a memory that is not a part."""
        tags = self.columns.coded["tags"]
        part = read_part(tags.values[tags.codes[place]])
        return None if part is None else part.whole

    def turns(self) -> Mask:
        """Return which places hold live turns."""
        channel = self.columns.coded["channel"]
        said: Mask = channel.codes == channel.code(Channel.TURN)
        return self.live & said

    @property
    def nbytes(self) -> int:
        """About how much memory the index takes."""
        growing = [
            self._n,
            self._live,
            self._flags,
            self._length,
            self._day_places,
            self._days,
        ]
        arrays = sum(item.nbytes for item in growing)
        return (
            EMPTY_BYTES
            + arrays
            + self._passages.nbytes
            + self._statements.nbytes
            + self.columns.nbytes
            + self.edges.nbytes
            + 100 * len(self._sources)
        )

    @property
    def mostly_dead(self) -> bool:
        """Whether rebuilding is cheaper than carrying on, since much of the index is outdated."""
        return self.size > 1_000 and self.size > 2 * len(self._place_of)

    def _make_view(self, left_out: Mask | None) -> NamespaceView:
        """Return the arrays that features see. left_out: places that count as dead, None for none."""
        live = self.live if left_out is None else self.live & ~left_out
        counted = None if left_out is None else live
        turns = self.turns()
        threads = self.columns.coded["thread_id"]
        in_thread = live & (threads.codes != threads.code(None))
        said = self.columns.number("created_at")
        links = derive_links(self.order, threads.codes, said, turns & in_thread, in_thread & ~turns, self._session_gap)
        passages = self._passages.view(partial(self._passage_postings_of, counted))
        speakers = self._speakers(turns)
        names = self.columns.coded["name"]
        return NamespaceView(
            passages=passages,
            postings=partial(self._postings_of, counted),
            length=self.length,
            previous=links.previous,
            session=links.session,
            sessions=links.sessions,
            turns=turns,
            speaker=names.codes,
            speakers=speakers,
            flags=self.flags,
            created_at=said,
            offsets=self.columns.number("utc_offset"),
            day_places=self._day_places.array,
            days=self._days.array,
            statements=self._statements,
            live=live,
            second=self._passages.second_side,
            by_model=self._by_model(),
            related=self._joined,
            preset="chat" if self._is_chat(turns, speakers) else "assistant",
            extracted=self._extracted_mask(),
            lacking=self._lacking_mask(),
            since=_since(said, self.columns.number("valid_from")),
        )

    def _extracted_mask(self) -> Mask | None:
        """Which places hold what was extracted from turns; None without any."""
        actors = self.columns.coded["actor_id"]
        return actors.codes == actors.code(EXTRACTED_BY) if EXTRACTED_BY in actors.values else None

    def _lacking_mask(self) -> Mask | None:
        """Which places have no vector yet; None if all have one."""
        if not self.lacking:
            return None
        mask = np.zeros(self.size, np.bool_)
        mask[[self._place_of[memory_id] for memory_id in self.lacking if memory_id in self._place_of]] = True
        return mask

    def _by_model(self) -> Mask | None:
        """Which places an assistant said; None without any."""
        roles = self.columns.coded["role"]
        if "assistant" not in roles.values:
            return None
        return np.asarray(roles.codes == roles.code("assistant"), np.bool_)

    def _speakers(self, turns: Mask) -> dict[str, int]:
        """The names of those who speak, people and assistants with a name of their own, by their code."""
        names = self.columns.coded["name"]
        codes = np.flatnonzero(np.bincount(names.codes[turns])).tolist()  # np.unique loads numpy.ma for this: 25 ms
        return {name: names.code(name) for name in list_speakers([names.values[code] for code in codes])}

    def _is_chat(self, turns: Mask, speakers: dict[str, int]) -> bool:
        """Whether people talk to each other here: two or more names, and most turns are named."""
        if len(speakers) < 2:
            return False
        named = np.isin(self.columns.coded["name"].codes, list(speakers.values()))
        return int(np.count_nonzero(turns & named)) * 2 > int(np.count_nonzero(turns))

    def _append(self, rows: list[IndexRow]) -> None:
        if not rows:
            return
        columns: dict[str, tuple[Any, ...]] = dict(zip(IndexRow._fields, zip(*rows, strict=True), strict=True))
        first = self.size
        self._passages.extend(*(columns[name] for name in ("terms", "vector", "pieces", "passages")))
        self.columns.extend(columns)
        self._n.extend(columns["n"])
        self._live.extend(np.ones(len(rows), dtype=np.bool_))
        self._flags.extend(columns["flags"])
        self._length.extend(count_stems(columns["terms"]))
        self._sources.extend(columns["sources"])
        self._has_ends = self._has_ends or columns["valid_to"].count(None) < len(rows)
        places, days = unpack_spans(columns["days"], first)
        self._day_places.extend(places)
        self._days.extend(days)
        self._statements.extend(first, columns["statements"])
        if self.dimensions is not None:
            self.lacking.difference_update(columns["id"])
            self.lacking.update(row.id for row in rows if lacks_signals(row, self._stating))
        self._place_of.update(zip(columns["id"], range(first, first + len(rows)), strict=True))


def _since(said: Ints, valid_from: Ints) -> Ints:
    """Return from when memories hold: since when they are true, or when they were said if that is not known."""
    return np.where(valid_from == UNSET, said, valid_from)


def list_speakers(names: Sequence[str | None]) -> list[str]:
    """Return the names of those who speak, each once: people, and assistants with a name of their own."""
    return [name for name in dict.fromkeys(names) if name is not None and name.casefold() not in NAMELESS_ROLES]


def is_chat(names: Sequence[str | None], speakers: Collection[str]) -> bool:
    """Whether people talk to each other: two or more names, and most turns are named. names: of the turns."""
    known = frozenset(speakers)
    return len(known) > 1 and 2 * sum(name in known for name in names) > len(names)


def _holds(places: Rows, place: int) -> bool:
    """Whether ascending places hold a place."""
    at = int(np.searchsorted(places, place))
    return at < len(places) and int(places[at]) == place


class NamespaceIndexes:
    """Cache of namespace indexes within a number of bytes, least recently used dropped first."""

    def __init__(
        self,
        store: Store,
        *,
        session_gap_hours: float,
        dimensions: int | None,
        max_bytes: int,
        piece_dimensions: int | None = None,
        second_dimensions: int | None = None,
        stating: bool = False,
        model: str = "none",
    ) -> None:
        self._store = store
        self._model = model
        self.watch = ModelWatch(store, model)
        self._session_gap = int(session_gap_hours * 3_600_000_000)
        self._dimensions = dimensions
        self._piece_dimensions = piece_dimensions
        self._second_dimensions = second_dimensions
        self._stating = stating
        self._max_bytes = max_bytes
        self._indexes: OrderedDict[Namespace, NamespaceIndex] = OrderedDict()
        self._sizes: dict[Namespace, int] = {}
        self._bytes = 0
        self._building: WeakValueDictionary[Namespace, asyncio.Lock] = WeakValueDictionary()
        self.on_lacking: Callable[[Namespace, Collection[str]], None] | None = None
        """Called with the rows that an index found without signals, in this process or another."""
        self.on_long_read: Callable[[], None] | None = None
        """Called before a namespace of at least :data:`LONG_READ` changes is read whole."""

    def list_held(self) -> list[Namespace]:
        return list(self._indexes)

    def held(self, namespace: Namespace) -> NamespaceIndex | None:
        """Return the namespace's index as it is held, perhaps not up to date; None when it is not."""
        return self._indexes.get(namespace)

    def drop(self, namespace: Namespace) -> None:
        """Let go of a namespace's index."""
        if self._indexes.pop(namespace, None) is not None:
            self._bytes -= self._sizes.pop(namespace)

    async def current(self, namespace: Namespace) -> NamespaceIndex:
        """Return the namespace's index, true for the store's head at the time of the call or later."""
        head = await self._store.head(namespace)
        index = self._indexes.get(namespace)
        if index is not None and index.epoch == head.epoch and index.rev >= head.rev and not index.mostly_dead:
            self._indexes.move_to_end(namespace)
            return index
        if index is None and head.rev >= LONG_READ and self.on_long_read is not None:
            self.on_long_read()
        lock = self._building.setdefault(namespace, asyncio.Lock())
        async with lock:
            return await self._follow(namespace)

    async def _follow(self, namespace: Namespace) -> NamespaceIndex:
        index = self._indexes.get(namespace)
        if index is not None and not index.mostly_dead:
            scan = await self._store.scan(namespace, index.rev)
            epoch = scan.head.epoch
            known = epoch == index.epoch or await self.watch.only_moved(namespace, index.epoch, epoch)
            if known and len(scan.rows) <= THREAD_PAGE:
                index.follow(replace(scan, rows=self.of_model(scan.rows)))
                self._keep(namespace, index)
                return index
        scan = await self._store.scan(namespace, 0)
        await self.watch.look()
        fresh = await self.build(scan)
        self._keep(namespace, fresh)
        return fresh

    def of_model(self, rows: list[IndexRow]) -> list[IndexRow]:
        """Return rows with the signals of the model whose vectors are held here, and none of another's."""
        width = 2 * ((self._dimensions or 0) + (self._second_dimensions or 0))
        return [row if not width or _is_own(row, width) else choose_model(row, self._model, width) for row in rows]

    async def build(self, scan: Scan) -> NamespaceIndex:
        """Return a new index of a scan, which is not kept here; made aside, so that no query sees it half-built."""
        widths = (self._dimensions, self._piece_dimensions, self._second_dimensions)
        fresh = NamespaceIndex(self._session_gap, *widths, self._stating)
        if len(scan.rows) > THREAD_PAGE:
            await asyncio.to_thread(self._build, fresh, scan)
        else:
            self._build(fresh, scan)
        return fresh

    def _build(self, index: NamespaceIndex, scan: Scan) -> None:
        with paused_collection(len(scan.rows)):
            index.follow(replace(scan, rows=self.of_model(scan.rows)))
            _ = index.view

    def _keep(self, namespace: Namespace, index: NamespaceIndex) -> None:
        """Keep an index as the most recently used, and drop the least recently used above the limit."""
        if index.lacking and self.on_lacking is not None and not self.watch.moved:
            self.on_lacking(namespace, index.lacking)
        self._indexes[namespace] = index
        self._indexes.move_to_end(namespace)
        self._bytes += index.nbytes - self._sizes.get(namespace, 0)
        self._sizes[namespace] = index.nbytes
        while self._bytes > self._max_bytes and len(self._indexes) > 1:
            dropped, _ = self._indexes.popitem(last=False)
            self._bytes -= self._sizes.pop(dropped)


def _is_own(row: IndexRow, width: int) -> bool:
    vector, pieces = row.vector, row.pieces
    return (vector is None or len(vector) == width) and (pieces is None or not pieces.endswith(SECOND_MODEL))
