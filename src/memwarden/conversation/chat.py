"""Runs a chat: finds memories, asks the model, calls its tools and stores what was said."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Protocol, Self

from memwarden.agent.session_rules import DEFAULT_WINDOW_TOKENS, Message
from memwarden.agent.stored_sessions import AsyncSessions
from memwarden.agent.tools import CREATE_TOOL, AsyncTools, Tool
from memwarden.clock import DEFAULT_THREAD, new_id
from memwarden.concurrency.isolation import call_user_code, is_stream, iterate_user_stream
from memwarden.concurrency.tasks import shielded
from memwarden.conversation.formats import FORMATS
from memwarden.conversation.formats.message_format import ToolCall
from memwarden.conversation.recording import TurnLog, assemble_response, ensure_call_ids
from memwarden.conversation.settings import DEFAULT_SECONDS, ChatSettings
from memwarden.conversation.turn import MAX_SECONDS_BEFORE, NO_BLOCK, AsyncTurn, ContextScope, check_chat_settings
from memwarden.conversation.upstreams import Upstream, as_upstream
from memwarden.errors import Denied, InvalidInput, MemwardenError, ModelUnavailable, NotKept
from memwarden.observability.records import EventDraft, Node, Op, Status
from memwarden.records import ContextBlock, MessageResult, WriteResult
from memwarden.remember.ingest.messages import checked_name
from memwarden.text.language import checked_text

DIGEST_BYTES: Final = 16
# Time limit for taking an exchange into the session: writers of a session wait for each other for up to 30 seconds, and
# a model that shortens a text may take 120.
MAX_TAKE_IN_SECONDS: Final = 150.0

log = logging.getLogger(__name__)


class ChatExchange:
    """A context manager around a turn and its session.

    However it is left: the turn's words are stored, memories are extracted as the settings say, and the exchange is in
    the session with the delivered part of the answer. A message without an answer stays the session's open cycle.
    """

    def __init__(
        self, turns: TurnLog, turn: AsyncTurn, sessions: AsyncSessions, session: str, message: str, key: str | None
    ) -> None:
        self._open_turns = turns.open_turns
        self._turn = turn
        self._sessions = sessions
        self._session = session
        self._message = message
        self._key = key or new_id()
        self._over = False

    async def __aenter__(self) -> Self:
        await self._turn.__aenter__()
        self._open_turns.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.end(look=error is None)
        except NotKept as lost:
            if error is None:
                raise
            error.add_note(str(lost))
            log.error("%s", lost)

    async def end(self, *, look: bool = True) -> None:
        """Store everything. Repeatable: later calls do nothing. Raises NotKept."""
        if self._over:
            return
        self._over = True
        try:
            await shielded(lambda: self._store(look))  # whole: a turn that is stored belongs in the session
        finally:
            self._open_turns.discard(self)

    async def _store(self, look: bool) -> None:
        """Store the turn, then the exchange. Repeatable."""
        answer = self._turn.own_answer
        lost: NotKept | None = None
        try:
            await self._turn.end(look=look)
        except NotKept as error:
            lost = error
        try:
            if answer is not None:
                await self._take_in(answer)
        except Exception as error:
            if lost is None:
                lost = NotKept(
                    f"the exchange could not be taken into the session {self._session!r}, its turns are stored "
                    f"({type(error).__name__}: {error})",
                    (),
                )
                lost.__cause__ = error
        if lost is not None:
            lost.answer = answer
            raise lost

    async def _take_in(self, answer: str) -> None:
        """Take the exchange into the session, once for each answer to a message with this key."""
        digest = hashlib.blake2b(f"{self._key}\n{answer}".encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
        async with asyncio.timeout(MAX_TAKE_IN_SECONDS):
            await self._sessions.finalize_current_cycle(
                self._session, self._message, answer, key=f"chat:{digest.hexdigest()}"
            )


# Maximum model calls for a message: each may call tools, read their results and call others.
MAX_ROUNDS: Final = 8


class ModelLoop:
    """The loop that answers a message.

    Args:
        tools: what the model may call. cached: for how many exchanges a tool's result is used again, by its name.
        seconds: time limit of an answer, of each piece of a stream, and of a tool.
    """

    def __init__(
        self,
        upstream: Upstream,
        tools: AsyncTools,
        sessions: AsyncSessions,
        session: str,
        cached: Mapping[str, int],
        seconds: float,
    ) -> None:
        self._upstream = upstream
        self._form = FORMATS[upstream.form]
        self._tools = tools
        self._sessions = sessions
        self._session = session
        self._cached = cached
        self._seconds = seconds

    async def words(self, turn: AsyncTurn, *, stream: bool) -> AsyncGenerator[str]:
        """Yield the words of the answer and record them in the turn. Raises ModelUnavailable when it takes too long."""
        offered = self._tools.tools
        request = self._upstream.with_tools(turn.request, offered) if offered else turn.request
        for _ in range(MAX_ROUNDS):
            events: list[Any] = []
            try:
                async with asyncio.timeout(self._seconds):
                    response = await self._upstream.ask(request, stream=stream)
                if is_stream(response):
                    async with aclosing(iterate_user_stream(response, self._seconds)) as passing:
                        async for words in turn.words(_collect(passing, events) if offered else passing):
                            yield words
                    response = assemble_response(self._upstream.form, events)
                elif response is not None and (words := turn.record_response(response)):
                    yield words
            except TimeoutError:
                raise ModelUnavailable(f"the model took longer than {self._seconds:g} seconds") from None
            response = ensure_call_ids(response) if offered and self._form.name == "openai_chat" else response
            calls = self._calls(response) if offered else ()
            if not calls:
                return
            request = self._form.with_results(request, response, await self._call_tools(calls))
        log.warning("the model called tools %d times for a message, and is not asked again", MAX_ROUNDS)

    def _calls(self, response: Any) -> Sequence[ToolCall]:
        try:
            return () if response is None or isinstance(response, str) else self._form.calls(response)
        except MemwardenError:  # no response of the form, which the turn noted
            return ()

    async def _call_tools(self, calls: Sequence[ToolCall]) -> dict[str, str]:
        """Call the tools in order, since a call may need an earlier result; return JSON by call id."""
        return {call.id: await self._result(call) for call in calls}

    async def _result(self, call: ToolCall) -> str:
        duration = self._cached.get(call.name, 0)
        usable = duration > 0 and isinstance(call.arguments, Mapping)
        if usable and (entry := await self._look_up(call)) is not None:
            return entry
        succeeded, result = await self._call(call)
        # A failure is not cached: the next call may succeed.
        if usable and succeeded:
            try:
                await self._sessions.add_tool_to_cache(self._session, call.name, call.arguments, result, duration)
            except MemwardenError as error:
                log.warning("a result of the tool %s is not used again: %s", call.name, type(error).__name__)
        return result

    async def _look_up(self, call: ToolCall) -> str | None:
        try:
            entry = await self._sessions.lookup_tool_in_cache(self._session, call.name, call.arguments)
        except MemwardenError as error:
            log.warning("results of the tool %s are not looked up: %s", call.name, type(error).__name__)
            return None
        return None if entry is None else str(entry["result"])

    async def _call(self, call: ToolCall) -> tuple[bool, str]:
        """Call a tool and return its success and result. An error goes to the model as text."""
        try:
            async with asyncio.timeout(self._seconds):
                answer: Any = await self._tools.call_tool(call.name, call.arguments)
            if not isinstance(answer, Mapping):
                return _failure(f"it returned no JSON object but {type(answer).__name__}")
            return bool(answer.get("success", True)), _as_json(answer)
        except TimeoutError:
            return _failure(f"it took longer than {self._seconds:g} seconds")
        except MemwardenError as error:
            return _failure(str(error))
        except Exception as error:  # a tool of somebody else's, or what it returned
            log.warning("the tool %s failed: %s", call.name, type(error).__name__)
            return _failure(f"it failed ({type(error).__name__})")


def _as_json(answer: Mapping[str, Any]) -> str:
    """Return a tool's result as JSON. Raises TypeError and ValueError for values that cannot be sent."""
    result = json.dumps(answer, ensure_ascii=False, default=str)
    result.encode()  # half a character
    return result


