"""A registry of tools for an agent's model, which knows which tools read and which write.

A tool never raises to the model: an error is ``{"success": False, "error": ...}``. Only a caller without the permission
gets an exception.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from memwarden.agent.state import AsyncState
from memwarden.checks import quote
from memwarden.clock import DEFAULT_THREAD
from memwarden.errors import Denied, InvalidInput, MemwardenError, NotFound, StoreError
from memwarden.recall.answer.frame import NOTICE, QUOTED
from memwarden.records import (
    Channel,
    ContextBlock,
    Kind,
    Memory,
    MemoryState,
    Outcome,
    QueryResult,
    RecallItem,
    Scope,
    Trust,
    WriteResult,
)
from memwarden.remember.ingest.messages import checked_names, read_arguments
from memwarden.remember.ingest.screening import screen

Permission = Literal["read", "write"]
ToolFunction = Callable[..., Awaitable[dict[str, Any]]]
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int,),
    "object": (dict,),
    "any": (object,),
}
# The schemas of types whose names are not JSON's.
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "any": {},
    "strings": {"type": "array", "items": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool.

    type: a JSON type, ``strings`` for a list of them, or ``any`` for every JSON value. choices: values offered to a
    model. Empty for none. The tool decides whether others are valid.
    """

    name: str
    type: str
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call.

    Attributes:
        returns: the answer, in words. permissions: ``read``, or ``write`` when it changes something.
        call: takes the parameters by name and returns a JSON object with ``success``.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    returns: str
    permissions: Permission
    call: ToolFunction


class AsyncTools:
    """A registry of tools. ``permission``: what its caller may do; ``write`` includes reading."""

    def __init__(self, tools: Iterable[Tool] = (), *, permission: Permission = "write") -> None:
        if permission not in ("read", "write"):
            raise InvalidInput(f"permission is 'read' or 'write', not {quote(permission)}")
        self.permission = permission
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises InvalidInput for a taken name."""
        if tool.name in self._tools:
            raise InvalidInput(f"there is a tool {tool.name!r} already")
        self._tools[tool.name] = tool

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the caller may call, in the order of registration."""
        return tuple(tool for tool in self._tools.values() if self._may(tool))

    async def call_tool(self, name: str, parameters: Mapping[str, Any] | str | None = None) -> dict[str, Any]:
        """Call a tool and return its answer.

        parameters: by name, or the text of a JSON object, as OpenAI's API gives a model's arguments.

        Raises NotFound for an unknown tool, Denied for a tool that writes when the caller may only read. Wrong
        parameters and everything that memwarden refuses are answered with ``{"success": False, "error": ...}``.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise NotFound(f"there is no tool {quote(name)}; there are: {', '.join(self._tools) or 'none'}")
        if not self._may(tool):
            raise Denied(f"{name} writes, and this caller may only read")
        try:
            return await tool.call(**check_parameters(tool, read_arguments(parameters or {})))
        except StoreError as error:
            return {"success": False, "error": f"the storage refused: {error}"}
        except MemwardenError as error:
            return {"success": False, "error": str(error)}

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI's chat completions take them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": describe_tool(tool),
                    "parameters": parameter_schema(tool),
                },
            }
            for tool in self.tools
        ]

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools as Anthropic's messages take them."""
        return [
            {"name": tool.name, "description": describe_tool(tool), "input_schema": parameter_schema(tool)}
            for tool in self.tools
        ]

    def _may(self, tool: Tool) -> bool:
        return tool.permissions == "read" or self.permission == "write"


def describe_tool(tool: Tool) -> str:
    """Return a tool's purpose and answer, for a model."""
    return f"{tool.description} Returns: {tool.returns}"


def parameter_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON schema of a tool's parameters."""
    return {
        "type": "object",
        "properties": {
            parameter.name: {
                "description": parameter.description,
                **SCHEMAS.get(parameter.type, {"type": parameter.type}),
            }
            | ({"enum": list(parameter.choices)} if parameter.choices else {})
            for parameter in tool.parameters
        },
        "required": [parameter.name for parameter in tool.parameters if parameter.required],
        "additionalProperties": False,
    }


