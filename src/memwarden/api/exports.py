"""Writes a person's memory in formats of other programs: mem0's JSON, a vault of Markdown notes, a graph.

What a format has no place for is left out, and counted. What it holds comes back equal by an import. Memories are read
a page at a time: what is in memory grows with the number of memories, not with their texts.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import yaml

from memwarden import filters
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

# Memories that are read at a time. A text may be of 256 KB, so that more could take hundreds of megabytes.
PAGE = 100
# Bytes of a note from which a thread goes on in another: programs for notes choke on larger ones.
MAX_NOTE = 2_000_000
_SLUG = 60
_ESCAPED = ("### ", "%% ", "\\")
_TURNS = filters.parse({"channel": Channel.TURN})
_SAVED = filters.parse({"channel": Channel.STATE})
_STATED = filters.parse({"channel": [item for item in Channel if item not in (Channel.TURN, Channel.STATE)]})


@dataclass(frozen=True, slots=True)
class FormatExport:
    """An export in a format of another program. left_out: counts of what the format has no place for."""

    format: str
    memories: int
    turns: int
    left_out: Mapping[str, int]


class Written(NamedTuple):
    """What a format took in, and counts of what it has no place for."""

    memories: int
    turns: int
    left_out: Counter[str]


@dataclass(frozen=True, slots=True)
class PersonalMemory:
    """What is active of a person's memory: the ids, in the order of writing, and pages of what they stand for."""

    store: Store
    namespace: Namespace
    statements: Sequence[str]
    turns: Sequence[str]
    saved: Sequence[str]

    async def read(self, ids: Sequence[str]) -> AsyncIterator[list[Memory]]:
        """Yield memories a page at a time. What is no longer there is left out."""
        for start in range(0, len(ids), PAGE):
            yield await self.store.get(self.namespace, ids[start : start + PAGE])

    async def read_edges(self) -> AsyncIterator[Relation]:
        """Yield each edge that begins or ends at a statement, once."""
        stated = frozenset(self.statements)
        for start in range(0, len(self.statements), PAGE):
            ids = frozenset(self.statements[start : start + PAGE])
            for edge in await self.store.relations(self.namespace, list(ids)):
                # An edge between two pages is in both, and belongs to that in which it begins.
                if edge.from_id in ids or edge.from_id not in stated:
                    yield edge


Writer = Callable[[Path, PersonalMemory], Awaitable[Written]]


async def export_format(store: Store, namespace: Namespace, path: Path, name: str) -> FormatExport:
    """Write a person's memory in a format. Raises NotFound for somebody of whom nothing is kept, Conflict."""
    if name not in FORMATS:
        raise InvalidInput(f"format is one of {', '.join(FORMATS)}, or none for a bundle, not {name!r:.40}")
    held = PersonalMemory(
        store, namespace, *[await store.find_ids(namespace, where) for where in (_STATED, _TURNS, _SAVED)]
    )
    if not (held.statements or held.turns or held.saved):
        raise NotFound(f"nothing is remembered in {namespace}")
    with make_work_folder(path) as folder, explain_os_errors(path):  # which refuses a path that is there
        done = await FORMATS[name](folder / "export", held)
        await asyncio.to_thread(_publish, folder / "export", path)
    removed = [await store.count(namespace, state=state) for state in MemoryState if state != MemoryState.ACTIVE]
    left_out = done.left_out + Counter({"memories that were forgotten, merged or held back": sum(removed)})
    return FormatExport(name, done.memories, done.turns, dict(left_out))


def _publish(made: Path, path: Path) -> None:
    if made.is_dir():
        made.rename(path)
    else:
        publish(made, path)


# --- mem0


