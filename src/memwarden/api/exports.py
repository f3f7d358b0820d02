"""Writes a person's memory in formats of other programs: mem0's JSON, a vault of Markdown notes, a graph.

What a format has no place for is left out, and counted. What it holds comes back equal by an import.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

import yaml

from memwarden.errors import InvalidInput, NotFound
from memwarden.records import Channel, Memory, MemoryState, Namespace, Relation
from memwarden.remember.documents import leave_out_own
from memwarden.remember.imports.graph import ENTITIES, RELATIONS
from memwarden.remember.imports.memories import KEPT, OWN
from memwarden.remember.imports.notes import LINKS_MARK
from memwarden.remember.imports.records import digest_parts
from memwarden.stores.jsonfile.folder import open_private
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.backup import explain_os_errors, make_work_folder, publish

_PAGE = 500
_SLUG = 60
_ESCAPED = ("### ", "%% ", "\\")


@dataclass(frozen=True, slots=True)
class FormatExport:
    """An export in a format of another program. left_out: counts of what the format has no place for."""

    format: str
    memories: int
    turns: int
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PersonalMemory:
    """What is active of a person's memory, in the order of writing, with the edges between it."""

    statements: tuple[Memory, ...]
    turns: tuple[Memory, ...]
    saved: tuple[Memory, ...]
    edges: tuple[Relation, ...]
    removed: int


Writer = Callable[[Path, PersonalMemory], Counter[str]]


async def export_format(store: Store, namespace: Namespace, path: Path, name: str) -> FormatExport:
    """Write a person's memory in a format. Raises NotFound for somebody of whom nothing is kept, Conflict."""
    if name not in FORMATS:
        raise InvalidInput(f"format is one of {', '.join(FORMATS)}, or none for a bundle, not {name!r:.40}")
    held = await read_personal_memory(store, namespace)
    if not (held.statements or held.turns or held.saved):
        raise NotFound(f"nothing is remembered in {namespace}")
    left_out = await asyncio.to_thread(_publish, path, held, FORMATS[name])
    left_out["memories that were forgotten, merged or held back"] += held.removed
    turns = 0 if left_out["turns"] else len(held.turns)
    return FormatExport(name, len(held.statements), turns, {what: count for what, count in left_out.items() if count})


async def read_personal_memory(store: Store, namespace: Namespace) -> PersonalMemory:
    """Return what is active of a person's memory."""
    known = [item async for item in _read_active(store, namespace)]
    stated = [item for item in known if item.channel not in (Channel.TURN, Channel.STATE)]
    edges: dict[tuple[str, str, str], Relation] = {}
    for start in range(0, len(stated), _PAGE):
        for edge in await store.relations(namespace, [item.id for item in stated[start : start + _PAGE]]):
            edges[edge.from_id, edge.to_id, str(edge.type)] = edge
    removed = [await store.count(namespace, state=state) for state in MemoryState if state != MemoryState.ACTIVE]
    return PersonalMemory(
        tuple(stated),
        tuple(item for item in known if item.channel == Channel.TURN),
        tuple(item for item in known if item.channel == Channel.STATE),
        tuple(edges.values()),
        sum(removed),
    )


async def _read_active(store: Store, namespace: Namespace) -> AsyncIterator[Memory]:
    ids = await store.find_ids(namespace)
    for start in range(0, len(ids), _PAGE):
        for memory in await store.get(namespace, ids[start : start + _PAGE]):
            yield memory


def _publish(path: Path, held: PersonalMemory, write: Writer) -> Counter[str]:
    with make_work_folder(path) as folder, explain_os_errors(path):  # which refuses a path that is there
        left_out = write(folder / "export", held)
        if (folder / "export").is_dir():
            (folder / "export").rename(path)
        else:
            publish(folder / "export", path)
    return left_out


# --- mem0


def _write_mem0(file: Path, held: PersonalMemory) -> Counter[str]:
    rows = [_mem0_row(memory) for memory in held.statements]
    with open_private(file, "wb") as opened:
        opened.write(json.dumps({"results": rows}, ensure_ascii=False, indent=1).encode())
    return Counter({"turns": len(held.turns), "saved values": len(held.saved), "links": len(held.edges)})


def _mem0_row(memory: Memory) -> dict[str, Any]:
    metadata = leave_out_own(memory.metadata)
    own = {name: getattr(memory, name) for name in KEPT} | {"tags": list(memory.tags)}
    own["valid_from"] = None if memory.valid_from is None else memory.valid_from.isoformat()
    kept = {name: value for name, value in own.items() if value not in (None, [], False)}
    return {
        "id": memory.id,
        "memory": memory.text,
        "user_id": memory.user_id,
        "metadata": {**metadata, OWN: kept},
        "created_at": memory.created_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "expiration_date": None if memory.valid_to is None else memory.valid_to.isoformat(),
    }


# --- a graph


