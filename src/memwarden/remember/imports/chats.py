"""Reads the exports of ChatGPT and Claude: which messages were shown, in order, with their times.

* **ChatGPT**: ``conversations.json`` of the export, a list of ``{"title", "mapping", "current_node"}``. ``mapping``
  is a tree, since an edited message begins a branch; the branch that ends in ``current_node`` is the one that is shown.
* **Claude**: ``conversations.json`` of the export, a list of ``{"uuid", "name", "chat_messages"}``, with the sender
  ``human`` or ``assistant``. Exports with ``parent_message_uuid`` have branches too. What Claude noted of the person
  stands in ``memories.json`` or ``memories/ACCOUNT.json``, as ``{"conversations_memory", "project_memories"}``.
  Projects are in ``projects.json`` or ``projects/ID.json``, as ``{"name", "prompt_template", "docs"}``.

Both come as a zip, its folder or its JSON file; large exports in several, such as ``conversations-000.json``.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any
from zipfile import BadZipFile, ZipFile

from memwarden.errors import InvalidInput
from memwarden.remember.imports.messages import describe, read_rows
from memwarden.remember.imports.notes import Note, read_sections
from memwarden.remember.imports.records import (
    ImportedDocument,
    ImportedStatement,
    ImportedThread,
    ImportRecord,
    MalformedPart,
    Refuse,
    digest_parts,
    raise_malformed,
)
from memwarden.remember.imports.source import ImportSource
from memwarden.remember.ingest.messages import MAX_NAME

CHATS = "chat_messages"
PROJECT_FIELDS = {"prompt_template", "docs"}
NOTED, NOTED_OF_PROJECTS = "conversations_memory", "project_memories"
# What Claude noted has its headings in bold.
_BOLD_LINE = re.compile(r"(?m)^\*\*(.+?)\*\*[ \t]*$")
# Metadata of a turn: the title of its chat.
TITLE = "title"
# Recipient of what ChatGPT notes, and the content type of custom instructions.
BIO, INSTRUCTIONS = "bio", "user_editable_context"
BESIDE = "files that hold no conversations"
OTHER_BRANCHES = "messages of branches that are not shown"


@dataclass(frozen=True, slots=True)
class ExportedChat:
    """A chat of an export. rows: messages as chat APIs exchange them. left_out: counts by reason."""

    layout: str
    thread: str
    rows: tuple[Mapping[str, Any], ...]
    left_out: Mapping[str, int]


def is_chatgpt(source: ImportSource) -> bool:
    """Return whether a file is an export of ChatGPT."""
    return "item.mapping" in source.shape or "mapping" in source.shape


def is_claude(source: ImportSource) -> bool:
    """Return whether a file is an export of Claude."""
    return any(path in source.shape for path in (f"item.{CHATS}", CHATS, f"item.{NOTED}", NOTED))


def is_export(content: Any) -> bool:
    """Return whether parsed JSON is an export of ChatGPT or Claude."""
    return bool(content) and isinstance(content, list) and (_all_hold(content, "mapping") or _all_hold(content, CHATS))


def read_export(content: Sequence[Mapping[str, Any]]) -> Iterator[ExportedChat]:
    """Yield the chats of an export. Raises MalformedPart."""
    for number, chat in enumerate(content):
        where = f"[{number}]"
        yield _read_chatgpt(chat, where) if isinstance(chat.get("mapping"), Mapping) else _read_claude(chat, where)


def read_chats(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield the chats of an export, a chat in memory at a time, and what Claude noted. Raises MalformedPart."""
    noted = [name for name in source.parts if _is_noted(name)]
    projects = [name for name in source.parts if _is_projects(name)]
    parts = [name for name in source.parts if _is_chats(name)]
    if not (parts or noted):
        alone = [source.main]
        parts, noted = ([], alone) if {NOTED, f"item.{NOTED}"} & source.shape.keys() else (alone, [])
    for part in parts:
        for number, chat in enumerate(source.items(part, "item" if _is_list(source, part) else "")):
            with source.entry():
                yield from _threads_of(source, chat, f"{source.place(part)}, conversation {number + 1}")
    for part in noted:
        with source.entry():
            yield from _read_noted(source, part)
    for part in projects:
        with source.entry():
            yield from _read_projects(source, part)
    others = len(source.parts) - len(parts) - len(noted) - len(projects)
    if others:
        yield ImportedDocument("export/beside", (), source.name, skipped={BESIDE: others})


