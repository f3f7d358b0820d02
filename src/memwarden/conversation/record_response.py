"""Records a model's words while they are passed on to the caller."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SpokenAnswer:
    """The words of an answer so far. id: the caller's id of it."""

    id: str | None = None
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole text. Split surrogate pairs are joined; a lone half becomes U+FFFD."""
        whole = "".join(self.pieces)
        try:
            whole.encode()
        except UnicodeEncodeError:
            whole = whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole


class ResponseRecorder:
    """The answers of a turn, in order; several where a model calls tools in between."""

    def __init__(self) -> None:
        self._answers: list[SpokenAnswer] = []

    def begin(self, id: str | None = None) -> SpokenAnswer:
        """Begin an answer."""
        self._answers.append(SpokenAnswer(id))
        return self._answers[-1]

    @property
    def answers(self) -> list[SpokenAnswer]:
        """The answers that have words."""
        return [answer for answer in self._answers if answer.text.strip()]

    @property
    def size(self) -> int:
        """The number of pieces recorded."""
        return sum(len(answer.pieces) for answer in self._answers)


def tee_stream(events: Iterable[Any], take: Callable[[Any], str], *, words: bool) -> Iterator[Any]:
    """Yield the events of a stream, or their words, and hand each to ``take`` first."""
    for event in events:
        said = take(event)
        if said or not words:
            yield said if words else event


async def tee_async_stream(
    events: AsyncIterable[Any], take: Callable[[Any], str], *, words: bool
) -> AsyncIterator[Any]:
    """Do as :func:`tee_stream` for asynchronous events."""
    async for event in events:
        said = take(event)
        if said or not words:
            yield said if words else event
