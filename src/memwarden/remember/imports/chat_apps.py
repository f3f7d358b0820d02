"""Reads chats of other programs: Telegram, Slack, Open WebUI, and transcripts of Claude Code.

* **Telegram**: ``result.json`` of the desktop program, a chat or ``{"chats": {"list": [...]}}``.
* **Slack**: the zip or folder of an export, with a folder of daily files for each channel, and ``users.json``.
* **Open WebUI**: a list of ``{"id", "title", "chat": {"history": {"messages", "currentId"}}}``.
* **Claude Code**: a transcript, a JSON a line with ``type``, ``sessionId`` and ``message``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import unescape
from pathlib import PurePosixPath
from typing import Any, Final

from memwarden.remember.imports.messages import ThreadParts, describe, read_rows
from memwarden.remember.imports.records import ImportedDocument, ImportedThread, ImportRecord, MalformedPart
from memwarden.remember.imports.source import ImportSource
from memwarden.remember.ingest.messages import MAX_NAME
from memwarden.remember.ingest.transcripts import read_said

OF_THE_APP: Final = "messages of the app itself"
_SLACK_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
# Mentions, channels, links and commands in Slack's texts.
_SLACK_MARK: Final = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")
_SLACK_USERS: Final = "users.json"


# --- Telegram

_TELEGRAM_CHATS: Final = ("chats.list.item.", "left_chats.list.item.")
_TELEGRAM_FIELDS: Final = ("text_entities", "date_unixtime")
_TELEGRAM_PARTS: Final = frozenset({"personal_information", "contacts", "chats", "left_chats"})


def is_telegram(source: ImportSource) -> bool:
    """Return whether a file is an export of Telegram."""
    if any(f"{at}messages.item.{name}" in source.shape for at in ("", *_TELEGRAM_CHATS) for name in _TELEGRAM_FIELDS):
        return True
    # An export of all chats begins with the account, and its contacts may be longer than what is looked at.
    return "about" in source.shape and not _TELEGRAM_PARTS.isdisjoint(source.shape)


def read_telegram(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield the chats of an export of Telegram, a chat in memory at a time."""
    paths = ("",) if "messages" in source.shape else [f"{at}list.item" for at in ("chats.", "left_chats.")]
    number = 0
    for path in paths:
        for chat in source.items(source.main, path):
            number += 1
            with source.entry():
                yield _telegram_chat(source, chat, number)


def _telegram_chat(source: ImportSource, chat: Any, number: int) -> ImportedThread:
    where = f"{source.place(source.main)}, chat {number}"
    messages = chat.get("messages") if isinstance(chat, Mapping) else None
    if not isinstance(messages, list):
        raise MalformedPart(f"{where} is {describe(chat)}, not a chat with messages")
    skipped = Counter[str]()
    rows = [row for row in (_telegram_row(item, skipped) for item in messages) if row is not None]
    name = str(chat.get("id") or chat.get("name") or number)
    title = chat.get("name")
    return ImportedThread(
        f"telegram/{name}"[:MAX_NAME],
        _titled(read_rows(rows, where, skipped, refuse=source.refuse), title), where, skipped=skipped,
    )  # fmt: skip


def _telegram_row(item: Any, skipped: Counter[str]) -> Any:
    if not isinstance(item, Mapping):
        return item  # refused with its place
    if item.get("type") != "message":
        skipped[OF_THE_APP] += 1
        return None
    parts = item.get("text")
    words = parts if isinstance(parts, str) else "".join(_telegram_part(part) for part in parts or ())
    at = item.get("date_unixtime") or item.get("date")
    return {
        "role": "user", "name": item.get("from"), "content": words, "id": str(item.get("id")), "timestamp": at
    }  # fmt: skip


def _telegram_part(part: Any) -> str:
    return part if isinstance(part, str) else str(part.get("text", "")) if isinstance(part, Mapping) else ""


# --- Slack


def is_slack(source: ImportSource) -> bool:
    """Return whether a folder or zip is an export of Slack."""
    names = [PurePosixPath(name) for name in source.parts]
    return any(name.name == _SLACK_USERS for name in names) and any(_SLACK_DAY.fullmatch(name.name) for name in names)


