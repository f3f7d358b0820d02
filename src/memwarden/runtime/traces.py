"""Traces of context blocks."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from memwarden import clock
from memwarden.errors import MemwardenError
from memwarden.observability.prompt_queue import MadePrompt
from memwarden.records import OVERVIEW_ID, Namespace, RecallItem
from memwarden.settings import Settings
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import TRACES, DropItem, Items, ItemSearch, PutItem, StoredItem

log = logging.getLogger(__name__)

TRACE_MINUTES: Final = 30 * 24 * 60
# The newest traces of a person that stay. A trace has about 3 KB.
MAX_TRACES: Final = 2_000
MAX_QUESTION: Final = 300
MAX_TRACE_FEATURES: Final = 10
# The traces of so many blocks are written before those that are too many are removed.
_SWEEP_EVERY: Final = 200
_MAX_COUNTED: Final = 10_000
_MICROSECONDS: Final = 60_000_000


class TraceWriter:
    """Writes down which memories stood in blocks, for which question and why."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._old = TraceSweep()

    async def write(self, prompts: Sequence[MadePrompt]) -> None:
        """Write the traces of blocks; what cannot be written is left out."""
        items: Items | None = getattr(self._store, "items", None)
        if items is None:
            return
        by_person: dict[Namespace, list[MadePrompt]] = {}
        for prompt in prompts:
            by_person.setdefault(prompt.who.namespace, []).append(prompt)
        for namespace, made in by_person.items():
            try:
                changes = await asyncio.to_thread(self._make_traces, await self._leave_out_erased(namespace, made))
                if changes:
                    await items.write(namespace, changes)
                    await self._old.after(items, namespace, len(changes))
            except MemwardenError as error:  # no answer fails because of it
                log.warning("what prompts were given is not noted: %s", type(error).__name__)

    async def _leave_out_erased(self, namespace: Namespace, prompts: Sequence[MadePrompt]) -> list[MadePrompt]:
        """Return the blocks of which nothing was erased since they were made, by another process say."""
        rev = (await self._store.head(namespace)).rev  # an erased person begins anew
        cited = {memory_id for prompt in prompts for memory_id in _cited(prompt)}
        erased = cited - {memory.id for memory in await self._store.get(namespace, [*cited], removed=True)}
        return [prompt for prompt in prompts if prompt.block.rev <= rev and erased.isdisjoint(_cited(prompt))]

    def _make_traces(self, waiting: Sequence[MadePrompt]) -> list[PutItem]:
        return [make_trace(clock.new_id(), prompt, strict=self._settings.strict_secrets) for prompt in waiting]


def _cited(prompt: MadePrompt) -> list[str]:
    """Return the ids of the person's memories that a block shows."""
    whose = prompt.who.namespace
    own = [item.memory.id for item in prompt.block.items if item.memory.namespace == whose and item.id != OVERVIEW_ID]
    return own + [memory.id for memory in prompt.block.overview_of if memory.namespace == whose]


class TraceSweep:
    """Removes old traces of a person at the first that a process writes, and after each so many."""

    def __init__(self) -> None:
        self._written: Counter[Namespace] = Counter()

    async def after(self, items: Items, namespace: Namespace, count: int) -> None:
        """Note that so many were written. Raises StoreError."""
        if len(self._written) > _MAX_COUNTED:
            self._written.clear()
        first = namespace not in self._written
        self._written[namespace] += count
        if first or self._written[namespace] >= _SWEEP_EVERY:
            self._written[namespace] = 0
            await drop_old_traces(items, namespace)


def make_trace(trace: str, prompt: MadePrompt, *, strict: bool) -> PutItem:
    """Return what is kept of a block: its question without secrets, and the reasons of its items, without their texts.

    strict: take the codes of a home out of the question too.
    """
    from memwarden.security.secrets import redact

    who, question, block, at = prompt
    asked = " ".join(redact(question[: 10 * MAX_QUESTION], strict=strict).text.split())
    value = {
        "at": clock.moment(at).isoformat(),
        "thread_id": who.thread,
        "agent_id": who.agent,
        "question": asked[:MAX_QUESTION],
        "tokens": block.tokens,
        "items": [_outline(item) for item in block.items if item.id != OVERVIEW_ID],
    }
    ends = at + TRACE_MINUTES * _MICROSECONDS
    return PutItem(StoredItem(TRACES, trace, json.dumps(value), at, at, TRACE_MINUTES, ends))


async def drop_old_traces(items: Items, namespace: Namespace) -> None:
    """Remove the traces of a person that expired, and the oldest of those that are too many. Raises StoreError."""
    await items.sweep(namespace, clock.microseconds(clock.now()))
    over = await items.search(namespace, ItemSearch(TRACES, MAX_TRACES, offset=MAX_TRACES))
    if over:
        await items.write(namespace, [DropItem(hit.item.path, hit.item.key) for hit in over])


def _outline(item: RecallItem) -> dict[str, Any]:
    why = item.why
    parts = sorted((part for part in why.features if part.contribution), key=lambda part: -abs(part.contribution))
    features = [
        {"name": part.name, "value": round(part.value, 4), "weight": round(part.weight, 4)}
        for part in parts[:MAX_TRACE_FEATURES]
    ]
    return {
        "id": item.id,
        "category": item.category,
        "score": round(item.score, 4),
        "words": list(why.words),
        "features": features,
        "note": why.note,
    }