async def _write_mem0(file: Path, held: PersonalMemory) -> Written:
    count = 0
    with open_private(file, "wb") as opened:
        opened.write(b'{\n "results": [')
        async for memories in held.read(held.statements):
            rows = [json.dumps(_mem0_row(memory), ensure_ascii=False, indent=1) for memory in memories]
            said = "".join(
                f"{',' if count + place else ''}\n{row}".replace("\n", "\n  ") for place, row in enumerate(rows)
            )
            await asyncio.to_thread(opened.write, said.encode())
            count += len(rows)
        opened.write(b"\n ]\n}" if count else b"]\n}")
    links = sum([1 async for _ in held.read_edges()])
    return Written(count, 0, Counter({"turns": len(held.turns), "saved values": len(held.saved), "links": links}))


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
        "created_at": memory.said_at.isoformat(),
        "updated_at": memory.updated_at.isoformat(),
        "expiration_date": None if memory.valid_to is None else memory.valid_to.isoformat(),
    }


# --- a graph


async def _write_graph(file: Path, held: PersonalMemory) -> Written:
    """Write the saved graph, and each statement as an entity of its own."""
    nodes = [memory_id for memory_id in held.saved if ENTITIES in memory_id or RELATIONS in memory_id]
    count = dated = 0
    with open_private(file, "wb") as opened:

        async def write(rows: Sequence[Mapping[str, Any]]) -> None:
            said = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            await asyncio.to_thread(opened.write, said.encode())

        async for saved in held.read(nodes):
            await write(_saved_nodes(saved))
        async for memories in held.read(held.statements):
            await write(list(map(_entity, memories)))
            count += len(memories)
            dated += sum(1 for item in memories if item.tags or leave_out_own(item.metadata) or item.valid_to)
        async for edges in _read_links(held):
            await write(list(map(_graph_relation, edges)))
    left_out = {
        "turns": len(held.turns),
        "saved values": len(held.saved) - len(nodes),
        "tags, metadata and validity of statements": dated,
    }
    return Written(count, 0, Counter(left_out))


async def _read_links(held: PersonalMemory) -> AsyncIterator[list[Relation]]:
    """Yield the edges between statements, some at a time."""
    ids, waiting = frozenset(held.statements), list[Relation]()
    async for edge in held.read_edges():
        if edge.from_id in ids and edge.to_id in ids:
            waiting.append(edge)
        if len(waiting) == PAGE:
            yield waiting
            waiting = []
    yield waiting


def _saved_nodes(nodes: Sequence[Memory]) -> list[dict[str, Any]]:
    values = [(memory.payload or {}).get("value") for memory in nodes]
    return [
        {"type": "entity" if "name" in value else "relation", **value} for value in values if isinstance(value, Mapping)
    ]


def _entity(memory: Memory) -> dict[str, Any]:
    return {"type": "entity", "name": memory.id, "entityType": memory.kind, "observations": [memory.text]}


def _graph_relation(edge: Relation) -> dict[str, Any]:
    return {"type": "relation", "from": edge.from_id, "to": edge.to_id, "relationType": str(edge.type)}


# --- a vault


async def _write_vault(folder: Path, held: PersonalMemory) -> Written:
    """Write a note for each statement, and for each thread."""
    for name in ("memories", "threads"):
        await asyncio.to_thread((folder / name).mkdir, parents=True)
    ids, count = frozenset(held.statements), 0
    async for memories in held.read(held.statements):
        links = await _find_links(held, memories, ids)
        await asyncio.to_thread(_write_memories, folder / "memories", memories, links)
        count += len(memories)
    notes, said = _ThreadNotes(folder / "threads"), 0
    async for turns in held.read(held.turns):
        await asyncio.to_thread(notes.add, turns)
        said += len(turns)
    for name in ("memories", "threads"):
        if not any((folder / name).iterdir()):
            (folder / name).rmdir()
    return Written(count, said, Counter({"saved values": len(held.saved)}))


async def _write_zipped_vault(file: Path, held: PersonalMemory) -> Written:
    """Write a vault into a zip, by way of a folder: a thread's turns lie between those of others."""
    folder = file.with_name("vault")
    done = await _write_vault(folder, held)
    await asyncio.to_thread(_zip_folder, folder, file)
    return done


def _zip_folder(folder: Path, file: Path) -> None:
    with open_private(file, "wb") as opened, ZipFile(opened, "w", ZIP_DEFLATED) as archive:
        for name in ("memories", "threads"):
            for place in sorted((folder / name).glob("*.md")):
                archive.write(place, f"{name}/{place.name}")
                place.unlink()


