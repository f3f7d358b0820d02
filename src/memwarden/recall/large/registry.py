"""Decides which namespaces are searched in the store instead of being held in memory.

A namespace that grew above the threshold goes on being answered from memory, while in the background the store makes
its indexes and a digest is taken. Once there is a digest, every process searches. It is taken anew when enough has
changed; when it tells that the namespace has become much smaller, indexes and digest are dropped and it is held in
memory again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from heapq import heappush, heappushpop
from typing import Any, Final, NamedTuple

import numpy as np

from memwarden import clock
from memwarden.errors import MemwardenError
from memwarden.filters import UNSET_OR_AFTER, Condition, Where, is_inside
from memwarden.recall.answer.overview import FACTS, MAX_READ
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.encode import SignalFiller
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes, is_chat, list_speakers
from memwarden.recall.index.rows import merge_rows, unpack_rows
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.large.past import LargePast
from memwarden.recall.large.search import (
    LargeNamespace,
    Reach,
    RestoredRows,
    add_details,
    find_echoes,
    gather,
    rank_on_index,
    word_query,
)
from memwarden.recall.large.statistics import NamespaceDigest, decode_digest, make_digest
from memwarden.recall.question import Question
from memwarden.recall.rank.combine import Spread
from memwarden.recall.rank.ranking import Ranking
from memwarden.records import Channel, Head, Memory, Namespace, Scan, Signals
from memwarden.statements.statement import FORMAT, PackedStatement, unpack
from memwarden.statements.wording import SELF
from memwarden.stores.protocol import Store
from memwarden.stores.shared.search import (
    OpenRows,
    SearchableStore,
    SearchLegs,
    SearchRows,
    SurroundingRow,
    format_term,
)
from memwarden.text.tokenizer import term_id, terms

# Indexes are dropped when a namespace has less than this part of the threshold, so that they do not come and go.
DROP_SHARE: Final = 0.8
MAX_CHANGED_SHARE: Final = 0.02
# A digest is taken anew when this part of the rows has changed since, but not for less than so many changes.
MIN_CHANGED_ROWS: Final = 1_000
# Seconds until the store is asked again whether another process made a namespace ready.
RECHECK_SECONDS: Final = 10.0
# Seconds until a failed preparation is tried again.
RETRY_SECONDS: Final = 600.0

# Old rows whose signals are made before the next are looked for.
MAX_FILLED_ROWS: Final = 2_000
# Rows whose statements are read at once.
PAGE_ROWS: Final = 5_000
# Of each value the newest statements are taken among those that are at least so sure: what ends a value may be unsure.
TIERS: Final = (0.15, 0.45, 0.7)
NEWEST: Final = 8

# Maximum statements that a new one is compared with, all of which are read.
MAX_COMPARED: Final = 2_000

# When a row was said, and its number.
_Row = tuple[int, int]

log = logging.getLogger(__name__)


class LargeBounds(NamedTuple):
    """What bounds the search of a large namespace.

    Attributes:
        open: which rows may be in the answer. narrow: whether conditions of the caller leave any out.
        always: categories that are offered where something answers.
        said, words: what stands in the prompt, and the term ids of each text.
        everything: whether every row is to be named that was left out.
        past: the moment that is asked about, and the rows that changed since. None: now.
    """

    open: OpenRows
    always: tuple[str, ...]
    narrow: bool
    said: Sequence[str]
    words: Sequence[Sequence[int]]
    everything: bool
    past: tuple[LargePast, RestoredRows] | None = None


class LargeRanking(NamedTuple):
    """The index of the best rows that were found, the scores of its places, and those that only repeat the prompt.

    contents: of rows that were read, by id.
    """

    found: NamespaceIndex
    ranking: Ranking
    echoes: Sequence[int]
    contents: Mapping[str, SurroundingRow]


ReadMemories = Callable[[Sequence[str]], Awaitable[list[Memory]]]


async def read_known(
    namespace: Namespace, contents: Mapping[str, SurroundingRow], rest: ReadMemories, ids: Sequence[str]
) -> list[Memory]:
    """Return memories in the order of ids.

    Args:
        contents: of rows that were read, by id. rest: reads the other memories.
    """
    missing = [item for item in ids if item not in contents]
    known = {memory.id: memory for memory in await rest(missing)} if missing else {}
    for item in ids:
        if (found := contents.get(item)) is not None:
            known[item] = found.content.join(namespace, found.row)
    return [known[item] for item in ids if item in known]


RankPlaces = Callable[[Question, NamespaceView, Mask, int | None, Mapping[str, Spread] | None], Ranking]


class LargeNamespaces:
    """The large namespaces of a store; only a store that can search has any.

    Args:
        above: a namespace of at least so many memories is large. dimensions: of the vectors, None for no vectors.
        max_bytes: how much memory their digests and samples may take. reach: how far a search looks.
    """

    def __init__(
        self,
        store: Store,
        indexes: NamespaceIndexes,
        *,
        above: int,
        dimensions: int | None,
        session_gap_hours: float,
        max_bytes: int,
        reach: Reach | None = None,
    ) -> None:
        self.reach = reach or Reach()
        self.store = store if isinstance(store, SearchableStore) else None
        self._memories = store
        self._indexes = indexes
        self._above = above
        self._dimensions = dimensions
        self._session_gap = int(session_gap_hours * 3_600_000_000)
        self._max_bytes = max_bytes
        self.filler: SignalFiller | None = None
        self._known: OrderedDict[Namespace, LargeNamespace] = OrderedDict()
        self._asked: dict[Namespace, float] = {}
        self._working: dict[Namespace, asyncio.Task[None]] = {}

    async def ready(self, namespace: Namespace) -> LargeNamespace | None:
        """Return the namespace if it is to be searched; None if it is to be held in memory."""
        if self.store is None:
            return None
        known = self._known.get(namespace)
        if known is not None:
            self._known.move_to_end(namespace)
            return known
        held = self._indexes.held(namespace)
        if held is not None and (held.alive < self._above or time.monotonic() < self._asked.get(namespace, 0.0)):
            return None
        standing = await self.store.standing(namespace)
        if standing.digest is not None:
            self._begin(namespace, self._catch_up(self.store, namespace, indexed=standing.indexed))
            return await self._load(self.store, namespace)
        if (held.alive if held is not None else standing.rows) >= self._above:
            self._asked[namespace] = time.monotonic() + RECHECK_SECONDS
            self._begin(namespace, self._make(self.store, namespace))
        return None

    def _note_digest(self, namespace: Namespace, found: SearchRows) -> bool:
        """Take note of what a search tells of the digest. False: there is none any more, the search found nothing."""
        known = self._known.get(namespace)
        if found.digest is None or known is None:
            self._known.pop(namespace, None)
            return found.digest is not None
        if found.digest != known.whole.rev:
            del self._known[namespace]  # another process took it anew; the next question goes by that digest
        elif found.head.rev - known.whole.rev > max(MIN_CHANGED_ROWS, MAX_CHANGED_SHARE * known.whole.alive):
            assert self.store is not None
            self._begin(namespace, self.renew(self.store, namespace))
        return True

    async def rank(
        self,
        namespace: Namespace,
        large: LargeNamespace,
        question: Question,
        bounds: LargeBounds,
        rank: RankPlaces,
    ) -> LargeRanking | None:
        """Rank what a search finds for a question; None when the namespace is searched no longer.

        rank: scores the places of a view.
        """
        assert self.store is not None
        past, restored = bounds.past or (None, None)
        found, gathered = await gather(
            *(self.store, namespace, large, question, bounds.open, bounds.always, self.reach, self._session_gap),
            self._indexes.of_model,
            narrow=bounds.narrow,
            restored=restored,
        )
        if not self._note_digest(namespace, found):
            return None
        part, read = gathered.part, gathered.read
        if past is None:
            read_texts = partial(read_known, namespace, gathered.contents, partial(self._memories.get, namespace))
        else:
            read_texts = partial(past.read, self._memories)
        echoing = await find_echoes(read_texts, part, bounds.said, bounds.words)
        echoed = part.rows.n[echoing]
        # The rows that stand for the namespace do not know their metadata.
        inside = any(map(is_inside, bounds.open.where))
        among = await self._memories.count(namespace, bounds.open.where) if inside else large.count(bounds.open)
        allowed = part.rows.open & ~np.isin(part.rows.n, echoed)
        width = question.pieces.shape[1] if question.pieces is not None and len(question.pieces) else None
        view = add_details(part, read, width, stating=question.reading is not None)
        ranking = rank(question, view, allowed, among, gathered.spread)
        kept = {*part.best(ranking.scores, allowed, self.reach.finalists, bounds.everything), *gathered.resting}
        rows = [row for row in read.values() if row.forgotten or (row.live and row.n in kept)]
        index = await self._indexes.build(Scan(rows, found.head if past is None else past.head))
        echoes = [place for place, n in enumerate(index.order.tolist()) if n in echoed]
        return LargeRanking(index, rank_on_index(index, part, ranking), echoes, gathered.contents)

    async def stated(self, namespace: Namespace, told: Where, about: str | None) -> NamespaceIndex | None:
        """Return an index of what says what is open about a person; None for a namespace that is held in memory.

        told: the conditions of what may be told. about: a name or a relation, None for those who speak.
        """
        large = await self.ready(namespace)
        if large is None or self.store is None:
            return None
        if self.filler is not None:
            await self.filler.wait_for_recent(namespace)
        # What is over would take the places of older values that hold.
        valid = Condition("valid_to", UNSET_OR_AFTER, clock.now())
        open_ = OpenRows((*told, Condition("role", "$ne", "assistant"), valid))
        # A line about somebody quotes what they say of themselves, too.
        picks, last = [StatingRows(each) for each in dict.fromkeys((about, None))], 0
        while rows := await self.store.stating(namespace, last, PAGE_ROWS, open_):
            last = rows[-1][0]
            for picked in picks:
                await asyncio.to_thread(picked.add, rows)
        numbers = [number for picked in picks for number in picked.numbers()]
        # As many as an overview of a small namespace reads: any of them may take a line back.
        for channels in ((Channel.TURN,), FACTS):
            newest = replace(open_, where=(*open_.where, Condition("channel", "$in", channels)))
            numbers += await self.store.numbers(namespace, newest, MAX_READ, order_by="created_at", descending=True)
        if about is not None:
            words = " & ".join(format_term(term_id(term)) for term in terms(about))
            named = await self.store.look(namespace, SearchLegs(open_, words=words, holding=MAX_READ))
            numbers += unpack_rows(named.holding).n.tolist()
        resting = await self.store.resting(namespace, numbers, OpenRows())
        numbers += [*unpack_rows(resting.active).n.tolist(), *resting.gone]
        read = self._indexes.of_model(await self.store.rows_by_number(namespace, list(dict.fromkeys(numbers))))
        rows_there = [row for row in read if row.live or row.forgotten]
        index = await self._indexes.build(Scan(rows_there, Head(large.whole.rev, 0)))
        names = index.columns.coded["name"]
        index.view.speakers = {name: names.code(name) for name in large.whole.speakers}
        return index

    async def find_statements(
        self, namespace: Namespace, channels: Collection[str], near: Sequence[Signals]
    ) -> NamespaceIndex | None:
        """Return an index of the statements that others are compared with. None if the namespace is held in memory.

        It holds every active memory of the channels, or of more than :data:`MAX_COMPARED` the newest and those near in
        words or meaning.

        Args:
            near: signals of the other statements.
        """
        return await self.find_near(namespace, (Condition("channel", "$in", tuple(channels)),), near)

    async def find_near(self, namespace: Namespace, where: Where, near: Sequence[Signals]) -> NamespaceIndex | None:
        """Return an index of the memories that fulfil conditions. None if the namespace is held in memory.

        It holds all of them, or of more than :data:`MAX_COMPARED` the newest and those near in words or meaning.
        """
        large = await self.ready(namespace)
        if large is None or self.store is None:
            return None
        open_ = OpenRows(where, cards=True)
        newest = await self.store.look(namespace, SearchLegs(open_, filtered=MAX_COMPARED))
        numbers = unpack_rows(newest.filtered).n.tolist()
        for signals in near if len(numbers) == MAX_COMPARED else ():
            legs = SearchLegs(
                open_,
                vector=signals.vector,
                near=self.reach.near if signals.vector is not None else 0,
                words=word_query(np.frombuffer(signals.terms, "<u4").tolist(), large.whole, self.reach.holding),
                holding=self.reach.holding,
            )
            matches = await self.store.look(namespace, legs)
            numbers += [*unpack_rows(matches.near).n.tolist(), *unpack_rows(matches.holding).n.tolist()]
        return await self._read_index(namespace, numbers, newest.head)

    async def find_nearest(self, namespace: Namespace, where: Where, vector: Sequence[float]) -> NamespaceIndex | None:
        """Return an index of the memories that fulfil conditions, as :meth:`find_near` does.

        Args:
            vector: of the first model.
        """
        asked = np.asarray(vector, np.float64)
        length = float(np.linalg.norm(asked))
        unit = None
        # The caller refuses any other vector.
        if self._dimensions is not None and len(asked) <= self._dimensions and 0 < length < np.inf:
            halves = np.zeros(self._dimensions, "<f2")
            halves[: len(asked)] = asked / length
            unit = halves.tobytes()
        return await self.find_near(namespace, where, [Signals(vector=unit)])

    async def find_first(self, namespace: Namespace, where: Where, most: int, ends: int) -> NamespaceIndex | None:
        """Return an index of the memories that come first without a question. None if it is held in memory.

        These are the pinned, the most important, of equally important ones the newest, and the ends of time.

        Args:
            most: number of each. ends: number of the oldest and of the newest.
        """
        if await self.ready(namespace) is None or self.store is None:
            return None
        head = await self._memories.head(namespace)
        ask = partial(self._list_numbers, namespace)
        numbers = await ask((*where, Condition("pinned", "$eq", True)), most, "importance")
        numbers += (top := await ask(where, most, "importance"))
        numbers += await ask(where, max(ends, 1), "created_at") + await ask(where, ends, "created_at", descending=False)
        if len(top) == most:
            least = min(row.importance for row in await self.store.rows_by_number(namespace, top))
            numbers += await ask((*where, Condition("importance", "$eq", least)), most, "created_at")
        return await self._read_index(namespace, numbers, head)

    async def _list_numbers(
        self, namespace: Namespace, where: Where, limit: int, order_by: str, *, descending: bool = True
    ) -> list[int]:
        assert self.store is not None
        return await self.store.numbers(namespace, OpenRows(where), limit, order_by=order_by, descending=descending)

    async def find_newest(self, namespace: Namespace, where: Where, most: int) -> NamespaceIndex | None:
        """Return an index of the active memories written last. None if the namespace is held in memory."""
        if await self.ready(namespace) is None or self.store is None:
            return None
        newest = await self.store.look(namespace, SearchLegs(OpenRows(where, cards=True), filtered=most))
        return await self._read_index(namespace, unpack_rows(newest.filtered).n.tolist(), newest.head)

    async def find_texts(self, namespace: Namespace, texts: Sequence[Sequence[int]]) -> NamespaceIndex | None:
        """Return an index of the rows that hold all words of a text. None if the namespace is held in memory.

        Args:
            texts: term ids of each.
        """
        if await self.ready(namespace) is None or self.store is None:
            return None
        numbers: list[int] = []
        head = await self._memories.head(namespace)
        for text in texts:
            words = " & ".join(map(format_term, dict.fromkeys(text)))
            if words:
                matches = await self.store.look(
                    namespace, SearchLegs(OpenRows(cards=True), words=words, holding=MAX_COMPARED)
                )
                numbers += unpack_rows(matches.holding).n.tolist()
        return await self._read_index(namespace, numbers, head)

    async def _read_index(self, namespace: Namespace, numbers: Sequence[int], head: Head) -> NamespaceIndex:
        """Return an index of some rows. head: of the namespace before they were looked for."""
        assert self.store is not None
        rows = self._indexes.of_model(await self.store.rows_by_number(namespace, list(dict.fromkeys(numbers))))
        return await self._indexes.build(Scan([row for row in rows if row.live], head))

    async def wait_idle(self) -> None:
        """Wait until nothing is made or dropped any more."""
        while self._working:
            await asyncio.wait(list(self._working.values()))

    async def close(self) -> None:
        """Break off what is being made. An index that was begun is dropped by the next process that makes it."""
        for task in self._working.values():
            task.cancel()
        await self.wait_idle()

    def _begin(self, namespace: Namespace, work: Coroutine[Any, Any, None]) -> None:
        if namespace in self._working:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(self._run_quietly(namespace, work))
        self._working[namespace] = task
        task.add_done_callback(lambda _: self._working.pop(namespace, None))

    async def _run_quietly(self, namespace: Namespace, work: Coroutine[Any, Any, None]) -> None:
        with suppress(asyncio.CancelledError):
            try:
                await work
            except MemwardenError as error:
                self._asked[namespace] = time.monotonic() + RETRY_SECONDS
                log.warning("%s is not made ready to be searched: %s", namespace.path, error)

    async def _make(self, store: SearchableStore, namespace: Namespace) -> None:
        # Its size counts what was ever written; of a namespace that shrank, little may be alive.
        if await self._memories.count(namespace, ()) < self._above:
            return
        if await store.make_search(namespace, self._dimensions):
            await self.renew(store, namespace)
            self._asked.pop(namespace, None)

    async def _catch_up(self, store: SearchableStore, namespace: Namespace, *, indexed: bool) -> None:
        """Make what an earlier release did not: an index, vectors and statements of old rows."""
        if not indexed:
            await store.make_search(namespace, self._dimensions)
        if self.filler is None:
            return
        last = 0
        statements = bytes([FORMAT]) if self.filler.stating else None
        while rows := await store.lacking(namespace, last, MAX_FILLED_ROWS, statements):
            last = rows[-1][0]
            self.filler.add(namespace, [memory_id for _, memory_id in rows])
            await self.filler.wait(namespace, None)

    async def renew(self, store: SearchableStore, namespace: Namespace) -> None:
        """Take the digest, or give up being searched when little is left."""
        whole = await take_digest(store, namespace, self._session_gap)
        self._known.pop(namespace, None)
        if whole.alive < DROP_SHARE * self._above:
            await store.drop_search(namespace)
        else:
            await store.save_digest(namespace, whole.rev, whole.encode())

    async def _load(self, store: SearchableStore, namespace: Namespace) -> LargeNamespace | None:
        found = await store.digest(namespace)
        if found is None:
            return None
        whole = decode_digest(found[1])
        rows = await store.rows_by_number(namespace, whole.sample.tolist())
        index = await self._indexes.build(Scan([row for row in rows if row.live], Head(whole.rev, 0)))
        self._keep(namespace, large := LargeNamespace(whole, index))
        self._indexes.drop(namespace)
        return large

    def _keep(self, namespace: Namespace, large: LargeNamespace) -> None:
        self._known[namespace] = large
        self._known.move_to_end(namespace)
        while len(self._known) > 1 and sum(item.nbytes for item in self._known.values()) > self._max_bytes:
            self._known.popitem(last=False)


async def take_digest(store: SearchableStore, namespace: Namespace, session_gap: int) -> NamespaceDigest:
    """Return the digest of a namespace as it is now. Takes seconds, in a thread."""
    head, rows = await store.outline(namespace)

    def work() -> NamespaceDigest:
        ordered = merge_rows([unpack_rows(rows)])
        names = [name for name, turn in zip(ordered.names, ordered.turn.tolist(), strict=True) if turn]
        speakers = list_speakers(names)
        preset = "chat" if is_chat(names, speakers) else "assistant"
        return make_digest(ordered, head.rev, session_gap, speakers, preset)

    return await asyncio.to_thread(work)


class StatingRows:
    """The newest and the surest statements of each subject and attribute, whatever the number of rows.

    Args:
        about: a name or a relation; None for those who speak.
    """

    def __init__(self, about: str | None) -> None:
        name = (about or "").casefold()
        self._wanted = {f"name:{name}", f"relation:{name}"} if about else None
        self._newest: dict[tuple[str, int, float], list[_Row]] = {}
        self._surest: dict[tuple[str, int], tuple[float, int]] = {}
        self._anybody_speaks = False

    def add(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Take in rows: number, when it was said, and its packed statements."""
        for number, said, packed in rows:
            for each in unpack(packed):
                if each.chance >= TIERS[0] and self._may_be_told(each.subject.split("+")):
                    self._add((said, number), each)

    def numbers(self) -> list[int]:
        """Return the rows that were picked."""
        subjects = self._told({key[0] for key in self._surest})
        picked = {number for key, rows in self._newest.items() if key[0] in subjects for _, number in rows}
        picked |= {number for key, (_, number) in self._surest.items() if key[0] in subjects}
        return sorted(picked)

    def _may_be_told(self, subject: Sequence[str]) -> bool:
        """Whether a subject's values can be told; as soon as somebody speaks of themselves, nobody else's are held."""
        if self._wanted is not None:
            return not self._wanted.isdisjoint(subject)
        if SELF in subject and not self._anybody_speaks:
            self._anybody_speaks = True
            self._newest.clear()
            self._surest.clear()
        return SELF in subject or not self._anybody_speaks

    def _add(self, row: _Row, stated: PackedStatement) -> None:
        chance = stated.chance
        key = (stated.subject, stated.attributes[0])
        for tier in TIERS:
            if chance >= tier:
                newest = self._newest.setdefault((*key, tier), [])
                (heappush if len(newest) < NEWEST else heappushpop)(newest, row)
        self._surest[key] = max(self._surest.get(key, (0.0, 0)), (chance, row[1]))

    def _told(self, subjects: set[str]) -> set[str]:
        """Return whose values are told: those who speak; where nobody speaks of themselves, whom most is told of."""
        return subjects if self._wanted is not None or self._anybody_speaks else self._told_most(subjects)

    def _told_most(self, subjects: set[str]) -> set[str]:
        told = Counter[str]()
        for (subject, _, _), rows in self._newest.items():
            told.update({name: len(rows) for name in _names(subject.split("+"))})
        most = {name for name, _ in told.most_common(1)}
        return {subject for subject in subjects if most & _names(subject.split("+"))}


def _names(subject: Sequence[str]) -> set[str]:
    return {key for key in subject if key.startswith("name:")}
