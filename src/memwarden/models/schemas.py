"""JSON schemas of answers that every provider accepts.

The rules are OpenAI's for strict schemas: an object requires each of its properties and takes no others, and only a few
keywords are used. An optional field is a property that may be null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
WHOLE: Final[Schema] = {"type": "integer"}
FLAG: Final[Schema] = {"type": "boolean"}


def object_of(properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def one_of(values: Sequence[str]) -> Schema:
    """Return the schema of a text among these; of any text if there are none."""
    return {"type": "string", "enum": list(values)} if values else TEXT