async def _find_links(
    held: PersonalMemory, memories: Sequence[Memory], stated: Collection[str]
) -> dict[str, list[str]]:
    """Return the lines by which the notes of memories link to those of others."""
    names = {memory.id: _note_name(memory) for memory in memories}
    edges = [
        edge
        for edge in await held.store.relations(held.namespace, list(names))
        if edge.from_id in names and edge.to_id in stated
    ]
    others = list({edge.to_id: None for edge in edges if edge.to_id not in names})
    async for linked in held.read(others):
        names |= {memory.id: _note_name(memory) for memory in linked}
    links: dict[str, list[str]] = {}
    for edge in edges:
        if edge.to_id in names:
            links.setdefault(edge.from_id, []).append(f"- [[{names[edge.to_id]}]] {edge.type}")
    return links


def _note_name(memory: Memory) -> str:
    return f"{_slug(memory.text)}-{memory.id[-8:]}"


def _write_memories(folder: Path, memories: Sequence[Memory], links: Mapping[str, Sequence[str]]) -> None:
    for memory in memories:
        with open_private(folder / f"{_note_name(memory)}.md", "wb") as opened:
            opened.write(_memory_note(memory, links.get(memory.id, [])).encode())


class _ThreadNotes:
    """Appends turns to the notes of their threads. What does not fit a note goes into another of the thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The number of each thread's last note, and the bytes that it holds.
        self._last: dict[str, tuple[int, int]] = {}

    def add(self, turns: Sequence[Memory]) -> None:
        """Write turns, in their order."""
        by_thread: dict[str, list[Memory]] = {}
        for turn in turns:
            by_thread.setdefault(turn.thread_id or "default", []).append(turn)
        for thread, said in by_thread.items():
            waiting = list[bytes]()
            number, size = self._last.get(thread, (0, MAX_NOTE))
            for turn in said:
                text = _turn_note(turn).encode()
                if size + len(text) > MAX_NOTE:
                    self._append(thread, number, waiting)
                    number, waiting = number + 1, [_front_matter({OWN: "thread", "thread": thread}).encode()]
                    size = len(waiting[0])
                waiting.append(text)
                size += len(text)
            self._append(thread, number, waiting)
            self._last[thread] = number, size

    def _append(self, thread: str, number: int, texts: Sequence[bytes]) -> None:
        if texts:
            # A sign that sorts after the dot: an import reads the notes of a thread in their order.
            further = f"_{number:04}" if number > 1 else ""
            name = f"{_slug(thread)}-{digest_parts(thread)[:8]}{further}.md"
            with open_private(self._folder / name, "ab") as opened:
                opened.write(b"".join(texts))


def _memory_note(memory: Memory, links: Sequence[str]) -> str:
    times = {name: getattr(memory, name) for name in ("valid_from", "valid_to")}
    metadata = leave_out_own(memory.metadata)
    fields = {
        OWN: "memory",
        "id": memory.id,
        "created": memory.said_at.isoformat(),
        **{name: at.isoformat() for name, at in times.items() if at is not None},
        **{name: getattr(memory, name) for name in KEPT if getattr(memory, name) not in (None, False)},
        "tags": list(memory.tags),
        "metadata": json.dumps(metadata, ensure_ascii=False) if metadata else None,
    }
    linked = f"\n\n{LINKS_MARK}\n" + "\n".join(links) if links or LINKS_MARK in memory.text else ""
    return f"{_front_matter(fields)}{memory.text}{linked}\n"


def _turn_note(turn: Memory) -> str:
    head = " · ".join(filter(None, (turn.said_at.isoformat(), turn.role or "user", turn.name)))
    fields = json.dumps({"id": turn.sources[0]} | ({"metadata": dict(turn.metadata)} if turn.metadata else {}))
    said = "\n".join(f"\\{line}" if line.startswith(_ESCAPED) else line for line in turn.text.split("\n"))
    return f"### {head}\n%% {fields.replace('%', chr(92) + 'u0025')} %%\n{said}\n"


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
