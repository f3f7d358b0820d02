"""A person at a glance: what is certain, what changed lately, how they want to be spoken to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.responses import Response

from memwarden import AsyncScope
from memwarden.errors import CategoryDenied
from memwarden.records import STANDING_IN, Channel, HistoryEntry, OverviewLine, UserContext
from memwarden.surfaces.web.page import PageRoutes, WebPage

routes = PageRoutes()
OVERVIEW_TOKENS: Final = 2_000
MAX_CHANGES: Final = 12
MAX_READ: Final = 400
# Links are made by the dozen, and say nothing to a person.
_QUIET: Final = frozenset(("LINK", "UNLINK"))


@routes.get("/overview")
async def overview(page: WebPage) -> Response:
    """Show what is known of a person at a glance."""
    scope = page.scope()
    found = await scope.overview(page.asked("about"), budget_tokens=OVERVIEW_TOKENS)
    return page.show(
        "overview.html",
        lines=group_by_person(found.lines),
        changes=await find_changes(scope),
        context=await read_context(scope),
        about=page.asked("about") or "",
    )


def group_by_person(lines: Sequence[OverviewLine]) -> dict[str, list[OverviewLine]]:
    """Return the lines of an overview by whom they are about, in their order."""
    found: dict[str, list[OverviewLine]] = {}
    for line in lines:
        found.setdefault(line.about, []).append(line)
    return found


async def find_changes(scope: AsyncScope) -> list[HistoryEntry]:
    """Return what was changed lately, beside what was said and what stands in for it, the newest first."""
    entries = await scope.journal.history(limit=MAX_READ, descending=True)
    found = []
    for entry in entries:
        memory = entry.new or entry.old
        if memory is None or entry.event in _QUIET or set(STANDING_IN) & set(memory.tags):
            continue
        if memory.channel not in (Channel.TURN, Channel.STATE):
            found.append(entry)
    return found[:MAX_CHANGES]


async def read_context(scope: AsyncScope) -> UserContext | None:
    """Return how the person wants to be spoken to; None for an agent that may not know it."""
    try:
        return await scope.consent.user_context()
    except CategoryDenied:
        return None
