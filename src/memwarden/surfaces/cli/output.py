"""Writes output: results and drawings to stdout, progress to stderr, JSON for programs."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any, NoReturn, Protocol, TextIO

from rich.box import ROUNDED
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from memwarden.records import Cut, Feature, Memory, Namespace, RecallItem, Statement

MAX_COLUMNS, MIN_COLUMNS = 100, 24
# All of C0 but tab and line feed, and C1: terminals obey sequences that begin with them. And the signs that turn the
# direction of writing, by which a text shows as another.
_STEERING = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f]|{_STEERING.pattern}")


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
    text = json.dumps(to_json_value(value), indent=2, ensure_ascii=not utf8)
    # JSON escapes C0 by itself; what else could steer a terminal is escaped alike, which changes no value.
    sys.stdout.write(_STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text) + "\n")


def to_json_value(value: Any) -> Any:
    """Turn records into JSON values. An item comes without its whole memory."""
    if isinstance(value, RecallItem):
        memory = value.memory
        names = [field.name for field in fields(value) if field.name not in ("memory", "explain")]
        shown = {name: to_json_value(getattr(value, name)) for name in (*names, "why")}
        said = {"role": memory.role, "name": memory.name, "thread_id": memory.thread_id}
        return shown | said | {"metadata": to_json_value(memory.metadata)}
    if isinstance(value, Memory):
        held = {field.name: to_json_value(getattr(value, field.name)) for field in fields(value)}
        return held | {"metadata": to_json_value(value.metadata)}
    if isinstance(value, Namespace):
        return {"tenant": value.tenant, "path": value.path}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json_value(item) for item in value]
    return value.isoformat() if isinstance(value, date | datetime) else value


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


# The features of recall in words; others are shown by their own name.
FEATURES: Mapping[str, str] = {
    "base": "words and meaning",
    "said_by_named": "said by the person asked about",
    "of_others": "tells it of somebody else",
    "about_others": "about somebody else",
    "says_when": "says when",
    "on_day": "on the days asked about",
    "words_heard": "holds the words",
    "from_person": "said by a person",
    "says_much": "says much",
    "newness": "said lately",
    "only_asks": "only asks",
    "related": "related to a memory that answers",
    "recent": "recent",
}
MAX_CUTS = 5
BAR_WIDTH = 10
# A memory alone seldom claims more: a full bar.
FULL_SCORE = 0.3
MIN_ROOMY_WIDTH = 70
GATE_WIDTH = 9  # the width of most gates' names


def score_bar(console: Console, score: float) -> Text:
    """Draw a score as ``0.24 ████████░░``; a narrow terminal gets the figure alone.

    It is legible without colour and in ASCII.
    """
    if console.width < MIN_ROOMY_WIDTH:
        return Text(f"{score:.2f}")
    full, empty = ("█", "░") if console.encoding.startswith("utf") else ("#", ".")
    filled = round(min(score / FULL_SCORE, 1.0) * BAR_WIDTH)
    return Text.assemble(f"{score:.2f} ", (full * filled, "green"), (empty * (BAR_WIDTH - filled), "dim"))


def block_panel(text: str, title: str) -> Panel:
    """Draw the text for a prompt in a frame."""
    return Panel(Text(clean(text)), title=Text(title), title_align="left", box=ROUNDED, border_style="cyan")


def items_table(console: Console, items: Sequence[RecallItem], *, reasons: bool, texts: bool = True) -> Table:
    """Draw a row for each item: number, score, text and id; ``reasons`` adds why it is in."""
    table = _grid()
    for number, item in enumerate(items, 1):
        lines = [Text(clean(item.text)), Text(f"id {item.id} · {describe_origin(item)}", style="dim")]
        lines = lines if texts else [Text(describe_origin(item))]
        if reasons:
            lines.append(Text(describe_reasons(item)))
        table.add_row(Text(f"{number}"), score_bar(console, item.score), Text("\n").join(lines))
    return table


def describe_origin(item: RecallItem) -> str:
    """Name the source message, if it has a caller's id, and the conversation."""
    rests = "" if item.sources in ((), (item.id,)) else f"{', '.join(item.sources)} "
    thread = f"in {item.memory.thread_id}" if item.memory.thread_id else item.channel
    return clean(rests + thread)


def describe_reasons(item: RecallItem) -> str:
    """Describe in words why an item is in: its matching words and the features of its rank."""
    parts = [item.why.note] if item.why.note else []
    if item.why.words:
        parts.append("matches " + ", ".join(f"‘{word}’" for word in item.why.words))
    parts.extend(_feature(feature) for feature in item.why.features if abs(feature.contribution) >= 0.005)
    lines = [" · ".join(parts), *map(describe_statement, item.why.statements)]
    return "\n".join(clean(line) for line in lines)


def describe_statement(statement: Statement) -> str:
    """Describe who has which value of which attribute since when, and which turns say it."""
    until = f" until {statement.until}" if statement.until else ""
    told = f"states {statement.attribute} of {statement.subject or 'nobody named'}: {statement.value!r}"
    rests = f", said in {', '.join(statement.sources)}" if statement.sources else ""
    return f"{told}, since {statement.since}{until} ({statement.sort}, {statement.probability:.2f}){rests}"


def _feature(feature: Feature) -> str:
    name = FEATURES.get(feature.name, feature.name.replace("_", " "))
    return f"{name} {feature.contribution:+.2f}"


def cut_table(console: Console, cut: Sequence[Cut], memories: Mapping[str, Memory], most: int = MAX_CUTS) -> Table:
    """Draw the nearest omissions with their gates, the count of the others, and the gates' meanings."""
    table = _grid()
    for item in cut[:most]:
        memory = memories.get(item.id)
        said = Text(f"{item.gate:<{GATE_WIDTH}} {clean(_short(memory)) if memory else item.id}", no_wrap=True)
        said.overflow = "ellipsis"
        table.add_row(Text("-"), score_bar(console, item.score), said)
    notes = [f"{gate}: {reason}" for gate, reason in {item.gate: item.reason for item in cut[:most]}.items()]
    if len(cut) > most:
        gates = Counter(item.gate for item in cut[most:])
        others = ", ".join(f"{gate} {count:,}" for gate, count in gates.most_common())
        notes.insert(0, f"and {len(cut) - most:,} more: {others}")
    table.add_row("", "", Text("\n".join(notes), style="dim"))
    return table


def _short(memory: Memory) -> str:
    who = memory.name or memory.role
    source = f"{memory.sources[0]} " if memory.sources and memory.sources[0] != memory.id else ""
    return " ".join(f"{source}{who + ': ' if who else ''}{memory.text}".split())


def _grid() -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(justify="right", width=3)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    return table
