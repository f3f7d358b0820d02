"""The tools of a person's memory as MCP names them."""

from __future__ import annotations

from typing import Any

from memwarden.agent.tools import Parameter, Tool, create_tool, search_tool
from memwarden.api.scope import AsyncScope
from memwarden.records import WriteResult

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
_ID = Parameter("id", "string", "Id of a memory, as memory_query gives it", required=True)


def shape(required: Schema, **optional: Schema) -> Schema:
    """Return the schema of a successful answer."""
    properties = {"success": {"const": True}, **required, **optional}
    return {"type": "object", "properties": properties, "required": ["success", *required]}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def row(**fields: Schema) -> Schema:
    """Return the schema of an object, all of whose fields are there."""
    return {"type": "object", "properties": fields, "required": list(fields)}


FOUND = shape(
    {"count": WHOLE, "results": list_of(row(id=TEXT, category=TEXT, text=TEXT)), "confidence": NUMBER},
    notice=TEXT,
    updates=list_of(TEXT),
)
WRITTEN = shape({"id": TEXT, "outcome": TEXT}, reason=TEXT)
# The schema of the answers of each tool.
ANSWERS: dict[str, Schema] = {
    "memory_query": FOUND,
    "memory_remember": WRITTEN,
    "memory_forget": WRITTEN,
}


def default_tools(me: AsyncScope) -> tuple[Tool, ...]:
    """Return what most models need: to search, to remember, to forget."""
    return search_tool(me, "memory_query"), create_tool(me, "memory_remember"), forget_tool(me)


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


def _written(result: WriteResult) -> dict[str, Any]:
    (written,) = result.results
    answer = {"success": True, "id": written.id, "outcome": str(written.outcome)}
    return answer | ({"reason": written.reason} if written.reason else {})
