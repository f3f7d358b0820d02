"""Vectors that follow words: turns are stored at once, and a slow model makes their vectors afterwards.

What is still to do is never stored: a row without a vector is due, whoever wrote it. So a kill loses nothing, and the
next process that reads the namespace goes on. The work runs in a thread beside the calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memwarden.errors import MemwardenError
from memwarden.models.protocols import Embedder
from memwarden.recall.index.encode import make_signals, said_text
from memwarden.recall.index.namespace_index import NamespaceIndexes
from memwarden.records import Fill, Memory, Namespace, Signals
from memwarden.stores.protocol import Store

BATCH_ROWS = 64
"""Rows that are made ready between two writes: about a third of a second with MiniLM beside the multilingual model."""
RETRY_SECONDS = 30.0
"""A model or a store that failed is left alone for so long."""

log = logging.getLogger(__name__)


class SignalFiller:
    """Makes the signals of stored rows that have none yet, on an event loop."""

    def __init__(self, store: Store, indexes: NamespaceIndexes, embedder: Embedder) -> None:
        self._store = store
        self._indexes = indexes
        self._embedder = embedder
        self._due: OrderedDict[Namespace, dict[str, None]] = OrderedDict()
        self._under_way: dict[Namespace, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._progress = asyncio.Condition()
        self._closed = False

    def add(self, namespace: Namespace, memory_ids: Iterable[str]) -> None:
        """Take rows whose signals are to be made; returns at once."""
        if self._closed:
            return
        ids = dict.fromkeys(memory_ids)
        if not ids:
            return
        self._due.setdefault(namespace, {}).update(ids)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def lacking(self, namespace: Namespace) -> int:
        """Return how many rows of a namespace this process knows to be without signals."""
        return len(self._due.get(namespace, ())) + self._under_way.get(namespace, 0)

    async def wait(self, namespace: Namespace | None, seconds: float | None) -> bool:
        """Wait until nothing is due of a namespace, or of any, for so long at most; return whether that came about."""

        def is_done() -> bool:
            if self._task is None:
                return True
            return not (self._due or self._under_way) if namespace is None else not self.lacking(namespace)

        if is_done():
            return True
        try:
            async with asyncio.timeout(seconds), self._progress:
                await self._progress.wait_for(is_done)
        except TimeoutError:
            return False
        return True

    async def close(self) -> None:
        """Stop after the batch that is being made. What is left is made when the namespace is read again."""
        self._closed = True
        self._due.clear()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            while self._due:
                namespace, ids = next(iter(self._due.items()))
                some = list(ids)[:BATCH_ROWS]
                for memory_id in some:
                    del ids[memory_id]
                if not ids:
                    del self._due[namespace]
                else:
                    self._due.move_to_end(namespace)  # so that a long import holds up nobody else
                self._under_way[namespace] = len(some)
                try:
                    await self._fill(namespace, some)
                except MemwardenError as error:
                    log.warning("%d rows wait for their vectors: %s", len(some), error)
                    self._retry_later(namespace, some)
                finally:
                    del self._under_way[namespace]
                    self._tidy(namespace)
                    async with self._progress:
                        self._progress.notify_all()
        finally:
            self._task = None
            async with self._progress:
                self._progress.notify_all()

    async def _fill(self, namespace: Namespace, ids: Sequence[str]) -> None:
        lacking = await self._take_in(namespace, ids)
        memories = await self._store.get(namespace, lacking)
        if not memories:
            return
        signals = await asyncio.to_thread(self._make, memories)
        fills = [
            Fill(memory.id, memory.version, made)
            for memory, made in zip(memories, signals, strict=True)
            if made.vector is not None
        ]
        if not fills:
            self._retry_later(namespace, lacking)
            return
        await self._store.fill(namespace, fills)
        await self._take_in(namespace, [fill.id for fill in fills])

    def _tidy(self, namespace: Namespace) -> None:
        """Let go of an index of which much is outdated, once nothing more comes: each row that was filled has moved."""
        index = self._indexes.held(namespace)
        if index is not None and namespace not in self._due and 2 * index.size > 3 * index.alive + 3_000:
            self._indexes.drop(namespace)

    async def _take_in(self, namespace: Namespace, ids: Sequence[str]) -> list[str]:
        """Give the index the signals that are stored, also by other processes; return the rows that have none."""
        rows = await self._store.index_rows(namespace, ids)
        index = self._indexes.held(namespace)
        if index is not None:
            index.refill(rows)
        return [row.id for row in rows if row.vector is None]

    def _make(self, memories: Sequence[Memory]) -> list[Signals]:
        """The signals of memories; a text in which the model finds nothing gets a vector of zeros, so that it is
        done."""
        made = make_signals([said_text(memory) for memory in memories], self._embedder)
        if all(signals.vector is None for signals in made) and any(_says_anything(memory) for memory in memories):
            return made  # the model did not answer
        nothing = bytes(2 * self._embedder.dimensions)
        return [signals if signals.vector is not None else replace(signals, vector=nothing) for signals in made]

    def _retry_later(self, namespace: Namespace, ids: Sequence[str]) -> None:
        if not self._closed:
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self.add, namespace, list(ids))


def _says_anything(memory: Memory) -> bool:
    return any(map(str.isalnum, memory.text))
