"""What a program that runs a model itself asks for: when to extract, where memories stand in its prompt, their use."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from memwarden.conversation.recording import MemoryVerdict, TurnLog
from memwarden.conversation.settings import read_chat_settings
from memwarden.conversation.turn import WITH_MEMORY
from memwarden.observability.records import UseVerdict
from memwarden.surfaces.http.access import ReadScope, WritingCaller
from memwarden.surfaces.http.answers import DueExtraction, LayoutAnswer, UseView
from memwarden.surfaces.http.bodies import DueBody, LayoutBody, Moment, Name, UsesBody, plain_messages
from memwarden.surfaces.http.keys import Operation
from memwarden.surfaces.http.routes.journal import Thread

router = APIRouter(prefix="/v1", tags=["turns"])


@router.post("/threads/{thread}/extract-due", response_model=DueExtraction)
async def extract_if_due(
    thread: Thread,
    body: DueBody,
    caller: WritingCaller,
    user_id: Annotated[Name | None, Query()] = None,
    agent: Annotated[Name | None, Query()] = None,
) -> Any:
    """Look through a conversation if that is due. result is null when it was not, or when a model does it beside."""
    turns = TurnLog.of_scope(caller.open_user(user_id, agent=agent, thread=thread))
    return {"result": await turns.look_if_due(body.mode, body.turns)}


@router.post("/memory/layout", response_model=LayoutAnswer)
async def lay_out_prompt(body: LayoutBody, caller: WritingCaller) -> Any:
    """Say where memories stand in a conversation's prompt, so that a provider's prefix cache keeps hitting."""
    caller.grant.check_operation(Operation.READ)  # what is laid out are memories
    scope = caller.open(body)
    settings = read_chat_settings(body.settings) if body.settings else WITH_MEMORY
    said = plain_messages(body.messages)
    block = await scope.context(
        said,
        settings.max_memory_tokens,
        threshold=settings.search_threshold,
        max_memories=settings.max_memory_context,
        template=settings.template,
        overview_tokens=settings.overview_tokens,
    )
    return {"layout": await TurnLog.of_scope(scope).lay_out(said, block, settings, renew=body.renew)}


@router.post("/uses", status_code=204)
async def record_uses(body: UsesBody, caller: WritingCaller) -> None:
    """Record of what use memories were in a prompt: judged from the answer, or a person's word."""
    scope = caller.open(body)
    for use in body.uses:
        if use.share is None:
            await scope.usage.feedback(use.memory_id, use.verdict, rev=body.rev)
    judged = {use.memory_id: use for use in body.uses if use.share is not None}
    # What was forgotten since, or is not for this agent, is passed over: a signal is no reason to fail.
    known = await scope.find({"id": list(judged)}, limit=len(judged)) if judged else []
    verdicts = [
        MemoryVerdict(memory.id, memory.category, UseVerdict(judged[memory.id].verdict), judged[memory.id].share)
        for memory in known
    ]
    await TurnLog.of_scope(scope).record_uses(verdicts, body.rev)


@router.get("/uses", response_model=list[UseView])
async def list_uses(
    scope: ReadScope,
    memory_id: Annotated[Name | None, Query()] = None,
    since: Annotated[Moment | None, Query()] = None,
) -> Any:
    """Tell how often memories that were put into prompts were of use there, the last judged first."""
    return await scope.usage.uses(memory_id=memory_id, since=since)
