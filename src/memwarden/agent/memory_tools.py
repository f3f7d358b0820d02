"""Tools for a model to search and create memories: ``searchMemories`` and ``createMemory``.

``searchMemories`` calls :meth:`memwarden.api.scope.AsyncScope.query`, ``createMemory`` calls ``remember``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from memwarden.agent.tools import Parameter, Tool
from memwarden.errors import InvalidInput
from memwarden.ids import DEFAULT_THREAD
from memwarden.records import (
    Channel,
    ContextBlock,
    Kind,
    Memory,
    Outcome,
    QueryResult,
    RecallItem,
    Scope,
    Trust,
    WriteResult,
)
from memwarden.remember.ingest.messages import checked_names

SEARCH_TOOL, CREATE_TOOL = "searchMemories", "createMemory"
# The number and tokens of a search when the model asks for no others.
DEFAULT_TOP_K, DEFAULT_BUDGET = 3, 512
# What a model may ask for at most: it reads the answer in its prompt.
MAX_RESULTS, MAX_BUDGET = 20, 2_000
# Three bullets of 280 characters fit, with who said them and when.
RECALL_BUDGET = 300
CREATED_BY = f"tool:{CREATE_TOOL}"
_KEPT = frozenset({Outcome.CREATED, Outcome.MERGED, Outcome.SUPERSEDED})
# The kinds offered to a model; other kinds are accepted.
_KINDS = (Kind.NOTE, Kind.PREFERENCE, Kind.DECISION, Kind.OUTCOME, Kind.DISCOVERY, Kind.INSIGHT, Kind.BEHAVIOR)


class MemoryVerbs(Protocol):
    """The part of a scope that the tools need."""

    @property
    def who(self) -> Scope: ...

    async def find(
        self, filters: Mapping[str, Any] | None = None, *, limit: int = ..., order_by: str = ...
    ) -> list[Memory]: ...

    async def query(
        self,
        query: str,
        categories: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int = DEFAULT_TOP_K,
        *,
        budget_tokens: int | None = DEFAULT_BUDGET,
    ) -> QueryResult: ...

    async def remember(
        self,
        text_or_messages: str,
        *,
        kind: str | None = None,
        category: str | None = None,
        importance: float = 0.5,
        tags: Sequence[str] = (),
        source: str | None = None,
        summary: str | None = None,
        trust: str | None = None,
    ) -> WriteResult: ...


def memory_tools(memories: MemoryVerbs, block: ContextBlock | None = None) -> tuple[Tool, ...]:
    """Return searchMemories and createMemory over a scope's memories.

    block: the memories that the turn has already. With a block, searchMemories is offered only when the block is
    unsure, and finds three bullets within 300 tokens; without a block it is always offered.
    """
    if block is None:
        return search_tool(memories), create_tool(memories)
    return (*((recall_tool(memories),) if block.unsure else ()), create_tool(memories))


def select_tools(tools: Sequence[Tool], only: Sequence[str] | None) -> tuple[Tool, ...]:
    """Return the tools of the given names, in their own order; all for None. Raises InvalidInput for unknown names."""
    if only is None:
        return tuple(tools)
    names = checked_names(only, "only")
    there = dict.fromkeys((SEARCH_TOOL, *(tool.name for tool in tools)))  # a block may leave the search out
    for name in names:
        if name not in there:
            raise InvalidInput(f"there is no tool {name!r:.80}; there are: {', '.join(there)}")
    return tuple(tool for tool in tools if tool.name in names)


_QUESTION = Parameter("query", "string", "What you want to know, as a question or in a few words", required=True)


def search_tool(memories: MemoryVerbs, name: str = SEARCH_TOOL) -> Tool:
    """Return the search tool, under any of its registered names."""

    async def search(
        query: str,
        categories: list[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = DEFAULT_TOP_K,
        budget_tokens: int | None = DEFAULT_BUDGET,
    ) -> dict[str, Any]:
        most = _check_limit("top_k", top_k, DEFAULT_TOP_K, MAX_RESULTS)
        budget = _check_limit("budget_tokens", budget_tokens, DEFAULT_BUDGET, MAX_BUDGET)
        where = await _exclude_question(memories, filters)
        return _search_answer(await memories.query(query, categories, where, most, budget_tokens=budget))

    return Tool(
        name,
        "Search what is remembered from earlier conversations: what was said, facts, decisions, preferences.",
        (
            _QUESTION,
            Parameter("categories", "strings", "Search only these categories; leave out to search all"),
            Parameter(
                "filters",
                "object",
                'Conditions, such as {"kind": "decision", "created_at": {"$gte": "2026-01-31"}}',
            ),
            Parameter("top_k", "integer", f"Most results, 1 to {MAX_RESULTS}; default {DEFAULT_TOP_K}"),
            Parameter(
                "budget_tokens", "integer", f"Most tokens of the results, 1 to {MAX_BUDGET}; default {DEFAULT_BUDGET}"
            ),
        ),
        "Memories, the best first, each with its id and category; none when nothing is relevant",
        "read",
        search,
    )


def recall_tool(memories: MemoryVerbs) -> Tool:
    """Return searchMemories for an unsure turn: its only parameter is the question."""

    async def recall(query: str) -> dict[str, Any]:
        where = await _exclude_question(memories, None)
        return _search_answer(
            await memories.query(query, filters=where, top_k=DEFAULT_TOP_K, budget_tokens=RECALL_BUDGET)
        )

    return Tool(
        SEARCH_TOOL,
        "Search what is remembered from earlier conversations. Something about this message may be there.",
        (_QUESTION,),
        "Up to three memories, the best first, each with its id and category; none when nothing is relevant",
        "read",
        recall,
    )


def create_tool(memories: MemoryVerbs) -> Tool:
    """Return the tool by which a model keeps a memory."""

    async def create(
        content: str,
        summary: str | None = None,
        type: str | None = None,
        importance: float | None = None,
        category: str | None = None,
        tags: list[str] | None = None,
    ) -> dict[str, Any]:
        # Whoever calls it is a model, which may have read a page a moment ago.
        stored = await memories.remember(
            content,
            kind=_kind(type) if type else None,
            category=category or None,
            importance=0.5 if importance is None else _share(importance),
            tags=tags or (),
            source=CREATED_BY,
            summary=summary,
            trust=Trust.EXTERNAL,
        )
        (written,) = stored.results
        if written.outcome not in _KEPT:
            return {"success": False, "outcome": str(written.outcome), "error": f"not kept: {written.reason}"}
        answer = {"success": True, "id": written.id, "outcome": str(written.outcome)}
        return answer | ({"reason": written.reason} if written.reason else {})

    return Tool(
        CREATE_TOOL,
        "Keep something for later conversations: one fact, decision, preference or lesson that will still matter then.",
        (
            Parameter("content", "string", "What to keep, in one sentence that can be understood alone", required=True),
            Parameter("summary", "string", "The same, shorter"),
            Parameter("type", "string", "What kind of thing it is", choices=_KINDS),
            Parameter("importance", "number", "1 to 10; default 5"),
            Parameter("category", "string", "A category that you may read; leave out if unsure"),
            Parameter("tags", "strings", "Words to find it by"),
        ),
        "Its id, and whether it is new, was known already (merged) or took the place of an older one (superseded)",
        "write",
        create,
    )


async def _exclude_question(memories: MemoryVerbs, filters: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return filters without the message being answered: the model has it, and it answers nothing."""
    if filters and "id" in filters:
        return filters
    thread = {"thread_id": memories.who.thread or DEFAULT_THREAD, "channel": str(Channel.TURN)}
    last = await memories.find(thread, limit=1, order_by="written")
    asked = [item.id for item in last if item.role == "user"]
    return {**(filters or {}), "id": {"$ne": asked[0]}} if asked else filters


def _search_answer(result: QueryResult) -> dict[str, Any]:
    bullets = [*map(_bullet, result.items), *map(_bullet, result.related)]
    answer = {"success": True, "count": len(bullets), "results": bullets, "confidence": round(result.confidence, 2)}
    return answer | ({"updates": list(result.delta.bullets)} if result.delta else {})


def _bullet(item: RecallItem) -> dict[str, Any]:
    return {"id": item.id, "category": item.category, "text": item.text}


def _check_limit(what: str, value: int | None, default: int, most: int) -> int:
    if value is None:
        return default
    if not 1 <= value <= most:
        raise InvalidInput(f"{what} is a whole number from 1 to {most:,}, not {value!r:.80}")
    return value


def _kind(type: str) -> str:
    kind = type.strip().lower()
    if kind not in set(Kind):
        raise InvalidInput(f"type is one of {', '.join(_KINDS)}, not {type!r:.80}")
    return kind


def _share(importance: float) -> float:
    """Return an importance of 1..10 as 0..1."""
    if not 1 <= importance <= 10:
        raise InvalidInput(f"importance is a number from 1 to 10, not {importance!r:.80}")
    return importance / 10
