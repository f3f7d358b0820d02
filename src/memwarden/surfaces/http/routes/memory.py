"""The daily verbs: observe what was said, ask a question, make a context block."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header

from memwarden.conversation.recording import TurnLog
from memwarden.errors import InvalidInput
from memwarden.recall.answer.template import CLASSIC_TEMPLATE, LEAN_TEMPLATE, Template
from memwarden.surfaces.http.access import Reader, WritingCaller
from memwarden.surfaces.http.answers import BlockView, QueryView, WriteView
from memwarden.surfaces.http.bodies import (
    BlockBody,
    Name,
    ObserveBody,
    QueryBody,
    ResponseBody,
    TemplateBody,
    plain_messages,
)

router = APIRouter(prefix="/v1/memory", tags=["memory"])
IdempotencyKey = Annotated[
    Name | None,
    Header(description="Repeats of a call with the same key and body answer as the first; another body is 409."),
]
TEMPLATES = {"lean": LEAN_TEMPLATE, "classic": CLASSIC_TEMPLATE}


@router.post("/observe", response_model=WriteView)
async def observe(body: ObserveBody, caller: WritingCaller, idempotency_key: IdempotencyKey = None) -> Any:
    """Store what was said, word for word, durably and once."""
    scope = caller.open(body)
    messages, key = plain_messages(body.messages), choose_key(body.key, idempotency_key)
    if body.extract:
        return await scope.observe(messages, key=key)
    return await TurnLog.of_scope(scope).store(messages, key, from_start=body.from_start)


@router.post("/query", response_model=QueryView)
async def query(body: QueryBody, caller: Reader) -> Any:
    """Find what answers a question; nothing when nothing is relevant."""
    filters = dict(body.filters or {})
    # The design's request has no other place for whose memory it is about: a user there chooses the namespace.
    user = filters.pop("user_id", None)
    if user is not None and not isinstance(user, str):
        raise InvalidInput("filters.user_id is a user's name; ask for a single user")
    scope = caller.open(body, user=user)
    return await scope.query(**{**body.verb_arguments(), "filters": filters or None})


@router.post("/context", response_model=BlockView)
async def context(body: BlockBody, caller: Reader) -> Any:
    """Make the block to put before a turn; empty when nothing is relevant."""
    arguments = body.verb_arguments()
    arguments |= {"messages": plain_messages(body.messages), "template": read_template(body.template)}
    return await caller.open(body).context(**arguments)


@router.post("/extract", response_model=WriteView)
async def extract(body: ResponseBody, caller: WritingCaller) -> Any:
    """Store the memories that a model's answer lists as worth remembering."""
    return await caller.open(body).extract(**body.verb_arguments())


def read_template(given: str | TemplateBody) -> Template:
    """Return the template that a request names or holds."""
    return Template(**given.model_dump()) if isinstance(given, TemplateBody) else TEMPLATES[given]


def choose_key(in_body: str | None, in_header: str | None) -> str | None:
    """Return the idempotency key of a call. Raises InvalidInput for two that differ."""
    if in_body is not None and in_header is not None and in_body != in_header:
        raise InvalidInput("the idempotency keys of body and header differ; give one of them")
    return in_header if in_body is None else in_body
