"""Reads the memories of other programs: mem0, Zep and Graphiti, LangMem and LangGraph's stores.

* **mem0**: what ``get_all`` answers, ``{"results": [{"id", "memory", "created_at", ...}]}``, or the list alone.
* **Zep, Graphiti**: ``{"messages", "episodes", "edges"}`` or one of these lists; an edge has a ``fact`` with
  ``valid_at`` and ``invalid_at``.
* **LangMem, LangGraph**: items as ``Item.dict()`` gives them, ``{"namespace", "key", "value", "created_at"}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.records import Channel
from memwarden.remember.imports.messages import PART, ThreadParts, describe
from memwarden.remember.imports.records import (
    MAX_PART,
    ImportedDocument,
    ImportedStatement,
    ImportedThread,
    ImportRecord,
    MalformedPart,
    count_characters,
)
from memwarden.remember.imports.source import ImportSource

# The place in mem0's metadata for what mem0 has no field for.
OWN = "memwarden"
_TEXT_FIELDS = ("content", "memory", "text", "fact", "summary")
# Fields of a statement that an export of memwarden keeps as they are.
KEPT = ("channel", "kind", "category", "importance", "pinned", "summary", "context")


def is_mem0(source: ImportSource) -> bool:
    """Return whether a file holds memories of mem0."""
    return "results.item.memory" in source.shape or "item.memory" in source.shape


def read_mem0(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield the memories of mem0, a document each."""
    path = "results.item" if "results.item.memory" in source.shape else "item"
    for number, row in enumerate(source.items(source.main, path), 1):
        with source.entry():
            yield _mem0_document(row, f"{source.place(source.main)}, memory {number}")
    relations = sum(1 for _ in source.items(source.main, "relations.item")) if "relations" in source.shape else 0
    if relations:
        yield ImportedDocument("mem0/relations", (), source.name, skipped={"relations of mem0's graph": relations})


def _mem0_document(row: Any, where: str) -> ImportedDocument:
    if not isinstance(row, Mapping):
        raise MalformedPart(f"{where} is {describe(row)}, not a memory")
    identity = f"mem0/{_name(row, 'id', where)}"
    return ImportedDocument(identity, (_mem0_statement(row, where),), where, user=_text(row.get("user_id")))


def _mem0_statement(row: Mapping[str, Any], where: str) -> ImportedStatement:
    metadata = dict(row["metadata"]) if isinstance(row.get("metadata"), Mapping) else {}
    own = metadata.pop(OWN, None)
    for name in ("agent_id", "run_id"):
        if row.get(name) is not None:
            metadata[name] = row[name]
    tags = own.get("tags", ()) if isinstance(own, Mapping) else row.get("categories") or ()
    return ImportedStatement(
        _words(row.get("memory"), f"{where}.memory"),
        created_at=read_moment(row.get("created_at"), f"{where}.created_at", clock.parse_local),
        valid_to=read_moment(row.get("expiration_date"), f"{where}.expiration_date"),
        tags=tuple(str(tag) for tag in tags),
        metadata=metadata,
        **_own_fields(own, where),
    )


def _own_fields(own: Any, where: str) -> dict[str, Any]:
    """Return what an export of memwarden added to a memory."""
    if not isinstance(own, Mapping):
        return {}
    found: dict[str, Any] = {name: own[name] for name in KEPT if own.get(name) is not None}
    return found | {"valid_from": read_moment(own.get("valid_from"), f"{where}.valid_from")}


# --- Zep and Graphiti

_ZEP_LISTS = ("messages", "episodes", "edges", "facts", "nodes")


def is_zep(source: ImportSource) -> bool:
    """Return whether a file holds messages, episodes or edges of Zep or Graphiti."""
    shape = source.shape
    signs = ("role_type", "fact", "source_description", "episode_uuids", "name_embedding")
    lists = ("item", *(f"{name}.item" for name in _ZEP_LISTS))
    return any(f"{where}.{sign}" in shape for where in lists for sign in signs)