def _read_noted(source: ImportSource, part: str) -> Iterator[ImportedDocument]:
    """Yield what Claude noted of a person, and of each project, as documents."""
    where = source.place(part)
    for row in source.items(part, "item" if _is_list(source, part) else ""):
        if not isinstance(row, Mapping):
            raise MalformedPart(f"{where} is {describe(row)}, not what Claude noted")
        files = row.get("memory_files") or ()
        if not {NOTED, NOTED_OF_PROJECTS} & row.keys() or files:
            left_out = {"files that Claude noted": len(files)} if files else {BESIDE: 1}
            yield ImportedDocument("export/beside", (), where, skipped=left_out)
        projects = row.get(NOTED_OF_PROJECTS) or {}
        if not isinstance(projects, Mapping):
            raise MalformedPart(f"{where}: {NOTED_OF_PROJECTS} is {describe(projects)}")
        account = str(row.get("account_uuid") or PurePosixPath(part).stem)
        for name, text in {f"claude/{account}": row.get(NOTED), **projects}.items():
            if text is not None and not isinstance(text, str):
                raise MalformedPart(f"{where}: what was noted is {describe(text)}, not a text")
            identity = name if name not in projects else f"claude/{account}/{name}"
            note = Note(part, {"title": "What Claude noted"}, _BOLD_LINE.sub(r"## \1", text or ""), 1)
            yield ImportedDocument(identity, tuple(map(ImportedStatement, dict.fromkeys(read_sections(note)))), where)


def _read_projects(source: ImportSource, part: str) -> Iterator[ImportedDocument]:
    """Yield what Claude's projects hold as documents: instructions and added texts."""
    for number, row in enumerate(source.items(part, "item" if _is_list(source, part) else ""), 1):
        where = f"{source.place(part)}, project {number}"
        with source.entry():
            if not isinstance(row, Mapping):
                raise MalformedPart(f"{where} is {describe(row)}, not a project")
            if not PROJECT_FIELDS & row.keys():
                yield ImportedDocument("export/beside", (), where, skipped={BESIDE: 1})
                continue
            name = str(row.get("name") or "Project").strip()
            texts = {"instructions": row.get("prompt_template")}
            for doc in row.get("docs") or ():
                if not isinstance(doc, Mapping):
                    source.refuse(MalformedPart(f"{where} holds {describe(doc)}, not a document"))
                    continue
                texts[str(doc.get("filename") or doc.get("uuid"))] = doc.get("content")
            for title, text in texts.items():
                if text is not None and not isinstance(text, str):
                    source.refuse(MalformedPart(f"{where}: {title!r:.40} is {describe(text)}, not a text"))
                    continue
                note = Note(part, {"title": f"{name} · {title}"}, text or "", 1)
                identity = f"claude/project/{row.get('uuid') or name}/{title}"
                yield ImportedDocument(
                    identity, tuple(map(ImportedStatement, dict.fromkeys(read_sections(note)))), where
                )


def _is_list(source: ImportSource, part: str) -> bool:
    """Return whether a part holds a list, and not a single object."""
    with source.open(part) as opened:
        return opened.read(64).decode("utf-8-sig", errors="replace").lstrip().startswith("[")


def _threads_of(source: ImportSource, chat: Any, where: str) -> Iterator[ImportRecord]:
    refuse, branches = source.refuse, source.options.branches
    if not isinstance(chat, Mapping):
        raise MalformedPart(f"{where} is no conversation")
    of_chatgpt = isinstance(chat.get("mapping"), Mapping)
    if not of_chatgpt and not isinstance(chat.get(CHATS), list):
        raise MalformedPart(f"{where} has neither a mapping nor {CHATS}")
    read = _read_chatgpt(chat, where, refuse) if of_chatgpt else _read_claude(chat, where, refuse)
    left_out = Counter(read.left_out)
    title = chat.get("title") if of_chatgpt else chat.get("name")
    if branches:
        del left_out[OTHER_BRANCHES]
    rows = read_rows(read.rows, where, left_out, refuse=refuse)
    if isinstance(title, str) and title.strip():
        rows = tuple({**row, "metadata": {**(row.get("metadata") or {}), TITLE: title.strip()}} for row in rows)
    yield ImportedThread(read.thread, rows, where, skipped=left_out)
    if of_chatgpt:
        yield from _chatgpt_noted(chat, where)
    if branches:
        yield from _other_branches(chat, read.thread, where, refuse, of_chatgpt=of_chatgpt)


