"""What runs beside the memories: events over time, agents and their allowlists, keys, and whether the store is well."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from memwarden import clock
from memwarden.errors import Denied, InvalidInput
from memwarden.observability.records import DAY_SECONDS, Node, Op, Status
from memwarden.surfaces.http.access import Entrance
from memwarden.surfaces.http.keys import AccessKey, Operation
from memwarden.surfaces.http.routes.health import readyz
from memwarden.surfaces.web.page import PageRoutes, WebPage, not_found
from memwarden.surfaces.web.render import OPS_SAID

routes = PageRoutes()
MAX_EVENTS: Final = 100
# A bar of the chart, by how many days it covers.
MIN_BARS: Final = 11
SPANS: Final = {1: 3_600, 7: 6 * 3_600, 30: DAY_SECONDS}


@routes.get("/events")
async def events(page: WebPage) -> Response:
    """Show what was done with a person's memory, over time and as a list."""
    days, scope = read_days(page), page.scope()
    since = clock.now() - timedelta(days=days)
    words = {name: page.asked(name) for name in ("op", "node", "status")}
    found = await scope.journal.events(since=since, limit=MAX_EVENTS, **words)  # type: ignore[arg-type]  # words of enums
    return page.show(
        "events.html",
        events=found,
        days=days,
        spans=list(SPANS),
        counts=await count_by_day(page, days),
        ops=list(Op),
        nodes=list(Node),
        statuses=list(Status),
    )


async def count_by_day(page: WebPage, days: int) -> list[tuple[str, int, int, int]]:
    """Return operation, how often it went well, did nothing and failed, the most frequent first."""
    since = clock.now() - timedelta(days=days)
    counts: dict[str, Counter[str]] = {}
    for item in await page.scope().journal.event_counts(seconds=DAY_SECONDS, since=since):
        counts.setdefault(item.op, Counter())[item.status] += item.count
    rows = [(op, found["ok"], found["skipped"], found["error"] + found["failed"]) for op, found in counts.items()]
    return sorted(rows, key=lambda row: -sum(row[1:]))


def read_days(page: WebPage) -> int:
    """Return how far back a page looks. Raises InvalidInput."""
    days = page.whole("days", 7, 1, 30)
    if days not in SPANS:
        raise InvalidInput(f"days is {', '.join(map(str, SPANS))}, not {days}")
    return days


@routes.get("/events.json")
async def event_data(page: WebPage) -> Response:
    """Return what the chart draws: times, and for each operation how often it was done then."""
    days = read_days(page)
    span, now = SPANS[days], clock.now()
    counts = await page.scope().journal.event_counts(seconds=span, since=now - timedelta(days=days))
    last = int(now.timestamp()) // span * span
    times = list(range(last - (days * DAY_SECONDS // span) * span, last + 1, span))
    found: dict[str, Counter[int]] = {}
    for item in counts:
        found.setdefault(item.op, Counter())[int(item.ts.timestamp())] += item.count
    begun = min((time for by_time in found.values() for time in by_time), default=last)
    times = [time for time in times if time >= min(begun, last - MIN_BARS * span)]  # empty days say nothing
    by_count = sorted(found.items(), key=lambda entry: (-entry[1].total(), entry[0]))
    series = {OPS_SAID[op]: [by_time[time] for time in times] for op, by_time in by_count}
    return JSONResponse({"times": times, "series": series})


@routes.get("/agents")
async def agents(page: WebPage) -> Response:
    """Show the categories, and which of them each agent may read and write."""
    known = page.warden.settings.categories
    lists = dict(sorted(known.allowlists.items()))
    if page.grant.agent is not None:
        lists = {name: allowed for name, allowed in lists.items() if name == page.grant.agent}
    return page.show("agents.html", allowlists=lists, categories=list(known.declared.values()))


@routes.get("/keys", Operation.OPERATE)
async def keys(page: WebPage) -> Response:
    """List the keys of the visitor's tenant, and let some be made."""
    return page.show("keys.html", keys=await find_keys(page), made=None, operations=page.grant.operations)


async def find_keys(page: WebPage) -> list[AccessKey]:
    """Return the keys of the visitor's tenant. Raises Denied for a key that is bound to somebody."""
    page.caller(Operation.OPERATE).check_unbound("the list of keys")
    entrance: Entrance = page.request.app.state.entrance
    return [key for key in await entrance.keys.find() if key.grant.tenant == page.grant.tenant]


@routes.post("/keys/make", Operation.OPERATE)
async def make_key(page: WebPage) -> Response:
    """Make a key, which may not do more than the visitor's, and show its text this once."""
    known = await find_keys(page)
    wanted = [str(name) for name in page.form.getlist("operation")]
    if beyond := sorted(set(wanted) - set(page.grant.operations)):
        raise Denied(f"your key may not {', '.join(beyond)}, and cannot make a key that may")
    entrance: Entrance = page.request.app.state.entrance
    days = page.whole("days", 0, 0, 3_650)
    made = await entrance.keys.create(
        tenant=page.grant.tenant,
        user=page.asked("for_user"),
        agent=page.asked("for_agent"),
        operations=wanted,
        name=page.asked("name"),
        lifetime=timedelta(days=days) if days else None,
    )
    return page.show("keys.html", keys=[*known, made.key], made=made, operations=page.grant.operations)


@routes.post("/keys/revoke", Operation.OPERATE)
async def revoke_key(page: WebPage) -> Response:
    """End a key and the sessions that were begun with it, after asking."""
    found = [key for key in await find_keys(page) if key.id == page.asked("id")]
    if not found:
        raise not_found("key")
    if not page.asked("sure"):
        own = page.visitor.key is not None and page.visitor.key.id == found[0].id
        return page.show("key_sure.html", key=found[0], own=own)
    entrance: Entrance = page.request.app.state.entrance
    await entrance.keys.revoke(found[0].id)
    return page.go("/keys", "revoked")


@routes.get("/doctor", Operation.OPERATE)
async def doctor(page: WebPage) -> Response:
    """Show whether the server is well, and what is wrong with what is remembered of a person."""
    health: dict[str, Any] = await readyz(page.request, Response())
    audit = await page.scope().audit() if page.can(Operation.READ) else None
    return page.show("doctor.html", health=health, audit=audit)
