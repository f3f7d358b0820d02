"""The tools of a person's memory as MCP names them: the default profile, and what the full profile adds."""

from __future__ import annotations

from typing import Any

from memwarden.agent.tools import Parameter, Permission, Tool, create_tool, search_tool, state_tools
from memwarden.api.scope import AsyncScope
from memwarden.errors import Denied, InvalidInput, NotFound
from memwarden.recall.answer.frame import clean_line, with_notice
from memwarden.recall.answer.render import framed_words
from memwarden.records import Consent, HistoryEntry, Memory, MemoryState, PendingReview, Trust, WriteResult
from memwarden.remember.ingest.screening import screen
from memwarden.settings import DEFAULT_BLOCK_TOKENS
from memwarden.surfaces.mcp.schemas import FOUND, NUMBER, OBJECT, TEXT, WHOLE, WRITTEN, Schema, answer, list_of, row

MAX_ENTRIES = 20
MAX_CONTEXT_TOKENS = 2_000
# So many characters of a text are shown to the person who decides on it.
MAX_ASKED_CHARACTERS = 600
_ID = Parameter("id", "string", "Id of a memory, as memory_query gives it", required=True)
_APPROVE = Parameter("approve", "boolean", "true to approve, false to reject", required=True)
_NULLABLE: Schema = {"type": ["string", "null"]}
# The schema of the answers of each tool.
ANSWERS: dict[str, Schema] = {
    "memory_query": FOUND,
    "searchMemories": FOUND,
    "memory_remember": WRITTEN,
    "memory_forget": WRITTEN,
    "memory_update": WRITTEN,
    "memory_restore": WRITTEN,
    "review_decide": WRITTEN,
    "memory_context": answer({"text": TEXT, "tokens": WHOLE, "confidence": NUMBER}),
    "memory_overview": answer({"text": TEXT, "sources": list_of(TEXT)}),
    "memory_history": answer(
        {"entries": list_of(row({"seq": WHOLE, "event": TEXT, "at": TEXT, "before": _NULLABLE, "after": _NULLABLE}))}
    ),
    "memory_delta": answer({"rev": WHOLE, "changes": list_of(TEXT), "more": WHOLE}),
    "review_list": answer({"pending": list_of(row({"id": TEXT, "state": TEXT, "why": TEXT}, {"text": TEXT}))}),
    "consent_list": answer({"proposals": list_of(row({"id": TEXT, "field": TEXT, "value": _NULLABLE}))}),
    "consent_decide": answer({"id": TEXT, "state": TEXT}),
    "saveState": answer({"key": TEXT, "size_bytes": WHOLE}),
    "loadState": answer({"value": {}}),
    "listStateKeys": answer({"count": WHOLE, "keys": list_of(OBJECT)}),
    "searchState": answer({"pattern": TEXT, "matches": list_of(TEXT), "results": OBJECT}),
}


def default_tools(me: AsyncScope, *, personal: bool = False) -> tuple[Tool, ...]:
    """Return what most models need: to search, to remember, to forget.

    personal: what is remembered counts as the person's words.
    """
    return search_tool(me, "memory_query"), create_tool(me, "memory_remember", personal=personal), forget_tool(me)


def full_tools(me: AsyncScope, permission: Permission = "write", *, personal: bool = False) -> tuple[Tool, ...]:
    """Return every tool of a person's memory and of saved state. personal: see :func:`default_tools`."""
    consents = list_consents_tool(me, permission == "write")
    decisions = (list_reviews_tool(me), decide_review_tool(me), consents, decide_consent_tool(me))
    return (
        *default_tools(me, personal=personal),
        context_tool(me),
        update_tool(me),
        restore_tool(me),
        history_tool(me),
        delta_tool(me),
        overview_tool(me),
        *decisions,
        *state_tools(me.state),
        search_tool(me),
    )


def forget_tool(me: AsyncScope) -> Tool:
    """Return the tool by which a model takes a memory out of all answers."""

    async def forget(id: str) -> dict[str, Any]:
        return _written(await me.forget(id))

    return Tool(
        "memory_forget",
        "Forget a memory, because the person asks for it or it is wrong. It can be restored for 30 days.",
        (_ID,),
        "Its id",
        "write",
        forget,
    )


