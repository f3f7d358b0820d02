"""Operational events of a namespace as JSON lines. Not synced: a power cut may take the latest."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from memwarden.observability.records import OpEvent
from memwarden.records import Namespace
from memwarden.stores.jsonfile.folder import explain_os_errors, make_folder, open_private
from memwarden.stores.shared.event_rows import COLUMNS, event_of, row_of

NAME = "events.jsonl"


def append_events(folder: Path, events: Sequence[OpEvent]) -> None:
    """Append events to the file of a folder, creating both. A torn last line stays a line of its own."""
    with explain_os_errors(folder):
        make_folder(folder)
        with open_private(folder / NAME, "a+b") as file:
            file.write((b"\n" if _ends_in_half_a_line(file) else b"") + _lines(events))


def replace_events(folder: Path, events: Sequence[OpEvent]) -> None:
    """Replace the file's content by these events, atomically."""
    new = folder / f"{NAME}.new"
    with explain_os_errors(folder):
        with open_private(new, "wb") as file:
            file.write(_lines(events))
        new.replace(folder / NAME)


def read_events(folder: Path, namespace: Namespace) -> list[OpEvent]:
    """Return the events of the file, skipping lines that a kill or a power cut left half written."""
    with explain_os_errors(folder):
        file = folder / NAME
        lines = file.read_bytes().splitlines() if file.exists() else []
    return [event for line in lines if (event := _event(line, namespace)) is not None]


def _ends_in_half_a_line(file: BinaryIO) -> bool:
    """Return whether a kill, a power cut or a full disk tore the file's last line."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _lines(events: Sequence[OpEvent]) -> bytes:
    rows = (dict(zip(COLUMNS, row_of(event), strict=True)) for event in events)
    kept = ({name: value for name, value in row.items() if value is not None} for row in rows)
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in kept).encode()


def _event(line: bytes, namespace: Namespace) -> OpEvent | None:
    try:
        row: dict[str, Any] = json.loads(line)
        return event_of(namespace, [row.get(name) for name in COLUMNS])
    except (ValueError, TypeError, AttributeError):
        return None
