"""What a warden puts together when it opens, and hands to its scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from memwarden.errors import StoreUnavailable
from memwarden.observability.queue import EventQueue
from memwarden.records import HistoryEntry, Memory, Namespace, Scope, WriteResult
from memwarden.remember.extraction_tasks import ExtractionTasks
from memwarden.settings import Settings
from memwarden.stores.protocol import Store

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from memwarden.models.protocols import ChatModel, Embedder
    from memwarden.recall.index.namespace_index import NamespaceIndexes
    from memwarden.recall.large.registry import LargeNamespaces
    from memwarden.recall.recall import Recall
    from memwarden.remember.extract.extractor import Extractor
    from memwarden.remember.filler import SignalFiller
    from memwarden.remember.items import ItemWriter
    from memwarden.remember.resolve.consent.proposals import Proposals
    from memwarden.remember.resolve.review import ReviewQueue
    from memwarden.remember.writer import Writer


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that there are once the store is open."""

    recall: Recall
    writer: Writer
    items: ItemWriter
    reviews: ReviewQueue
    extractor: Extractor
    indexes: NamespaceIndexes
    larges: LargeNamespaces
    consents: Proposals
    embedder: Embedder | None
    filler: SignalFiller | None
    chat: ChatModel | None


class OpenTurn(Protocol):
    """Something under way that has words to store."""

    def end(self, *, look: bool = ...) -> Coroutine[Any, Any, None]:
        """Store them."""


class JournalVerbs(Protocol):
    """The verbs of a scope's journal that the tiers stand on."""

    async def history(
        self, memory_id: str | None = None, *, since: int = 0, limit: int = 100, descending: bool = False
    ) -> list[HistoryEntry]:
        """Return what happened to a memory, or to all of them."""

    async def undo(self, change: int) -> WriteResult:
        """Take a decision back."""


class ScopeVerbs(Protocol):
    """The verbs of a scope that the tiers stand on. The public API brings them in."""

    who: Scope

    @property
    def journal(self) -> JournalVerbs:
        """The journal of the same place."""

    async def get(self, memory_id: str) -> Memory:
        """Return a memory."""

    async def pin(self, memory_id: str, pinned: bool = True) -> WriteResult:
        """Keep a memory from expiring, or let it expire again."""

    async def restore(self, memory_id: str) -> WriteResult:
        """Bring a forgotten memory back."""


class Runtime:
    """A store, its settings and, once it is open, what works on it. One for a warden and all its scopes."""

    def __init__(self, store: Store, settings: Settings, verbs: Callable[[Runtime, Scope], ScopeVerbs]) -> None:
        self.store = store
        self.settings = settings
        self._verbs = verbs
        self.events = EventQueue(store, settings)
        self.looks = ExtractionTasks()
        self.locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()
        self.turns: set[OpenTurn] = set()
        """Turns that are not over yet, so that none is lost that nobody leaves."""
        self.late: dict[Namespace, asyncio.Task[Any]] = {}
        """Searches that nobody waits for any more, and that still go on."""
        self.opened: Services | None = None
        self.closed = False

    def verbs(self, who: Scope) -> ScopeVerbs:
        """Return the verbs of somebody who asks."""
        return self._verbs(self, who)

    @property
    def working(self) -> Services:
        """The parts at work. Raises StoreUnavailable before the warden is open."""
        if self.opened is None:
            raise StoreUnavailable(
                "the warden is not open; use it as a context manager: with Warden.open(...) as warden"
            )
        return self.opened
