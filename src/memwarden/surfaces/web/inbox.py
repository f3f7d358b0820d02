"""What waits for a person's word: changes of their context, texts that were held back, and candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from starlette.responses import Response

from memwarden import AsyncScope
from memwarden.errors import CategoryDenied, InvalidInput
from memwarden.records import Consent, MemoryState, PendingReview
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.web.page import PageRoutes, WebPage

routes = PageRoutes()
MAX_WAITING: Final = 200
MAX_DECIDED: Final = 10


@routes.get("/inbox")
async def inbox(page: WebPage) -> Response:
    """List what waits for a decision; what was lately said is looked through after the page is shown."""
    scope = page.scope()
    pending = await scope.review.pending(limit=MAX_WAITING)
    proposals = await find_proposals(scope, fill=False)
    return page.show(
        "inbox.html",
        looks=not page.asked("looked"),
        **split_proposals(proposals),
        quarantined=in_state(pending, MemoryState.QUARANTINED),
        candidates=in_state(pending, MemoryState.CANDIDATE),
    )


@routes.get("/inbox/consents")
async def consents(page: WebPage) -> Response:
    """Look through what was lately said for wishes, and list what is proposed. On a large store that takes seconds."""
    proposals = await find_proposals(page.scope(), fill=page.can(Operation.WRITE))
    if not page.is_fragment:
        return page.go("/inbox", "looked", looked=1)
    return page.show("inbox_consents.html", looks=False, **split_proposals(proposals))


def split_proposals(proposals: Sequence[Consent]) -> dict[str, Any]:
    """Return what waits and what was decided lately."""
    waiting = [item for item in proposals if item.state == "pending"]
    return {"consents": waiting, "decided": [item for item in proposals if item.state != "pending"][:MAX_DECIDED]}


async def find_proposals(scope: AsyncScope, *, fill: bool) -> list[Consent]:
    """Return proposed changes of the user context; none for an agent that may not know it."""
    try:
        return await scope.consent.proposals(None, limit=MAX_WAITING, fill=fill)
    except CategoryDenied:
        return []


def in_state(pending: Sequence[PendingReview], state: MemoryState) -> list[PendingReview]:
    """Return what waits in a state."""
    return [item for item in pending if item.memory.state == state]


@routes.post("/inbox/consent", Operation.DECIDE)
async def decide_consent(page: WebPage) -> Response:
    """Write down the person's word on a proposal."""
    approve = read_decision(page)
    await page.scope(Operation.DECIDE).consent.decide(page.asked("id") or "", approve, way="ui")
    return page.go("/inbox", "approved" if approve else "declined")


@routes.post("/inbox/review", Operation.DECIDE)
async def decide_review(page: WebPage) -> Response:
    """Make a memory of what waits, or give it up."""
    review, id = page.scope(Operation.DECIDE).review, page.asked("id") or ""
    if read_decision(page):
        return page.go("/inbox", "approved", await review.approve(id, vouch=bool(page.asked("vouch"))))
    return page.go("/inbox", "rejected", await review.reject(id))


def read_decision(page: WebPage) -> bool:
    """Return whether a form approves. Raises InvalidInput for neither word."""
    decision = page.asked("decision")
    if decision not in ("approve", "reject"):
        raise InvalidInput("choose to approve or to reject")
    return decision == "approve"
