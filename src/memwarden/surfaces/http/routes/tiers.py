"""Memory of tasks, of projects and of all projects, and contexts assembled from them.

It belongs to a whole tenant, so it takes a key that is bound to no user and no agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

from memwarden.errors import InvalidInput, NotFound
from memwarden.surfaces.http.access import Caller, Reader, WritingCaller
from memwarden.surfaces.http.answers import RecordView, RemovedCount, TierItemList, TierItemView
from memwarden.surfaces.http.bodies import (
    AssembleBody,
    ContextUsesBody,
    ConventionBody,
    DecisionBody,
    FailureBody,
    PatternBody,
    PreferenceBody,
    ReasoningBody,
    TierItemBody,
    ToolOutputBody,
)
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME
from memwarden.surfaces.http.routes.memories import Limit, read_filters
from memwarden.tiers import ContextItem, ContextRequest, FailureSignature, Task
from memwarden.tiers.assembler import record_tier_uses
from memwarden.tiers.budget import TierUse
from memwarden.tiers.stores import (
    DEFAULT_MAX_ITEMS,
    AsyncGlobalMemoryStore,
    AsyncProjectMemoryStore,
    AsyncTaskMemoryStore,
)

router = APIRouter(prefix="/v1", tags=["tiers"])
TierName = Literal["task", "project", "global"]
PlaceId = Annotated[
    str, WHOLE_NAME, Path(min_length=1, max_length=200, description="Of a task or project; of global: all.")
]
AnyTier = AsyncTaskMemoryStore | AsyncProjectMemoryStore | AsyncGlobalMemoryStore


class IncludedView(RecordView):
    """An item of a context, and why it is in."""

    tier: str
    item: TierItemView
    reason: str
    tokens: int
    score: float | None


class OmissionView(RecordView):
    """An omitted item, and the gate that stopped it."""

    tier: str
    item_id: str
    gate: str
    reason: str
    score: float | None


class PackageView(RecordView):
    """The context of a task."""

    context_package_id: str
    items: tuple[TierItemView, ...]
    summary: str | None
    compression_ratio: float
    text: str
    tokens: int
    budget_tokens: int
    included: tuple[IncludedView, ...]
    left_out: tuple[OmissionView, ...]
    allotted: Mapping[str, int]
    used: Mapping[str, int]
    split: str
    build_id: str


@router.get("/tiers/{tier}/{place}", response_model=TierItemList)
async def list_items(
    tier: TierName,
    place: PlaceId,
    caller: Reader,
    filters: Annotated[str | None, Query(description='A JSON object, such as {"kind": "decision"}.')] = None,
    order_by: Annotated[str, Query(max_length=64)] = "timestamp",
    limit: Limit = 100,
) -> Any:
    """List the items of a tier that match every filter, the newest or largest first."""
    return {"items": await open_tier(caller, tier, place).query(read_filters(filters), limit, order_by)}


@router.post("/tiers/{tier}/{place}", response_model=TierItemView, status_code=201)
async def add_item(
    tier: TierName,
    place: PlaceId,
    body: TierItemBody,
    caller: WritingCaller,
    max_items: Annotated[int, Query(ge=1, le=10_000_000, description="With more a project loses some.")] = 1_000,
) -> Any:
    """Keep an item of a kind that the tier takes."""
    if isinstance(body, PreferenceBody) and body.confirm:
        caller.grant.check_operation(Operation.DECIDE)
    return await _add(open_tier(caller, tier, place, max_items=max_items), body)


@router.delete("/tiers/{tier}/{place}", response_model=RemovedCount)
async def clear_items(
    tier: TierName,
    place: PlaceId,
    caller: WritingCaller,
    item_id: Annotated[str | None, Query(min_length=1, max_length=256, description="A single item.")] = None,
    confirm: Annotated[bool, Query(description="You have the person's word, which global memory takes.")] = False,
) -> Any:
    """Remove an item of a project or of global memory; or everything of a task or of global memory."""
    if confirm:
        caller.grant.check_operation(Operation.DECIDE)
    store = open_tier(caller, tier, place)
    count = await store.count()
    if item_id is not None:
        return {"removed": int(await _remove(store, item_id, confirm))}
    if isinstance(store, AsyncProjectMemoryStore):
        raise InvalidInput("a project's memory is kept as long as the project; name an item with item_id")
    if isinstance(store, AsyncGlobalMemoryStore):
        return {"removed": count if await store.clear_all(confirm=confirm) else 0}
    await store.clear()
    return {"removed": count}


@router.post("/assemble", response_model=PackageView)
async def assemble(body: AssembleBody, caller: Reader) -> Any:
    """Choose from a task, its project and global memory what fits a budget."""
    if caller.grant.user is not None:
        caller.check_unbound("a context of tiers")
    arguments = body.given("task_id", "project_id", "agent")
    request = ContextRequest(**arguments, agent=caller.grant.narrow_agent(body.agent))
    task = Task(body.task_id, {"project_id": body.project_id})
    return await caller.warden.tiers.assembler(tenant=caller.grant.tenant).build_context(task, request)


@router.post("/assemble/uses", status_code=204)
async def record_context_uses(body: ContextUsesBody, caller: WritingCaller) -> None:
    """Record what was of use of a context, from which shares are learned."""
    caller.check_unbound("a context of tiers")
    uses = [TierUse(use.tier, use.tokens, use.used) for use in body.uses]
    assembler = caller.warden.tiers.assembler(tenant=caller.grant.tenant)
    await record_tier_uses(assembler, body.project_id, body.build_id, uses)


def open_tier(caller: Caller, tier: TierName, place: str, *, max_items: int = DEFAULT_MAX_ITEMS) -> AnyTier:
    """Return the store of a tier. Raises Denied for a bound key, NotFound for a part of global memory."""
    caller.check_unbound("the memory of tasks and projects")
    tiers, tenant = caller.warden.tiers, caller.grant.tenant
    if tier == "task":
        return tiers.task(place, tenant=tenant)
    if tier == "project":
        return tiers.project(place, max_items=max_items, tenant=tenant)
    if place != "all":
        raise NotFound("global memory has no parts; ask for global/all")
    return tiers.global_store(tenant=tenant)


class _ReportedFailure:
    """A failure as a request tells it."""

    def __init__(self, body: FailureBody) -> None:
        self.code = body.code
        self._body = body

    def dict(self) -> dict[str, Any]:
        """The failure as a JSON object."""
        told = self._body
        return FailureSignature(told.code, told.message, told.details).dict() if told.whole is None else told.whole


async def _add(store: AnyTier, body: Any) -> ContextItem | None:
    match store, body:
        case AsyncTaskMemoryStore(), ReasoningBody():
            return await store.add_reasoning(body.text, body.stage_id)
        case AsyncTaskMemoryStore(), ToolOutputBody():
            return await store.add_tool_output(body.tool_id, body.output)
        case AsyncProjectMemoryStore(), DecisionBody():
            return await store.add_decision(body.decision, body.tags)
        case AsyncProjectMemoryStore(), ConventionBody():
            return await store.add_convention(body.convention, body.scope)
        case AsyncProjectMemoryStore(), FailureBody():
            return await store.add_failure(_ReportedFailure(body), body.lesson)
        case AsyncProjectMemoryStore(), PreferenceBody():
            return await store.add_preference(body.preference, body.category)
        case AsyncGlobalMemoryStore(), PreferenceBody():
            return await store.add_preference(body.preference, body.category, confirm=body.confirm)
        case AsyncProjectMemoryStore() | AsyncGlobalMemoryStore(), PatternBody():
            return await store.add_pattern(body.pattern, body.domain)
    raise InvalidInput(f"{store.namespace.path} takes no item of the kind {body.kind!r}")


async def _remove(store: AnyTier, item_id: str, confirm: bool) -> bool:
    if isinstance(store, AsyncGlobalMemoryStore):
        return await store.remove(item_id, confirm=confirm)
    if isinstance(store, AsyncProjectMemoryStore):
        return await store.remove(item_id)
    raise InvalidInput("a task's memory is cleared as a whole; leave item_id out")
