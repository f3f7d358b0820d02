"""Sessions in the store: they survive a restart, and several processes may serve a session without losing an exchange.

A session is a memory of the channel ``state`` in the person's namespace, with the dict of
:class:`memwarden.agent.plain_sessions.SessionMemory` in its payload. Every change is read, decided and written
only if nobody wrote in between. Otherwise it is decided again on the new state.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from memwarden import clock, filters
from memwarden.agent import session_rules
from memwarden.agent.plain_sessions import ChannelLogger, ProactiveTools, SessionMemory, log_view
from memwarden.agent.session_rules import Message, agent_receives, cache_state, memory_state
from memwarden.agent.shorten import run_shortening
from memwarden.agent.state import CATEGORY
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, InvalidInput
from memwarden.lifecycle import EARLIER_STATES
from memwarden.models.protocols import ChatModel
from memwarden.records import Channel, Memory, Scope, Trust
from memwarden.remember.ingest.messages import checked_name
from memwarden.runtime.services import Runtime
from memwarden.text.tokenizer import estimate

T = TypeVar("T")
Session = dict[str, Any]

PREFIX: Final = "session:"
SOURCE: Final = "session"
_ALL: Final = 10**9
# Separates session and key in the namespace's idempotency keys. Names are printable and cannot hold it.
SEPARATOR: Final = "\x1f"
SESSIONS: Final = filters.parse({"channel": Channel.STATE, "source": SOURCE})


class AsyncSessions:
    """The stored sessions of a person, by their ids. Made by :attr:`memwarden.api.scope.AsyncScope.sessions`.

    The methods are those of :class:`memwarden.agent.plain_sessions.SessionMemory`, with the id of a session in
    place of its dict. An agent with an allowlist needs the category ``state`` in it. Secrets are removed before
    anything is stored. Each change is a version in the history of the memory ``session:<id>``. All raise InvalidInput,
    CategoryDenied and StoreError.
    """

    def __init__(
        self,
        runtime: Runtime,
        who: Scope,
        *,
        get_proactive_tool_messages: ProactiveTools | None = None,
        window_tokens: int = session_rules.DEFAULT_WINDOW_TOKENS,
    ) -> None:
        self._runtime = runtime
        self.who = who
        self._proactive = get_proactive_tool_messages
        self._window = session_rules.check_window(window_tokens)
        self._memory = self._plain(None)

    def with_options(
        self,
        *,
        get_proactive_tool_messages: ProactiveTools | None = None,
        window_tokens: int = session_rules.DEFAULT_WINDOW_TOKENS,
    ) -> AsyncSessions:
        """Return the same sessions with the tools of screens, and a window in tokens for prepared messages.

        The tools are called in a worker thread.
        """
        return AsyncSessions(
            self._runtime,
            self.who,
            get_proactive_tool_messages=get_proactive_tool_messages,
            window_tokens=window_tokens,
        )

    async def initialize_session_memory(self, session_id: str) -> None:
        """Make a session unless it exists."""
        await self._change(session_id, _as_async(lambda session: None))

    async def prepare_messages_for_agent(self, session_id: str, user_message: str) -> list[Message]:
        """Return the messages for an agent, the user's last, and begin the cycle of this message.

        See :meth:`memwarden.agent.plain_sessions.SessionMemory.prepare_messages_for_agent`.
        """

        def prepare(session: Session) -> list[Message]:
            session_rules.open_cycle(session, session_rules.check_text(user_message, "user_message"))
            external = self._runtime.settings.external == "quote"
            memory = session[session_rules.MEMORY]
            return session_rules.prepare_messages(memory, user_message, self._window, estimate, external=external)

        messages = await self._change(session_id, _as_async(prepare))
        self._log(None, lambda: agent_receives(messages))
        return messages

    async def finalize_current_cycle(
        self,
        session_id: str,
        user_question: str,
        final_answer: str,
        channel_logger: ChannelLogger | None = None,
        *,
        key: str | None = None,
    ) -> None:
        """Take an exchange in and end the cycle. It is durable on return.

        The warden's chat model shortens long texts. Without a model, or when it fails, rules do.

        Args:
            key: idempotency key of the exchange, for this session. The same key with the same question and answer takes
                nothing in again, however much later and in whichever process. With others it is a Conflict.

        See :meth:`memwarden.agent.plain_sessions.SessionMemory.finalize_current_cycle`.
        """
        model = _cached_model(self._runtime.chat)
        name, own = _check_id(session_id), checked_name(key, "key")
        once = (
            None if own is None else _IdempotentChange(f"{PREFIX}{name}{SEPARATOR}{own}", (user_question, final_answer))
        )

        async def close(session: Session) -> Session:
            await run_shortening(session_rules.close_cycle(session, user_question, final_answer), model)
            return session

        try:
            session = await self._change(session_id, close, once)
        except _AlreadyTakenIn:
            session = await self.load(session_id)
        self._log(channel_logger, lambda: f"{memory_state(session)}\n\n{cache_state(session)}")

    async def add_tool_to_cache(
        self,
        session_id: str,
        tool_name: str,
        parameters: Mapping[str, Any],
        result: str,
        llm_cache_duration: int,
        channel_logger: ChannelLogger | None = None,
    ) -> None:
        """Keep a tool's result for this many exchanges of this session; 0 or less keeps nothing."""

        def add(session: Session) -> Session:
            self._memory.add_tool_to_cache(session, tool_name, parameters, result, llm_cache_duration, _SilentLogger())
            return session

        session = await self._change(session_id, _as_async(add))
        self._log(channel_logger, lambda: cache_state(session))

    async def lookup_tool_in_cache(
        self, session_id: str, tool_name: str, parameters: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return the cached entry of a call, or None. A hit renews its whole duration. Nothing else is written."""

        def look_up(session: Session) -> dict[str, Any] | None:
            return self._memory.lookup_tool_in_cache(session, tool_name, parameters)

        entry = look_up(await self.load(session_id))
        return None if entry is None else await self._change(session_id, _as_async(look_up))

    async def inject_screen_context(
        self, session_id: str, json_data: dict[str, Any], channel_logger: ChannelLogger | None = None
    ) -> list[Message]:
        """Run the tools of a screen, once per session, and return their messages. Later calls return none.

        Of two simultaneous calls a single call returns messages, though both may run the tools. Raises InvalidInput
        without tools (:meth:`with_options`).
        """
        if (await self.load(session_id))[session_rules.MEMORY]["screen_injection_done"]:
            return []
        if self._proactive is None:
            raise InvalidInput("there are no tools for screens; give with_options get_proactive_tool_messages")
        ran = await asyncio.to_thread(self._proactive, json_data)
        memory = self._plain(lambda _: ran)

        def inject(session: Session) -> tuple[Session, list[Message]]:
            return session, memory.inject_screen_context(session, json_data, _SilentLogger())

        session, messages = await self._change(session_id, _as_async(inject))
        self._log(channel_logger, lambda: cache_state(session))
        return messages

    async def load(self, session_id: str) -> dict[str, Any]:
        """Return a session as a plain dict, a new session if there is none. Nothing is written."""
        self._check_allowed()
        name = _check_id(session_id)
        return _session_of(name, await self._read_stored(name))

    async def list_ids(self) -> list[str]:
        """Return the ids of all sessions, the last changed first."""
        self._check_allowed()
        memories = await self._runtime.store.find(self.who.namespace, SESSIONS, limit=_ALL, order_by="updated_at")
        return [item.id.removeprefix(PREFIX) for item in memories if item.id.startswith(PREFIX)]

    async def clear(self, session_id: str) -> bool:
        """Remove a session and return whether it existed. Later calls begin it anew."""
        self._check_allowed()
        actor = self.who.actor or self.who.agent
        ids = [PREFIX + _check_id(session_id)]
        return await self._runtime.services.items.remove(self.who.namespace, ids, actor=actor) > 0

    async def _change(
        self, session_id: str, change: Callable[[Session], Awaitable[T]], once: _IdempotentChange | None = None
    ) -> T:
        """Read a session, change it and write it, repeated until no other writer came in between.

        Raises _AlreadyTakenIn when it was changed ``once`` before.
        """
        self._check_allowed()
        name = _check_id(session_id)

        async def attempt() -> T:
            rev = (await self._runtime.store.head(self.who.namespace)).rev
            stored = await self._read_stored(name)
            session = _session_of(name, stored)
            before = json.dumps(session)
            result = await change(session)
            if once is None and stored is not None and json.dumps(session) == before:
                return result
            if await self._swap(self._memory_of(name, session, stored), rev, once):
                return result
            raise _AlreadyTakenIn

        return await change_atomically((self.who.namespace, PREFIX + name), attempt)

    async def _swap(self, memory: Memory, rev: int, once: _IdempotentChange | None) -> bool:
        key, arguments = (None, ()) if once is None else once
        return await self._runtime.services.items.swap(memory, rev, keep=EARLIER_STATES, key=key, asked=arguments)

    async def _read_stored(self, name: str) -> Memory | None:
        memories = await self._runtime.store.get(self.who.namespace, [PREFIX + name])
        if memories and (memories[0].channel != Channel.STATE or memories[0].source != SOURCE):
            raise Conflict(f"the id {memories[0].id!r} is in use in {self.who.namespace.path} by something else")
        return memories[0] if memories else None

    def _memory_of(self, name: str, session: Session, stored: Memory | None) -> Memory:
        now, most = clock.now(), self._runtime.settings.max_text_bytes
        if len(json.dumps(session, ensure_ascii=False).encode("utf-8", "surrogatepass")) > most:
            raise InvalidInput(
                f"the session {name!r} would be larger than {most:,} bytes as JSON (setting max_text_bytes); keep "
                "shorter results of tools, or shorten the question"
            )
        return Memory(
            id=PREFIX + name,
            namespace=self.who.namespace,
            text=f"Session {name}",
            created_at=now if stored is None else stored.created_at,
            updated_at=now,
            channel=Channel.STATE,
            category=CATEGORY,
            source=SOURCE,
            payload=session,
            user_id=self.who.user,
            agent_id=self.who.agent,
            thread_id=self.who.thread,
            trust=Trust.PERSON,
        )

    def _plain(self, tools: ProactiveTools | None) -> SessionMemory:
        external = self._runtime.settings.external
        return SessionMemory(None, tools, tenant=self.who.namespace.tenant, user=self.who.user, external=external)

    def _log(self, logger: ChannelLogger | None, view: Callable[[], str]) -> None:
        log_view(logger, view, strict=self._runtime.settings.strict_secrets)

    def _check_allowed(self) -> None:
        check_allowed(self._runtime, self.who)


class AsyncToolCache:
    """The cached results of tools in stored sessions. Made by :attr:`memwarden.api.scope.AsyncScope.tool_cache`."""

    def __init__(self, sessions: AsyncSessions) -> None:
        self._sessions = sessions

    async def store(
        self, session_id: str, tool_name: str, parameters: Mapping[str, Any], result: str, llm_cache_duration: int
    ) -> None:
        """Keep a tool's result for so many exchanges. See :meth:`AsyncSessions.add_tool_to_cache`."""
        await self._sessions.add_tool_to_cache(session_id, tool_name, parameters, result, llm_cache_duration)

    async def lookup(self, session_id: str, tool_name: str, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the cached entry of a call, or None. See :meth:`AsyncSessions.lookup_tool_in_cache`."""
        return await self._sessions.lookup_tool_in_cache(session_id, tool_name, parameters)


def check_allowed(runtime: Runtime, who: Scope) -> None:
    """Raise CategoryDenied for an agent that may not read sessions, UnknownAgent for an agent without an allowlist."""
    runtime.settings.categories.readable(who.agent, (CATEGORY,) if who.agent else None)


def _session_of(name: str, stored: Memory | None) -> Session:
    """Return a copy of a stored session. A new session if there is none."""
    payload = {} if stored is None else json.loads(json.dumps(dict(stored.payload or {})))
    session: Session = payload | {session_rules.SESSION_ID: name}
    session_rules.memory_of(session)
    return session


def _check_id(session_id: Any) -> str:
    name = checked_name(session_id, "session_id")
    if name is None:
        raise InvalidInput("session_id is a text, not None")
    return name


def _as_async(change: Callable[[Session], T]) -> Callable[[Session], Awaitable[T]]:
    async def run(session: Session) -> T:
        return change(session)

    return run


class _IdempotentChange(NamedTuple):
    """A change that is made once. key: of the namespace. asked: the caller's arguments. JSON."""

    key: str
    asked: tuple[str, ...]


class _AlreadyTakenIn(Exception):
    """The change was made before, and changes nothing now."""


class _SilentLogger:
    """A logger that drops views: a decision may be repeated, and is logged after it is written."""

    def info(self, msg: str, /) -> None:
        pass


class _CachedChatModel:
    """A chat model that answers a repeated prompt once, however often a change is decided again."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self._model = model
        self._said: dict[str, str] = {}

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        if prompt not in self._said:
            self._said[prompt] = self._model.complete(system, prompt, schema=schema, max_tokens=max_tokens)
        return self._said[prompt]


def _cached_model(model: ChatModel | None) -> ChatModel | None:
    return None if model is None else _CachedChatModel(model)
