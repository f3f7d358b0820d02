"""Single items of a tier: read, promoted, pinned, brought back; what became of them; the states of tasks."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query

from memwarden.errors import InvalidInput, NotFound
from memwarden.surfaces.http.access import Reader, WritingCaller
from memwarden.surfaces.http.answers import (
    HistoryView,
    OptionalItem,
    OptionalPromotion,
    OptionalWrite,
    RemovedCount,
    TaskStateAnswer,
    TierItemList,
    TierItemView,
    WriteView,
)
from memwarden.surfaces.http.bodies import Name, PinBody, RoomBody, TaskStateBody, TierPromotion, WordsBody
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME
from memwarden.surfaces.http.routes.memories import Limit
from memwarden.surfaces.http.routes.tiers import AnyTier, PlaceId, TierName, open_tier
from memwarden.tiers.stores import AsyncGlobalMemoryStore, AsyncProjectMemoryStore, AsyncTaskMemoryStore

router = APIRouter(prefix="/v1/tiers/{tier}/{place}", tags=["tiers"])
ItemId = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]
Word = Annotated[bool, Query(description="You have the person's word, which global memory takes.")]
S = TypeVar("S")


@router.get("/items", response_model=TierItemList)
async def list_all_items(tier: TierName, place: PlaceId, caller: Reader) -> Any:
    """List every item, the first added first."""
    return {"items": await open_tier(caller, tier, place).list_all()}


@router.get("/items/{item_id}", response_model=TierItemView)
async def get_item(tier: TierName, place: PlaceId, item_id: ItemId, caller: Reader) -> Any:
    """Return an item."""
    store = open_tier(caller, tier, place)
    found = await store.get(item_id)
    if found is None:
        raise NotFound(f"no item {item_id!r} in {store.namespace.path}")
    return found


@router.patch("/items/{item_id}", response_model=OptionalItem)
async def modify_preference(
    tier: TierName, place: PlaceId, item_id: ItemId, body: WordsBody, caller: WritingCaller
) -> Any:
    """Replace the words of a preference of global memory."""
    store = _of_kind(open_tier(caller, tier, place), AsyncGlobalMemoryStore, "has preferences that change")
    if body.confirm:
        caller.grant.check_operation(Operation.DECIDE)
    return {"item": await store.modify_preference(item_id, body.preference, confirm=body.confirm)}


@router.post("/items/{item_id}/promote", response_model=OptionalPromotion)
async def promote_item(
    tier: TierName, place: PlaceId, item_id: ItemId, body: TierPromotion, caller: WritingCaller
) -> Any:
    """Copy an item of a task to a project, or of a project to global memory."""
    store = open_tier(caller, tier, place)
    if body.confirm:
        caller.grant.check_operation(Operation.DECIDE)
    if isinstance(store, AsyncTaskMemoryStore):
        return {"id": await store.promote(item_id, body.project_id or "default", max_items=body.max_items)}
    project = _of_kind(store, AsyncProjectMemoryStore, "is promoted from")
    return {"id": await project.promote(item_id, confirm=body.confirm)}


@router.post("/items/{item_id}/pin", response_model=WriteView)
async def pin_item(tier: TierName, place: PlaceId, item_id: ItemId, body: PinBody, caller: WritingCaller) -> Any:
    """Protect an item of a project from eviction, or end that."""
    project = _of_kind(open_tier(caller, tier, place), AsyncProjectMemoryStore, "evicts, so that items are pinned")
    return await project.pin(item_id, body.pinned)


@router.post("/items/{item_id}/restore", response_model=WriteView)
async def restore_item(tier: TierName, place: PlaceId, item_id: ItemId, caller: WritingCaller) -> Any:
    """Bring back a removed or evicted item of a project."""
    project = _of_kind(open_tier(caller, tier, place), AsyncProjectMemoryStore, "brings items back")
    return await project.restore(item_id)


@router.get("/history", response_model=list[HistoryView])
async def tier_history(
    tier: TierName,
    place: PlaceId,
    caller: Reader,
    item_id: Annotated[Name | None, Query()] = None,
    since: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Limit = 100,
    descending: bool = False,
) -> Any:
    """Tell what happened to an item, or to the whole tier."""
    store = open_tier(caller, tier, place)
    return await store.history(item_id, since=since, limit=limit, descending=descending)


@router.post("/journal/{rev}/undo", response_model=OptionalWrite)
async def undo_in_tier(
    tier: TierName,
    place: PlaceId,
    rev: Annotated[int, Path(ge=1, le=2**53)],
    caller: WritingCaller,
    confirm: Word = False,
) -> Any:
    """Take a decision of a project or of global memory back, whole."""
    store = open_tier(caller, tier, place)
    if confirm:
        caller.grant.check_operation(Operation.DECIDE)
    if isinstance(store, AsyncGlobalMemoryStore):
        return {"result": await store.undo(rev, confirm=confirm)}
    return {"result": await _of_kind(store, AsyncProjectMemoryStore, "can be undone").undo(rev)}


@router.post("/state", response_model=TaskStateAnswer)
async def enter_state(tier: TierName, place: PlaceId, body: TaskStateBody, caller: WritingCaller) -> Any:
    """Record the state of a task; a terminal state clears its memory."""
    task = _of_kind(open_tier(caller, tier, place), AsyncTaskMemoryStore, "has states")
    return {"cleared": await task.enter_state(body.state, will_retry=body.will_retry)}


@router.post("/room", response_model=RemovedCount)
async def make_room(tier: TierName, place: PlaceId, body: RoomBody, caller: WritingCaller) -> Any:
    """Evict the least important tenth of a project with more items than this."""
    caller.check_unbound("the memory of tasks and projects")
    if tier != "project":
        raise InvalidInput("a project alone evicts; name a project")
    project = caller.warden.tiers.project(place, max_items=body.max_items, tenant=caller.grant.tenant)
    return {"removed": await project.make_room(new=body.new)}


def _of_kind(store: AnyTier, kind: type[S], does: str) -> S:
    """Return a store as one of a kind. Raises InvalidInput."""
    if not isinstance(store, kind):
        name = kind.__name__.removeprefix("Async").removesuffix("MemoryStore").lower()
        raise InvalidInput(f"only {name} memory {does}, not {store.namespace.path}")
    return store
