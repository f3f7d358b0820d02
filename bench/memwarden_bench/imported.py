"""Measures whether an imported history answers like an observed history, in the format of each chat."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memwarden import Warden
from memwarden_bench.everyday import (
    CONTEXT,
    QUERY,
    History,
    HistoryThread,
    JudgedText,
    MemwardenWay,
    figures,
    judge,
    replay_history,
)

DIRECT = "observed"


def write_chatgpt(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as an export of ChatGPT."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "message": None}}
    parent = "root"
    for message in thread.messages:
        content = {"content_type": "text", "parts": [message.content]}
        said: dict[str, Any] = {"id": message.id, "author": {"role": message.role}, "content": content}
        said |= {"create_time": message.created_at.timestamp()}
        mapping[message.id] = {"id": message.id, "parent": parent, "message": said}
        parent = message.id
    chat = {"conversation_id": thread.id, "title": thread.id, "current_node": parent, "mapping": mapping}
    return _write(folder / "conversations.json", json.dumps([chat]))


def write_claude(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as an export of Claude."""
    said = [
        {
            "uuid": message.id,
            "sender": "human" if message.role == "user" else message.role,
            "text": message.content,
            "created_at": message.created_at.isoformat(),
        }
        for message in thread.messages
    ]
    return _write(folder / "conversations.json", json.dumps([{"uuid": thread.id, "chat_messages": said}]))


def write_messages(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as messages of chat APIs."""
    said = [
        {"role": item.role, "content": item.content, "id": item.id, "created_at": item.created_at.isoformat()}
        | ({"name": item.name} if item.name else {})
        for item in thread.messages
    ]
    return _write(folder / "chat.json", json.dumps([{"id": thread.id, "messages": said}]))


def write_table(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as a table."""
    file = folder / "chat.csv"
    with file.open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["thread", "id", "role", "name", "text", "created_at"])
        for item in thread.messages:
            rows.writerow([thread.id, item.id, item.role, item.name or "", item.content, item.created_at.isoformat()])
    return file


def write_whatsapp(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as an exported chat of WhatsApp: roles are told by the name alone."""
    lines = [
        f"[{item.created_at:%d/%m/%Y, %H:%M:%S}] {item.name or item.role.capitalize()}: {item.content}"
        for item in thread.messages
    ]
    return _write(folder / f"{thread.id}.txt", "\n".join(lines))


def write_log(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as a log with labels: times, names and ids are lost."""
    return _write(
        folder / f"{thread.id}.txt", "\n".join(f"{item.role.upper()}: {item.content}" for item in thread.messages)
    )


def write_zep(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as messages of Zep."""
    said = [
        {"uuid": item.id, "role_type": item.role, "role": item.name, "content": item.content,
         "created_at": item.created_at.isoformat(), "thread_id": thread.id}
        for item in thread.messages
    ]  # fmt: skip
    return _write(folder / "zep.json", json.dumps({"messages": said}))


def write_irc(thread: HistoryThread, folder: Path) -> Path:
    """Write a thread as the log of an IRC client: ids are lost, names have no blanks, and a line is said by itself."""
    lines = [
        f"[{item.created_at:%Y-%m-%dT%H:%M:%S%z}] <{(item.name or item.role).replace(' ', '_')}> {line}"
        for item in thread.messages
        for line in item.content.splitlines()
        if line.strip()
    ]
    return _write(folder / f"{thread.id}.log", "\n".join(lines))


FORMATS: Mapping[str, Callable[[HistoryThread, Path], Path]] = {
    "chatgpt": write_chatgpt,
    "claude": write_claude,
    "messages": write_messages,
    "csv": write_table,
    "whatsapp": write_whatsapp,
    "labelled": write_log,
    "zep": write_zep,
    "irc": write_irc,
}


class ImportingWay(MemwardenWay):
    """memwarden that is given each thread as a file."""

    def __init__(self, warden: Warden, form: str) -> None:
        super().__init__(warden, "import", 500, defaultdict(list), Counter())
        self._form = form

    def hear(self, thread: HistoryThread) -> None:
        """Import a thread, and find out which turn became of each message."""
        with TemporaryDirectory() as folder:
            file = FORMATS[self._form](thread, Path(folder))
            # Named, since a talk of a single speaker is not known as a log by its labels.
            self._warden.import_files(file, user=self._user, format=self._form)
        turns = self._warden.scope(user=self._user).find(
            {"thread_id": thread.id, "channel": "turn"}, limit=10_000, order_by="written", descending=False
        )
        by_text = {" ".join(item.content.split()): item.id for item in thread.messages}
        for turn in turns:
            known = by_text.get(" ".join(turn.text.split()))
            if known is not None:
                self._message_of |= {turn.id: known, turn.sources[0]: known}


def measure_formats(
    histories: Sequence[History], formats: Sequence[str], config: Mapping[str, Any] | None = None
) -> dict[tuple[str, str], float]:
    """Return the share of right answers by format and way, observed directly beside them."""
    found: dict[tuple[str, str], list[JudgedText]] = defaultdict(list)
    for history in histories:
        for form in (DIRECT, *formats):
            with Warden.open("memory://", config=config) as warden:
                way = (
                    MemwardenWay(warden, "import", 500, defaultdict(list), Counter())
                    if form == DIRECT
                    else ImportingWay(warden, form)
                )
                for event in replay_history(history):
                    if isinstance(event, HistoryThread):
                        way.hear(event)
                        continue
                    for name, shown in way.answer(event):
                        judged = JudgedText(history.id, history.language, name, event, judge(event, shown), shown.block)
                        found[form, name].append(judged)
    ways = (CONTEXT, QUERY)
    return {(form, name): round(figures(texts).right.mean, 3) for (form, name), texts in found.items() if name in ways}


def _write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file
