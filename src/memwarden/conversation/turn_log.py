"""Stores the messages of a thread and extracts memories from them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from memwarden.errors import Stale
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import Node, Op
from memwarden.records import MessageResult, Scope, WriteResult
from memwarden.remember.ingest.messages import checked_name, read_messages
from memwarden.runtime import Runtime

log = logging.getLogger(__name__)


class TurnLog:
    """The turns of a scope's thread. Cheap, holds nothing open."""

    def __init__(self, parts: Runtime, who: Scope) -> None:
        self._parts = parts
        self.who = who

    @instrumented(Node.HOTPATH, Op.CREATE)
    async def store(self, messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], key: str | None) -> WriteResult:
        """Store messages without extracting memories. See :meth:`memwarden.api.scope.AsyncScope.observe`."""
        read = read_messages(messages, self._parts.settings.max_text_bytes)
        working, categories = self._parts.working, self._parts.settings.categories
        return await working.writer.observe(
            self.who,
            read,
            checked_name(key, "key"),
            working.recall.seen(self.who),
            category=categories.default_for(self.who.agent),
            readable=categories.readable(self.who.agent, None),
        )

    async def waits_for(self, turns: int) -> bool:
        """Return whether at least this many turns of the thread await extraction."""
        return await self._parts.working.extractor.waiting(self.who, turns) >= turns

    async def look(self) -> WriteResult | None:
        """Extract from new turns: at once, or in the background when a model is asked; then return None."""
        if self._parts.working.extractor.asks_a_model:
            self._parts.looks.look(self.who, self.look_now)
            return None
        try:
            return await self.look_now()
        except Stale as error:  # what was said is stored; what it says waits for the next look
            log.warning("looking through thread %r is put off: %s", self.who.thread, error)
            return None

    @instrumented(Node.EPISODIC, Op.CLASSIFY)
    async def look_now(self, again: bool = False) -> WriteResult:
        """Extract from new turns, even while another extraction runs. again: begin at the thread's first turn."""
        settled = await self._parts.working.extractor.look_through(self.who, again=again)
        head = await self._parts.store.head(self.who.namespace)
        return WriteResult(head.rev, tuple(MessageResult(item.id, item.outcome, item.reason) for item in settled))
