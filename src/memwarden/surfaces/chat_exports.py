"""Reads the exports of ChatGPT and Claude, and plain logs: which messages were shown, in order, with their times.

* **ChatGPT**: ``conversations.json`` of the export, a list of ``{"title", "mapping", "current_node"}``. ``mapping``
  is a tree, since an edited message begins a branch; the branch that ends in ``current_node`` is the one that is shown.
* **Claude**: ``conversations.json`` of the export, a list of ``{"uuid", "name", "chat_messages"}``, with the sender
  ``human`` or ``assistant``. Exports with ``parent_message_uuid`` have branches too.

Both come as a zip or as its JSON file. A plain log is text with a label before each message: ``USER:`` or ``Human:``,
``ASSISTANT:`` or ``AI:``; lines without a label belong to the message before them.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zipfile import BadZipFile, ZipFile

from memwarden.errors import InvalidInput

ZIP = b"PK\x03\x04"
_LABEL = re.compile(r"(user|human|assistant|ai|system)\s*:[ \t]*", re.IGNORECASE)
_ROLES = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True, slots=True)
class ExportedChat:
    """A chat of an export. rows: messages as chat APIs exchange them. left_out: counts by reason."""

    layout: str
    thread: str
    rows: tuple[Mapping[str, Any], ...]
    left_out: Mapping[str, int]


def is_export(content: Any) -> bool:
    """Return whether parsed JSON is an export of ChatGPT or Claude."""
    return bool(content) and isinstance(content, list) and (_all_hold(content, "mapping") or _all_hold(content, CHATS))


def read_export(content: Sequence[Mapping[str, Any]]) -> Iterator[ExportedChat]:
    """Yield the chats of an export. Raises ValueError that names the malformed part."""
    for number, chat in enumerate(content):
        where = f"[{number}]"
        yield _read_chatgpt(chat, where) if isinstance(chat.get("mapping"), Mapping) else _read_claude(chat, where)


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


def read_plain_log(text: str) -> list[dict[str, str]] | None:
    """Return the messages of a plain log; None for a text that does not begin with a label, or has one speaker."""
    rows: list[dict[str, str]] = []
    for line in text.strip().splitlines():
        label = _LABEL.match(line)
        if label is not None:
            said = label[1].lower()
            rows.append({"role": _ROLES.get(said, said), "content": line[label.end() :]})
        elif not rows:
            return None
        else:
            rows[-1]["content"] += f"\n{line}"
    if not {"user", "assistant"} <= {row["role"] for row in rows}:
        return None
    return [{**row, "content": row["content"].strip()} for row in rows]


CHATS = "chat_messages"


def _is_chats(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.startswith("conversations") and base.endswith(".json")


def _all_hold(content: Sequence[Any], key: str) -> bool:
    return all(isinstance(item, Mapping) and isinstance(item.get(key), Mapping | list) for item in content)


def _read_chatgpt(chat: Mapping[str, Any], where: str) -> ExportedChat:
    nodes, left_out = chat["mapping"], Counter[str]()
    shown = _branch(nodes, chat.get("current_node"), "parent", where)
    at, rows = chat.get("create_time"), []
    for identity in shown:
        message = nodes[identity].get("message")
        if not isinstance(message, Mapping):  # the root of the tree
            continue
        at = message.get("create_time") or at  # some have none, and were said after the one before
        row = _chatgpt_row(message, identity, at, f"{where}.mapping[{identity!r:.60}]", left_out)
        if row is not None:
            rows.append(row)
    _count_branches(len(nodes) - len(shown), left_out)
    return ExportedChat("ChatGPT export", _name(chat, ("conversation_id", "id"), where), tuple(rows), left_out)


def _chatgpt_row(
    message: Mapping[str, Any], identity: str, at: Any, where: str, left_out: Counter[str]
) -> Mapping[str, Any] | None:
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, Mapping) or not isinstance(content, Mapping):
        raise ValueError(f"{where} is no message with an author and a content")
    if message.get("weight") == 0 or (message.get("metadata") or {}).get("is_visually_hidden_from_conversation"):
        left_out["messages that the app does not show"] += 1
        return None
    if message.get("recipient") not in (None, "all"):
        left_out["messages to a tool"] += 1
        return None
    kind = content.get("content_type")
    if kind not in ("text", "multimodal_text"):
        left_out[f"messages of the content type {kind!r:.40}"] += 1
        return None
    row = {"role": author.get("role"), "content": content.get("parts") or [], "id": str(message.get("id") or identity)}
    return row | {"created_at": _moment(at, where)}


def _read_claude(chat: Mapping[str, Any], where: str) -> ExportedChat:
    messages, left_out = chat[CHATS], Counter[str]()
    if not all(isinstance(item, Mapping) and isinstance(item.get("uuid"), str) for item in messages):
        raise ValueError(f"{where}.{CHATS} holds what is no message with a uuid")
    nodes = {item["uuid"]: item for item in messages}
    leaf = chat.get("current_leaf_message_uuid")
    shown = _branch(nodes, leaf, "parent_message_uuid", where) if leaf in nodes else list(nodes)
    rows = [_claude_row(nodes[identity], f"{where}.{CHATS}", left_out) for identity in shown]
    _count_branches(len(nodes) - len(shown), left_out)
    return ExportedChat("Claude export", _name(chat, ("uuid",), where), tuple(rows), left_out)


def _claude_row(message: Mapping[str, Any], where: str, left_out: Counter[str]) -> Mapping[str, Any]:
    sender = message.get("sender")
    if message.get("attachments") or message.get("files"):
        left_out["messages' attachments"] += len(message.get("attachments") or []) + len(message.get("files") or [])
    parts = message.get("content")
    said = parts if isinstance(parts, list) and parts else message.get("text")
    role = "user" if sender == "human" else sender
    at = message.get("created_at")
    return {"role": role, "content": said, "id": message["uuid"]} | ({} if at is None else {"created_at": str(at)})


def _branch(nodes: Mapping[str, Any], leaf: Any, parent: str, where: str) -> list[str]:
    """Return the ids from the root to a leaf; without a leaf to the last node."""
    at: str | None = leaf if leaf in nodes else next(reversed(list(nodes)), None)
    path: dict[str, None] = {}
    while at is not None and at in nodes:
        if at in path or not isinstance(nodes[at], Mapping):
            raise ValueError(f"{where}: the messages before {at!r:.60} are no tree")
        path[at] = None
        at = nodes[at].get(parent)
    return list(path)[::-1]


def _count_branches(others: int, left_out: Counter[str]) -> None:
    if others:
        left_out["messages of branches that are not shown"] += others


def _name(chat: Mapping[str, Any], keys: Sequence[str], where: str) -> str:
    name = next((chat[key] for key in keys if isinstance(chat.get(key), str) and chat[key]), None)
    if name is None:
        raise ValueError(f"{where} has no {keys[0]}")
    return str(name)


def _moment(at: Any, where: str) -> str:
    """Return seconds since 1970 as ISO 8601."""
    if isinstance(at, bool) or not isinstance(at, int | float):
        raise ValueError(f"{where}: create_time is {at!r:.40}, not seconds since 1970")
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{where}: create_time {at!r:.40} is no time") from None
