"""The blocking twin: one facade over one event loop that runs in a thread of its own.

Every method is the async one, called on that loop (:mod:`memwarden.concurrency.loop`). Nothing is written twice: the
signatures and
docstrings are those of :mod:`memwarden.api.warden`, :mod:`memwarden.api.scope` and :mod:`memwarden.tiers`, as a test
checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memwarden.agent.overseer import OverseerSettings
from memwarden.agent.sessions.rules import DEFAULT_WINDOW_TOKENS
from memwarden.agent.tools import Permission
from memwarden.api.blocking_agent import Overseer, Sessions, State, Tools
from memwarden.api.blocking_conversation import BlockingTools, Chat, Turn, unwrapped
from memwarden.api.blocking_tiers import Tiers
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden, Config
from memwarden.concurrency.loop import Facade, Loop, blocking
from memwarden.conversation.chat import DEFAULT_SECONDS
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import StoreUnavailable
from memwarden.records import ContextBlock, Namespace, Scope
from memwarden.settings import Settings
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.manifest import Manifest
from memwarden.tiers.backend import AsyncBackend

if TYPE_CHECKING:
    from memwarden.models.protocols import ChatModel, Reranker


class BoundScope(Facade):
    """The verbs, bound to who asks. See :class:`memwarden.api.scope.AsyncScope`."""

    _inner: AsyncScope

    @property
    def who(self) -> Scope:
        """Who asks."""
        return self._inner.who

    observe = blocking(AsyncScope.observe)
    remember = blocking(AsyncScope.remember)
    extract = blocking(AsyncScope.extract)
    query = blocking(AsyncScope.query)
    context = blocking(AsyncScope.context)
    get = blocking(AsyncScope.get)
    find = blocking(AsyncScope.find)
    relations = blocking(AsyncScope.relations)
    delta = blocking(AsyncScope.delta)
    history = blocking(AsyncScope.history)
    audit = blocking(AsyncScope.audit)
    forget = blocking(AsyncScope.forget)
    look_through = blocking(AsyncScope.look_through)
    restore = blocking(AsyncScope.restore)
    update = blocking(AsyncScope.update)
    pin = blocking(AsyncScope.pin)
    undo = blocking(AsyncScope.undo)

    @property
    def state(self) -> State:
        """Values saved by key. See :attr:`memwarden.api.scope.AsyncScope.state`."""
        return State(self._inner.state, self._loop)

    @property
    def sessions(self) -> Sessions:
        """Stored sessions. See :attr:`memwarden.api.scope.AsyncScope.sessions`."""
        return Sessions(self._inner.sessions, self._loop)

    def overseer(self, settings: OverseerSettings | None = None) -> Overseer:
        """Return what decides which state a goal needs, and which results of tools are saved (A1 to A4).

        It asks the warden's chat model; without one search and rules decide.
        """
        return Overseer(self._inner.overseer(settings), self._loop)

    def tools(
        self,
        permission: Permission = "write",
        *,
        only: Sequence[str] | None = None,
        block: ContextBlock | None = None,
    ) -> Tools:
        """Return the tools that an agent's model may call on this scope: to search memories and to make one (C8, C10,
        C3), and the four of :attr:`state` (A5, A6).

        Args:
            permission: ``read`` leaves out what writes, and refuses it.
            only: the names of the tools that are wanted. None: all.
            block: what a turn has put into its prompt already (:meth:`context`). With it, ``searchMemories`` is there
                only when the block says too little and the store may know more (B11), and finds three bullets at most.

        Raises InvalidInput for a name that no tool has.
        """
        return Tools(self._inner.tools(permission, only=only, block=block), self._loop)

    def turn(
        self, request: Any, settings: ChatSettings | None = None, *, form: str | None = None, key: str | None = None
    ) -> Turn:
        """Return a turn: a context manager around your own call of a model, which weaves memory into it (design C).

        On entering it finds memories for the request and puts them in (``turn.request``, ``turn.messages``), and stores
        what the user said. Give it the answer with ``turn.record_response`` or ``turn.stream``; on leaving, however that
        happens, it stores what was delivered, word for word, and has the thread looked through as the settings say,
        whatever the warden's setting ``extraction`` is. When memory fails, the turn goes on without it.

        Args:
            request: a list of messages, or the arguments of the call as a mapping, so that
                ``client.messages.create(**turn.request)`` works. It is never changed. What the thread holds already is
                known; the rest of what was said in it is stored.
            settings: how memory takes part; None for ``ChatSettings(use_memory=True)``.
            form: ``openai_chat``, ``openai_responses``, ``anthropic`` or ``plain``, where the request does not show it.
            key: idempotency key of this turn. With it only what follows the last answer in the request is stored.

        Raises InvalidInput for a request that is none. Leaving the turn raises NotKept when something that was said
        could not be stored.
        """
        return Turn(self._inner.turn(request, settings, form=form, key=key), self._loop)

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
        """Return a chat with a model, with memory woven into it: design C's whole pipeline (C7).

        Its prompts are made of a stored session (the last 10 exchanges, a summary, results of tools): they stay small.

        Args:
            upstream: the model: ``openai_chat(client, model=...)``, ``openai_responses(...)`` or ``anthropic(...)`` of
                :mod:`memwarden.conversation.upstreams`, or any callable that takes messages and returns a text or
                its pieces.
            settings: how memory takes part; None for ``ChatSettings(use_memory=True)``. ``chat.settings`` changes them.
            check_action: called with each message first; returns an :class:`memwarden.conversation.chat.Action`, or
            None when
                the message is for the model.
            session: the id of the stored session; None for the scope's thread.
            system: the system prompt.
            tools: what the model may call (:meth:`tools`), or a function that returns it for the memories of a turn.
            tool_cache: for how many exchanges a tool's result is used again for the same parameters, by its name.
            defer_remote: when given, it answers every message, and nothing else happens with it.
            seconds: how long the model may take for an answer or its next piece, and each function, above 0, at most
                a day.
            window_tokens: the most that the messages of the session take.

        Functions that block are called in threads of their own. Raises InvalidInput, and CategoryDenied for an agent
        that may not read the category ``state``, in which the session is.
        """
        return Chat(
            self._inner.chat(
                upstream,
                settings,
                check_action=check_action,
                session=session,
                system=system,
                tools=unwrapped(tools),
                tool_cache=tool_cache,
                defer_remote=defer_remote,
                seconds=seconds,
                window_tokens=window_tokens,
            ),
            self._loop,
        )

    waiting = blocking(AsyncScope.waiting)
    release = blocking(AsyncScope.release)
    discard = blocking(AsyncScope.discard)

    user_context = blocking(AsyncScope.user_context)
    propose_context = blocking(AsyncScope.propose_context)
    consents = blocking(AsyncScope.consents)
    decide = blocking(AsyncScope.decide)
    acknowledge = blocking(AsyncScope.acknowledge)
    events = blocking(AsyncScope.events)
    event_counts = blocking(AsyncScope.event_counts)
    feedback = blocking(AsyncScope.feedback)
    uses = blocking(AsyncScope.uses)


class Backend(Facade):
    """Design E's storage contract on one namespace. See :class:`memwarden.tiers.backend.AsyncBackend`."""

    _inner: AsyncBackend

    @property
    def namespace(self) -> Namespace:
        """Where the items live."""
        return self._inner.namespace

    add = blocking(AsyncBackend.add)
    query = blocking(AsyncBackend.query)
    get = blocking(AsyncBackend.get)
    delete = blocking(AsyncBackend.delete)
    promote = blocking(AsyncBackend.promote)
    list_all = blocking(AsyncBackend.list_all)
    clear = blocking(AsyncBackend.clear)
    count = blocking(AsyncBackend.count)
    query_semantic = blocking(AsyncBackend.query_semantic)


