"""Puts the services of a warden together, and anew when its store was moved to another embedding model."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from memwarden.errors import MemwardenError, ModelUnavailable
from memwarden.models.choice import make_embedder
from memwarden.models.protocols import first_width, second_width
from memwarden.recall.default_order import RERANK_TIMEOUT
from memwarden.recall.index.encode import SignalFiller, statement_reader
from memwarden.recall.index.namespace_index import NamespaceIndexes
from memwarden.recall.large.registry import LargeNamespaces
from memwarden.recall.recall import Recall
from memwarden.remember.extract.extractor import Extractor
from memwarden.remember.items import ItemWriter
from memwarden.remember.resolve.proposals import Proposals
from memwarden.remember.resolve.resolver import Resolver
from memwarden.remember.resolve.review import ReviewQueue
from memwarden.remember.write_store import GuardedStore, InstrumentedStore
from memwarden.remember.writer import Writer
from memwarden.runtime.services import Runtime, Services
from memwarden.stores.shared.search import SearchableStore

if TYPE_CHECKING:
    from memwarden.models.protocols import Embedder, Reranker

log = logging.getLogger(__name__)
# This part of the memory that indexes may take is for memories that stood in answers, kept to be shown again.
HELD_SHARE = 64
# And this part for the indexes of moments in the past that were asked about last.
PAST_SHARE = 8
# And this part for what is known of namespaces that are searched in the store.
LARGE_SHARE = 16


class ServiceMaker:
    """Makes the services of a warden for an embedder.

    When the store was moved to another model, it makes services of that model beside those that answer, builds their
    indexes, and only then lets calls use them: every answer is made by a single model.
    """

    def __init__(self, runtime: Runtime, reranker: Reranker | None) -> None:
        self._runtime = runtime
        self._reranker = reranker
        self._switching: asyncio.Task[None] | None = None
        self._told: str | None = None  # the model that the store was moved to, as far as anybody here knows

    def make(self, embedder: Embedder | None) -> Services:
        """Return services that work with an embedder."""
        runtime, settings, store = self._runtime, self._runtime.settings, self._runtime.store
        held_bytes = settings.index_bytes // HELD_SHARE
        past_bytes = settings.index_bytes // PAST_SHARE
        large_bytes = settings.index_bytes // LARGE_SHARE
        indexes = NamespaceIndexes(
            store,
            session_gap_hours=settings.session_gap_hours,
            dimensions=first_width(embedder),
            second_dimensions=second_width(embedder),
            stating=statement_reader(embedder) is not None,
            max_bytes=settings.index_bytes - held_bytes - past_bytes - large_bytes,
            piece_dimensions=getattr(embedder, "piece_dimensions", None),
            model=embedder.name if embedder else "none",
        )
        indexes.watch.on_moved = self._follow_move
        larges = LargeNamespaces(
            store,
            indexes,
            above=settings.search_above,
            dimensions=(embedder.dimensions or None) if embedder else None,
            session_gap_hours=settings.session_gap_hours,
            max_bytes=large_bytes,
        )
        recall = Recall(
            store,
            indexes,
            larges if isinstance(store, SearchableStore) else None,
            embedder,
            settings.categories,
            held_bytes=held_bytes,
            past_bytes=past_bytes,
            reranker=None if self._reranker is None else IsolatedReranker(self._reranker, RERANK_TIMEOUT),
            preset=settings.preset,
            relation_weight=settings.relation_weight,
            left_out=frozenset(settings.leave_out),
            external=settings.external != "off",
        )
        recorded = InstrumentedStore(store, runtime.events.put) if settings.events == "on" else store
        # Nothing but consent gets a store without the guard.
        guarded = GuardedStore(recorded, settings.categories)
        small = settings.chat_model_size == "small"
        pair_judge = None if small else self._runtime.chat
        resolver = Resolver(
            guarded,
            indexes,
            larges,
            chat=pair_judge,
            model=embedder.name if embedder else None,
            link_min=settings.link_min,
            merging=settings.merging == "auto",
        )
        extractor = Extractor(
            guarded,
            indexes,
            larges,
            embedder,
            resolver,
            settings.categories,
            chat=self._runtime.chat,
            preset=settings.preset,
            most_a_day=settings.facts_a_day,
            instructions=settings.extraction_instructions,
            small=small,
        )
        filler = None
        if embedder is not None:  # a quick model, too: others may have written with a model that the store had before
            filler = SignalFiller(store, indexes, embedder, settings.vector_seconds)
            indexes.on_lacking = filler.add
        deferred = recall.filler = larges.filler = filler if getattr(embedder, "slow", False) else None
        hold = settings.external == "held"
        strict = settings.strict_secrets
        return Services(
            guard=guarded,
            recall=recall,
            writer=Writer(
                guarded,
                embedder,
                resolver,
                deferred,
                max_text_bytes=settings.max_text_bytes,
                hold=hold,
                strict=strict,
            ),
            items=ItemWriter(guarded, embedder, hold=hold, strict=strict),
            reviews=ReviewQueue(guarded, resolver, embedder),
            extractor=extractor,
            indexes=indexes,
            larges=larges,
            consents=Proposals(recorded, embedder, strict=strict),
            embedder=embedder,
            filler=filler,
            pair_judge=pair_judge,
        )

    def _follow_move(self, model: str) -> None:
        self._told = model
        if self._switching is None and not self._runtime.closed:
            self._switching = asyncio.get_running_loop().create_task(self._follow_moves())

    async def _follow_moves(self) -> None:
        """Go over to the model that the store was moved to, and on to one that it is moved to meanwhile."""
        tried = None
        try:
            while self._told is not None and self._told != tried:
                tried = self._told
                await self._switch(tried)
        finally:
            self._switching = None

    async def _switch(self, model: str) -> None:
        try:
            old = self._runtime.services
            embedder = await asyncio.to_thread(make_embedder, self._runtime.settings, model, follow=True)
            new = self.make(embedder)
            if embedder is not None and embedder.dimensions:
                await asyncio.to_thread(embedder.embed, [""])
            # First of all: a vector of the model of before, written after a row was read here, would stay for good.
            if old.filler is not None:
                await old.filler.close()
            for namespace in old.indexes.list_held():
                await new.indexes.current(namespace)
            new.recall.change_cursor = old.recall.change_cursor
            self._runtime.use(new)
            log.info("the store was moved to the embedding model %r; it answers from now on", model)
            await _close(old)
            # Whoever asked the store while this went on may have asked before it was moved again.
            bound = await self._runtime.store.identity(model)
            if bound != model:
                self._told = bound
        except MemwardenError as error:
            log.warning("the store was moved to the embedding model %r, which is not at hand here: %s", model, error)

    async def close(self, services: Services) -> None:
        """End what services do beside calls, and break off what is being made in their place."""
        if self._switching is not None:
            self._switching.cancel()
            await asyncio.wait([self._switching])
        await _close(services)


async def _close(services: Services) -> None:
    if services.filler is not None:
        await services.filler.close()
    await services.larges.close()


class IsolatedReranker:
    """A reranker in a daemon thread of its own, a single question at a time.

    A reranker that hangs blocks neither the loop's threads, which reads and writes need, nor the end of the process.
    While it hangs, further questions raise ModelUnavailable at once.
    """

    def __init__(self, reranker: Reranker, seconds: float) -> None:
        self._reranker = reranker
        self._seconds = seconds
        self._free = threading.Lock()
        self._late: threading.Thread | None = None

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        hangs = self._late is not None and self._late.is_alive()
        if hangs or not self._free.acquire(timeout=self._seconds):
            raise ModelUnavailable("the reranker is still at an earlier question")
        answer: Future[Sequence[float]] = Future()
        thread = threading.Thread(target=self._judge, args=(answer, query, texts), name="reranker", daemon=True)
        thread.start()
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            self._late = thread  # Python cannot stop a thread, so it is only remembered as busy
            raise ModelUnavailable(f"the reranker took longer than {self._seconds:g} seconds") from None

    def _judge(self, answer: Future[Sequence[float]], query: str, texts: Sequence[str]) -> None:
        try:
            answer.set_result(self._reranker.score(query, texts))
        except BaseException as error:  # whatever it is, the caller gets it
            answer.set_exception(error)
        finally:
            self._free.release()
