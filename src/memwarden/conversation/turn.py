"""Runs a turn of a conversation: memories into the prompt before the model call, the words said into the store after.

Memory never blocks the turn: when it fails, the prompt goes out without memories. Delivered words are stored however
the turn ends, and the caller learns of any that could not be stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from math import inf
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar, overload

from memwarden.checks import SECONDS, word
from memwarden.clock import new_id
from memwarden.concurrency.tasks import shielded, with_deadline
from memwarden.conversation.formats import MessageFormat, Request, detect_format
from memwarden.conversation.formats.reading import hold_messages, messages_since_answer, read_prefill
from memwarden.conversation.prompt_cache import delta_places
from memwarden.conversation.recording import (
    MemoryVerdict,
    ResponseRecorder,
    SpokenAnswer,
    TurnLog,
    tee_async_stream,
    tee_stream,
)
from memwarden.conversation.settings import ChatSettings
from memwarden.errors import Conflict, InvalidInput, NotKept, Stale
from memwarden.observability.records import EventDraft, Node, Op, Status, UseVerdict
from memwarden.recall.answer.template import Template
from memwarden.recall.answer.used import judge_texts
from memwarden.records import OVERVIEW_ID, ContextBlock, MessageResult, RecallItem, Scope, WriteResult
from memwarden.remember.ingest.messages import checked_name
from memwarden.remember.ingest.own_context import strip_messages, strip_template_context, strip_whole_blocks


async def inject_memories(
    turns: TurnLog,
    form: MessageFormat,
    request: Request,
    block: ContextBlock,
    settings: ChatSettings,
    *,
    renew: bool = False,
) -> Any:
    """Return a new request with memories inserted.

    Blocks of memories that earlier turns inserted, and that the application kept, are removed first; the application's
    own blocks, such as a task's context, stay. Raises InvalidInput for a request of another form, StoreError.

    renew: with ``cache_stable``, make all blocks anew.
    """
    bare = form.clean_texts(request, partial(strip_whole_blocks, template=settings.template))
    if settings.memory_injection_mode != "cache_stable":
        return form.with_block(bare, block.text, settings.memory_injection_mode)
    said = form.read_turns(bare)
    stable = await turns.lay_out(said, block, settings, renew=renew)
    return bare if stable is None else form.with_placed(bare, stable.snapshot.text, delta_places(stable, said))


E = TypeVar("E")
Message = dict[str, Any]
# Time limit of each step before the model call. A cold start of a large store takes seconds, and a hanging store must
# not hold up the conversation.
MAX_SECONDS_BEFORE: Final = 10.0
# Time limit for storing what was said: as long as writers of the same store wait for each other.
MAX_SECONDS_AFTER: Final = 30.0
# The halves of memory that a turn can be limited to.
ACCESS: Final = ("read", "write")
NO_BLOCK: Final = ContextBlock("", (), 0, 0, 0)
WITH_MEMORY: Final = ChatSettings(use_memory=True)

log = logging.getLogger(__name__)


class ContextScope(Protocol):
    """The part of a scope that a turn needs."""

    @property
    def who(self) -> Scope: ...

    async def context(
        self,
        messages: Sequence[Mapping[str, Any]],
        budget_tokens: int = ...,
        *,
        threshold: float | None = ...,
        max_memories: int = ...,
        template: Template = ...,
        overview_tokens: int = ...,
    ) -> ContextBlock: ...


class AsyncTurn:
    """A turn, used once, as a context manager around a model call. Made by ``scope.turn``.

    >>> async with me.turn(messages) as turn:
    ...     response = await client.chat.completions.create(model=..., messages=turn.messages)
    ...     turn.record_response(response)

    Attributes:
        request: the request for the model, with memories inserted; equal to the given request without any.
        block: the memories that were found. It is false when nothing was relevant.
        stored: what became of each message that was handed to the store, as ``observe`` tells it.
        kept: what was decided when the thread was looked through at the end of the turn; None when it was not, or when
            a model does that beside the call.
        failures: the errors of memory that the turn went on without, in order.
        stores_beside: whether what the user said is stored while the model is called, and not before: then the caller
            says when (:meth:`begin_storing`). To be set before the turn begins.
    """

    def __init__(
        self,
        turns: TurnLog,
        scope: ContextScope,
        request: Request,
        settings: ChatSettings | None = None,
        *,
        form: str | None = None,
        key: str | None = None,
        new: Sequence[Mapping[str, Any]] | None = None,
        only: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """new: what of the request is to be stored, where the caller knows. Raises InvalidInput."""
        self._scope = scope
        self._log = turns
        request = hold_messages(request)
        self._form = detect_format(request, form)
        self._given = request
        self._settings = check_chat_settings(settings)
        self._key = checked_name(key, "key")
        self._own_key = self._key or new_id()
        self._only = None if only is None else word(ACCESS).check(only, "only")
        self._new = () if only == "read" else new
        self._seconds = inf if seconds is None else SECONDS.check(seconds, "seconds")
        self._ends_at = inf
        self._heard = ResponseRecorder()
        self._asked: list[Message] = []
        self._asked_stored = False
        self._storing: asyncio.Task[None] | None = None
        self._begun = ""
        self._ended_at = 0
        self._noted: set[tuple[str, type]] = set()
        self._state = "new"
        self.request: Any = request
        self.block = NO_BLOCK
        self.stored: tuple[MessageResult, ...] = ()
        self.kept: WriteResult | None = None
        self.failures: tuple[Exception, ...] = ()
        self.stores_beside = False
        self._said = self._form.read_turns(request) if self._settings.use_memory else []

    @property
    def messages(self) -> Any:
        """The messages to give the model: the list itself, or the ``messages`` or ``input`` of a mapping."""
        request = self.request
        if isinstance(request, Mapping):
            return request["messages"] if "messages" in request else request.get("input")
        return request

    @property
    def answer(self) -> str | None:
        """The last answer of the model as far as it was recorded; None without words."""
        answers = self._heard.answers
        return answers[-1].text if answers else None

    @property
    def own_answer(self) -> str | None:
        """The last answer without what was put into the prompt; None when nothing is left."""
        answers = self._answers()
        return answers[-1]["content"] if answers else None

    @property
    def settings(self) -> ChatSettings:
        """The settings. Settings assigned during the turn take effect at its end."""
        return self._settings

    @settings.setter
    def settings(self, settings: ChatSettings) -> None:
        self._settings = check_chat_settings(settings)

    @property
    def has_more(self) -> bool:
        """Whether words were recorded after the end."""
        return self._state == "over" and self._heard.size > self._ended_at

    async def __aenter__(self) -> Self:
        """Find memories, put them in, and store what the user said.

        Raises Conflict for a key that another message had.
        """
        if self._state != "new":
            raise InvalidInput("a turn is used once; make another with scope.turn(...)")
        self._state = "over"  # until all is in place: a failure on the way leaves no open turn
        self._ends_at = asyncio.get_running_loop().time() + self._seconds
        if self._settings.use_memory:
            said = strip_messages(self._said, self._settings.template)
            self._asked = self._to_store(said)
            if unread := self._form.unread(self._given):
                self._note("without messages that cannot be read", InvalidInput("; ".join(unread)), tell=True)
            await self._put_in()
            if not self.stores_beside:
                await self._store_asked_early()
        self._state, self._ends_at = "open", inf
        self._log.open_turns.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Store what was said, then extract memories from the thread if that is due and the turn did not fail.

        Raises NotKept, unless the turn failed itself: then that error goes on, with a note.
        """
        try:
            await self.end(look=error is None)
        except NotKept as lost:
            if error is None:
                raise
            # The turn's own error goes on, and its note is easily missed.
            error.add_note(str(lost))
            log.error("%s", lost)

    def record_response(self, response: Any, *, id: str | None = None) -> str:
        """Record an answer of the model: a whole response of the form, or its words. Returns the words.

        Call it once for each answer, in order, when the model is called more than once in a turn.

        Args:
            id: the id that the answer has in the application's messages, if they have ids.

        A response of ``with_raw_response`` counts as what it holds. A response that cannot be read has no words;
        ``failures`` says so, and of an answer with neither words nor calls of tools. Raises InvalidInput when the turn
        is not open.
        """
        self._check_open()
        answer = self._heard.begin(checked_name(id, "id"))
        try:
            response = _parse_raw(response)
            words = response if isinstance(response, str) else self._form.answer(response)
            if not words.strip() and not (isinstance(response, str) or self._form.calls(response)):
                raise InvalidInput(f"this {type(response).__name__} has neither words nor calls of tools")
        except Exception as error:  # what the model said otherwise must not end the turn
            self._note("without an answer that cannot be read", error, tell=True)
            return ""
        answer.pieces.append(words)
        return words

    @overload
    def stream(self, events: AsyncIterable[E], *, id: str | None = None) -> AsyncIterator[E]: ...

    @overload
    def stream(self, events: Iterable[E], *, id: str | None = None) -> Iterator[E]: ...

    def stream(self, events: Any, *, id: str | None = None) -> Any:
        """Pass on the events of a stream unchanged and record their words as a single answer.

        What was passed on counts as delivered, however the stream ends. Events may be texts. Raises InvalidInput for
        what comes once the turn, or the warden, is over.
        """
        return self._passing(events, id, words=False)

    def record_events(self, *, id: str | None = None) -> Callable[[Any], str]:
        """Return what records an answer by the events of a stream that the caller passes on. It returns their words.

        Raises InvalidInput when the turn is not open, and so does what it returns once the turn is over.
        """
        self._check_open()
        return partial(self._take, self._heard.begin(checked_name(id, "id")))

    @overload
    def words(self, events: AsyncIterable[Any], *, id: str | None = None) -> AsyncIterator[str]: ...

    @overload
    def words(self, events: Iterable[Any], *, id: str | None = None) -> Iterator[str]: ...

    def words(self, events: Any, *, id: str | None = None) -> Any:
        """Pass on the words of a stream's events, as :meth:`stream` passes on the events."""
        return self._passing(events, id, words=True)

    async def refresh(self) -> None:
        """Search again and insert the memories anew, so that ``request`` holds what was learned since the turn began.

        With ``cache_stable`` the snapshot is made anew, and what stood before earlier messages is gone. Without memory
        nothing changes. Raises InvalidInput when the turn is not open.
        """
        self._check_open()
        if self._settings.use_memory:
            await self._put_in(renew=True)

    async def end(self, *, look: bool = True) -> None:
        """End the turn as leaving it does. May be called again, and then does nothing.

        look: whether the thread may be looked through. Raises NotKept.
        """
        if self.has_more:
            self._ended_at = self._heard.size
            raise NotKept("the warden was closed before the end of a stream; what came later is not stored", ())
        if self._state != "open":
            return
        self._state = "over"
        self._ended_at = self._heard.size
        try:
            if self._settings.use_memory:
                await shielded(self._store)
                if look:
                    await self._judge_uses()
                if look and self._only != "read":
                    await self._look()
        finally:
            self._log.open_turns.discard(self)

    def begin_storing(self) -> None:
        """Begin to store what the user said; without it the end of the turn does. Raises InvalidInput."""
        self._check_open()
        if self._settings.use_memory and self._storing is None:
            self._storing = asyncio.create_task(self._store_asked_early())

    def _check_open(self) -> None:
        if self._state != "open":
            raise InvalidInput("the turn is not open; use it inside of: with scope.turn(...) as turn")

    def _passing(self, events: Any, id: str | None, *, words: bool) -> Any:
        take = self.record_events(id=id)
        if not hasattr(events, "__iter__") and not hasattr(events, "__aiter__"):
            raise InvalidInput(
                f"a stream is iterated, and this {type(events).__name__} is not: give a whole response to "
                "record_response, and await what a client returns"
            )
        if hasattr(events, "__aiter__"):
            return tee_async_stream(events, take, words=words)
        return tee_stream(events, take, words=words)

    def _take(self, answer: SpokenAnswer, event: object) -> str:
        if self._state == "over":  # to hand it on would lose it in silence
            raise InvalidInput(
                "the turn is over, and this stream is not: what comes now would not be stored; read the stream inside "
                "of: with scope.turn(...) as turn, before the warden is closed"
            )
        try:
            words = event if isinstance(event, str) else self._form.delta(event)
        except Exception as error:  # somebody else's event, which the application gets as it is
            self._note("without an event that cannot be read", error, tell=True)
            return ""
        if words:
            answer.pieces.append(words)
        return words

    def _to_store(self, said: list[Message]) -> list[Message]:
        """Return the messages of this turn; without a key all of them, since the thread knows what it has."""
        if self._new is not None:
            return strip_messages(self._new, self._settings.template)
        if self._key is None:
            return said
        self._begun = read_prefill(self._given)
        return messages_since_answer(said, self._begun.strip())

    def _seconds_left(self) -> float:
        """Return how long a step may take; all steps before the model call share the caller's limit."""
        return min(MAX_SECONDS_BEFORE, max(0.0, self._ends_at - asyncio.get_running_loop().time()))

    async def _put_in(self, *, renew: bool = False) -> None:
        said = strip_messages(self._said, self._settings.template)
        if not said or self._only == "write":
            return
        settings = self._settings
        try:
            search = partial(
                self._scope.context,
                said,
                settings.max_memory_tokens,
                threshold=settings.search_threshold,
                max_memories=settings.max_memory_context,
                template=settings.template,
                overview_tokens=settings.overview_tokens,
            )
            turns = self._log
            block = await with_deadline(turns.late_searches, turns.who.namespace, search, self._seconds_left())
            async with asyncio.timeout(self._seconds_left()):
                self.request = await inject_memories(turns, self._form, self._given, block, settings, renew=renew)
            self.block = block
        except Exception as error:
            self._goes_on("without memories", error, Node.CONTEXT, Op.SEARCH)

    async def _store_asked_early(self) -> None:
        """Store the user's words before the model call. A failure is repeated at the end."""
        try:
            async with asyncio.timeout(self._seconds_left()):
                await self._store_asked()
        except Exception as error:
            if self._key and isinstance(error, Conflict) and not isinstance(error, Stale):
                raise  # the same will come of it later, and an answer would be paid for that has no question
            self._goes_on("and what was said is stored later", error, Node.HOTPATH, Op.CREATE)

    async def _store_asked(self) -> None:
        if self._asked and not self._asked_stored:
            # What the caller knows to be said now is said, although the thread may end with the same words.
            key = self._key if self._new is None else self._key or f"asked:{self._own_key}"
            self.stored = (await self._log.store(self._asked, key, from_start=self._new is None)).results
        self._asked_stored = True

    async def _store(self) -> None:
        """Store what is not stored yet. Repeatable."""
        answers = self._answers()
        try:
            async with asyncio.timeout(MAX_SECONDS_AFTER):
                if self._storing is not None:
                    await self._storing
                await self._store_asked()
                results: list[MessageResult] = []
                for number, item in enumerate(answers):
                    results += (await self._log.store([item], self._answer_key(number, item))).results
        except Exception as error:
            lost = [*([] if self._asked_stored else self._asked), *answers]
            raise NotKept(
                f"what was said in a turn could not be stored ({type(error).__name__}: {error}); the error's messages "
                "hold it: give them to observe when that is mended",
                lost,
            ) from error
        self.stored = (*self.stored, *results)

    def _answers(self) -> list[Message]:
        if self._only == "read":
            return []
        template = self._settings.template
        said = [
            {
                "role": "assistant",
                "content": strip_template_context(item.text if place else self._begun + item.text, template),
            }
            | ({"id": item.id} if item.id else {})
            for place, item in enumerate(self._heard.answers)
        ]
        return [item for item in said if item["content"].strip()]

    def _answer_key(self, number: int, answer: Message) -> str | None:
        """Return the idempotency key of an answer: a repeated turn may be answered differently."""
        if "id" in answer:
            return None
        digest = hashlib.blake2b(answer["content"].encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"answer:{hashlib.blake2b(self._own_key.encode(), digest_size=16).hexdigest()}:{number}:{digest}"

    async def _judge_uses(self) -> None:
        """Record which memories of the prompt the answer used."""
        answer = "\n".join(answer.text for answer in self._heard.answers)
        if not self.block.items or not answer.strip():
            return
        try:
            said = [str(message["content"]) for message in strip_messages(self._said, self._settings.template)]
            # An overview is made for its prompt, and no memory of its own.
            remembered = [item for item in self.block.items if item.id != OVERVIEW_ID]
            verdicts = [
                MemoryVerdict(item.id, item.category, UseVerdict.USED if used else UseVerdict.UNUSED, round(share, 3))
                for item, used, share in judge_uses(remembered, said, answer)
            ]
            await self._log.record_uses(verdicts, self.block.rev)
        except Exception as error:  # a signal is no reason to fail
            self._note("without a word on what its memories were of use for", error)

    async def _look(self) -> None:
        """Extract memories from the thread if that is due. After a failure the next extraction covers it."""
        settings = self._settings
        try:
            async with asyncio.timeout(MAX_SECONDS_AFTER):
                turns = 2 * settings.memory_extraction_interval  # a question, an answer
                kept = await self._log.look_if_due(settings.memory_extraction_mode, turns)
                self.kept = self.kept if kept is None else kept
        except Exception as error:
            self._goes_on("and is looked through later", error, Node.EPISODIC, Op.CLASSIFY)

    def _goes_on(self, how: str, error: Exception, node: Node, op: Op) -> None:
        self._note(how, error)
        if isinstance(error, TimeoutError):  # the verb tells what it raises itself
            self._log.record(node, EventDraft(op, Status.ERROR, "TimeoutError"))

    def _note(self, how: str, error: Exception, *, tell: bool = False) -> None:
        """Keep an error and log its kind.

        tell: log the message too; other messages may hold what was said.
        """
        if (how, type(error)) not in self._noted:  # a thousand unreadable events make a single warning
            self._noted.add((how, type(error)))
            why = (
                f"{type(error).__name__}: {error}" if tell and isinstance(error, InvalidInput) else type(error).__name__
            )
            log.warning("the turn in thread %r goes on %s: %s", self._scope.who.thread, how, why)
            self.failures = (*self.failures, error)


def _parse_raw(response: Any) -> Any:
    """Return the response that an SDK's raw response holds; any other value itself."""
    if not (hasattr(response, "http_response") and callable(getattr(response, "parse", None))):
        return response
    parsed = response.parse()
    if inspect.isawaitable(parsed):
        if inspect.iscoroutine(parsed):
            parsed.close()
        raise InvalidInput("this raw response has to be awaited: give await response.parse()")
    return parsed


def check_chat_settings(settings: ChatSettings | None) -> ChatSettings:
    """Return the settings of a chat, with memory if None is given. Raises InvalidInput."""
    if settings is not None and not isinstance(settings, ChatSettings):
        raise InvalidInput(
            f"settings are ChatSettings, which read_chat_settings makes of a mapping, not {settings!r:.80}"
        )
    if settings is None:
        return WITH_MEMORY
    if not settings.use_memory and settings != ChatSettings():
        tell_that_memory_is_off()
    return settings


@cache
def tell_that_memory_is_off() -> None:
    """Warn once per process: a caller who sets details of memory may not know that it is off."""
    log.warning("settings of a chat say how memory takes part, but not use_memory=True: nothing is put in or stored")


class UseJudgement(NamedTuple):
    """The verdict on a memory. share: of its own words, those that the answer repeats; 0..1."""

    item: RecallItem
    used: bool
    share: float


def judge_uses(items: Iterable[RecallItem], said: Sequence[str], answer: str) -> list[UseJudgement]:
    """Judge each memory of a prompt.

    A memory's own words are its content words that nobody said in the prompt. The answer used it when it repeats two
    adjacent words of it, at least a single own word among them, or a third of its own words.

    said: the talk in the prompt, ending with the message to answer.
    """
    held = list(items)
    judged = judge_texts([item.text for item in held], said, answer)
    return [UseJudgement(item, used, share) for item, (used, share) in zip(held, judged, strict=True)]
