"""Moves a store to another embedding model while it answers.

The vectors of the new model are written behind those of the old, in the same rows. When none lacks them the store is
bound to the new model in a single transaction, and every process goes over to it namespace by namespace in its own
time. A question and the memories that it meets are always of the same model. What was begun and broken off goes on
where it was.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memwarden import clock
from memwarden.clock import new_id
from memwarden.errors import Conflict, InvalidConfig, InvalidInput, ModelUnavailable
from memwarden.models.choice import make_chosen
from memwarden.models.protocols import Embedder
from memwarden.observability.records import Node, Op, OpEvent, Status
from memwarden.recall.index.encode import make_signals, said_text
from memwarden.records import Fill, IndexRow, Memory, Namespace, Signals
from memwarden.records.index_rows import SECOND_MODEL, add_second, choose_model, holds_second
from memwarden.runtime.services import Runtime
from memwarden.settings import EMBEDDERS, Settings
from memwarden.stores.shared.search import SearchableStore

# Rows that are made together; a writer waits no longer than storing them takes.
PAGE_ROWS: Final = 128
# Up to so many rows may be written while the others are looked through; they are made right after the store was bound.
MAX_LEFT: Final = 256
# After each page a move rests as long as the page took, and so long at most: calls share the disk with it.
MAX_REST_SECONDS: Final = 1.0
# So often the rows are looked through for what was written meanwhile.
MAX_PASSES: Final = 20


@dataclass(frozen=True, slots=True)
class ReembeddingTick:
    """How far a move is: rows done of all, in a step (``make`` or ``tidy``)."""

    step: str
    done: int
    rows: int


@dataclass(frozen=True, slots=True)
class Reembedding:
    """A move of a store to another embedding model, or how far it is.

    Attributes:
        source: the model that the store was bound to. model: the model it moves to.
        rows: active memories. lacking: how many of them had no vector of the new model, or still kept the old.
        made: vectors that were made. moved: whether the store answers with the new model.
    """

    source: str
    model: str
    rows: int
    lacking: int
    made: int = 0
    moved: bool = False


def choose_target(choice: str, settings: Settings) -> Embedder:
    """Return the embedder to move to. Raises InvalidInput, InvalidConfig."""
    if choice not in EMBEDDERS or choice == "none":
        known = ", ".join(name for name in EMBEDDERS if name != "none")
        raise InvalidInput(f"there is no embedder {choice!r:.80} to move to; embedders are: {known}")
    if choice == "openai" and not (settings.embedding_model and settings.embedding_dimensions):
        raise InvalidConfig("embedder 'openai' needs embedding_model and embedding_dimensions")
    made = make_chosen(choice, settings)
    assert made is not None
    return made


class Reembedder:
    """Moves the rows of a store to an embedder.

    Args:
        rows_a_second: how many vectors are made a second at most; None: as many as the machine makes.
        progress: is told how far it is.
    """

    def __init__(
        self,
        runtime: Runtime,
        target: Embedder,
        rows_a_second: float | None = None,
        progress: Callable[[ReembeddingTick], None] = lambda tick: None,
    ) -> None:
        if rows_a_second is not None and rows_a_second <= 0:
            raise InvalidInput(f"rows_a_second is more than 0, not {rows_a_second!r:.20}")
        self._runtime = runtime
        self._store = runtime.store
        self._target = target
        self._pause = 0.0 if rows_a_second is None else 1 / rows_a_second
        self._progress = progress
        self._made = 0

    async def plan(self) -> Reembedding:
        """Return how far the move is; nothing is written."""
        source = await self._bound()
        try:
            rows, lacking = await self._count(source)
        except InvalidInput:
            if await self._bound() == source:
                raise
            return await self.plan()  # another move ended meanwhile, whose vectors were taken for those of before
        return Reembedding(source, self._target.name, rows, lacking, moved=source == self._target.name)

    async def _bound(self) -> str:
        return (await self._store.about()).model or "none"

    async def _count(self, source: str) -> tuple[int, int]:
        """Return how many rows there are, and how many of them lack something while the store is bound to a model."""
        rows = lacking = 0
        for namespace in await self._store.namespaces():
            async for page in self._pages(namespace):
                rows += len(page)
                lacking += len(self._lacking(page, source))
        return rows, lacking

    async def run(self) -> Reembedding:
        """Move the store, or go on where a move was broken off. Raises InvalidInput, Conflict, ModelUnavailable."""
        planned = await self.plan()
        source = planned.source
        if source != self._target.name:
            await self._make_all(planned)
            await self._hold_searches()
            bound = await self._store.identity(self._target.name, instead_of=source)
            if bound != self._target.name:
                if isinstance(self._store, SearchableStore):  # the other move may be under way, and holds them itself
                    await self._store.release_search(self._target.name)
                raise Conflict(f"the store was moved to {bound!r} meanwhile, not to {self._target.name!r}")
        if source != self._target.name or planned.lacking:
            await self._look_through(self._target.name, "tidy", planned.rows)
        if isinstance(self._store, SearchableStore):
            await self._store.release_search()
        return replace(planned, made=self._made, moved=True)

    async def _make_all(self, planned: Reembedding) -> None:
        """Make vectors until hardly any row lacks them, whatever is written meanwhile."""
        for _ in range(MAX_PASSES):
            if await self._look_through(planned.source, "make", planned.rows) <= MAX_LEFT:
                return
        raise Conflict("more is written than can be moved; begin again later, or allow more rows a second")

    async def _look_through(self, bound: str, step: str, rows: int) -> int:
        """Make what rows lack once, and return how many lacked it."""
        done = lacked = 0
        for namespace in await self._store.namespaces():
            here = 0
            async for page in self._pages(namespace):
                lacking = self._lacking(page, bound)
                for start in range(0, len(lacking), PAGE_ROWS):
                    await self._fill(namespace, lacking[start : start + PAGE_ROWS], bound)
                here += len(lacking)
                done += len(page)
                self._progress(ReembeddingTick(step, done, max(rows, done)))
            if here:
                await self._record(namespace, step, here)
            lacked += here
        return lacked

    async def _pages(self, namespace: Namespace) -> AsyncIterator[list[IndexRow]]:
        ids = await self._store.find_ids(namespace)
        for start in range(0, len(ids), 4 * PAGE_ROWS):
            yield await self._store.index_rows(namespace, ids[start : start + 4 * PAGE_ROWS])

    def _lacking(self, page: Sequence[IndexRow], bound: str) -> list[str]:
        """Return the ids of rows to which something is to be done while the store is bound to a model."""
        width = 2 * self._target.dimensions
        if bound == self._target.name:
            return [row.id for row in page if _holds_any(row) or len(row.vector or bytes(width)) != width]
        if any(row.vector and len(row.vector) == width for row in page):
            raise InvalidInput(
                f"{self._target.name!r} makes vectors of {self._target.dimensions} numbers, as {bound!r} does, so that "
                "they could not be told apart; choose other embedding_dimensions"
            )
        wanted = [row for row in page if row.vector is not None or bound == "none"]
        return [row.id for row in wanted if not holds_second(row.pieces, self._target.name)]

    async def _fill(self, namespace: Namespace, ids: Sequence[str], bound: str) -> None:
        began = time.monotonic()
        # The memory first: were it changed in between, the version would not match and nothing would be filled.
        memories = {memory.id: memory for memory in await self._store.get(namespace, ids)}
        rows = [row for row in await self._store.index_rows(namespace, ids) if row.id in memories]
        if bound == self._target.name:
            fills = await self._tidied(rows, memories)
        else:
            made = await self._make([memories[row.id] for row in rows])
            fills = [
                Fill(row.id, memories[row.id].version, add_second(_signals(row), self._target.name, new))
                for row, new in zip(rows, made, strict=True)
            ]
        await self._store.fill(namespace, fills)
        took = time.monotonic() - began
        await asyncio.sleep(max(min(took, MAX_REST_SECONDS), len(ids) * self._pause - took))

    async def _tidied(self, rows: Sequence[IndexRow], memories: dict[str, Memory]) -> list[Fill]:
        """Return rows as the new model alone would have written them."""
        width = 2 * self._target.dimensions
        chosen = [choose_model(row, self._target.name, width) for row in rows]
        foreign = [row for row in chosen if row.vector == b""]
        made = await self._make([memories[row.id] for row in foreign])
        fresh = dict(zip((row.id for row in foreign), made, strict=True))
        return [Fill(row.id, memories[row.id].version, fresh.get(row.id, _signals(row))) for row in chosen]

    async def _make(self, memories: Sequence[Memory]) -> list[Signals]:
        """Return the signals that the new model makes. Raises ModelUnavailable."""
        made = await asyncio.to_thread(make_signals, [said_text(memory) for memory in memories], self._target)
        words = any(any(map(str.isalnum, memory.text)) for memory in memories)
        if words and all(signals.vector is None for signals in made):
            raise ModelUnavailable(f"the embedding model {self._target.name!r} did not answer; what was made is kept")
        nothing = bytes(2 * self._target.dimensions)
        self._made += len(made)
        return [replace(signals, vector=signals.vector or nothing) for signals in made]

    async def _hold_searches(self) -> None:
        """Let large namespaces be answered from memory until their indexes are made of the new vectors."""
        store = self._store
        if not isinstance(store, SearchableStore):
            return
        await store.hold_search(self._target.name)
        for namespace in await store.namespaces():
            standing = await store.standing(namespace)
            large = standing.digest is not None or standing.rows >= self._runtime.settings.search_above
            if large and not await store.drop_search(namespace):
                raise Conflict(f"search indexes of {namespace} are being made; begin again when they are ready")

    async def _record(self, namespace: Namespace, step: str, count: int) -> None:
        await self._store.record(
            [
                OpEvent(
                    new_id(), namespace, Node.WORKER, Op.JOB, Status.OK, clock.now(), count=count,
                    reason=f"reembed:{step}",
                )
            ]
        )  # fmt: skip


def _signals(row: IndexRow) -> Signals:
    return Signals(row.terms, row.vector, row.flags, row.days, row.pieces, row.statements, row.passages)


def _holds_any(row: IndexRow) -> bool:
    return (row.pieces or b"").endswith(SECOND_MODEL)
