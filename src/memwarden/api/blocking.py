"""The blocking API: the async classes on an event loop that runs in a thread of its own.

Each method is the async method called on that loop (:mod:`memwarden.api.facade`), with its signature and docstring.
Written out are only context managers, iterators, and what takes or gives other blocking objects.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from memwarden.agent.overseer import AsyncOverseer, OverseerSettings
from memwarden.agent.plain_sessions import ProactiveTools
from memwarden.agent.session_rules import DEFAULT_WINDOW_TOKENS
from memwarden.agent.state import AsyncState
from memwarden.agent.stored_sessions import AsyncSessions, AsyncToolCache
from memwarden.agent.tools import AsyncTools, Permission, Tool
from memwarden.api.checkpoints import AsyncThreadCheckpoints
from memwarden.api.consent import AsyncConsent
from memwarden.api.facade import (
    Attribute,
    Facade,
    Handle,
    OwningFacade,
    SettableAttribute,
    blocking,
    direct,
    documented,
    making,
    start_loop,
)
from memwarden.api.foreign_names import hint_at
from memwarden.api.journal import AsyncJournal
from memwarden.api.review import AsyncReview
from memwarden.api.scope import FOREIGN_NAMES as SCOPE_NAMES
from memwarden.api.scope import AsyncScope
from memwarden.api.usage import AsyncUsage
from memwarden.api.warden import FOREIGN_NAMES, AsyncWarden, Config
from memwarden.conversation.chat import AsyncChat, AsyncReplyStream, ChatTools, Reply
from memwarden.conversation.settings import DEFAULT_SECONDS, ChatSettings
from memwarden.conversation.turn import AsyncTurn
from memwarden.errors import NotKept
from memwarden.records import ContextBlock, MessageResult, Namespace, Scope, WriteResult
from memwarden.settings import Settings
from memwarden.stores.protocol import Store
from memwarden.tiers.assembler import AsyncContextAssembler
from memwarden.tiers.backend import AsyncBackend
from memwarden.tiers.stores import (
    AsyncGlobalMemoryStore,
    AsyncProjectMemoryStore,
    AsyncTaskMemoryStore,
    AsyncTierStore,
    Confirm,
)
from memwarden.tiers.tiers import AsyncTiers
from memwarden.upkeep.jobs import AsyncJobs

if TYPE_CHECKING:
    from memwarden.models.protocols import ChatModel, Reranker

E = TypeVar("E")
log = logging.getLogger(__name__)


class State(Facade):
    """The saved values of a person. See :class:`memwarden.agent.state.AsyncState`."""

    who = Attribute[Scope]("The identity of the caller.")
    save = blocking(AsyncState.save)
    load = blocking(AsyncState.load)
    load_for_model = blocking(AsyncState.load_for_model)
    list_keys = blocking(AsyncState.list_keys)
    search = blocking(AsyncState.search)
    find_for_goal = blocking(AsyncState.find_for_goal)
    save_from_tool = blocking(AsyncState.save_from_tool)
    clear = blocking(AsyncState.clear)


class Overseer(Facade):
    """Decides which state a goal needs. See :class:`memwarden.agent.overseer.AsyncOverseer`."""

    settings = Attribute[OverseerSettings]("How it works.")
    prepare = blocking(AsyncOverseer.prepare)
    relevant = blocking(AsyncOverseer.relevant)
    after = blocking(AsyncOverseer.after)


class Tools(Facade):
    """Tools that a model may call. See :class:`memwarden.agent.tools.AsyncTools`."""

    permission = Attribute[Permission]("What the caller may do.")
    tools = Attribute[tuple[Tool, ...]]("The tools that the caller may call, in the order of registration.")
    register = direct(AsyncTools.register)
    openai = direct(AsyncTools.openai)
    anthropic = direct(AsyncTools.anthropic)
    call_tool = blocking(AsyncTools.call_tool)


class Sessions(Facade):
    """The stored sessions of a person. See :class:`memwarden.agent.stored_sessions.AsyncSessions`."""

    who = Attribute[Scope]("The identity of the caller.")
    initialize_session_memory = blocking(AsyncSessions.initialize_session_memory)
    prepare_messages_for_agent = blocking(AsyncSessions.prepare_messages_for_agent)
    finalize_current_cycle = blocking(AsyncSessions.finalize_current_cycle)
    add_tool_to_cache = blocking(AsyncSessions.add_tool_to_cache)
    lookup_tool_in_cache = blocking(AsyncSessions.lookup_tool_in_cache)
    inject_screen_context = blocking(AsyncSessions.inject_screen_context)
    load = blocking(AsyncSessions.load)
    list_ids = blocking(AsyncSessions.list_ids)
    clear = blocking(AsyncSessions.clear)

    @documented(AsyncSessions.with_options)
    def with_options(
        self, *, get_proactive_tool_messages: ProactiveTools | None = None, window_tokens: int = DEFAULT_WINDOW_TOKENS
    ) -> Sessions:
        inner = self._inner.with_options(
            get_proactive_tool_messages=get_proactive_tool_messages, window_tokens=window_tokens
        )
        return Sessions(inner, self._loop)


class ToolCache(Facade):
    """The cached results of tools. See :class:`memwarden.agent.stored_sessions.AsyncToolCache`."""

    store = blocking(AsyncToolCache.store)
    lookup = blocking(AsyncToolCache.lookup)


class ThreadCheckpoints(Facade):
    """The checkpoints of a person's threads. See :class:`memwarden.api.checkpoints.AsyncThreadCheckpoints`."""

    who = Attribute[Scope]("The identity of the caller.")
    outlines = blocking(AsyncThreadCheckpoints.outlines)
    copy_thread = blocking(AsyncThreadCheckpoints.copy_thread)
    delete_thread = blocking(AsyncThreadCheckpoints.delete_thread)


