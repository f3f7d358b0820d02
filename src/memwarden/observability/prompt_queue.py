"""Queue of the blocks that were made for prompts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Final, NamedTuple

from memwarden import clock
from memwarden.observability.event_queue import FLUSH_SECONDS
from memwarden.records import ContextBlock, Scope
from memwarden.settings import Settings

log = logging.getLogger(__name__)

MAX_WAITING_PROMPTS: Final = 1_000


class MadePrompt(NamedTuple):
    """A block of memories for a model: for whom it was made, for which question, and when."""

    who: Scope
    question: str
    block: ContextBlock
    at: int


# Takes the blocks that are made now in place of the log: of whoever only looks at them, or writes them down by itself.
MADE_PROMPTS: ContextVar[list[MadePrompt] | None] = ContextVar("memwarden_made_prompts", default=None)


class PromptQueue:
    """Holds the blocks that were made until ``write`` has written them down beside the calls."""

    def __init__(self, settings: Settings, write: Callable[[Sequence[MadePrompt]], Awaitable[None]]) -> None:
        self._settings = settings
        self._write = write
        self._waiting: list[MadePrompt] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._flushing = asyncio.Lock()

    def note(self, who: Scope, question: str, block: ContextBlock) -> None:
        """Note a block; never waits and never raises. Without the setting ``events`` nothing is noted."""
        made, taken = MadePrompt(who, question, block, clock.microseconds(clock.now())), MADE_PROMPTS.get()
        if taken is not None:
            taken.append(made)
        if taken is not None or not block.items or self._settings.events == "off":
            return
        if len(self._waiting) < MAX_WAITING_PROMPTS:
            self._waiting.append(made)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._on_timer)

    async def flush(self) -> None:
        """Write down what was noted, also by a call that is under way; what cannot be written is left out."""
        async with self._flushing:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            waiting, self._waiting = self._waiting, []
            if waiting:
                await self._write(waiting)

    async def close(self) -> None:
        """Write down what was noted, within a limited time."""
        try:
            await asyncio.wait_for(self.flush(), FLUSH_SECONDS)
        except TimeoutError:
            log.warning("what the last prompts were given is not noted: the store takes too long")

    def _on_timer(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self.flush())
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)
