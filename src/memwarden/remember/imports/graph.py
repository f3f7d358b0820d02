"""Reads the knowledge graph of the reference memory server: JSON Lines of entities and relations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from memwarden.remember.imports.records import (
    ImportedDocument,
    ImportedNode,
    ImportedStatement,
    ImportRecord,
    MalformedPart,
)
from memwarden.remember.imports.source import ImportSource

# Saved values of the graph have keys that begin so.
ENTITIES, RELATIONS = "graph/entity/", "graph/relation/"
# Pattern of the keys of both.
GRAPH = "graph/*"
ENTITY_FIELDS = ("name", "entityType", "observations")
RELATION_FIELDS = ("from", "to", "relationType")


def is_graph(source: ImportSource) -> bool:
    """Return whether a file holds entities and relations, one a line."""
    shape = source.shape
    return "type=entity" in shape or "type=relation" in shape


def read_graph(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield each line as a node of the graph, and each entity's observations as a document too."""
    for number, line in source.lines(source.main):
        if not line.strip():
            continue
        with source.entry():
            yield from _records(line, f"{source.place(source.main)}, line {number}")


def _records(line: str, where: str) -> Iterator[ImportRecord]:
    """Yield the records of a line. Raises MalformedPart."""
    row = _parse(line, where)
    if row.get("type") == "entity":
        node = {name: row[name] for name in ENTITY_FIELDS}
        yield ImportedNode(node, where)
        yield ImportedDocument(f"graph/{row['name']}", _statements(node), where)
    else:
        yield ImportedNode({name: row[name] for name in RELATION_FIELDS}, where)


def _parse(line: str, where: str) -> Mapping[str, Any]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MalformedPart(f"{where}: no valid JSON ({error})") from None
    kinds = {"entity": ENTITY_FIELDS, "relation": RELATION_FIELDS}
    fields = kinds.get(row.get("type", "")) if isinstance(row, dict) else None
    if fields is None:
        raise MalformedPart(f"{where}: it is neither an entity nor a relation")
    for name in fields:
        given = row.get(name)
        fit = isinstance(given, list) and all(isinstance(item, str) for item in given)
        if not (fit if name == "observations" else isinstance(given, str) and given):
            raise MalformedPart(f"{where}: {name} is {given!r:.60}")
    found: Mapping[str, Any] = row
    return found


def _statements(node: Mapping[str, Any]) -> tuple[ImportedStatement, ...]:
    name = str(node["name"])
    said = [text.strip() for text in node["observations"] if text.strip()]
    # An observation often leaves out whom it is about, which is the entity's name.
    whole = [text if _names_nobody(name) or name.lower() in text.lower() else f"{name}: {text}" for text in said]
    return tuple(ImportedStatement(text, metadata={"entity": name}) for text in dict.fromkeys(whole))


def _names_nobody(name: str) -> bool:
    try:
        UUID(name)
    except ValueError:
        return False
    return True