class Turn(Facade):
    """A turn, used once, as a context manager around the call of a model.

    See :class:`memwarden.conversation.turn.AsyncTurn`.

    >>> with me.turn(messages) as turn:
    ...     response = client.chat.completions.create(model=..., messages=turn.messages)
    ...     turn.record_response(response)
    """

    _inner: AsyncTurn

    request = Attribute[Any]("What to give the model.")
    messages = Attribute[Any]("The messages to give the model.")
    block = Attribute[ContextBlock]("The memories that were found.")
    stored = Attribute[tuple[MessageResult, ...]]("What became of each message that was handed to the store.")
    kept = Attribute[WriteResult | None]("What was decided when facts were extracted from the thread.")
    failures = Attribute[tuple[Exception, ...]]("The errors of memory that the turn went on without.")
    answer = Attribute[str | None]("The last answer of the model as far as it was recorded; None without words.")
    settings = SettableAttribute[ChatSettings]("The settings. Others set during the turn decide what its end does.")
    stores_beside = SettableAttribute[bool]("Whether the caller says when to store what the user said.")
    refresh = blocking(AsyncTurn.refresh)
    end = blocking(AsyncTurn.end)
    record_response = direct(AsyncTurn.record_response)
    record_events = direct(AsyncTurn.record_events)

    @documented(AsyncTurn.begin_storing)
    def begin_storing(self) -> None:
        async def begin() -> None:
            self._inner.begin_storing()

        self._loop.run(begin())

    def __enter__(self) -> Self:
        self._loop.run(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop.is_here:
            # A generator that nobody closed ends wherever it is found to be unused, also on the thread of the loop.
            self._loop.leave(_end_abandoned_turn(self._inner))
        elif self._loop.over and not self._inner.has_more:
            return  # it ended when the warden was closed
        else:
            self._loop.run(self._inner.__aexit__(kind, error, trace))

    @documented(AsyncTurn.stream)
    def stream(self, events: Iterable[E], *, id: str | None = None) -> Iterator[E]:
        return self._inner.stream(_sync_only(events), id=id)

    @documented(AsyncTurn.words)
    def words(self, events: Iterable[Any], *, id: str | None = None) -> Iterator[str]:
        return self._inner.words(_sync_only(events), id=id)


def _sync_only(events: Iterable[E]) -> Iterable[E]:
    """Return a stream without its asynchronous face: some clients give a single object with both."""
    return _iterate(events) if hasattr(events, "__iter__") and hasattr(events, "__aiter__") else events


def _iterate(events: Iterable[E]) -> Iterator[E]:
    # The iterator of such an object may be the object itself, with both faces.
    yield from events


class ReplyStream(Facade):
    """The answer to a message, piece by piece. See :class:`memwarden.conversation.chat.AsyncReplyStream`."""

    _inner: AsyncReplyStream

    block = Attribute[ContextBlock]("The memories that are in the prompt, from the first piece on.")
    reply = Attribute[Reply]("What came of the message, once the stream is over. Raises InvalidInput before.")

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        piece = self._loop.run_while_wanted(_next_piece(self._inner))
        if piece is None:
            raise StopIteration
        return piece

    def close(self) -> None:
        """Leave the stream: what was passed on is stored."""
        if self._loop.over:
            return  # it was stored when the warden was closed
        self._loop.run(self._inner.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Chat(Facade):
    """A conversation with a model, with memory woven into it. See :class:`memwarden.conversation.chat.AsyncChat`.

    >>> chat = me.chat(openai_chat(OpenAI(), model="gpt-4o-mini"))
    >>> reply = chat.continue_chat("What can I bring to the picnic?")
    """

    _inner: AsyncChat

    session = Attribute[str]("The id of the stored session.")
    settings = SettableAttribute[ChatSettings]("The settings. Others that are set hold from the next message on.")
    stream = making(ReplyStream, AsyncChat.stream)
    save = blocking(AsyncChat.save)

    @documented(AsyncChat.continue_chat)
    def continue_chat(self, message: str, *, key: str | None = None) -> Reply:
        return self._loop.run_while_wanted(self._inner.continue_chat(message, key=key))


class Review(Facade):
    """Decisions on candidates and quarantined texts. See :class:`memwarden.api.review.AsyncReview`."""

    who = Attribute[Scope]("The identity of the caller.")
    pending = blocking(AsyncReview.pending)
    approve = blocking(AsyncReview.approve)
    reject = blocking(AsyncReview.reject)


class Journal(Facade):
    """History, undo, changes and operational events. See :class:`memwarden.api.journal.AsyncJournal`."""

    who = Attribute[Scope]("The identity of the caller.")
    history = blocking(AsyncJournal.history)
    undo = blocking(AsyncJournal.undo)
    forgotten = blocking(AsyncJournal.forgotten)
    delta = blocking(AsyncJournal.delta)
    events = blocking(AsyncJournal.events)
    event_counts = blocking(AsyncJournal.event_counts)


class Consents(Facade):
    """The user context, proposals and decisions. See :class:`memwarden.api.consent.AsyncConsent`."""

    who = Attribute[Scope]("The identity of the caller.")
    user_context = blocking(AsyncConsent.user_context)
    propose = blocking(AsyncConsent.propose)
    proposals = blocking(AsyncConsent.proposals)
    decide = blocking(AsyncConsent.decide)
    acknowledge = blocking(AsyncConsent.acknowledge)


class Usage(Facade):
    """Feedback on memories in prompts, and their use. See :class:`memwarden.api.usage.AsyncUsage`."""

    who = Attribute[Scope]("The identity of the caller.")
    feedback = blocking(AsyncUsage.feedback)
    uses = blocking(AsyncUsage.uses)


BlockingTools = Tools | AsyncTools | Callable[[ContextBlock], Tools | AsyncTools] | None


@hint_at("a scope", SCOPE_NAMES)
class BoundScope(Facade):
    """The verbs of a caller. See :class:`memwarden.api.scope.AsyncScope`."""

    _inner: AsyncScope

    who = Attribute[Scope]("The identity of the caller.")
    observe = blocking(AsyncScope.observe)
    remember = blocking(AsyncScope.remember)
    extract = blocking(AsyncScope.extract)
    extract_pending = blocking(AsyncScope.extract_pending)
    query = blocking(AsyncScope.query)
    overview = blocking(AsyncScope.overview)
    ask = blocking(AsyncScope.ask)
    statements = blocking(AsyncScope.statements)
    context = blocking(AsyncScope.context)
    get = blocking(AsyncScope.get)
    find = blocking(AsyncScope.find)
    relations = blocking(AsyncScope.relations)
    audit = blocking(AsyncScope.audit)
    forget = blocking(AsyncScope.forget)
    reset = blocking(AsyncScope.reset)
    restore = blocking(AsyncScope.restore)
    update = blocking(AsyncScope.update)
    pin = blocking(AsyncScope.pin)
    promote = blocking(AsyncScope.promote)
    review = Handle(Review, "Decisions on candidates and on quarantined texts.")
    journal = Handle(Journal, "History, undo, changes since a revision, and operational events.")
    consent = Handle(Consents, "The user context, proposals for it, and the person's decisions.")
    usage = Handle(Usage, "Feedback on memories in prompts, and how often they were of use.")
    state = Handle(State, "Values saved by key. See :attr:`memwarden.api.scope.AsyncScope.state`.")
    sessions = Handle(Sessions, "Stored sessions. See :attr:`memwarden.api.scope.AsyncScope.sessions`.")
    tool_cache = Handle(ToolCache, "Results of tools that stored sessions hold for some exchanges.")
    checkpoints = Handle(ThreadCheckpoints, "States of graphs that LangGraph's saver keeps, by thread.")
    overseer = making(Overseer, AsyncScope.overseer)
    tools = making(Tools, AsyncScope.tools)
    turn = making(Turn, AsyncScope.turn)

    @documented(AsyncScope.chat)
    def chat(
        self,
        upstream: Any,
        settings: ChatSettings | None = None,
        *,
        check_action: Callable[[str], Any] | None = None,
        session: str | None = None,
        system: str | None = None,
        tools: BlockingTools = None,
        tool_cache: Mapping[str, int] | None = None,
        defer_remote: Callable[[str], Any] | None = None,
        seconds: float = DEFAULT_SECONDS,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> Chat:
        chat = self._inner.chat(
            upstream,
            settings,
            check_action=check_action,
            session=session,
            system=system,
            tools=_async_tools(tools),
            tool_cache=tool_cache,
            defer_remote=defer_remote,
            seconds=seconds,
            window_tokens=window_tokens,
        )
        return Chat(chat, self._loop)


class Backend(Facade):
    """The storage contract of the tiers on a namespace. See :class:`memwarden.tiers.backend.AsyncBackend`."""

    namespace = Attribute[Namespace]("Where the items live.")
    add = blocking(AsyncBackend.add)
    query = blocking(AsyncBackend.query)
    get = blocking(AsyncBackend.get)
    delete = blocking(AsyncBackend.delete)
    promote = blocking(AsyncBackend.promote)
    list_all = blocking(AsyncBackend.list_all)
    clear = blocking(AsyncBackend.clear)
    count = blocking(AsyncBackend.count)
    query_semantic = blocking(AsyncBackend.query_semantic)


class TierStore(Facade):
    """What the three stores of the tiers share. See :class:`memwarden.tiers.stores.AsyncTierStore`."""

    namespace = Attribute[Namespace]("Where the items live.")
    query = blocking(AsyncTierStore.query)
    get = blocking(AsyncTierStore.get)
    list_all = blocking(AsyncTierStore.list_all)
    count = blocking(AsyncTierStore.count)
    history = blocking(AsyncTierStore.history)


class TaskMemoryStore(TierStore):
    """A task's memory. See :class:`memwarden.tiers.stores.AsyncTaskMemoryStore`."""

    _inner: AsyncTaskMemoryStore

    task_id = Attribute[str]("Which task.")
    add_reasoning = blocking(AsyncTaskMemoryStore.add_reasoning)
    add_tool_output = blocking(AsyncTaskMemoryStore.add_tool_output)
    get_stage_outputs = blocking(AsyncTaskMemoryStore.get_stage_outputs)
    promote = blocking(AsyncTaskMemoryStore.promote)
    enter_state = blocking(AsyncTaskMemoryStore.enter_state)
    clear = blocking(AsyncTaskMemoryStore.clear)


class ProjectMemoryStore(TierStore):
    """A project's memory. See :class:`memwarden.tiers.stores.AsyncProjectMemoryStore`."""

    _inner: AsyncProjectMemoryStore

    project_id = Attribute[str]("Which project.")
    max_items = Attribute[int]("With more items than this some are evicted.")
    add_decision = blocking(AsyncProjectMemoryStore.add_decision)
    add_convention = blocking(AsyncProjectMemoryStore.add_convention)
    add_failure = blocking(AsyncProjectMemoryStore.add_failure)
    add_preference = blocking(AsyncProjectMemoryStore.add_preference)
    add_pattern = blocking(AsyncProjectMemoryStore.add_pattern)
    query_decisions = blocking(AsyncProjectMemoryStore.query_decisions)
    section = blocking(AsyncProjectMemoryStore.section)
    remove = blocking(AsyncProjectMemoryStore.remove)
    pin = blocking(AsyncProjectMemoryStore.pin)
    restore = blocking(AsyncProjectMemoryStore.restore)
    undo = blocking(AsyncProjectMemoryStore.undo)
    promote = blocking(AsyncProjectMemoryStore.promote)
    make_room = blocking(AsyncProjectMemoryStore.make_room)


class GlobalMemoryStore(TierStore):
    """The memory of all projects. See :class:`memwarden.tiers.stores.AsyncGlobalMemoryStore`."""

    _inner: AsyncGlobalMemoryStore

    confirmation_callback = Attribute[Confirm | None]("Who is asked before something is changed.")
    add_preference = blocking(AsyncGlobalMemoryStore.add_preference)
    modify_preference = blocking(AsyncGlobalMemoryStore.modify_preference)
    add_pattern = blocking(AsyncGlobalMemoryStore.add_pattern)
    query_preferences = blocking(AsyncGlobalMemoryStore.query_preferences)
    remove = blocking(AsyncGlobalMemoryStore.remove)
    clear_all = blocking(AsyncGlobalMemoryStore.clear_all)
    undo = blocking(AsyncGlobalMemoryStore.undo)


class ContextAssembler(Facade):
    """Assembles the contexts of tasks. See :class:`memwarden.tiers.assembler.AsyncContextAssembler`."""

    build_context = blocking(AsyncContextAssembler.build_context)
    record_uses = blocking(AsyncContextAssembler.record_uses)
    cleanup_task = blocking(AsyncContextAssembler.cleanup_task)


class Tiers(Facade):
    """Makes the stores of the tiers. See :class:`memwarden.tiers.tiers.AsyncTiers`."""

    task = making(TaskMemoryStore, AsyncTiers.task)
    project = making(ProjectMemoryStore, AsyncTiers.project)
    global_store = making(GlobalMemoryStore, AsyncTiers.global_store)
    assembler = making(ContextAssembler, AsyncTiers.assembler)


class Jobs(Facade):
    """The jobs that keep memory clean. See :class:`memwarden.upkeep.jobs.AsyncJobs`."""

    run = blocking(AsyncJobs.run)
    run_due = blocking(AsyncJobs.run_due)
    status = blocking(AsyncJobs.status)
    reembed = blocking(AsyncJobs.reembed)


@hint_at("a warden", FOREIGN_NAMES)
class Warden(OwningFacade):
    """The memory of agents on a store, for blocking code. See :class:`memwarden.api.warden.AsyncWarden`.

    >>> with Warden.open("sqlite:///notes.db") as warden:
    ...     me = warden.scope(user="ana", thread="t1")
    ...     me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
    ...     for item in me.query("What can't I eat?").items:
    ...         print(item.score, item.text)
    """

    _inner: AsyncWarden

    scope = making(BoundScope, AsyncWarden.scope)
    backend = making(Backend, AsyncWarden.backend)
    users = blocking(AsyncWarden.users)
    embed = blocking(AsyncWarden.embed)
    record_refusal = direct(AsyncWarden.record_refusal)
    back_up = blocking(AsyncWarden.back_up)
    erase = blocking(AsyncWarden.erase)
    export = blocking(AsyncWarden.export)
    import_ = blocking(AsyncWarden.import_)
    import_files = blocking(AsyncWarden.import_files)
    export_format = blocking(AsyncWarden.export_format)
    verify_erased = blocking(AsyncWarden.verify_erased)
    reload_categories = blocking(AsyncWarden.reload_categories)
    tiers = Handle(Tiers, "The stores of tasks, projects and what holds everywhere.")
    jobs = Handle(Jobs, "The jobs that keep memory clean: run, and when each is due.")
    state = Handle(State, "Saved values of the user ``default``; of somebody else: ``scope(user=...).state``.")
    sessions = Handle(Sessions, "Stored sessions of the user ``default``; else ``scope(user=...).sessions``.")
    tool_cache = Handle(ToolCache, "Results of tools of the user ``default``; else ``scope(user=...).tool_cache``.")
    checkpoints = Handle(
        ThreadCheckpoints, "Checkpoints of the user ``default``; else ``scope(user=...).checkpoints``."
    )
    settings = Attribute[Settings]("The settings in force.")
    store = Attribute[Store]("The store underneath, whose methods are async.")
    pending = Attribute[int]("Number of texts for which this process has yet to make vectors.")

    @classmethod
    def open(
        cls,
        url: str | None = None,
        config: Config = None,
        *,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
        follow_store: bool = False,
        prepare: bool = True,
        key: str | None = None,
    ) -> Self:
        """Open a store at once. See :meth:`memwarden.api.warden.AsyncWarden.open`. Raises StoreError as well."""
        inner = AsyncWarden.open(
            url,
            config,
            reranker=reranker,
            chat_model=chat_model,
            follow_store=follow_store,
            prepare=prepare,
            key=key,
        )
        return cls(inner, start_loop(inner.start))


def _async_tools(tools: BlockingTools) -> ChatTools:
    """Return the async tools behind blocking ones, or behind what a function returns."""
    if isinstance(tools, Tools):
        inner: AsyncTools = tools._inner
        return inner
    if tools is None or isinstance(tools, AsyncTools):
        return tools
    return lambda block: _made_async(tools(block))


def _made_async(tools: Tools | AsyncTools) -> AsyncTools:
    return tools._inner if isinstance(tools, Tools) else tools


async def _end_abandoned_turn(turn: AsyncTurn) -> None:
    try:
        await turn.end(look=False)
    except NotKept as lost:  # nobody is there to catch it
        log.error("%s", lost)


async def _next_piece(stream: AsyncReplyStream) -> str | None:
    return await anext(stream, None)
