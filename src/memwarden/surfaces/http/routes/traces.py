"""Keeps for some weeks which memories a request was given and why, for whoever asks by its trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter
from fastapi import Path as PathPart
from pydantic import BaseModel
from starlette.requests import Request

from memwarden import AsyncScope, clock, filters
from memwarden.errors import MemwardenError, NotFound
from memwarden.observability.prompt_queue import MadePrompt
from memwarden.records import Channel, Memory, MemoryState
from memwarden.runtime.traces import TraceSweep, make_trace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import TRACES, Items, ItemSearch, StoredItem, require_items
from memwarden.surfaces.http.access import ReadScope

router = APIRouter(prefix="/v1/memory", tags=["memory"])
# Turns in the trash that are compared with questions.
MAX_FORGOTTEN: Final = 5_000


class TraceFeature(BaseModel):
    """A part of a score: its value and its weight."""

    name: str
    value: float
    weight: float


class TraceItem(BaseModel):
    """A memory that was put into a request. text: as it stands now; None once it is forgotten or not readable."""

    id: str
    text: str | None
    category: str
    score: float
    words: list[str]
    features: list[TraceFeature]
    note: str


class TraceView(BaseModel):
    """Which memories a request was given, and why. question: its beginning, without secrets."""

    trace: str
    at: str
    thread_id: str | None
    agent_id: str | None
    question: str
    tokens: int
    items: list[TraceItem]


class TraceLog:
    """The traces of a store; a store that keeps no items has none."""

    def __init__(self, store: Store, *, strict: bool = False) -> None:
        self._store = store
        self._strict = strict
        self._old = TraceSweep()

    async def write(self, trace: str, made: MadePrompt) -> None:
        """Keep what a request was given, without the texts. Raises StoreError, InvalidInput."""
        held, namespace = require_items(self._store), made.who.namespace
        await held.write(namespace, [make_trace(trace, made, strict=self._strict)])
        await self._old.after(held, namespace, 1)

    async def read(self, trace: str, scope: AsyncScope) -> dict[str, Any]:
        """Return what a request was given, with the texts as they stand now. Raises NotFound, StoreError.

        Of what was forgotten since, or is not for the agent of the scope, the id alone is told.
        """
        alive = clock.microseconds(clock.now())
        found = await require_items(self._store).get(scope.who.namespace, [(TRACES, trace)], alive_at=alive)
        if not found:
            raise NotFound(f"no trace {trace!r:.80} of this user; traces are kept for 30 days")
        held = (await self._without_forgotten(scope, [read_trace(found[TRACES, trace])]))[0]
        if scope.who.agent not in (None, held["agent_id"]):
            raise NotFound(f"no trace {trace!r:.80} of this agent")
        texts = await _find_texts(scope, [item["id"] for item in held["items"]])
        items = [
            {**item, **({} if item["id"] in texts else _WITHHELD), "text": texts.get(item["id"])}
            for item in held["items"]
        ]
        return {**held, "items": items}

    async def find(self, scope: AsyncScope, search: TraceSearch) -> list[dict[str, Any]]:
        """Return the newest traces that pass, without texts. An agent sees those of its own prompts.

        Their items tell of memories that may be forgotten since, or not for the agent: whoever shows them looks.
        """
        items: Items | None = getattr(self._store, "items", None)
        if items is None:
            return []
        matches = partial(search.passes, viewer=scope.who.agent)
        needles = tuple((name,) for name in (search.memory_id, search.thread_id) if name and name.isascii())
        asked = ItemSearch(
            TRACES, search.limit, matches=matches, alive_at=clock.microseconds(clock.now()), needles=needles
        )
        found = [read_trace(hit.item) for hit in await items.search(scope.who.namespace, asked)]
        return await self._without_forgotten(scope, found)

    async def _without_forgotten(self, scope: AsyncScope, traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return traces without the questions that were forgotten: as a turn, or with their whole conversation."""
        threads = sorted({trace["thread_id"] for trace in traces if trace["question"]} - {None})
        if not threads:
            return traces
        turns, namespace = {"channel": str(Channel.TURN)}, scope.who.namespace
        forgotten: dict[str | None, list[str]] = {}
        for turn in await self._store.find(
            namespace,
            filters.parse({**turns, "thread_id": threads}),
            limit=MAX_FORGOTTEN,
            order_by="updated_at",
            state=MemoryState.SOFT_DELETED,
        ):
            forgotten.setdefault(turn.thread_id, []).append(" ".join(turn.text.split()))
        gone = {
            thread
            for thread in forgotten
            if not await self._store.find(namespace, filters.parse({**turns, "thread_id": thread}), limit=1)
        }
        return [
            {**trace, "question": ""}
            if thread in gone or _was_said(trace["question"], forgotten.get(thread, ()))
            else trace
            for trace in traces
            for thread in (trace["thread_id"],)
        ]


class TraceSearch(NamedTuple):
    """Which traces are asked for; None asks for all. since: included. until: excluded. Both are ISO 8601 in UTC."""

    memory_id: str | None = None
    thread_id: str | None = None
    since: str | None = None
    until: str | None = None
    limit: int = 50

    def passes(self, value: str, *, viewer: str | None) -> bool:
        """Whether a trace is asked for, and may be seen by an agent; None: by the person."""
        if self.memory_id is not None and self.memory_id not in value:
            return False
        trace = json.loads(value)
        if viewer is not None and trace.get("agent_id") != viewer:
            return False
        if self.thread_id not in (None, trace["thread_id"]):
            return False
        if self.memory_id is not None and all(item["id"] != self.memory_id for item in trace["items"]):
            return False
        return (self.since or "") <= trace["at"] and (self.until is None or trace["at"] < self.until)


def read_trace(item: StoredItem) -> dict[str, Any]:
    """Return a stored trace; those of earlier releases have no question."""
    return {"question": "", "agent_id": None, **json.loads(item.value), "trace": item.key}


def _was_said(question: str, texts: Sequence[str]) -> bool:
    return bool(question) and any(question in text for text in texts)


_WITHHELD: Final = {"category": "", "words": [], "features": [], "note": ""}
"""Words and category tell of a memory too."""


async def _find_texts(scope: AsyncScope, ids: Sequence[str]) -> dict[str, str]:
    found: list[Memory] = []
    for id in ids:
        try:
            found.append(await scope.get(id))
        except MemwardenError:  # forgotten since, or not for this agent
            continue
    return {memory.id: memory.text for memory in found}


@router.get("/traces/{trace}", response_model=TraceView)
async def get_trace(
    request: Request, trace: Annotated[str, PathPart(min_length=1, max_length=64)], scope: ReadScope
) -> Any:
    """Tell which memories a conversation with a model was given, and why, by its X-Memory-Trace."""
    return await TraceLog(request.app.state.warden.store).read(trace, scope)