class Warden(Facade):
    """The memory of agents on one store, for blocking code. See :class:`memwarden.api.warden.AsyncWarden`.

    >>> with Warden.open("sqlite:///notes.db") as warden:
    ...     me = warden.scope(user="ana", thread="t1")
    ...     me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
    ...     for item in me.query("What can't I eat?").items:
    ...         print(item.score, item.text)
    """

    _inner: AsyncWarden

    @classmethod
    def open(
        cls,
        url: str | None = None,
        config: Config = None,
        *,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
    ) -> Self:
        """Open a store at once. See :meth:`memwarden.api.warden.AsyncWarden.open`; raises StoreError as well."""
        inner = AsyncWarden.open(url, config, reranker=reranker, chat_model=chat_model)
        loop = Loop()
        try:
            loop.run(inner.start())
        except BaseException:
            loop.stop()
            raise
        return cls(inner, loop)

    def scope(
        self,
        *,
        user: str = "default",
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        tenant: str = "default",
    ) -> BoundScope:
        """Return the verbs bound to somebody. See :meth:`memwarden.api.warden.AsyncWarden.scope`."""
        scope = self._inner.scope(user=user, agent=agent, thread=thread, run=run, actor=actor, tenant=tenant)
        return BoundScope(scope, self._loop)

    def backend(self, namespace: str, *, tenant: str = "default") -> Backend:
        """Return design E's storage contract for one namespace. See
        :meth:`memwarden.api.warden.AsyncWarden.backend`."""
        return Backend(self._inner.backend(namespace, tenant=tenant), self._loop)

    @property
    def tiers(self) -> Tiers:
        """Design E's stores of tasks, projects and what holds everywhere."""
        return Tiers(self._inner.tiers, self._loop)

    @property
    def state(self) -> State:
        """Saved values of the user ``default``. See :attr:`memwarden.api.warden.AsyncWarden.state`."""
        return State(self._inner.state, self._loop)

    @property
    def sessions(self) -> Sessions:
        """Stored sessions of the user ``default``. See :attr:`memwarden.api.warden.AsyncWarden.sessions`."""
        return Sessions(self._inner.sessions, self._loop)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._inner.settings

    @property
    def store(self) -> Store:
        """The store underneath, whose methods are async. See :attr:`memwarden.api.warden.AsyncWarden.store`."""
        return self._inner.store

    def back_up(self, path: str | Path) -> Manifest:
        """Copy the whole store as it stands now into a new file. See
        :meth:`memwarden.api.warden.AsyncWarden.back_up`."""
        return self._loop.run(self._inner.back_up(path))

    def close(self) -> None:
        """Finish pending writes and let go of the store and the thread. May be called twice.

        A call that another thread is waiting for ends too: with its answer, or with StoreUnavailable.
        """
        try:
            self._loop.run(self._inner.close())
        except StoreUnavailable:
            if not self._loop.over:
                raise
            # closed before or at the same time, or a fork's copy, which owns nothing
        finally:
            self._loop.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