def _failure(why: str) -> tuple[bool, str]:
    return False, json.dumps({"success": False, "error": why.encode(errors="replace").decode()}, ensure_ascii=False)


def add_missing_tools(tools: AsyncTools | None, more: Sequence[Tool]) -> AsyncTools:
    """Return the tools, and those of ``more`` whose names are free."""
    own = () if tools is None else tools.tools
    names = {item.name for item in own}
    return AsyncTools((*own, *(item for item in more if item.name not in names)))


async def _collect(events: AsyncIterator[Any], into: list[Any]) -> AsyncIterator[Any]:
    async for event in events:
        into.append(event)
        yield event


MAX_SECONDS: Final = 86_400.0


class Action(StrEnum):
    """The verdict of the action check on a message that is not meant for the model.

    ``break``: the conversation ends. ``continue``: it goes on with the next message. ``save_and_continue``: it is saved
    first (:meth:`AsyncChat.save`). In each case the model is not asked, and nothing is stored.
    """

    BREAK = "break"
    CONTINUE = "continue"
    SAVE_AND_CONTINUE = "save_and_continue"


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a message.

    Attributes:
        text: the model's answer, the last if it called tools in between; None without an answer.
        action: what the action check said; then no model was asked.
        block: the memories that were in the prompt. stored: what became of each message that was stored.
        kept: what was decided when the thread was looked through, if it was; None also when a model does it beside.
        failures: the errors of memory that the chat went on without.
    """

    text: str | None
    action: Action | None = None
    block: ContextBlock = NO_BLOCK
    stored: tuple[MessageResult, ...] = ()
    kept: WriteResult | None = None
    failures: tuple[Exception, ...] = ()


class ChatScope(ContextScope, Protocol):
    """The part of a scope that a chat needs."""

    @property
    def sessions(self) -> AsyncSessions: ...

    def tools(self, *, only: Sequence[str] | None = ...) -> AsyncTools: ...


ChatTools = AsyncTools | Callable[[ContextBlock], AsyncTools] | None


@dataclass(slots=True)
class _AnswerProgress:
    """The state of an answer under way."""

    reply: Reply | None = None
    block: ContextBlock = NO_BLOCK
    failures: list[Exception] = field(default_factory=list)


class AsyncChat:
    """A conversation with a model and with memory. Made by ``scope.chat``; cheap, holds nothing open.

    >>> chat = me.chat(openai_chat(AsyncOpenAI(), model="gpt-4o-mini"))
    >>> reply = await chat.continue_chat("What can I bring to the picnic?")
    """

    def __init__(
        self,
        turns: TurnLog,
        scope: ChatScope,
        upstream: Any,
        settings: ChatSettings | None = None,
        *,
        check_action: Callable[[str], Any] | None = None,
        session: str | None = None,
        system: str | None = None,
        tools: ChatTools = None,
        tool_cache: Mapping[str, int] | None = None,
        defer_remote: Callable[[str], Any] | None = None,
        seconds: float = DEFAULT_SECONDS,
        window_tokens: int = DEFAULT_WINDOW_TOKENS,
    ) -> None:
        self._log = turns
        self._scope = scope
        self._upstream = as_upstream(upstream)
        self._settings = check_chat_settings(settings)
        self._check_action = check_action
        self.session = checked_name(session, "session") or scope.who.thread or DEFAULT_THREAD
        self._sessions = scope.sessions.with_options(window_tokens=window_tokens)
        self._system = [] if system is None else [_system_message(checked_text(system, "system", turns.max_text_bytes))]
        self._tools = tools
        self._tool_cache = dict(tool_cache or {})
        self._defer_remote = defer_remote
        self._seconds = _check_seconds(seconds)

    @property
    def settings(self) -> ChatSettings:
        """The settings. New settings apply from the next message on."""
        return self._settings

    @settings.setter
    def settings(self, settings: ChatSettings) -> None:
        self._settings = check_chat_settings(settings)

    async def continue_chat(self, message: str, *, key: str | None = None) -> Reply:
        """Send a message and return the outcome.

        In order: the action check; memories are found and put in; the message is stored; the model is asked, and its
        tools are called; its answer is stored; the thread is looked through as the settings say; the exchange goes into
        the session.

        Args:
            key: idempotency key of the message: what is stored of it is stored once, also after a crash. A repeat asks
                the model again, and another answer is kept beside the first. With another message it is a Conflict,
                before the model is asked.

        Raises InvalidInput; what the model's client raises, and ModelUnavailable when it takes too long: then the
        message is stored and unanswered. NotKept when something could not be stored: its ``answer`` is the answer.
        """
        progress = _AnswerProgress()
        async with aclosing(self._answer(message, key, progress, stream=False)) as pieces:
            async for _ in pieces:
                pass
        return _finished_reply(progress)

    def stream(self, message: str, *, key: str | None = None) -> AsyncReplyStream:
        """Send a message and return the answer piece by piece. See :meth:`continue_chat`.

        What was passed on when the stream ends, however it does, is what is stored and goes into the session. Close it
        (``async with``, or ``aclose``) when you leave it early; else that happens when it is thrown away.
        """
        progress = _AnswerProgress()
        return AsyncReplyStream(self._answer(message, key, progress, stream=True), progress)

    async def save(self) -> WriteResult | None:
        """Extract memories from the thread if the settings say ``on_save``; the messages are stored already.

        Returns what was decided; None when nothing was looked through, and when a model does it beside the call. Raises
        StoreError.
        """
        settings = self._settings
        if settings.use_memory and settings.memory_extraction_mode == "on_save":
            return await self._log.look()
        return None

    async def _answer(
        self, message: str, key: str | None, progress: _AnswerProgress, *, stream: bool
    ) -> AsyncGenerator[str]:
        text = checked_text(message, "message", self._log.max_text_bytes)
        name = checked_name(key, "key")
        if self._defer_remote is not None:
            async for words in self._remote(text, progress):
                yield words
            return
        if (action := await self._action(text)) is not None:
            kept = await self.save() if action == Action.SAVE_AND_CONTINUE else None
            progress.reply = Reply(None, action, kept=kept)
            return
        turn = await self._turn(text, name, progress)
        running = ChatExchange(self._log, turn, self._sessions, self.session, text, name)
        try:
            async with running:
                progress.block = turn.block
                tools = await self._turn_tools(turn)
                asking = ModelLoop(self._upstream, tools, self._sessions, self.session, self._tool_cache, self._seconds)
                async with aclosing(asking.words(turn, stream=stream)) as pieces:
                    async for words in pieces:
                        yield words
                if turn.answer is None:
                    log.warning("the model gave no answer in thread %r", self._scope.who.thread)
                    self._tell("no_answer")
        except ModelUnavailable:
            self._tell("chat_model_late")
            raise
        finally:
            failures = (*progress.failures, *turn.failures)
            progress.reply = Reply(turn.answer, None, turn.block, turn.stored, turn.kept, failures)

    async def _turn(self, text: str, key: str | None, progress: _AnswerProgress) -> AsyncTurn:
        messages = [*map(dict, self._system), *await self._prepare_messages(text, progress)]
        said = [{"role": "user", "content": text}]
        request, form = self._upstream.request(messages), self._upstream.form
        return AsyncTurn(self._log, self._scope, request, self._settings, form=form, key=key, new=said)

    async def _prepare_messages(self, text: str, progress: _AnswerProgress) -> list[Message]:
        """Return the session's messages and the new message; only the new message when the store fails."""
        try:
            async with asyncio.timeout(MAX_SECONDS_BEFORE):
                return await self._sessions.prepare_messages_for_agent(self.session, text)
        except Denied:  # an agent that may not read sessions: nothing is asked of a model
            raise
        except Exception as error:
            progress.failures.append(error)
            log.warning("the chat goes on without its session %r: %s", self.session, type(error).__name__)
            return [{"role": "user", "content": text}]

    async def _action(self, text: str) -> Action | None:
        if self._check_action is None:
            return None
        said = await self._of_caller("check_action", self._check_action, text)
        try:
            return None if said is None else Action(said)
        except ValueError:
            raise InvalidInput(f"check_action returns None, or one of {', '.join(Action)}, not {said!r:.80}") from None

    async def _of_caller(self, what: str, function: Callable[[Any], Any], given: Any) -> Any:
        """Call a function of the caller. Raises ModelUnavailable when it takes longer than a model may."""
        waits = asyncio.timeout(self._seconds)
        try:
            async with waits:
                return await call_user_code(function, given)
        except TimeoutError:
            if not waits.expired():
                raise
            raise ModelUnavailable(f"{what} took longer than {self._seconds:g} seconds") from None

    async def _remote(self, text: str, progress: _AnswerProgress) -> AsyncGenerator[str]:
        """Pass the message to the remote chat of ``defer_remote``, without memory."""
        assert self._defer_remote is not None
        answer = await self._of_caller("the remote chat", self._defer_remote, text)
        if answer is not None and not isinstance(answer, str):
            raise InvalidInput(f"defer_remote returns a text or None, not {answer!r:.80}")
        progress.reply = Reply(answer)
        if answer:
            yield answer

    async def _turn_tools(self, turn: AsyncTurn) -> AsyncTools:
        """Return the tools of this turn, with createMemory where the settings leave keeping to the model."""
        tools = self._tools
        if callable(tools):
            tools = await self._of_caller("the function of tools=", tools, turn.block)
        if not isinstance(tools, AsyncTools | None):
            raise InvalidInput(
                f"tools are those of scope.tools(...), or a function that returns them, not {tools!r:.80}"
            )
        settings = turn.settings
        triggered = settings.use_memory and settings.memory_extraction_mode == "llm_triggered"
        return add_missing_tools(tools, self._scope.tools(only=[CREATE_TOOL]).tools if triggered else ())

    def _tell(self, reason: str) -> None:
        self._log.record(Node.SESSION, EventDraft(Op.MODEL, Status.ERROR, reason))


class AsyncReplyStream:
    """The answer to a message, piece by piece. Made by :meth:`AsyncChat.stream`."""

    def __init__(self, pieces: AsyncGenerator[str], progress: _AnswerProgress) -> None:
        self._pieces = pieces
        self._progress = progress

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        """Leave the stream; the words passed on are stored."""
        await self._pieces.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def block(self) -> ContextBlock:
        """The memories in the prompt, from the first piece on."""
        return self._progress.block

    @property
    def reply(self) -> Reply:
        """The outcome of the message, once the stream is over. Raises InvalidInput before."""
        return _finished_reply(self._progress)


def _finished_reply(progress: _AnswerProgress) -> Reply:
    if progress.reply is None:
        raise InvalidInput("the stream is not over; read it to its end, or close it")
    return progress.reply


def _system_message(text: str) -> Message:
    return {"role": "system", "content": text}


def _check_seconds(seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MAX_SECONDS:
        raise InvalidInput(f"seconds is a number above 0, at most {MAX_SECONDS:g}, not {seconds!r:.80}")
    return float(seconds)
