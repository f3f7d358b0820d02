"""Serializes pages of a namespace as JSON, for both of its files: log and snapshot."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any

from memwarden.records import ChangeResult, JournalEntry, Memory, Namespace, Receipt, Relation, Signals
from memwarden.stores.transfer.pages import EarlierContent, IdempotentAnswer, KeptEdge, Mark, MemoryRow, Page

_TIMES = {"created_at", "updated_at", "valid_from", "valid_to", "purge_at", "at"}
_TUPLES = {"tags", "sources", "characters"}
_USUAL = {field.name: field.default for field in fields(Memory) if field.default is not MISSING}


def page_json(page: Page) -> str:
    """Return a page as a single line of JSON."""
    return _line({**_head(page), **{name: list(parts) for name, parts in _parts(page)}})


def page_lines(page: Page) -> Iterator[str]:
    """Yield a page as readable JSON with a line for each memory, entry and edge."""
    yield _line(_head(page))[:-1]
    for name, parts in _parts(page):
        yield f', "{name}": ['
        ending = "\n"
        for part in parts:
            yield ending + _line(part)
            ending = ",\n"
        yield "\n]"
    yield "\n}"


def page_of(said: Mapping[str, Any]) -> Page:
    """Return the page of such JSON. Raises KeyError, TypeError or ValueError for any other value."""
    namespace = Namespace(said["tenant"], said["path"])
    return Page(
        namespace,
        said["since"],
        said["rev"],
        said["head"],
        said["rows"],
        tuple(_change(item, namespace) for item in said["changes"]),
        tuple(_memory_row(item, namespace) for item in said["memories"]),
        tuple(EarlierContent(item["n"], _memory(item["memory"], namespace)) for item in said["earlier"]),
        tuple(_edge(item) for item in said["edges"]),
        tuple(Mark(*item) for item in said["marks"]),
        tuple(_answer(item) for item in said["answers"]),
    )


def _head(page: Page) -> dict[str, Any]:
    where = page.namespace
    numbers = {"since": page.since, "rev": page.rev, "head": page.head, "rows": page.rows}
    return {"tenant": where.tenant, "path": where.path, **numbers}


def _parts(page: Page) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield the lists of a page by name, the memories first, since people look for them."""
    yield "memories", (_memory_row_json(memory) for memory in page.memories)
    yield "earlier", ({"memory": _memory_json(item.memory), "n": item.n} for item in page.earlier)
    yield "edges", (_edge_json(edge) for edge in page.edges)
    yield "changes", (_change_json(change) for change in page.changes)
    yield "marks", (list(mark) for mark in page.marks)
    yield "answers", (_answer_json(answer) for answer in page.answers)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if name in _TUPLES else value


def _rich(name: str, value: Any) -> Any:
    if name in _TIMES and value is not None:
        return datetime.fromisoformat(value)
    return tuple(value) if name in _TUPLES else value


def _memory_json(memory: Memory) -> dict[str, Any]:
    """Return the fields that differ from their defaults; the namespace stands at the head of the page."""
    values = {field.name: getattr(memory, field.name) for field in fields(memory) if field.name != "namespace"}
    return {name: _plain(name, value) for name, value in values.items() if value != _USUAL.get(name, MISSING)}


def _memory(said: Mapping[str, Any], namespace: Namespace) -> Memory:
    return Memory(namespace=namespace, **{name: _rich(name, value) for name, value in said.items()})


def _memory_row_json(row: MemoryRow) -> dict[str, Any]:
    about = {"n": row.n, "rev": row.rev, "once": row.source_key}
    return {"memory": _memory_json(row.memory), **about, "signals": _signals_json(row.signals)}


def _memory_row(said: Mapping[str, Any], namespace: Namespace) -> MemoryRow:
    return MemoryRow(
        said["n"], said["rev"], said["once"], _memory(said["memory"], namespace), _signals(said["signals"])
    )


def _signals_json(signals: Signals) -> dict[str, Any]:
    values = {field.name: getattr(signals, field.name) for field in fields(signals)}
    return {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in values.items()
        if value is not None
    }


def _signals(said: Mapping[str, Any]) -> Signals:
    values: dict[str, Any] = {
        name: base64.b64decode(value, validate=True) if isinstance(value, str) else value
        for name, value in said.items()
    }
    return Signals(**values)


def _edge_json(edge: KeptEdge) -> dict[str, Any]:
    said = edge.relation
    ends = {"from": said.from_id, "to": said.to_id, "type": str(said.type), "strength": said.strength}
    return {**ends, "created_at": said.created_at.isoformat(), "rev": edge.rev, "live": edge.live}


def _edge(said: Mapping[str, Any]) -> KeptEdge:
    made = datetime.fromisoformat(said["created_at"])
    return KeptEdge(said["rev"], said["live"], Relation(said["from"], said["to"], said["type"], said["strength"], made))


def _change_json(entry: JournalEntry) -> dict[str, Any]:
    values = {each.name: getattr(entry, each.name) for each in fields(entry) if each.name != "namespace"}
    return {name: _plain(name, value) for name, value in values.items() if value is not None}


def _change(said: Mapping[str, Any], namespace: Namespace) -> JournalEntry:
    absent = dict.fromkeys(("old_version", "new_version", "actor", "thread_id"))
    values = {**absent, **{name: _rich(name, value) for name, value in said.items()}}
    return JournalEntry(namespace=namespace, **values)


def _answer_json(answer: IdempotentAnswer) -> dict[str, Any]:
    applied = [list(each) for each in answer.receipt.applied]
    about = {"key": answer.key, "fingerprint": answer.fingerprint, "at": answer.at.isoformat()}
    return {**about, "rev": answer.receipt.rev, "applied": applied}


def _answer(said: Mapping[str, Any]) -> IdempotentAnswer:
    receipt = Receipt(said["rev"], tuple(ChangeResult(*item) for item in said["applied"]))
    return IdempotentAnswer(said["key"], said["fingerprint"], datetime.fromisoformat(said["at"]), receipt)
