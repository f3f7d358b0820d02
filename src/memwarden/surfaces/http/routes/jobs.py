"""Jobs that keep memory clean: when each ran and is due, tried and run."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from memwarden.surfaces.http.access import Caller, owner_for
from memwarden.surfaces.http.answers import PlaceView, RecordView
from memwarden.surfaces.http.bodies import Name, RequestBody
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME

router = APIRouter(prefix="/v1", tags=["jobs"])
JobName = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=80)]
Keeper = Annotated[Caller, Depends(owner_for(Operation.OPERATE))]


class JobBody(RequestBody):
    """Whose memory a job works on, and whether it only tells what it would do."""

    user_id: Name | None = Field(None, description="Whose memory; left out: all that the key may act for.")
    dry_run: bool = Field(False, description="Write nothing, and tell what would change.")


class JobChangeView(RecordView):
    """A change that a job made, or would make, with the rule in words."""

    verb: str
    memory_id: str
    why: str


class JobRunView(RecordView):
    """A run of a job on a namespace."""

    job: str
    namespace: PlaceView
    at: datetime
    status: str
    changes: tuple[JobChangeView, ...]
    reason: str
    dry_run: bool
    tokens: int
    rev: int


class JobStatusView(RecordView):
    """When a job ran on a namespace last, and from when on a worker runs it again; null: not by itself."""

    job: str
    namespace: PlaceView
    last: datetime | None
    status: str
    changed: int
    reason: str
    due: datetime | None


@router.get("/jobs", response_model=list[JobStatusView])
async def list_jobs(
    caller: Keeper, user_id: Annotated[Name | None, Query(description="Whose memory. Default: all.")] = None
) -> Any:
    """Tell when each job that keeps memory clean ran, and when it is due."""
    return await caller.warden.jobs.status(user=_whose(caller, user_id), tenant=caller.grant.tenant)


@router.post("/jobs/{job}/run", response_model=list[JobRunView])
async def run_job(job: JobName, body: JobBody, caller: Keeper) -> Any:
    """Run a job now, whether it is due or not, or tell what it would change."""
    user = _whose(caller, body.user_id)
    return await caller.warden.jobs.run(job, user=user, tenant=caller.grant.tenant, dry_run=body.dry_run)


def _whose(caller: Caller, user: str | None) -> str | None:
    """Return whose memory a job works on: None stands for all of a tenant, which a bound key may not ask for."""
    return None if user is None and caller.grant.user is None else caller.grant.narrow_user(user)