def check_parameters(tool: Tool, given: Any) -> dict[str, Any]:
    """Return the parameters of a call. Raises InvalidInput that names the wrong parameter."""
    if isinstance(given, str):
        raise InvalidInput(f"the parameters of {tool.name} are no whole, valid JSON object: {quote(given)}")
    if not isinstance(given, Mapping):
        raise InvalidInput(f"the parameters of {tool.name} are a JSON object, not {quote(given)}")
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    values = dict(given)
    for name in given:
        if name not in parameters:
            raise InvalidInput(f"{tool.name} has no parameter {quote(name)}; it has: {', '.join(parameters) or 'none'}")
    for item in parameters.values():
        if item.name not in given:
            if item.required:
                raise InvalidInput(f"{tool.name} needs {item.name}: {item.description}")
            continue
        value = values[item.name] = _as_type(item.type, given[item.name])
        if value == "" and not item.required and item.type != "string":
            value = values[item.name] = None  # models write it for a parameter that they leave out
        if not _fits(item.type, value) and (item.required or value is not None):
            type_name = _WORDS.get(item.type, item.type)
            raise InvalidInput(f"{item.name} of {tool.name} is a {type_name}, not {quote(value)}")
    return values


_WORDS = {"strings": "list of strings", "integer": "whole number", "object": "JSON object"}


# Deeper JSON, or longer numbers, are no value of a parameter.
_MAX_TEXT_VALUE = 20_000


def _as_type(type_: str, value: Any) -> Any:
    """Return a value as models often write it, such as "3" for 3, in its type; another value as it is."""
    if type_ == "strings" and isinstance(value, str) and not value.lstrip().startswith("["):
        return [value]
    if isinstance(value, str) and type_ in ("strings", "integer", "number", "boolean", "object"):
        try:
            read = json.loads(
                value[:_MAX_TEXT_VALUE].strip().lower() if type_ == "boolean" else value[:_MAX_TEXT_VALUE]
            )
        except (ValueError, RecursionError):
            return value
        value = read if _fits(type_, _whole(type_, read)) else value
    return _whole(type_, value)


def _whole(type_: str, value: Any) -> Any:
    return int(value) if type_ == "integer" and isinstance(value, float) and value.is_integer() else value


def _fits(type_: str, value: Any) -> bool:
    if type_ in ("number", "integer") and isinstance(value, bool):
        return False
    if type_ == "strings":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, TYPES[type_])


def state_tools(state: AsyncState) -> tuple[Tool, ...]:
    """Return the four tools over a person's state: saveState, loadState, listStateKeys, searchState."""

    async def save(
        key: str, value: Any, description: str | None = None, expires_in: float | None = None
    ) -> dict[str, Any]:
        # Whoever calls it is a model, which may have read a page a moment ago.
        saved_key = await state.save(key, value, description=description, expires_in=expires_in, trust=Trust.EXTERNAL)
        return {"success": True, "key": saved_key.key, "size_bytes": saved_key.size_bytes}

    async def load(key: str) -> dict[str, Any]:
        await state.load(key)  # says what is not there
        return {"success": True, "value": (await state.load_for_model([key]))[key]}

    async def list_keys(include_values: bool | None = False) -> dict[str, Any]:
        keys = await state.list_keys(include_values=bool(include_values))
        entries = [
            {"key": key.key, "updated_at": key.updated_at, "size_bytes": key.size_bytes}
            | ({"preview": key.preview} if include_values else {})
            for key in keys
        ]
        return {"success": True, "count": len(entries), "keys": entries}

    async def search(pattern: str) -> dict[str, Any]:
        results = await state.load_for_model(list(await state.search(pattern)))
        return {"success": True, "pattern": pattern, "matches": list(results), "results": results}

    key = Parameter("key", "string", "Name of the value (e.g., 'kudos_givers_2025')", required=True)
    return (
        Tool(
            "saveState",
            "Save a value under a key for later sessions, in place of an earlier value.",
            (
                key,
                Parameter("value", "any", "Any JSON value", required=True),
                Parameter("description", "string", "One line about what it is"),
                Parameter("expires_in", "number", "Seconds after which it is gone; leave out to keep it"),
            ),
            "Whether it was saved, its key and size",
            "write",
            save,
        ),
        Tool("loadState", "Load the value that was saved under a key.", (key,), "The value", "read", load),
        Tool(
            "listStateKeys",
            "List all state keys with metadata",
            (Parameter("include_values", "boolean", "Include preview of values"),),
            "List of keys with timestamps and optional previews",
            "read",
            list_keys,
        ),
        Tool(
            "searchState",
            "Search state keys by pattern",
            (Parameter("pattern", "string", "Search pattern (e.g., 'kudos*', '*_givers')", required=True),),
            "Matching keys and their values",
            "read",
            search,
        ),
    )


