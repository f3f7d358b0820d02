"""People: who is known, an overview of a person, the user context, and consent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request

from memwarden.surfaces.http.access import DecideScope, Reader, ReadScope, WritingCaller, find_grant
from memwarden.surfaces.http.answers import (
    ConsentView,
    OverviewView,
    UserContextView,
    UserList,
    WriteView,
)
from memwarden.surfaces.http.bodies import ConsentDecision, ContextPatch, Name, TurnBody
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.paths import WHOLE_NAME
from memwarden.surfaces.http.routes.memories import Limit

router = APIRouter(prefix="/v1", tags=["people"])
UserId = Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)]
Agent = Annotated[Name | None, Query(description="The agent that asks; its allowlist decides.")]
ProposalState = Literal["pending", "approved", "declined", "expired", "applied", "replaced", "all"]


@router.get("/users", response_model=UserList)
async def list_users(caller: Reader) -> Any:
    """List the users of whom something was ever kept, and whom the key may read."""
    known = await caller.warden.users(tenant=caller.grant.tenant)
    return {"items": [user for user in known if caller.grant.user in (None, user)]}


@router.get("/users/{user_id}/overview", response_model=OverviewView)
async def user_overview(
    user_id: UserId,
    caller: Reader,
    agent: Agent = None,
    about: Annotated[Name | None, Query(description="A name, or a relation such as sister.")] = None,
    budget_tokens: Annotated[int, Query(ge=1, le=1_000_000)] = 150,
) -> Any:
    """Tell what is known of a person at a glance."""
    return await caller.open_user(user_id, agent=agent).overview(about, budget_tokens=budget_tokens)


@router.get("/users/{user_id}/context", response_model=UserContextView)
async def user_context(user_id: UserId, caller: Reader, agent: Agent = None) -> Any:
    """Tell how a person wants to be called and spoken to, and what they aim for."""
    return await caller.open_user(user_id, agent=agent).consent.user_context()


@router.patch("/users/{user_id}/context", response_model=WriteView)
async def propose_context(user_id: UserId, body: ContextPatch, caller: WritingCaller, agent: Agent = None) -> Any:
    """Propose a change of the user context. What is sensitive waits 7 days for the person's word."""
    consent = caller.open_user(user_id, agent=agent).consent
    return await consent.propose(body.given("sources", "confident"), sources=body.sources, confident=body.confident)


@router.get("/consents", response_model=list[ConsentView])
async def list_consents(
    request: Request, scope: ReadScope, state: ProposalState = "pending", limit: Limit = 100, fill: bool = True
) -> Any:
    """List proposed changes of the user context, the newest first. Keys that may write let turns propose first."""
    may_write = Operation.WRITE in (await find_grant(request)).operations
    return await scope.consent.proposals(None if state == "all" else state, limit=limit, fill=fill and may_write)


@router.post("/consents/{consent_id}/decision", response_model=ConsentView)
async def decide_consent(
    consent_id: Annotated[str, WHOLE_NAME, Path(min_length=1, max_length=256)],
    body: ConsentDecision,
    scope: DecideScope,
) -> Any:
    """Write down the person's decision on a proposal."""
    return await scope.consent.decide(consent_id, body.approve, way=body.way)


@router.post("/consents/acknowledge", response_model=list[ConsentView])
async def acknowledge_turn(body: TurnBody, scope: DecideScope) -> Any:
    """Take a person's turn as consent, or as the refusal of it, if it plainly is."""
    return await scope.consent.acknowledge(body.turn_id)
