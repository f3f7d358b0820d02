"""Keeps for some weeks which memories a request was given and why, for whoever asks by its trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter
from fastapi import Path as PathPart
from pydantic import BaseModel
from starlette.requests import Request

from memwarden import AsyncScope, clock
from memwarden.errors import MemwardenError, NotFound
from memwarden.records import OVERVIEW_ID, ContextBlock, Memory, RecallItem
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import TRACES, PutItem, StoredItem, require_items
from memwarden.surfaces.http.access import ReadScope

router = APIRouter(prefix="/v1/memory", tags=["memory"])
LIFETIME_MINUTES: Final = 30 * 24 * 60
_MICROSECONDS: Final = 60_000_000
# The traces of so many requests are written before the expired ones of the last person are removed.
SWEEP_EVERY: Final = 200


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
    """Which memories a request was given, and why."""

    trace: str
    at: str
    thread_id: str | None
    tokens: int
    items: list[TraceItem]


class TraceLog:
    """The traces of a store; a store that keeps no items has none."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written = 0

    async def write(self, trace: str, scope: AsyncScope, block: ContextBlock) -> None:
        """Keep what a request was given, without the texts. Raises StoreError, InvalidInput."""
        now, who = clock.now(), scope.who
        items = [_outline(item) for item in block.items if item.id != OVERVIEW_ID]
        value = {"at": now.isoformat(), "thread_id": who.thread, "tokens": block.tokens, "items": items}
        at = clock.microseconds(now)
        ends = at + LIFETIME_MINUTES * _MICROSECONDS
        item = StoredItem(TRACES, trace, json.dumps(value), at, at, LIFETIME_MINUTES, ends)
        held = require_items(self._store)
        await held.write(who.namespace, [PutItem(item)])
        self._written += 1
        if self._written % SWEEP_EVERY == 0:
            await held.sweep(who.namespace, at)

    async def read(self, trace: str, scope: AsyncScope) -> dict[str, Any]:
        """Return what a request was given, with the texts as they stand now. Raises NotFound, StoreError.

        Of what was forgotten since, or is not for the agent of the scope, the id alone is told.
        """
        alive = clock.microseconds(clock.now())
        found = await require_items(self._store).get(scope.who.namespace, [(TRACES, trace)], alive_at=alive)
        if not found:
            raise NotFound(f"no trace {trace!r:.80} of this user; traces are kept for 30 days")
        held: dict[str, Any] = json.loads(found[TRACES, trace].value)
        texts = await _find_texts(scope, [item["id"] for item in held["items"]])
        items = [{**item, **({} if item["id"] in texts else _WITHHELD), "text": texts.get(item["id"])}
                 for item in held["items"]]  # fmt: skip
        return {**held, "trace": trace, "items": items}


_WITHHELD: Final = {"category": "", "words": [], "features": [], "note": ""}
"""Words and category tell of a memory too."""


def _outline(item: RecallItem) -> Mapping[str, Any]:
    why = item.why
    features = [{"name": part.name, "value": part.value, "weight": part.weight} for part in why.features]
    return {
        "id": item.id,
        "category": item.category,
        "score": round(item.score, 4),
        "words": list(why.words),
        "features": features,
        "note": why.note,
    }


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
