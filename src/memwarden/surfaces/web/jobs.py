"""Jobs that keep memory clean: when each ran and is due, tried and run for a person; and a person's export."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from memwarden.errors import Denied
from memwarden.records import Memory
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.web.page import PageRoutes, WebPage
from memwarden.surfaces.web.preview import find_by_id
from memwarden.upkeep.records import JobRun

routes = PageRoutes()
MAX_CHANGES_SHOWN: Final = 100


@routes.get("/jobs", Operation.OPERATE)
async def jobs(page: WebPage) -> Response:
    """Show when each job ran on a person's memory, and when it is due."""
    return await show_jobs(page, ())


async def show_jobs(page: WebPage, runs: Sequence[JobRun]) -> Response:
    """Return the page, with what a job just did or would do."""
    found = await page.warden.jobs.status(user=page.user, tenant=page.grant.tenant)
    return page.show(
        "jobs.html",
        jobs=found,
        runs=runs,
        memories=await find_changed(page, runs),
        most=MAX_CHANGES_SHOWN,
    )


async def find_changed(page: WebPage, runs: Sequence[JobRun]) -> dict[str, Memory]:
    """Return the memories that jobs name, where the visitor may read them."""
    ids = [change.memory_id for run in runs for change in run.changes[:MAX_CHANGES_SHOWN]]
    return await find_by_id(page.scope(), list(dict.fromkeys(ids))) if page.can(Operation.READ) else {}


@routes.post("/jobs/run", Operation.OPERATE)
async def run_job(page: WebPage) -> Response:
    """Run a job on a person's memory, or say what it would do."""
    name, is_trial = page.asked("job") or "", page.asked("action") != "run"
    if page.grant.agent is not None:
        raise Denied("a job works on all of a person's memory; use a key that is bound to no agent")
    runs = await page.warden.jobs.run(name, user=page.user, tenant=page.grant.tenant, dry_run=is_trial)
    return await show_jobs(page, runs)


@routes.get("/export")
async def export(page: WebPage) -> Response:
    """Send everything that is remembered of a person as a file, which memwarden import reads."""
    if page.grant.agent is not None or page.agent is not None:
        raise Denied("an export holds all of a person's memory; leave the agent out, or use a key without one")
    folder = tempfile.TemporaryDirectory(prefix="memwarden-export-")
    file = Path(folder.name) / "memories.zip"
    try:
        await page.warden.export(file, user=page.user, tenant=page.grant.tenant)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        file, media_type="application/zip", filename=file.name, background=BackgroundTask(folder.cleanup)
    )
