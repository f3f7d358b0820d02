"""Services of an open warden."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from memwarden.errors import StoreUnavailable
from memwarden.observability.access_log import AccessLog
from memwarden.observability.event_queue import EventQueue
from memwarden.observability.prompt_queue import PromptQueue
from memwarden.observability.spans import Traces
from memwarden.records import HistoryEntry, Memory, Namespace, Scope, WriteResult
from memwarden.runtime.extraction import ExtractionTasks
from memwarden.runtime.traces import TraceWriter
from memwarden.settings import Settings
from memwarden.stores.protocol import Store

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from memwarden.models.protocols import ChatModel, Embedder
    from memwarden.recall.index.encode import SignalFiller
    from memwarden.recall.index.namespace_index import NamespaceIndexes
    from memwarden.recall.large.registry import LargeNamespaces
    from memwarden.recall.recall import Recall
    from memwarden.remember.extract.extractor import Extractor
    from memwarden.remember.items import ItemWriter
    from memwarden.remember.resolve.proposals import Proposals
    from memwarden.remember.resolve.review import ReviewQueue
    from memwarden.remember.write_store import GuardedStore
    from memwarden.remember.writer import Writer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Services:
    """Services of a store for one embedding model. Never changed: a move to another model makes a new record."""

    guard: GuardedStore
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
    # None for a small model: it takes nearly every two statements of one thing for a new value.
    pair_judge: ChatModel | None


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
    """State of a warden: its store, settings, services and open turns. Its scopes and handles share it.

    Attributes:
        chat: the chat model, or None.
        turns: open turns. Closing the warden stores their words.
        late: searches that still run after their time limit.
        closed: whether the warden was closed.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        verbs: Callable[[Runtime, Scope], ScopeVerbs],
        chat: ChatModel | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.chat = chat
        self._verbs = verbs
        self.events = EventQueue(store, settings)
        self.accesses = AccessLog(store)
        self.prompts = PromptQueue(settings, TraceWriter(store, settings).write)
        self.traces = make_traces(settings)
        self.looks = ExtractionTasks()
        self.turns: set[OpenTurn] = set()
        self.late: dict[Namespace, asyncio.Task[Any]] = {}
        self.closed = False
        self._services: Services | None = None
        self._make_services: Callable[[], Services] | None = None

    @property
    def services(self) -> Services:
        """Services of the open warden. Read them for each call, because a move to another model replaces them.

        Raises StoreUnavailable before the warden is open.
        """
        if self._services is None:
            if self._make_services is None:
                message = "the warden is not open; use it as a context manager: with Warden.open(...) as warden"
                raise StoreUnavailable(message)
            self._services = self._make_services()
        return self._services

    @property
    def made_services(self) -> Services | None:
        """Services, or None before their first use."""
        return self._services

    def use(self, services: Services) -> None:
        """Let further calls use these services."""
        self._services = services

    def make_on_first_use(self, make: Callable[[], Services]) -> None:
        """Let the first call that needs a service make them all."""
        self._make_services = make

    def verbs(self, who: Scope) -> ScopeVerbs:
        """Return the verbs of a caller."""
        return self._verbs(self, who)

    async def end_turns(self) -> None:
        """Store the words of open turns, for example of a generator that was never closed."""
        turns = list(self.turns)
        for error in await asyncio.gather(*(turn.end(look=False) for turn in turns), return_exceptions=True):
            if error is not None:
                log.error("a turn that was open when the warden was closed: %s", error)


def make_traces(settings: Settings) -> Traces | None:
    """Return what makes spans, as the setting ``traces`` says."""
    return None if settings.traces == "off" else Traces()