def _write_graph(file: Path, held: PersonalMemory) -> Counter[str]:
    """Write the saved graph, and each statement as an entity of its own."""
    ids = {memory.id for memory in held.statements}
    nodes = [memory for memory in held.saved if ENTITIES in memory.id or RELATIONS in memory.id]
    with open_private(file, "wb") as opened:
        for row in (*_saved_nodes(nodes), *_graph_rows(held, ids)):
            opened.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    dated = sum(1 for memory in held.statements if memory.tags or leave_out_own(memory.metadata) or memory.valid_to)
    return Counter(
        {
            "turns": len(held.turns),
            "saved values": len(held.saved) - len(nodes),
            "tags, metadata and validity of statements": dated,
        }
    )


def _saved_nodes(nodes: Sequence[Memory]) -> Iterator[dict[str, Any]]:
    for memory in nodes:
        value = (memory.payload or {}).get("value")
        if isinstance(value, Mapping):
            yield {"type": "entity" if "name" in value else "relation", **value}


def _graph_rows(held: PersonalMemory, ids: set[str]) -> Iterator[dict[str, Any]]:
    for memory in held.statements:
        yield {"type": "entity", "name": memory.id, "entityType": memory.kind, "observations": [memory.text]}
    for edge in held.edges:
        if edge.from_id in ids and edge.to_id in ids:
            yield {"type": "relation", "from": edge.from_id, "to": edge.to_id, "relationType": str(edge.type)}


# --- a vault


def _write_vault(file: Path, held: PersonalMemory) -> Counter[str]:
    """Write a note for each statement and each thread, as a zip where the name says so."""
    notes = dict(_vault_notes(held))
    folder = file.with_name("vault")
    folder.mkdir()
    for name, text in notes.items():
        place = folder / name
        place.parent.mkdir(exist_ok=True)
        with open_private(place, "wb") as opened:
            opened.write(text.encode())
    folder.rename(file)
    return Counter({"saved values": len(held.saved)})


def _write_zipped_vault(file: Path, held: PersonalMemory) -> Counter[str]:
    with open_private(file, "wb") as opened, ZipFile(opened, "w", ZIP_DEFLATED) as archive:
        for name, text in _vault_notes(held):
            archive.writestr(name, text)
    return Counter({"saved values": len(held.saved)})


def _vault_notes(held: PersonalMemory) -> Iterator[tuple[str, str]]:
    names = {memory.id: f"{_slug(memory.text)}-{memory.id[-8:]}" for memory in held.statements}
    links: dict[str, list[str]] = {}
    for edge in held.edges:
        if edge.from_id in names and edge.to_id in names:
            links.setdefault(edge.from_id, []).append(f"- [[{names[edge.to_id]}]] {edge.type}")
    for memory in held.statements:
        yield f"memories/{names[memory.id]}.md", _memory_note(memory, links.get(memory.id, []))
    threads: dict[str, list[Memory]] = {}
    for turn in held.turns:
        threads.setdefault(turn.thread_id or "default", []).append(turn)
    for thread, turns in threads.items():
        yield f"threads/{_slug(thread)}-{digest_parts(thread)[:8]}.md", _thread_note(thread, turns)


def _memory_note(memory: Memory, links: Sequence[str]) -> str:
    times = {name: getattr(memory, name) for name in ("valid_from", "valid_to")}
    metadata = leave_out_own(memory.metadata)
    fields = {
        OWN: "memory",
        "id": memory.id,
        "created": memory.created_at.isoformat(),
        **{name: at.isoformat() for name, at in times.items() if at is not None},
        **{name: getattr(memory, name) for name in KEPT if getattr(memory, name) not in (None, False)},
        "tags": list(memory.tags),
        "metadata": json.dumps(metadata, ensure_ascii=False) if metadata else None,
    }
    linked = f"\n\n{LINKS_MARK}\n" + "\n".join(links) if links or LINKS_MARK in memory.text else ""
    return f"{_front_matter(fields)}{memory.text}{linked}\n"


def _thread_note(thread: str, turns: Sequence[Memory]) -> str:
    parts = [_front_matter({OWN: "thread", "thread": thread})]
    for turn in turns:
        head = " · ".join(filter(None, (turn.created_at.isoformat(), turn.role or "user", turn.name)))
        fields = json.dumps({"id": turn.sources[0]} | ({"metadata": dict(turn.metadata)} if turn.metadata else {}))
        said = "\n".join(f"\\{line}" if line.startswith(_ESCAPED) else line for line in turn.text.split("\n"))
        parts.append(f"### {head}\n%% {fields.replace('%', chr(92) + 'u0025')} %%\n{said}\n")
    return "".join(parts)


def _front_matter(fields: Mapping[str, Any]) -> str:
    kept = {
        name: str(value) if isinstance(value, str) else value for name, value in fields.items() if value is not None
    }
    return f"---\n{yaml.safe_dump(kept, allow_unicode=True, sort_keys=False, width=10_000)}---\n"


def _slug(text: str) -> str:
    plain = re.sub(r"[^\w -]", "", unicodedata.normalize("NFC", text)).strip()
    return " ".join(plain.split())[:_SLUG].strip() or "note"


FORMATS: Final[Mapping[str, Writer]] = {
    "mem0": _write_mem0,
    "markdown": _write_vault,
    "markdown-zip": _write_zipped_vault,
    "graph": _write_graph,
}