def context_tool(me: AsyncScope) -> Tool:
    """Return the tool that makes the block of memories for a message."""

    async def context(message: str, budget_tokens: int | None = None) -> dict[str, Any]:
        budget = DEFAULT_BLOCK_TOKENS if budget_tokens is None else budget_tokens
        if not 1 <= budget <= MAX_CONTEXT_TOKENS:
            raise InvalidInput(f"budget_tokens is a whole number from 1 to {MAX_CONTEXT_TOKENS:,}, not {budget:,}")
        block = await me.context(message, budget)
        return {"success": True, "text": block.text, "tokens": block.tokens, "confidence": round(block.confidence, 2)}

    return Tool(
        "memory_context",
        "Make the block of memories that bear on a message, to read before it is answered.",
        (
            Parameter("message", "string", "The message to answer", required=True),
            Parameter(
                "budget_tokens",
                "integer",
                f"Most tokens of the block, 1 to {MAX_CONTEXT_TOKENS}; default {DEFAULT_BLOCK_TOKENS}",
            ),
        ),
        "The block; empty when nothing is relevant",
        "read",
        context,
    )


def update_tool(me: AsyncScope) -> Tool:
    """Return the tool by which a model corrects a memory; what a person said keeps its words."""

    async def update(
        id: str, content: str | None = None, importance: float | None = None, tags: list[str] | None = None
    ) -> dict[str, Any]:
        if content is not None:
            _check_words(await me.get(id), content)
        if importance is not None and not 1 <= importance <= 10:
            raise InvalidInput(f"importance is a number from 1 to 10, not {importance!r:.80}")
        level = None if importance is None else importance / 10
        return _written(await me.update(id, text=content, importance=level, tags=tags))

    return Tool(
        "memory_update",
        "Correct a memory that was wrong from the start. For what became otherwise, use memory_remember.",
        (
            _ID,
            Parameter("content", "string", "The right sentence"),
            Parameter("importance", "number", "1 to 10"),
            Parameter("tags", "strings", "Tags in place of those that it has"),
        ),
        "Its id",
        "write",
        update,
    )


def _check_words(memory: Memory, content: str) -> None:
    """Raise Denied where a model may not put its words in place of what is there."""
    if memory.trust != Trust.EXTERNAL:
        raise Denied("these are a person's words, and stay; remember the new value with memory_remember")
    screening = screen(Trust.EXTERNAL, content)
    if screening.kinds:
        raise Denied(f"not changed: {screening.reason}")


def restore_tool(me: AsyncScope) -> Tool:
    """Return the tool by which a model brings a forgotten memory back."""

    async def restore(id: str) -> dict[str, Any]:
        return _written(await me.restore(id))

    return Tool("memory_restore", "Bring a forgotten memory back, as it was.", (_ID,), "Its id", "write", restore)


def history_tool(me: AsyncScope) -> Tool:
    """Return the tool that tells what happened to a memory."""

    async def history(id: str) -> dict[str, Any]:
        entries = await me.journal.history(id, limit=MAX_ENTRIES, descending=True)
        return {"success": True, "entries": [_entry(entry) for entry in entries]}

    return Tool(
        "memory_history",
        "Tell what happened to a memory: when it was stored, changed, replaced or forgotten.",
        (_ID,),
        f"The last {MAX_ENTRIES} changes, the newest first, with the words before and after",
        "read",
        history,
    )


def _entry(entry: HistoryEntry) -> dict[str, Any]:
    before, after = (None if item is None else with_notice(framed_words(item)) for item in (entry.old, entry.new))
    return {"seq": entry.seq, "event": entry.event, "at": entry.at.isoformat(), "before": before, "after": after}


def delta_tool(me: AsyncScope) -> Tool:
    """Return the tool that tells what changed."""

    async def delta(since_rev: int | None = None) -> dict[str, Any]:
        found = await me.journal.delta(since_rev)
        return {"success": True, "rev": found.rev, "changes": list(found.bullets), "more": found.more}

    return Tool(
        "memory_delta",
        "Tell which memories changed since a revision, or since this conversation looked last.",
        (Parameter("since_rev", "integer", "The rev of an earlier answer"),),
        "Up to three changes, how many more there are, and the present revision",
        "read",
        delta,
    )