def read_zep(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield messages as conversations, and facts with the time in which they hold."""
    threads, skipped = _ZepThreads(source), Counter[str]()
    if source.shape.get("") == "start_array":
        paths: Sequence[str] = ("item",)
    else:
        paths = [f"{name}.item" for name in _ZEP_LISTS if name in source.shape or name in source.head]
    for path in paths:
        for number, row in enumerate(source.items(source.main, path), 1):
            with source.entry():
                where = f"{source.place(source.main)}, {path.removesuffix('.item')} {number}"
                yield from _zep_records(source, row, where, threads, skipped)
    yield from threads.flush()
    if skipped:
        yield ImportedDocument("zep/nodes", (), source.name, skipped=skipped)


def _zep_records(
    source: ImportSource, row: Any, where: str, threads: _ZepThreads, skipped: Counter[str]
) -> Iterator[ImportRecord]:
    """Yield the records of a row of Zep's. Raises MalformedPart."""
    if not isinstance(row, Mapping):
        raise MalformedPart(f"{where} is {describe(row)}, not an object")
    if isinstance(row.get("fact"), str):
        yield _zep_fact(row, where)
    elif row.get("role_type") or (row.get("role") and "content" in row):
        yield from threads.add(_text(row.get("thread_id") or row.get("session_id")) or source.name, row)
    elif row.get("content") and row.get("source") != "json":
        yield _zep_episode(row, where)
    else:
        skipped["nodes and episodes of data"] += 1


class _ZepThreads:
    """Collects the messages of threads that may alternate, and gives them out in parts."""

    def __init__(self, source: ImportSource) -> None:
        self._source, self._threads = source, dict[str, ThreadParts]()
        self._held = self._characters = 0

    def add(self, thread: str, row: Mapping[str, Any]) -> Iterator[ImportedThread]:
        """Take a message; yield what waits once it is much."""
        if thread not in self._threads:
            where = f"{self._source.place(self._source.main)}, thread {thread}"
            self._threads[thread] = ThreadParts(self._source, thread, where)
        self._threads[thread].add(_zep_message(row))
        self._held += 1
        self._characters += count_characters(row)
        if self._held >= PART or self._characters >= MAX_PART:
            yield from self.flush()

    def flush(self) -> Iterator[ImportedThread]:
        """Yield what waits."""
        self._held = self._characters = 0
        yield from (parts.take() for parts in self._threads.values() if parts.held)


def _zep_message(row: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = row.get("role_type")
    name = row.get("role") if kind else row.get("name")
    said = {"role": kind or row.get("role"), "content": row.get("content")}
    kept = {"id": row.get("uuid") or row.get("uuid_"), "name": name, "created_at": row.get("created_at")}
    return said | {key: value for key, value in kept.items() if value}


def _zep_fact(row: Mapping[str, Any], where: str) -> ImportedDocument:
    ends = [read_moment(row.get(name), f"{where}.{name}") for name in ("invalid_at", "expired_at")]
    begin = read_moment(row.get("valid_at"), f"{where}.valid_at")
    names = {key: row[key] for key in ("source_node_name", "target_node_name") if row.get(key)}
    statement = ImportedStatement(
        _words(row.get("fact"), f"{where}.fact"),
        created_at=read_moment(row.get("created_at"), f"{where}.created_at", clock.parse_local),
        valid_from=begin,
        valid_to=next((end for end in ends if end is not None), None),
        tags=(str(row["name"]),) if row.get("name") else (),
        metadata=names,
    )
    return ImportedDocument(f"zep/{_name(row, 'uuid', where)}", (statement,), where, user=_text(row.get("user_id")))


def _zep_episode(row: Mapping[str, Any], where: str) -> ImportedDocument:
    at = read_moment(row.get("valid_at") or row.get("created_at"), f"{where}.created_at", clock.parse_local)
    statement = ImportedStatement(_words(row.get("content"), f"{where}.content"), created_at=at)
    return ImportedDocument(f"zep/{_name(row, 'uuid', where)}", (statement,), where)


# --- LangMem and LangGraph


def is_items(source: ImportSource) -> bool:
    """Return whether a file holds items of a LangGraph store, as LangMem keeps its memories."""
    shape = source.shape
    return any(all(f"{at}{name}" in shape for name in ("namespace", "key", "value")) for at in ("item.", ""))


def read_items(source: ImportSource) -> Iterator[ImportedDocument]:
    """Yield the items of a LangGraph store, a list or an item a line."""
    listed = "item.namespace" in source.shape
    values = source.items(source.main, "item" if listed else "", lines=not listed)
    for number, row in enumerate(values, 1):
        with source.entry():
            yield read_item(row, f"{source.place(source.main)}, item {number}")


def read_item(row: Any, where: str) -> ImportedDocument:
    """Return an item as a document. Raises MalformedPart."""
    if not isinstance(row, Mapping) or not isinstance(row.get("value"), Mapping):
        raise MalformedPart(f"{where} is {describe(row)}, not an item with a value")
    path = [str(name) for name in row.get("namespace") or ()]
    identity = "/".join(["langgraph", *path, _name(row, "key", where)])
    # LangMem's namespaces end with whose memories they are: ("memories", "ana").
    user = path[-1] if len(path) > 1 else None
    text, rest = find_text(row["value"])
    if not text:
        return ImportedDocument(identity, (), where, user=user, skipped={"items without words": 1})
    at = read_moment(row.get("created_at"), f"{where}.created_at", clock.parse_local)
    statement = ImportedStatement(text, created_at=at, metadata=rest)
    return ImportedDocument(identity, (statement,), where, user=user)


def find_text(value: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the words of an item's value, and what else it holds."""
    held = value.get("content")
    if isinstance(held, Mapping):  # LangMem wraps a memory as {"kind", "content"}
        text, rest = find_text(held)
        return text, rest | ({"kind": value["kind"]} if value.get("kind") not in (None, "Memory") else {})
    for name in _TEXT_FIELDS:
        if isinstance(value.get(name), str) and value[name].strip():
            return value[name].strip(), {key: item for key, item in value.items() if key != name}
    said = [f"{key}: {item}" for key, item in value.items() if isinstance(item, str) and item.strip()]
    return "; ".join(said), {key: item for key, item in value.items() if not isinstance(item, str)}


# --- all of them


def read_moment(value: Any, where: str, parse: Callable[[Any, str], datetime] = clock.parse) -> datetime | None:
    """Return a time, or None for none. Raises MalformedPart."""
    if value in (None, ""):
        return None
    try:
        return parse(value, where)
    except InvalidInput as error:
        raise MalformedPart(str(error)) from None


def check_channel(value: str, where: str) -> str:
    """Return the channel of a statement. Raises MalformedPart."""
    if value not in set(Channel) - {Channel.TURN, Channel.STATE}:
        raise MalformedPart(f"{where}: {value!r:.40} is no channel of a statement")
    return value


def _words(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise MalformedPart(f"{where} is {describe(value)}, not a text")
    return value


def _name(row: Mapping[str, Any], key: str, where: str) -> str:
    value = row.get(key) or row.get(f"{key}_")
    if not isinstance(value, str | int) or not str(value).strip():
        raise MalformedPart(f"{where} has no {key}")
    return str(value)


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and str(value).strip() else None
