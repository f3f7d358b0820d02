"""The blocking twins of a turn and of a chat."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from memwarden.agent.tools import AsyncTools
from memwarden.api.blocking_agent import Tools
from memwarden.concurrency.loop import Facade, blocking
from memwarden.conversation.chat import AsyncChat, AsyncReplyStream, ChatTools, Reply
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.turn import AsyncTurn
from memwarden.errors import NotKept
from memwarden.records import ContextBlock, MessageResult, WriteResult

E = TypeVar("E")
log = logging.getLogger(__name__)


class Turn(Facade):
    """A turn, used once, as a context manager around the call of a model. See
    :class:`memwarden.conversation.turn.AsyncTurn`.

    >>> with me.turn(messages) as turn:
    ...     response = client.chat.completions.create(model=..., messages=turn.messages)
    ...     turn.record_response(response)
    """

    _inner: AsyncTurn

    def __enter__(self) -> Self:
        self._loop.run(self._inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop.is_here:
            # A generator that nobody closed ends wherever it is found to be unused, also on the thread of the loop.
            self._loop.leave(_left(self._inner))
        elif self._loop.over and not self._inner.has_more:
            return  # it ended when the warden was closed
        else:
            self._loop.run(self._inner.__aexit__(kind, error, trace))

    def refresh(self) -> None:
        """Search for memories again and put them in anew: what was learned since the turn began is in ``request``.

        With ``cache_stable`` the snapshot is made anew, and what stood before earlier messages is gone. Without memory
        nothing changes. Raises InvalidInput when the turn is not open.
        """
        self._loop.run(self._inner.refresh())

    def end(self, *, look: bool = True) -> None:
        """End the turn as leaving it does. May be called again, and then does nothing.

        look: whether the thread may be looked through. Raises NotKept.
        """
        self._loop.run(self._inner.end(look=look))

    def record_response(self, response: Any, *, id: str | None = None) -> str:
        """Take in an answer of the model: a whole response of the form, or its words. Returns the words.

        Call it once for each answer, in order, when the model is called more than once in a turn.

        Args:
            id: the id that the answer has in the application's messages, if they have ids.

        A response that cannot be read has no words; ``failures`` says so. Raises InvalidInput when the turn is not
        open.
        """
        return self._inner.record_response(response, id=id)

    def heard(self, response: Any, *, id: str | None = None) -> str:
        """Call :meth:`record_response`, under the name that it had before; goes with the next release."""
        warnings.warn("turn.heard is now turn.record_response", DeprecationWarning, stacklevel=2)
        return self.record_response(response, id=id)

    def stream(self, events: Iterable[E], *, id: str | None = None) -> Iterator[E]:
        """Pass on the events of a stream as they are, one answer of the model, while its words are taken in.

        What was passed on counts as delivered, however the stream ends. Events may be texts. Raises InvalidInput for
        what comes once the turn, or the warden, is over.
        """
        return self._inner.stream(events, id=id)

    def words(self, events: Iterable[Any], *, id: str | None = None) -> Iterator[str]:
        """Pass on the words that the events of a stream bring, as :meth:`stream` passes on the events."""
        return self._inner.words(events, id=id)

    @property
    def request(self) -> Any:
        """What to give the model."""
        return self._inner.request

    @property
    def messages(self) -> Any:
        """The messages to give the model."""
        return self._inner.messages

    @property
    def block(self) -> ContextBlock:
        """The memories that were found."""
        return self._inner.block

    @property
    def stored(self) -> tuple[MessageResult, ...]:
        """What became of each message that was handed to the store."""
        return self._inner.stored

    @property
    def kept(self) -> WriteResult | None:
        """What was decided when the thread was looked through."""
        return self._inner.kept

    @property
    def failures(self) -> tuple[Exception, ...]:
        """The errors of memory that the turn went on without."""
        return self._inner.failures

    @property
    def answer(self) -> str | None:
        """The last answer of the model as far as it was heard; None without words."""
        return self._inner.answer

    @property
    def settings(self) -> ChatSettings:
        """The settings. Others given during the turn decide what is done at its end."""
        return self._inner.settings

    @settings.setter
    def settings(self, settings: ChatSettings) -> None:
        self._inner.settings = settings


BlockingTools = Tools | AsyncTools | Callable[[ContextBlock], Tools | AsyncTools] | None


def unwrapped(tools: BlockingTools) -> ChatTools:
    """The tools behind blocking ones, or behind what a function returns."""
    if callable(tools):
        return lambda block: _inner_of(tools(block))
    return None if tools is None else _inner_of(tools)


def _inner_of(tools: Tools | AsyncTools) -> AsyncTools:
    return tools._inner if isinstance(tools, Tools) else tools


class ReplyStream(Facade):
    """The answer to a message, piece by piece. See :class:`memwarden.conversation.chat.AsyncReplyStream`."""

    _inner: AsyncReplyStream

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        piece = self._loop.run_while_wanted(_next(self._inner))
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

    @property
    def block(self) -> ContextBlock:
        """The memories that are in the prompt, from the first piece on."""
        return self._inner.block

    @property
    def reply(self) -> Reply:
        """What came of the message, once the stream is over. Raises InvalidInput before."""
        return self._inner.reply


class Chat(Facade):
    """A conversation with a model, with memory woven into it. See :class:`memwarden.conversation.chat.AsyncChat`.

    >>> chat = me.chat(openai_chat(OpenAI(), model="gpt-4o-mini"))
    >>> reply = chat.continue_chat("What can I bring to the picnic?")
    """

    _inner: AsyncChat

    @property
    def session(self) -> str:
        """The id of the stored session."""
        return self._inner.session

    @property
    def settings(self) -> ChatSettings:
        """The settings. Others that are given hold from the next message on."""
        return self._inner.settings

    @settings.setter
    def settings(self, settings: ChatSettings) -> None:
        self._inner.settings = settings

    def continue_chat(self, message: str, *, key: str | None = None) -> Reply:
        """Say something and return what came of it.

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
        return self._loop.run_while_wanted(self._inner.continue_chat(message, key=key))

    def stream(self, message: str, *, key: str | None = None) -> ReplyStream:
        """Say something and return the answer piece by piece. See :meth:`continue_chat`.

        What was passed on when the stream ends, however it does, is what is stored and goes into the session. Close it
        (``async with``, or ``aclose``) when you leave it early; else that happens when it is thrown away.
        """
        return ReplyStream(self._inner.stream(message, key=key), self._loop)

    save = blocking(AsyncChat.save)


async def _left(turn: AsyncTurn) -> None:
    try:
        await turn.end(look=False)
    except NotKept as lost:  # nobody is there to hear it
        log.error("%s", lost)


async def _next(stream: AsyncReplyStream) -> str | None:
    return await anext(stream, None)