def overview_tool(me: AsyncScope) -> Tool:
    """Return the tool that sums up a person."""

    async def overview(about: str | None = None) -> dict[str, Any]:
        found = await me.overview(about)
        return {"success": True, "text": found.text, "sources": list(found.sources)}

    return Tool(
        "memory_overview",
        "Sum up what is known of the person: the present value of each thing, in about 150 tokens.",
        (Parameter("about", "string", "A name or relation such as 'sister', in place of the person"),),
        "Lines, and the ids of the memories that they rest on",
        "read",
        overview,
    )


def list_reviews_tool(me: AsyncScope) -> Tool:
    """Return the tool that lists what waits for a person's decision; what was held back without its words."""

    async def reviews() -> dict[str, Any]:
        pending = await me.review.pending(limit=MAX_ENTRIES)
        return {"success": True, "pending": [_pending(item) for item in pending]}

    return Tool(
        "review_list",
        "List what waits for the person's decision: unsure statements, and texts that were held back as attacks.",
        (),
        "Entries with id and reason; the words of what was held back are shown to the person alone",
        "read",
        reviews,
    )


def _pending(item: PendingReview) -> dict[str, Any]:
    entry = {"id": item.id, "state": str(item.memory.state), "why": item.why}
    # A text that gives orders to assistants stays out of prompts, also while it is decided on.
    return entry if item.memory.state == MemoryState.QUARANTINED else entry | {"text": framed_words(item.memory)}


def decide_review_tool(me: AsyncScope) -> Tool:
    """Return the tool that carries out a person's decision on what waits."""

    async def decide(id: str, approve: bool) -> dict[str, Any]:
        return _written(await (me.review.approve(id) if approve else me.review.reject(id)))

    return Tool(
        "review_decide",
        "Let the person decide on an entry of review_list. They are asked.",
        (Parameter("id", "string", "Id of the entry", required=True), _APPROVE),
        "What became of it",
        "write",
        decide,
    )


def list_consents_tool(me: AsyncScope, fill: bool) -> Tool:
    """Return the tool that lists proposed changes of how a person is called and spoken to.

    fill: what the person's turns say is proposed first, which writes.
    """

    async def consents() -> dict[str, Any]:
        found = await me.consent.proposals(limit=MAX_ENTRIES, fill=fill)
        return {"success": True, "proposals": [_proposal(item) for item in found]}

    return Tool(
        "consent_list",
        "List changes of the person's name, pronouns, city, language, tone or goals that need their consent.",
        (),
        "Proposals with id, field and value",
        "read",
        consents,
    )


def _proposal(item: Consent) -> dict[str, Any]:
    return {"id": item.id, "field": item.field, "value": None if item.value is None else clean_line(item.value)}


def decide_consent_tool(me: AsyncScope) -> Tool:
    """Return the tool that carries out a person's decision on a proposal."""

    async def decide(id: str, approve: bool) -> dict[str, Any]:
        consent = await me.consent.decide(id, approve, way="ui")
        return {"success": True, "id": consent.id, "state": str(consent.state)}

    return Tool(
        "consent_decide",
        "Let the person decide on an entry of consent_list. They are asked.",
        (Parameter("id", "string", "Id of the proposal", required=True), _APPROVE),
        "What became of it",
        "write",
        decide,
    )


async def ask_about(me: AsyncScope, tool: str, arguments: dict[str, Any]) -> str:
    """Return the question to a person before a decision is carried out. Raises NotFound, Denied for an agent."""
    if me.who.agent is not None:
        raise Denied(f"agent {me.who.agent!r} cannot decide for a person")
    wanted, verb = arguments.get("id"), "Approve" if arguments.get("approve") is True else "Reject"
    if tool == "review_decide":
        for item in await me.review.pending(limit=10**9):
            if item.id == wanted:
                return f'{verb} as a memory: "{clean_line(item.memory.text)[:MAX_ASKED_CHARACTERS]}" ({item.why})?'
    else:
        for proposal in await me.consent.proposals(limit=10**9):
            if proposal.id == wanted:
                value = clean_line(proposal.value or "nothing")[:MAX_ASKED_CHARACTERS]
                return f'{verb}: {proposal.field} becomes "{value}"?'
    raise NotFound(f"nothing with the id {wanted!r:.80} waits for a decision")


def _written(result: WriteResult) -> dict[str, Any]:
    (written,) = result.results
    outcome = {"success": True, "id": written.id, "outcome": str(written.outcome)}
    return outcome | ({"reason": written.reason} if written.reason else {})
