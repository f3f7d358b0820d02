"""Jobs that keep memory clean: when each ran and is due, tried and run for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.responses import Response

from memwarden import clock
from memwarden.records import Memory
from memwarden.runtime.traces import MAX_TRACES
from memwarden.settings import Settings
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.web.data import find_owner
from memwarden.surfaces.web.page import PageRoutes, WebPage
from memwarden.surfaces.web.preview import find_by_id
from memwarden.upkeep.records import JobRun
from memwarden.upkeep.token_budget import count_reserved

routes = PageRoutes()
MAX_CHANGES_SHOWN: Final = 100


class Limit(NamedTuple):
    """What is limited, for a page. most: None for no limit. setting: its name; empty for what no setting changes."""

    what: str
    most: int | None
    unit: str
    setting: str = ""


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
        spent=await count_reserved(page.warden.store, page.grant.tenant, clock.now()),
        budget=page.warden.settings.upkeep_tokens,
        limits=list_limits(page.warden.settings),
    )


def list_limits(settings: Settings) -> list[Limit]:
    """Return what a server takes, spends and keeps at most."""
    return [
        Limit("jobs' chat model", settings.upkeep_tokens, "tokens a day for a tenant", "upkeep_tokens"),
        Limit("facts of what was said", settings.facts_a_day, "a day for a person, the others wait", "facts_a_day"),
        Limit("a memory", settings.max_text_bytes, "bytes", "max_text_bytes"),
        Limit("what was said", settings.turn_days or None, "days", "turn_days"),
        Limit("earlier versions", settings.version_days or None, "days", "version_days"),
        Limit("events", settings.events_days, "days", "events_days"),
        Limit("events", settings.events_rows, "of a person, the newest", "events_rows"),
        Limit("what models were shown", MAX_TRACES, "prompts of a person, for 30 days"),
        Limit("indexes in memory", settings.index_bytes, "bytes", "index_bytes"),
    ]


async def find_changed(page: WebPage, runs: Sequence[JobRun]) -> dict[str, Memory]:
    """Return the memories that jobs name, where the visitor may read them."""
    ids = [change.memory_id for run in runs for change in run.changes[:MAX_CHANGES_SHOWN]]
    return await find_by_id(page.scope(), list(dict.fromkeys(ids))) if page.can(Operation.READ) else {}


@routes.post("/jobs/run", Operation.OPERATE)
async def run_job(page: WebPage) -> Response:
    """Run a job on a person's memory, which takes decide too, or say what it would do."""
    name, is_trial = page.asked("job") or "", page.asked("action") != "run"
    user = find_owner(page)
    if not is_trial:
        page.scope(Operation.DECIDE)  # refuses, with an event
    runs = await page.warden.jobs.run(name, user=user, tenant=page.grant.tenant, dry_run=is_trial)
    return await show_jobs(page, runs)
