"""The blocking twin of a turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from memwarden.loop import Facade
from memwarden.records import ContextBlock, WriteResult, Written
from memwarden.turn.settings import ChatSettings
from memwarden.turn.turn import AsyncTurn

E = TypeVar("E")


class Turn(Facade):
    """A turn, used once, as a context manager around the call of a model. See :class:`memwarden.turn.turn.AsyncTurn`.

    >>> with me.turn(messages) as turn:
    ...     response = client.chat.completions.create(model=..., messages=turn.messages)
    ...     turn.heard(response)
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
            self._loop.leave(self._inner.end(look=False))
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

    def heard(self, response: Any, *, id: str | None = None) -> str:
        """Take in an answer of the model: a whole response of the form, or its words. Returns the words.

        Call it once for each answer, in order, when the model is called more than once in a turn.

        Args:
            id: the id that the answer has in the application's messages, if they have ids.

        A response that cannot be read has no words; ``failures`` says so. Raises InvalidInput when the turn is not
        open.
        """
        return self._inner.heard(response, id=id)

    def stream(self, events: Iterable[E], *, id: str | None = None) -> Iterator[E]:
        """Pass on the events of a stream as they are, one answer of the model, while its words are taken in.

        What was passed on counts as delivered, however the stream ends. Events may be texts.
        """
        return self._inner.stream(events, id=id)

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
    def stored(self) -> tuple[Written, ...]:
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
    def settings(self) -> ChatSettings:
        """The settings. Others given during the turn decide what is done at its end."""
        return self._inner.settings

    @settings.setter
    def settings(self, settings: ChatSettings) -> None:
        self._inner.settings = settings