def _other_branches(
    chat: Mapping[str, Any], thread: str, where: str, refuse: Refuse, *, of_chatgpt: bool
) -> Iterator[ImportedThread]:
    """Yield what an edited message left behind: of each other branch the messages that no earlier branch has."""
    parent, leaf = ("parent", "current_node") if of_chatgpt else ("parent_message_uuid", "current_leaf_message_uuid")
    nodes = chat["mapping"] if of_chatgpt else _claude_nodes(chat, where, refuse)
    if not of_chatgpt and chat.get(leaf) not in nodes:  # an older export, which has no branches
        return
    known = set(_branch(nodes, chat.get(leaf), parent, where))
    inner = {node.get(parent) for node in nodes.values()}
    for end in [identity for identity in nodes if identity not in inner and identity not in known]:
        left_out = Counter[str]()
        ids = [identity for identity in _branch(nodes, end, parent, where) if identity not in known]
        known.update(ids)
        rows = (
            _chatgpt_rows(chat, ids, where, left_out, refuse)
            if of_chatgpt
            else [_claude_row(nodes[identity], f"{where}.{CHATS}", left_out) for identity in ids]
        )
        messages = read_rows(rows, where, left_out, refuse=refuse)
        yield ImportedThread(f"{thread}/{end}"[:MAX_NAME], messages, where, skipped=left_out)


