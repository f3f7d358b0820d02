"""The services that a warden puts together when it opens, and searches that run beside calls."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from weakref import WeakValueDictionary

from memwarden import clock
from memwarden.errors import MemwardenError, StoreUnavailable
from memwarden.observability.instrument import AccessLog, EventQueue, MadePrompt, PromptQueue, Traces
from memwarden.records import OVERVIEW_ID, HistoryEntry, Memory, Namespace, RecallItem, Scope, WriteResult
from memwarden.settings import Settings
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import TRACES, DropItem, Items, ItemSearch, PutItem, StoredItem

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


TRACE_MINUTES: Final = 30 * 24 * 60
# The newest traces of a person that stay. A trace has about 3 KB.
MAX_TRACES: Final = 2_000
MAX_QUESTION: Final = 300
MAX_TRACE_FEATURES: Final = 10
# The traces of so many blocks are written before those that are too many are removed.
_SWEEP_EVERY: Final = 200
_MAX_COUNTED: Final = 10_000
_MICROSECONDS: Final = 60_000_000


class TraceWriter:
    """Writes down which memories stood in blocks, for which question and why."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._old = TraceSweep()

    async def write(self, prompts: Sequence[MadePrompt]) -> None:
        """Write the traces of blocks; what cannot be written is left out."""
        items: Items | None = getattr(self._store, "items", None)
        if items is None:
            return
        by_person: dict[Namespace, list[MadePrompt]] = {}
        for prompt in prompts:
            by_person.setdefault(prompt.who.namespace, []).append(prompt)
        for namespace, made in by_person.items():
            try:
                changes = await asyncio.to_thread(self._make_traces, await self._leave_out_erased(namespace, made))
                if changes:
                    await items.write(namespace, changes)
                    await self._old.after(items, namespace, len(changes))
            except MemwardenError as error:  # no answer fails because of it
                log.warning("what prompts were given is not noted: %s", type(error).__name__)

    async def _leave_out_erased(self, namespace: Namespace, prompts: Sequence[MadePrompt]) -> list[MadePrompt]:
        """Return the blocks of which nothing was erased since they were made, by another process say."""
        rev = (await self._store.head(namespace)).rev  # an erased person begins anew
        cited = {memory_id for prompt in prompts for memory_id in _cited(prompt)}
        erased = cited - {memory.id for memory in await self._store.get(namespace, [*cited], removed=True)}
        return [prompt for prompt in prompts if prompt.block.rev <= rev and erased.isdisjoint(_cited(prompt))]

    def _make_traces(self, waiting: Sequence[MadePrompt]) -> list[PutItem]:
        return [make_trace(clock.new_id(), prompt, strict=self._settings.strict_secrets) for prompt in waiting]


def _cited(prompt: MadePrompt) -> list[str]:
    """Return the ids of the person's memories that a block shows."""
    whose = prompt.who.namespace
    own = [item.memory.id for item in prompt.block.items if item.memory.namespace == whose and item.id != OVERVIEW_ID]
    return own + [memory.id for memory in prompt.block.overview_of if memory.namespace == whose]


class TraceSweep:
    """Removes old traces of a person at the first that a process writes, and after each so many."""

    def __init__(self) -> None:
        self._written: Counter[Namespace] = Counter()

    async def after(self, items: Items, namespace: Namespace, count: int) -> None:
        """Note that so many were written. Raises StoreError."""
        if len(self._written) > _MAX_COUNTED:
            self._written.clear()
        first = namespace not in self._written
        self._written[namespace] += count
        if first or self._written[namespace] >= _SWEEP_EVERY:
            self._written[namespace] = 0
            await drop_old_traces(items, namespace)


def make_trace(trace: str, prompt: MadePrompt, *, strict: bool) -> PutItem:
    """Return what is kept of a block: its question without secrets, and the reasons of its items, without their texts.

    strict: take the codes of a home out of the question too.
    """
    from memwarden.security.secrets import redact

    who, question, block, at = prompt
    asked = " ".join(redact(question[: 10 * MAX_QUESTION], strict=strict).text.split())
    value = {
        "at": clock.moment(at).isoformat(),
        "thread_id": who.thread,
        "agent_id": who.agent,
        "question": asked[:MAX_QUESTION],
        "tokens": block.tokens,
        "items": [_outline(item) for item in block.items if item.id != OVERVIEW_ID],
    }
    ends = at + TRACE_MINUTES * _MICROSECONDS
    return PutItem(StoredItem(TRACES, trace, json.dumps(value), at, at, TRACE_MINUTES, ends))


async def drop_old_traces(items: Items, namespace: Namespace) -> None:
    """Remove the traces of a person that expired, and the oldest of those that are too many. Raises StoreError."""
    await items.sweep(namespace, clock.microseconds(clock.now()))
    over = await items.search(namespace, ItemSearch(TRACES, MAX_TRACES, offset=MAX_TRACES))
    if over:
        await items.write(namespace, [DropItem(hit.item.path, hit.item.key) for hit in over])


def _outline(item: RecallItem) -> dict[str, Any]:
    why = item.why
    parts = sorted((part for part in why.features if part.contribution), key=lambda part: -abs(part.contribution))
    features = [
        {"name": part.name, "value": round(part.value, 4), "weight": round(part.weight, 4)}
        for part in parts[:MAX_TRACE_FEATURES]
    ]
    return {
        "id": item.id,
        "category": item.category,
        "score": round(item.score, 4),
        "words": list(why.words),
        "features": features,
        "note": why.note,
    }


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
    # A small model judges no pairs: it calls nearly every two statements of one thing a new value.
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
        self.prompts = PromptQueue(settings, TraceWriter(store, settings).write)
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
