"""Writes output: results to stdout, progress to stderr, JSON for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, NoReturn, Protocol, TextIO

from rich.console import Console

from memwarden.records import Namespace, RecallItem

MAX_COLUMNS, MIN_COLUMNS = 100, 24
# All of C0 but tab and line feed, and C1: terminals obey sequences that begin with them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Printer(Console):
    """A console that passes a closed pipe on to the command."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def printer(stream: TextIO | None = None) -> Printer:
    """Return a console for stdout (or ``stream``): at most 100 columns, colours on a terminal only."""
    stream = stream or sys.stdout
    return Printer(file=stream, width=_width(stream), highlight=False, markup=False, emoji=False)


def _width(stream: TextIO) -> int:
    asked = os.environ.get("COLUMNS", "")
    columns = int(asked) if asked.isdecimal() else 0
    # A pipe gets a fixed width, so that scripts read the same lines on every terminal.
    if not columns and not stream.isatty():
        return MAX_COLUMNS
    try:
        columns = columns or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(MIN_COLUMNS, min(MAX_COLUMNS, columns or 80))  # some terminals say that they have 0 columns


def print_json(value: Any) -> None:
    """Print a record, or anything made of records, as JSON."""
    # Escapes are valid JSON everywhere; a question mark in place of a letter would change the text.
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(plain(value), indent=2, ensure_ascii=not utf8) + "\n")


def plain(value: Any) -> Any:
    """Turn records into JSON values. An item comes without its whole memory."""
    if isinstance(value, RecallItem):
        memory = value.memory
        names = [field.name for field in fields(value) if field.name not in ("memory", "explain")]
        shown = {name: plain(getattr(value, name)) for name in (*names, "why")}
        return shown | {"role": memory.role, "name": memory.name, "thread_id": memory.thread_id}
    if isinstance(value, Namespace):
        return {"tenant": value.tenant, "path": value.path}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def clean(text: str) -> str:
    """Replace control characters, so that a stored text cannot steer the terminal."""
    return _CONTROL.sub("�", text)


class Tick(Protocol):
    """Callback for progress by ``done`` steps."""

    def __call__(self, done: int) -> None: ...


@contextmanager
def progress(what: str, total: int) -> Iterator[Tick]:
    """Show a bar on stderr, on a terminal only."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    # Loaded on a terminal only: a pipe sees no bar and need not pay for it.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=printer(sys.stderr), transient=True) as bars:
        task = bars.add_task(what, total=total)
        yield lambda done: bars.advance(task, done)