def read_zip(data: bytes, where: str, max_bytes: int) -> list[Any]:
    """Return the chats of an export's zip. Raises InvalidInput when there are none in it, or too many."""
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            files = [item for item in archive.infolist() if _is_chats(item.filename)]
            if not files:
                raise InvalidInput(f"{where!r} holds no conversations.json; it is no export of ChatGPT or Claude")
            if sum(item.file_size for item in files) > max_bytes:
                raise InvalidInput(f"{where!r} holds more than {max_bytes:,} bytes of conversations; split it")
            parts = [json.loads(archive.read(item)) for item in sorted(files, key=lambda item: item.filename)]
    except (BadZipFile, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{where!r} cannot be unpacked: {error}") from None
    return [chat for part in parts for chat in (part if isinstance(part, list) else [part])]


def _is_chats(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.startswith("conversations") and base.endswith(".json")


def _is_noted(name: str) -> bool:
    place = PurePosixPath(name)
    return place.name == "memories.json" or (place.parent.name == "memories" and place.suffix == ".json")


def _is_projects(name: str) -> bool:
    place = PurePosixPath(name)
    return place.name == "projects.json" or (place.parent.name == "projects" and place.suffix == ".json")


def _all_hold(content: Sequence[Any], key: str) -> bool:
    return all(isinstance(item, Mapping) and isinstance(item.get(key), Mapping | list) for item in content)


def _read_chatgpt(chat: Mapping[str, Any], where: str, refuse: Refuse = raise_malformed) -> ExportedChat:
    nodes, left_out = chat["mapping"], Counter[str]()
    shown = _branch(nodes, chat.get("current_node"), "parent", where)
    rows = _chatgpt_rows(chat, shown, where, left_out, refuse)
    _count_branches(len(nodes) - len(shown), left_out)
    return ExportedChat("ChatGPT export", _name(chat, ("conversation_id", "id"), where), rows, left_out)


def _chatgpt_rows(
    chat: Mapping[str, Any], ids: Sequence[str], where: str, left_out: Counter[str], refuse: Refuse
) -> tuple[Mapping[str, Any], ...]:
    at, rows = chat.get("create_time"), []
    for identity in ids:
        message = chat["mapping"][identity].get("message")
        if not isinstance(message, Mapping):  # the root of the tree
            continue
        at = message.get("create_time") or at  # some have none, and were said after the one before
        try:
            row = _chatgpt_row(message, identity, at, f"{where}.mapping[{identity!r:.60}]", left_out)
        except MalformedPart as error:
            refuse(MalformedPart(str(error), inside=(f"mapping.{identity}", 1)))
            continue
        if row is not None:
            rows.append(row)
    return tuple(rows)


def _chatgpt_row(
    message: Mapping[str, Any], identity: str, at: Any, where: str, left_out: Counter[str]
) -> Mapping[str, Any] | None:
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, Mapping) or not isinstance(content, Mapping):
        raise MalformedPart(f"{where} is no message with an author and a content")
    if message.get("weight") == 0 or (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        left_out["messages that the app does not show"] += 1
        return None
    if message.get("recipient") == BIO or content.get("content_type") == INSTRUCTIONS:
        return None  # what ChatGPT noted of a person, or was asked to do, is a document
    if message.get("recipient") not in (None, "all"):
        left_out["messages to a tool"] += 1
        return None
    kind = content.get("content_type")
    if kind not in ("text", "multimodal_text"):
        left_out[f"messages of the content type {kind!r:.40}"] += 1
        return None
    row = {"role": author.get("role"), "content": content.get("parts") or [], "id": str(message.get("id") or identity)}
    return row | ({} if at is None else {"created_at": _moment(at, where)})


def _chatgpt_noted(chat: Mapping[str, Any], where: str) -> Iterator[ImportedDocument]:
    """Yield what ChatGPT noted of a person in a chat, and the custom instructions that it ran with."""
    noted: dict[str, Any] = {}
    for node in chat["mapping"].values():
        message = node.get("message") if isinstance(node, Mapping) else None
        content = message.get("content") if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or not isinstance(content, Mapping):
            continue
        at = message.get("create_time") or chat.get("create_time")
        if message.get("recipient") == BIO:
            parts = content.get("parts") or ()
            noted |= {part.strip(): at for part in parts if isinstance(part, str) and part.strip()}
        elif content.get("content_type") == INSTRUCTIONS:
            given = (content.get(name) for name in ("user_profile", "user_instructions"))
            noted |= {text.strip(): at for text in given if isinstance(text, str) and text.strip()}
    for text, at in noted.items():
        said_at = None if at is None else datetime.fromisoformat(_moment(at, where))
        yield ImportedDocument(f"chatgpt/{digest_parts(text)}", (ImportedStatement(text, created_at=said_at),), where)


def _read_claude(chat: Mapping[str, Any], where: str, refuse: Refuse = raise_malformed) -> ExportedChat:
    left_out = Counter[str]()
    nodes = _claude_nodes(chat, where, refuse)
    leaf = chat.get("current_leaf_message_uuid")
    shown = _branch(nodes, leaf, "parent_message_uuid", where) if leaf in nodes else list(nodes)
    rows = [_claude_row(nodes[identity], f"{where}.{CHATS}", left_out) for identity in shown]
    _count_branches(len(nodes) - len(shown), left_out)
    return ExportedChat("Claude export", _name(chat, ("uuid",), where), tuple(rows), left_out)


def _claude_nodes(chat: Mapping[str, Any], where: str, refuse: Refuse) -> dict[str, Mapping[str, Any]]:
    nodes = {}
    for number, item in enumerate(chat[CHATS], 1):
        if isinstance(item, Mapping) and isinstance(item.get("uuid"), str):
            nodes[item["uuid"]] = item
            continue
        told = f"{where}.{CHATS} holds {describe(item)}, no message with a uuid"
        refuse(MalformedPart(told, inside=(f"{CHATS}.item", number)))
    return nodes


def _claude_row(message: Mapping[str, Any], where: str, left_out: Counter[str]) -> Mapping[str, Any]:
    sender = message.get("sender")
    pasted, others = _pasted_texts(message)
    if others:
        left_out["messages' attachments"] += others
    parts = message.get("content")
    said = parts if isinstance(parts, list) and parts else [str(message.get("text") or "")]
    said = [*said, *pasted] if pasted else said
    role = "user" if sender == "human" else sender
    at = message.get("created_at")
    return {"role": role, "content": said, "id": message["uuid"]} | ({} if at is None else {"created_at": str(at)})


def _pasted_texts(message: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the texts that a person pasted into a message, and the number of other attachments."""
    given = [*(message.get("attachments") or ()), *(message.get("files") or ())]
    texts = [item.get("extracted_content") for item in given if isinstance(item, Mapping)]
    pasted = [text for text in texts if isinstance(text, str) and text.strip()]
    return pasted, len(given) - len(pasted)


def _branch(nodes: Mapping[str, Any], leaf: Any, parent: str, where: str) -> list[str]:
    """Return the ids from the root to a leaf; without a leaf to the last node."""
    at: str | None = leaf if leaf in nodes else next(reversed(list(nodes)), None)
    path: dict[str, None] = {}
    while at is not None and at in nodes:
        if at in path or not isinstance(nodes[at], Mapping):
            raise MalformedPart(f"{where}: the messages before {at!r:.60} are no tree")
        path[at] = None
        at = nodes[at].get(parent)
    return list(path)[::-1]


def _count_branches(others: int, left_out: Counter[str]) -> None:
    if others:
        left_out[OTHER_BRANCHES] += others


def _name(chat: Mapping[str, Any], keys: Sequence[str], where: str) -> str:
    name = next((chat[key] for key in keys if isinstance(chat.get(key), str) and chat[key]), None)
    if name is None:
        raise MalformedPart(f"{where} has no {keys[0]}")
    return str(name)


def _moment(at: Any, where: str) -> str:
    """Return seconds since 1970 as ISO 8601."""
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise MalformedPart(f"{where}: create_time is {at!r:.40}, not seconds since 1970")
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise MalformedPart(f"{where}: create_time {at!r:.40} is no time") from None
