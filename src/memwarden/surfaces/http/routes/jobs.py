"""Jobs that keep memory clean: when each ran and is due, tried and run."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.records import Namespace
from memwarden.surfaces.http.access import Caller, owner_for
from memwarden.surfaces.http.answers import PlaceView, RecordView
from memwarden.surfaces.http.bodies import Name, RequestBody
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME
from memwarden.surfaces.http.routes.memories import Limit
from memwarden.upkeep.records import JobStatus

router = APIRouter(prefix="/v1", tags=["jobs"])
JobName = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=80)]
Keeper = Annotated[Caller, Depends(owner_for(Operation.OPERATE))]


class JobBody(RequestBody):
    """Whose memory a job works on, and whether it only tells what it would do."""

    user_id: Name | None = Field(None, description="Whose memory. Default: the key's user; other keys have to say it.")
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


class JobStatusPage(RecordView):
    """A page of jobs. cursor: for the next page; None on the last."""

    items: list[JobStatusView]
    cursor: str | None


@router.get("/jobs", response_model=JobStatusPage)
async def list_jobs(
    caller: Keeper,
    user_id: Annotated[Name | None, Query(description="Whose memory. Default: all.")] = None,
    limit: Limit = 100,
    cursor: Annotated[str | None, Query(max_length=2_048)] = None,
) -> Any:
    """Tell when each job that keeps memory clean ran, and when it is due."""
    after, told = ("", 0) if cursor is None else _read_cursor(cursor)
    at = clock.now()
    rows: list[JobStatus] = []
    for place in await _find_places(caller, user_id):
        if place.path < after:
            continue
        begin, room = told if place.path == after else 0, limit - len(rows)
        found = (await caller.warden.jobs.status_of(place, at))[begin:]
        rows += found[:room]
        if len(found) > room:
            return {"items": rows, "cursor": _make_cursor(place.path, begin + room)}
    return {"items": rows, "cursor": None}


@router.post("/jobs/{job}/run", response_model=list[JobRunView])
@router.post("/jobs/{job}", response_model=list[JobRunView], include_in_schema=False)
async def run_job(job: JobName, body: JobBody, caller: Keeper) -> Any:
    """Run a job on a person's memory now, due or not, which takes decide too, or tell what it would change."""
    if body.user_id is None and caller.grant.user is None:
        raise InvalidInput("user_id has to say whose memory the job works on; memwarden worker does everybody's")
    user = caller.grant.narrow_user(body.user_id)
    if not body.dry_run:
        caller._replace(operation=Operation.DECIDE).open_user(user)  # refuses, with an event
    return await caller.warden.jobs.run(job, user=user, tenant=caller.grant.tenant, dry_run=body.dry_run)


async def _find_places(caller: Caller, user: str | None) -> list[Namespace]:
    """Return where jobs work, by path; None stands for all of a tenant, which a bound key may not ask for."""
    known = [item for item in await caller.warden.store.namespaces() if item.tenant == caller.grant.tenant]
    if user is not None or caller.grant.user is not None:
        path = f"user/{caller.grant.narrow_user(user)}"
        known = [item for item in known if item.path == path]
    return sorted(known, key=lambda item: item.path)


def _make_cursor(path: str, told: int) -> str:
    """Return the cursor after a page: where it ended, and how many of the jobs there were told."""
    return base64.urlsafe_b64encode(json.dumps([path, told], ensure_ascii=False).encode()).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[str, int]:
    try:
        path, told = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if isinstance(path, str) and isinstance(told, int) and told >= 0:
            return path, told
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidInput("this is no cursor of ours; give that of the last page, unchanged")
