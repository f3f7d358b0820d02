"""The services that a warden puts together when it opens, and searches that run beside calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakValueDictionary

from memwarden.errors import StoreUnavailable
from memwarden.observability.instrument import AccessLog, EventQueue, Traces
from memwarden.records import HistoryEntry, Memory, Namespace, Scope, WriteResult
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


# As long as a question to a model may take: a task that is under way gets its answer, and no more is begun.
CLOSE_SECONDS = 20.0

log = logging.getLogger(__name__)
_Thread = tuple[Namespace, str | None]
_Look = Callable[[], Awaitable[object]]


class ExtractionTasks:
    """Extraction tasks of threads, on an event loop."""

    def __init__(self) -> None:
        self._running: dict[_Thread, asyncio.Task[None]] = {}
        self._again: set[_Thread] = set()
        self._quiet: dict[_Thread, tuple[asyncio.TimerHandle, _Look]] = {}

    def look(self, who: Scope, look: _Look) -> None:
        """Begin extraction for a scope's thread; after the running task, if the thread has a task."""
        self._begin((who.namespace, who.thread), look)

    def look_when_quiet(self, who: Scope, look: _Look, seconds: float) -> None:
        """Begin extraction for a scope's thread when nothing more is said in it for so long, or when all closes."""
        thread = (who.namespace, who.thread)
        self.no_longer_quiet(who)
        timer = asyncio.get_running_loop().call_later(seconds, lambda: self._begin(thread, self._quiet.pop(thread)[1]))
        self._quiet[thread] = (timer, look)

    def no_longer_quiet(self, who: Scope) -> None:
        """Forget that a scope's thread waits to be quiet."""
        waiting = self._quiet.pop((who.namespace, who.thread), None)
        if waiting is not None:
            waiting[0].cancel()

    def _begin(self, thread: _Thread, look: _Look) -> None:
        if thread in self._running:
            self._again.add(thread)
        else:
            self._running[thread] = asyncio.create_task(self._run(thread, look))

    async def over(self, who: Scope) -> None:
        """Wait until no task of the scope's thread is running."""
        task = self._running.get((who.namespace, who.thread))
        if task is not None:
            await asyncio.wait([task])

    async def drain(self, namespace: Namespace) -> None:
        """Wait until no task of a namespace is running, so that none writes what it read before."""
        while running := [task for (where, _), task in self._running.items() if where == namespace]:
            await asyncio.wait(running)

    async def close(self) -> None:
        """Look through what waits to be quiet, wait for running tasks, and cancel slow ones: the next goes on there."""
        while self._quiet:
            thread, (timer, look) = self._quiet.popitem()
            timer.cancel()
            self._begin(thread, look)
        if not self._running:
            return
        _, late = await asyncio.wait(self._running.values(), timeout=CLOSE_SECONDS)
        for item in late:
            item.cancel()
        if late:
            log.warning("%d threads are looked through another time: the model took too long", len(late))
            await asyncio.wait(late)

    async def _run(self, thread: _Thread, look: _Look) -> None:
        try:
            while True:
                self._again.discard(thread)
                try:
                    await look()
                except Exception as error:  # nobody waits for it; the turns are stored, and wait for the next look
                    log.warning("looking through thread %r is put off: %s", thread[1], error)
                if thread not in self._again:
                    return
        finally:
            del self._running[thread]


@dataclass(frozen=True, slots=True)
class Services:
    """The parts that there are once the store is open."""

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


class _NotOpen:
    """Stands for the parts before the warden is open: every use raises StoreUnavailable."""

    def __getattr__(self, name: str) -> Any:
        raise StoreUnavailable("the warden is not open; use it as a context manager: with Warden.open(...) as warden")


class _Unmade:
    """Stands for the parts of an open warden until the first use of a part, which makes them."""

    def __init__(self, runtime: Runtime, make: Callable[[], Services]) -> None:
        self._runtime = runtime
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if self._runtime.opened is None:
            self._runtime.open(self._make())
        return getattr(self._runtime.opened, name)


class Runtime:
    """A store, its settings and, once it is open, what works on it. One for a warden and all its scopes."""

    def __init__(self, store: Store, settings: Settings, verbs: Callable[[Runtime, Scope], ScopeVerbs]) -> None:
        self.store = store
        self.settings = settings
        self._verbs = verbs
        self.events = EventQueue(store, settings)
        self.accesses = AccessLog(store)
        self.traces = make_traces(settings)
        self.looks = ExtractionTasks()
        self.locks: WeakValueDictionary[tuple[str, ...], asyncio.Lock] = WeakValueDictionary()
        self.turns: set[OpenTurn] = set()
        """Turns that are not over yet, so that none is lost that nobody leaves."""
        self.late: dict[Namespace, asyncio.Task[Any]] = {}
        """Searches that nobody waits for any more, and that still go on."""
        self.opened: Services | None = None
        # Whoever works with the parts asks for them here; a call before the warden is open is refused by its first use.
        self.working: Services = cast("Services", _NotOpen())
        self.closed = False

    def verbs(self, who: Scope) -> ScopeVerbs:
        """Return the verbs of somebody who asks."""
        return self._verbs(self, who)

    async def end_turns(self) -> None:
        """Store what was said in turns that nobody left: a generator that was never closed, a task that still waits."""
        turns = list(self.turns)
        for error in await asyncio.gather(*(turn.end(look=False) for turn in turns), return_exceptions=True):
            if error is not None:
                log.error("a turn that was open when the warden was closed: %s", error)

    def open(self, services: Services) -> None:
        """Let calls work with these parts."""
        self.opened = self.working = services

    def open_later(self, make: Callable[[], Services]) -> None:
        """Let the first call that needs a part make them all."""
        self.working = cast("Services", _Unmade(self, make))


def make_traces(settings: Settings) -> Traces | None:
    """Return what makes spans, as the setting ``traces`` says."""
    return None if settings.traces == "off" else Traces()
