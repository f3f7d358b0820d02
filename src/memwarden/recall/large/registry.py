"""Which namespaces of this process are searched in the store instead of being held in memory, and when that changes.

A namespace that grew above the threshold goes on being answered from memory, while in the background the store makes
its indexes and a digest is taken. Once there is a digest, every process searches. It is taken anew when enough has
changed; when it tells that the namespace has become much smaller, indexes and digest are dropped and it is held in
memory again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final

from memwarden.errors import MemwardenError
from memwarden.recall.index.namespace_index import Indexes, NamespaceIndex, is_chat, speaking
from memwarden.recall.index.rows import merged, unpacked
from memwarden.recall.large.search import Large, PartialView, Reach, gather
from memwarden.recall.large.statistics import Whole, decode, measured
from memwarden.recall.question import Question
from memwarden.records import Head, Namespace, Scan
from memwarden.stores.protocol import Store
from memwarden.stores.shared.search import OpenRows, Searching, SearchRows

BELOW: Final = 0.8
"""Indexes are dropped when a namespace has less than this part of the threshold, so that they do not come and go."""
CHANGED: Final = 0.02
LEAST_CHANGED: Final = 1_000
"""A digest is taken anew when this part of the rows has changed since, but not for less than so many changes."""
ASKED_AGAIN: Final = 10.0
"""Seconds after which it is looked again whether another process has made a large namespace ready."""
TRIED_AGAIN: Final = 600.0
"""Seconds after which the making is tried again when it failed."""

log = logging.getLogger(__name__)


class LargeNamespaces:
    """The large namespaces of one store. Only a store that can search has any.

    Args:
        above: a namespace of at least so many memories is large. dimensions: of the vectors, None for no vectors.
        max_bytes: how much memory their digests and samples may take. reach: how far a search looks.
    """

    def __init__(
        self,
        store: Store,
        indexes: Indexes,
        *,
        above: int,
        dimensions: int | None,
        session_gap_hours: float,
        max_bytes: int,
        reach: Reach | None = None,
    ) -> None:
        self.reach = reach or Reach()
        self._store = store if isinstance(store, Searching) else None
        self._indexes = indexes
        self._above = above
        self._dimensions = dimensions
        self._session_gap = int(session_gap_hours * 3_600_000_000)
        self._max_bytes = max_bytes
        self._known: OrderedDict[Namespace, Large] = OrderedDict()
        self._asked: dict[Namespace, float] = {}
        self._working: dict[Namespace, asyncio.Task[None]] = {}

    async def ready(self, namespace: Namespace) -> Large | None:
        """Return the namespace if it is to be searched; None if it is to be held in memory."""
        if self._store is None:
            return None
        known = self._known.get(namespace)
        if known is not None:
            self._known.move_to_end(namespace)
            return known
        held = self._indexes.held(namespace)
        if held is not None and (held.alive < self._above or time.monotonic() < self._asked.get(namespace, 0.0)):
            return None
        standing = await self._store.standing(namespace)
        if standing.digest is not None:
            return await self._load(self._store, namespace)
        if (held.alive if held is not None else standing.rows) >= self._above:
            self._asked[namespace] = time.monotonic() + ASKED_AGAIN
            self._begin(namespace, self._make(self._store, namespace))
        return None

    def _noted(self, namespace: Namespace, found: SearchRows) -> bool:
        """Take note of what a search tells of the digest. False: there is none any more, the search found nothing."""
        known = self._known.get(namespace)
        if found.digest is None or known is None:
            self._known.pop(namespace, None)
            return found.digest is not None
        if found.digest != known.whole.rev:
            del self._known[namespace]  # another process took it anew; the next question goes by that one
        elif found.head.rev - known.whole.rev > max(LEAST_CHANGED, CHANGED * known.whole.alive):
            assert self._store is not None
            self._begin(namespace, self._renew(self._store, namespace))
        return True

    async def gather(
        self,
        namespace: Namespace,
        large: Large,
        question: Question,
        open_: OpenRows,
        always: tuple[str, ...],
        *,
        narrow: bool,
    ) -> tuple[SearchRows, PartialView] | None:
        """See :func:`memwarden.recall.large.search.gather`; None when the namespace is searched no longer."""
        assert self._store is not None
        found, part = await gather(
            self._store, namespace, large, question, open_, always, self.reach, self._session_gap, narrow=narrow
        )
        return (found, part) if self._noted(namespace, found) else None

    async def made(
        self, namespace: Namespace, part: PartialView, chosen: Sequence[int], head: Head, *, pieces: bool
    ) -> tuple[NamespaceIndex, dict[int, bytes | None]]:
        """Return an index of chosen rows of a part, and the word pieces of those rows and of the turns before."""
        assert self._store is not None
        wanted = dict.fromkeys((*chosen, *(part.before(chosen) if pieces else ())))
        rows = await self._store.rows(namespace, list(wanted))
        kept = frozenset(chosen)
        index = await self._indexes.build(Scan([row for row in rows if row.live and row.n in kept], head))
        return index, {row.n: row.pieces for row in rows}

    async def settled(self) -> None:
        """Wait until nothing is made or dropped any more."""
        while self._working:
            await asyncio.wait(list(self._working.values()))

    async def close(self) -> None:
        """Break off what is being made. An index that was begun is dropped by the next process that makes it."""
        for task in self._working.values():
            task.cancel()
        await self.settled()

    def _begin(self, namespace: Namespace, work: Coroutine[Any, Any, None]) -> None:
        if namespace in self._working:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(self._quietly(namespace, work))
        self._working[namespace] = task
        task.add_done_callback(lambda _: self._working.pop(namespace, None))

    async def _quietly(self, namespace: Namespace, work: Coroutine[Any, Any, None]) -> None:
        with suppress(asyncio.CancelledError):
            try:
                await work
            except MemwardenError as error:
                self._asked[namespace] = time.monotonic() + TRIED_AGAIN
                log.warning("%s is not made ready to be searched: %s", namespace.path, error)

    async def _make(self, store: Searching, namespace: Namespace) -> None:
        if await store.make_search(namespace, self._dimensions):
            await self._renew(store, namespace)
            self._asked.pop(namespace, None)

    async def _renew(self, store: Searching, namespace: Namespace) -> None:
        """Take the digest, or give up being searched when little is left."""
        whole = await take(store, namespace, self._session_gap)
        self._known.pop(namespace, None)
        if whole.alive < BELOW * self._above:
            await store.drop_search(namespace)
        else:
            await store.save_digest(namespace, whole.rev, whole.encode())

    async def _load(self, store: Searching, namespace: Namespace) -> Large | None:
        found = await store.digest(namespace)
        if found is None:
            return None
        whole = decode(found[1])
        rows = await store.rows(namespace, whole.sample.tolist())
        index = await self._indexes.build(Scan([row for row in rows if row.live], Head(whole.rev, 0)))
        self._keep(namespace, large := Large(whole, index))
        self._indexes.drop(namespace)
        return large

    def _keep(self, namespace: Namespace, large: Large) -> None:
        self._known[namespace] = large
        self._known.move_to_end(namespace)
        while len(self._known) > 1 and sum(item.nbytes for item in self._known.values()) > self._max_bytes:
            self._known.popitem(last=False)


async def take(store: Searching, namespace: Namespace, session_gap: int) -> Whole:
    """Return the digest of a namespace as it is now. Takes seconds, in a thread."""
    head, rows = await store.outline(namespace)

    def work() -> Whole:
        ordered = merged([unpacked(rows)])
        names = [name for name, turn in zip(ordered.names, ordered.turn.tolist(), strict=True) if turn]
        speakers = speaking(names)
        preset = "chat" if is_chat(names, speakers) else "assistant"
        return measured(ordered, head.rev, session_gap, speakers, preset)

    return await asyncio.to_thread(work)