SEARCH_TOOL, CREATE_TOOL = "searchMemories", "createMemory"
# The number and tokens of a search when the model asks for no others.
DEFAULT_TOP_K, DEFAULT_BUDGET = 3, 512
# What a model may ask for at most: it reads the answer in its prompt.
MAX_RESULTS, MAX_BUDGET = 20, 2_000
# Three bullets of 280 characters fit, with who said them and when.
RECALL_BUDGET = 300
_KEPT = frozenset({Outcome.CREATED, Outcome.MERGED, Outcome.SUPERSEDED})
# The kinds offered to a model. Other kinds are accepted.
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
    unsure, and finds three bullets within 300 tokens. Without a block it is always offered.
    """
    if block is None:
        return search_tool(memories), create_tool(memories)
    return (*((recall_tool(memories),) if block.unsure else ()), create_tool(memories))


def select_tools(tools: Sequence[Tool], only: Sequence[str] | None) -> tuple[Tool, ...]:
    """Return the tools of the given names, in their own order. All for None. Raises InvalidInput for unknown names."""
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


def create_tool(memories: MemoryVerbs, name: str = CREATE_TOOL, *, personal: bool = False) -> Tool:
    """Return the tool by which a model keeps a memory, under any of its registered names.

    personal: what is kept counts as the person's words, unless it looks like orders for an assistant.
    """

    async def create(
        content: str,
        summary: str | None = None,
        type: str | None = None,
        importance: float | None = None,
        category: str | None = None,
        tags: list[str] | None = None,
    ) -> dict[str, Any]:
        # A model calls it, which may have read a page a moment ago.
        trusted = personal and screen(Trust.EXTERNAL, content, summary).state == MemoryState.ACTIVE
        result = await memories.remember(
            content,
            kind=_kind(type) if type else None,
            category=category or None,
            importance=0.5 if importance is None else _share(importance),
            tags=tags or (),
            source=f"tool:{name}",
            summary=summary,
            trust=Trust.PERSON if trusted else Trust.EXTERNAL,
        )
        (item,) = result.results
        if item.outcome not in _KEPT:
            return {"success": False, "outcome": str(item.outcome), "error": f"not kept: {item.reason}"}
        answer = {"success": True, "id": item.id, "outcome": str(item.outcome)}
        return answer | ({"reason": item.reason} if item.reason else {})

    return Tool(
        name,
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
    question_ids = [item.id for item in last if item.role == "user"]
    return {**(filters or {}), "id": {"$ne": question_ids[0]}} if question_ids else filters


def _search_answer(result: QueryResult) -> dict[str, Any]:
    bullets = [*map(_bullet, result.items), *map(_bullet, result.related)]
    answer = {"success": True, "count": len(bullets), "results": bullets, "confidence": round(result.confidence, 2)}
    # What is quoted came from a tool or a page, and the model is told so wherever it reads it.
    notice = {"notice": NOTICE} if any(QUOTED in bullet["text"] for bullet in bullets) else {}
    pending = {"pending": result.pending} if result.pending else {}
    return answer | notice | pending | ({"updates": list(result.delta.bullets)} if result.delta else {})


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
