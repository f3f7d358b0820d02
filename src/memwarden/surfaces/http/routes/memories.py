"""Memories by id and by filter: list, state, read, correct, forget, restore, promote, their history and relations."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, HTTPException, Path, Query, Request, Response

from memwarden import AsyncScope
from memwarden.clock import parse
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Denied, InvalidInput
from memwarden.records import Memory, WriteResult
from memwarden.surfaces.http.access import DecideScope, ReadScope, WriteScope, WritingCaller, find_grant
from memwarden.surfaces.http.answers import (
    HistoryView,
    MemoryPage,
    MemoryView,
    PromotionView,
    RelationView,
    StatementView,
    WriteView,
)
from memwarden.surfaces.http.bodies import ForgetBody, MemoryBody, MemoryPatch, Moment, PromotionBody, plain_messages
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME
from memwarden.surfaces.http.routes.memory import IdempotencyKey, choose_key

router = APIRouter(tags=["memories"])
MemoryId = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]
Limit = Annotated[int, Query(ge=1, le=1_000)]
IfMatch = Annotated[
    str | None, Header(description="Change only this version: its ETag, or a list of them.", max_length=1_024)
]
MAX_TIES = 1_000_000
STALE: dict[int | str, dict[str, Any]] = {412: {"description": "The memory has another version; read it again."}}
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "The memory still has this ETag."}}


@router.get("/v1/memories", response_model=MemoryPage)
async def list_memories(
    scope: ReadScope,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(max_length=512)] = None,
    filters: Annotated[str | None, Query(description='A JSON object, such as {"kind": "decision"}.')] = None,
    as_of: Annotated[Moment | None, Query()] = None,
    order_by: Annotated[
        str, Query(max_length=64, description="Cursors go with created_at, descending.")
    ] = "created_at",
    descending: bool = True,
) -> Any:
    """List memories by filter, the newest first."""
    if (order_by, descending) != ("created_at", True):
        if cursor is not None:
            raise InvalidInput("cursors go with created_at, descending; raise limit, or leave order_by out")
        found = await scope.find(
            read_filters(filters), limit=limit, as_of=_read_moment(as_of), order_by=order_by, descending=descending
        )
        return {"items": found, "cursor": None}
    where = read_filters(filters)
    end, ties = (None, 0) if cursor is None else _read_cursor(cursor)
    if end is not None:
        where = _until(where, end)
    # What shares the moment of the last page's end comes first again, in the same order, and is passed over.
    found = await scope.find(where, limit=limit + ties + 1, as_of=_read_moment(as_of))
    page, more = found[ties : ties + limit], len(found) > ties + limit
    return {"items": page, "cursor": _make_cursor(page, end, ties) if more else None}


@router.post("/v1/memories", response_model=WriteView, status_code=201)
async def remember(
    body: MemoryBody, caller: WritingCaller, response: Response, idempotency_key: IdempotencyKey = None
) -> Any:
    """State something worth knowing: a fact, a decision, a preference, a procedure."""
    if (body.text is None) == (body.texts is None):
        raise InvalidInput("give text, or texts for several memories")
    if body.trust == "person":  # vouches for words, whatever their source
        caller.grant.check_operation(Operation.DECIDE)
    arguments = {name: value for name, value in body.verb_arguments().items() if name not in ("text", "texts", "key")}
    stated = body.texts if body.text is None else body.text
    assert stated is not None
    written = await caller.open(body).remember(
        plain_messages(stated), **arguments, key=choose_key(body.key, idempotency_key)
    )
    if len(written.results) == 1 and written.results[0].id:
        response.headers["Location"] = f"/v1/memories/{quote(written.results[0].id, safe='')}"
    return written


@router.delete("/v1/memories", response_model=WriteView)
async def reset_memories(
    scope: WriteScope,
    confirm: Annotated[str | None, Query(max_length=256, description="The user's name.")] = None,
    filters: Annotated[str | None, Query(description="A JSON object: forget only what fits.")] = None,
) -> Any:
    """Forget everything of a user, or what fits. Each memory can be restored for 30 days."""
    return await scope.reset(confirm=confirm, filters=None if filters is None else read_filters(filters))


@router.post("/v1/memories/forget", response_model=WriteView)
async def forget_memories(body: ForgetBody, scope: WriteScope) -> Any:
    """Take several memories out of every answer, or none of them."""
    return await scope.forget(body.memory_ids)


@router.get("/v1/memories/{memory_id}", response_model=MemoryView, responses=UNCHANGED)
async def get_memory(
    memory_id: MemoryId,
    scope: ReadScope,
    response: Response,
    if_none_match: Annotated[str | None, Header(max_length=1_024)] = None,
) -> Any:
    """Return a memory, with its version as ETag."""
    memory = await scope.get(memory_id)
    response.headers["ETag"] = _tag(memory)
    if if_none_match is not None and memory.version in _versions(if_none_match):
        return Response(status_code=304, headers={"ETag": _tag(memory)})
    return memory


@router.patch("/v1/memories/{memory_id}", response_model=WriteView, responses=STALE)
async def update_memory(
    memory_id: MemoryId,
    body: MemoryPatch,
    scope: WriteScope,
    response: Response,
    if_match: IfMatch = None,
    expected_version: Annotated[int | None, Query(ge=1, le=2**53, description="As If-Match; 409 for another.")] = None,
) -> Any:
    """Correct a memory; the old content stays in the history."""
    expected = await _check_version(scope, memory_id, if_match) or expected_version

    async def write() -> tuple[WriteResult, int]:
        # The new version follows from the old one. Read after the write, it could be that of another writer.
        old = (await scope.get(memory_id)).version if expected is None else expected
        return await scope.update(memory_id, **body.given(), expected_version=old), old + 1

    written, version = await (write() if expected else change_atomically(scope.who.namespace, write))
    response.headers["ETag"] = f'"{version}"'
    return written


@router.delete("/v1/memories/{memory_id}", response_model=WriteView, responses=STALE)
async def forget_memory(
    memory_id: MemoryId,
    scope: WriteScope,
    if_match: IfMatch = None,
    expected_version: Annotated[int | None, Query(ge=1, le=2**53, description="As If-Match; 409 for another.")] = None,
) -> Any:
    """Take a memory out of every answer. It can be restored for 30 days."""
    expected = await _check_version(scope, memory_id, if_match) or expected_version
    return await scope.forget(memory_id, expected_version=expected)


@router.post("/v1/memories/{memory_id}/restore", response_model=WriteView)
async def restore_memory(memory_id: MemoryId, scope: WriteScope) -> Any:
    """Bring a forgotten memory back."""
    return await scope.restore(memory_id)


@router.post("/v1/memories/{memory_id}/promote", response_model=PromotionView)
async def promote_memory(memory_id: MemoryId, body: PromotionBody, request: Request, scope: DecideScope) -> Any:
    """Copy a memory to a project, for others to read. It takes a key that is bound to no user, as projects do."""
    grant = await find_grant(request)
    if grant.user is not None or grant.agent is not None:
        raise Denied("the memory of a project takes a key that is bound to no user and no agent")
    return {"id": await scope.promote(memory_id, body.to)}


@router.get("/v1/memories/{memory_id}/history", response_model=list[HistoryView])
@router.get("/memory/{memory_id}/history", response_model=list[HistoryView], include_in_schema=False)
async def memory_history(
    memory_id: MemoryId,
    scope: ReadScope,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Limit = 100,
    descending: bool = False,
) -> Any:
    """Tell what happened to a memory; pass the last seq as since for more."""
    return await scope.journal.history(memory_id, since=since, limit=limit, descending=descending)


@router.get("/v1/memories/{memory_id}/relations", response_model=list[RelationView])
async def memory_relations(memory_id: MemoryId, scope: ReadScope) -> Any:
    """List the edges that begin or end at a memory."""
    return await scope.relations(memory_id)


@router.get("/v1/memories/{memory_id}/statements", response_model=list[StatementView])
async def memory_statements(memory_id: MemoryId, scope: ReadScope) -> Any:
    """Tell what the words of a memory state: who has which value of which attribute, since when."""
    return await scope.statements(memory_id)


def _tag(memory: Memory) -> str:
    return f'"{memory.version}"'


def _versions(tags: str) -> set[int]:
    """Return the versions that a list of tags names; a text that no memory has as its tag names none."""
    numbers = [tag.strip().removeprefix("W/").strip('"') for tag in tags.split(",")]
    return {int(number) for number in numbers if number.isascii() and number.isdigit() and len(number) < 16}


async def _check_version(scope: AsyncScope, memory_id: str, tags: str | None) -> int | None:
    """Return the version that the caller read; None where they name none. Answer 412 for another version."""
    if tags is None or tags.strip() == "*":
        return None
    stored = (await scope.get(memory_id)).version
    if stored not in _versions(tags):
        raise HTTPException(412, f"memory {memory_id!r} has version {stored}, not {tags}; read it again")
    return stored


def read_filters(text: str | None) -> dict[str, Any]:
    """Return the filters of a query, which are JSON; none are an empty object. Raises InvalidInput."""
    try:
        read = json.loads(text or "{}")
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise InvalidInput('filters is a JSON object, such as {"kind": "decision"}')
    return read


def _read_moment(text: str | None) -> int | str | None:
    """Read a moment: digits are a revision, anything else a time."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _until(where: dict[str, Any], end: datetime) -> dict[str, Any]:
    """Add to filters that what they find was created by a moment."""
    free = [name for name in ("created_at", "timestamp") if name not in where]  # two names of the same field
    if not free:
        raise InvalidInput("filters name both created_at and timestamp, which are the same; give created_at alone")
    return {**where, free[0]: {"$lte": end}}


def _make_cursor(page: list[Memory], end: datetime | None, ties: int) -> str:
    """Return the cursor after a page: when its last memory was created, and how many of that moment were shown."""
    last = page[-1].created_at
    shown = sum(item.created_at == last for item in page) + (ties if last == end else 0)
    return base64.urlsafe_b64encode(json.dumps([last.isoformat(), shown]).encode()).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[datetime, int]:
    try:
        end, ties = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if isinstance(end, str) and isinstance(ties, int) and 0 <= ties <= MAX_TIES:
            return parse(end, "cursor"), ties
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidInput("this is no cursor of ours; give that of the last page, unchanged")
