"""JSON schemas of what the tools of the MCP server take and answer."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}


def list_of(item: Schema, about: str = "") -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item} | ({"description": about} if about else {})


def row(fields: Schema, optional: Schema | None = None) -> Schema:
    """Return the schema of an object with these fields."""
    return {"type": "object", "properties": {**fields, **(optional or {})}, "required": list(fields)}


def answer(fields: Schema | None = None, optional: Schema | None = None) -> Schema:
    """Return the schema of a successful answer."""
    return row({"success": {"const": True}, **(fields or {})}, optional)


FOUND = answer(
    {"count": WHOLE, "results": list_of(row({"id": TEXT, "category": TEXT, "text": TEXT})), "confidence": NUMBER},
    {"notice": TEXT, "updates": list_of(TEXT)},
)
WRITTEN = answer({"id": TEXT, "outcome": TEXT}, {"reason": TEXT})