def read_slack(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield the channels of an export of Slack, a day in memory at a time."""
    users = _slack_users(source)
    others = 0
    for part in source.parts:
        place = PurePosixPath(part)
        if not _SLACK_DAY.fullmatch(place.name):
            others += place.name != _SLACK_USERS
            continue
        skipped = Counter[str]()
        rows: list[Any] = []
        with source.entry():
            for item in source.items(part, "item"):
                row = _slack_row(item, users, skipped)
                if row is not None:
                    rows.append(row)
        where = source.place(part)
        messages = _titled(read_rows(rows, where, skipped, refuse=source.refuse), f"#{place.parent.name}")
        yield ImportedThread(f"slack/{place.parent.name}"[:MAX_NAME], messages, where, skipped=skipped)
    if others:
        yield ImportedDocument("slack/others", (), source.name, skipped={"files that hold no messages": others})


def _slack_users(source: ImportSource) -> dict[str, str]:
    """Return the names of people by their ids."""
    part = next(name for name in source.parts if PurePosixPath(name).name == _SLACK_USERS)
    names: dict[str, str] = {}
    with source.entry():
        for item in source.items(part, "item"):
            if isinstance(item, Mapping) and isinstance(item.get("id"), str):
                profile = item.get("profile") if isinstance(item.get("profile"), Mapping) else {}
                named = (profile or {}).get("display_name"), item.get("real_name"), item.get("name")
                names[item["id"]] = str(next((name for name in named if name), item["id"]))
    return names


def _slack_row(item: Any, users: Mapping[str, str], skipped: Counter[str]) -> Any:
    if not isinstance(item, Mapping):
        return item  # refused with its place
    if item.get("type") != "message" or item.get("subtype") not in (None, "thread_broadcast", "file_share"):
        skipped[OF_THE_APP] += 1
        return None

    def shown(mark: re.Match[str]) -> str:
        sign, target, label = mark.groups()
        name = users.get(target, target) if sign == "@" else target
        return f"{sign.replace('!', '@')}{label or name}"

    speaker = str(item.get("user") or "")
    text = unescape(_SLACK_MARK.sub(shown, str(item.get("text") or "")))
    said = {"role": "user", "name": users.get(speaker, speaker) or None, "content": text, "timestamp": item.get("ts")}
    return {**said, "id": f"{speaker}-{item.get('ts')}"}


# --- Open WebUI


def is_open_webui(source: ImportSource) -> bool:
    """Return whether a file is an export of chats of Open WebUI."""
    return any(f"{at}chat.history" in source.shape or f"{at}chat.messages" in source.shape for at in ("item.", ""))


def read_open_webui(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield the chats of an export of Open WebUI: of each the branch that is shown."""
    path = "item" if source.shape.get("") == "start_array" else ""
    for number, item in enumerate(source.items(source.main, path), 1):
        with source.entry():
            yield _open_webui_chat(source, item, number)


def _open_webui_chat(source: ImportSource, item: Any, number: int) -> ImportedThread:
    where = f"{source.place(source.main)}, chat {number}"
    chat = item.get("chat") if isinstance(item, Mapping) else None
    if not isinstance(chat, Mapping):
        raise MalformedPart(f"{where} is {describe(item)}, not a chat of Open WebUI")
    history = chat.get("history") if isinstance(chat.get("history"), Mapping) else {}
    nodes = (history or {}).get("messages")
    shown = (
        _shown_branch(nodes, (history or {}).get("currentId")) if isinstance(nodes, Mapping) else chat.get("messages")
    )
    if not isinstance(shown, list):
        raise MalformedPart(f"{where} has no messages")
    skipped = Counter[str]()
    messages = read_rows(shown, where, skipped, refuse=source.refuse)
    name = str(item.get("id") or f"{source.name}-{number}")
    title = item.get("title") or chat.get("title")
    return ImportedThread(f"open-webui/{name}"[:MAX_NAME], _titled(messages, title), where, skipped=skipped)


def _shown_branch(nodes: Mapping[str, Any], leaf: Any) -> list[Any]:
    path: dict[str, Any] = {}
    while isinstance(leaf, str) and leaf in nodes and leaf not in path and isinstance(nodes[leaf], Mapping):
        path[leaf] = nodes[leaf]
        leaf = nodes[leaf].get("parentId")
    return list(path.values())[::-1] or list(nodes.values())


# --- Claude Code

# Fields of entries with the title of a session.
_SESSION_TITLES: Final = ("customTitle", "aiTitle", "summary")


def is_claude_code(source: ImportSource) -> bool:
    """Return whether a file is a transcript of Claude Code."""
    return "sessionId" in source.shape and "message.role" in source.shape


def read_claude_code(source: ImportSource) -> Iterator[ImportRecord]:
    """Yield a transcript of Claude Code: what was said, without tools, summaries and side chains."""
    skipped = Counter[str]()
    sessions: dict[str, ThreadParts] = {}
    title: Any = None
    for item in source.items(source.main, "", lines=True):
        with source.entry():
            if not isinstance(item, Mapping):
                raise MalformedPart(f"{source.place(source.main)}: {describe(item)} is no entry of a transcript")
            title = next((item[name] for name in _SESSION_TITLES if item.get(name)), title)
            content = read_said(item)
            if content is None:
                skipped["entries that nobody said"] += 1
                continue
            session = f"claude-code/{item.get('sessionId')}"[:MAX_NAME]
            parts = sessions.setdefault(session, ThreadParts(source, session, source.place(source.main)))
            at = {"created_at": item["timestamp"]} if item.get("timestamp") else {}
            parts.add({**item["message"], "content": content, "id": item.get("uuid"), **at})
    for parts in sessions.values():
        taken = parts.take()
        # A transcript of several sessions does not say whose title it is.
        yield replace(taken, messages=_titled(taken.messages, title)) if len(sessions) == 1 else taken
    if skipped:
        yield ImportedDocument("claude-code/others", (), source.name, skipped=skipped)


def _titled(messages: Sequence[Mapping[str, Any]], title: Any) -> tuple[Mapping[str, Any], ...]:
    """Return messages with the title of their chat in the metadata."""
    if not isinstance(title, str) or not title.strip():
        return tuple(messages)
    return tuple({**row, "metadata": {**(row.get("metadata") or {}), "title": title.strip()}} for row in messages)
