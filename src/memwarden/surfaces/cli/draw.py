"""Results as a person reads them: items with their scores and reasons, and what was left out by which gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.box import ROUNDED
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from memwarden.records import Cut, Feature, Memory, RecallItem
from memwarden.surfaces.cli.output import clean

FEATURES: Mapping[str, str] = {
    "base": "words and meaning",
    "best_in_session": "its conversation is about it",
    "said_by_named": "said by the one asked about",
    "says_when": "says when",
    "on_date": "on the date asked about",
    "answers_question": "answers a question like it",
    "only_asks": "only asks",
    "related": "related to one that answers",
    "recent": "recent",
}
"""The features of recall in words; others are shown by their own name."""
SHOWN_CUTS = 5
BAR = 10
ROOMY = 70
GATE = 9  # the width of most gates' names


def bar(console: Console, score: float) -> Text:
    """A score as ``0.82 ████████░░``, legible without colour and in ASCII; a narrow terminal gets the figure alone."""
    if console.width < ROOMY:
        return Text(f"{score:.2f}")
    full, empty = ("█", "░") if console.encoding.startswith("utf") else ("#", ".")
    filled = round(score * BAR)
    return Text.assemble(f"{score:.2f} ", (full * filled, "green"), (empty * (BAR - filled), "dim"))


def block_panel(text: str, title: str) -> Panel:
    """The text that goes into a prompt, in a frame."""
    return Panel(Text(clean(text)), title=Text(title), title_align="left", box=ROUNDED, border_style="cyan")


def items_table(console: Console, items: Sequence[RecallItem], *, reasons: bool, texts: bool = True) -> Table:
    """One entry an item: its number, its score, what it says and its id, and (``reasons``) why it is in."""
    table = _grid()
    for number, item in enumerate(items, 1):
        lines = [Text(clean(item.text)), Text(f"id {item.id} · {origin(item)}", style="dim")]
        lines = lines if texts else [Text(origin(item))]
        if reasons:
            lines.append(Text(why(item)))
        table.add_row(Text(f"{number}"), bar(console, item.score), Text("\n").join(lines))
    return table


def origin(item: RecallItem) -> str:
    """Where an item is from: the message it rests on, if it has an id of the caller's, and its conversation."""
    rests = "" if item.sources in ((), (item.id,)) else f"{', '.join(item.sources)} "
    thread = f"in {item.memory.thread_id}" if item.memory.thread_id else item.channel
    return clean(rests + thread)


def why(item: RecallItem) -> str:
    """Why an item is in, in words: the words that matched and what each feature added to its rank."""
    parts = [item.why.note] if item.why.note else []
    if item.why.words:
        parts.append("matches " + ", ".join(f"‘{word}’" for word in item.why.words))
    parts.extend(_feature(feature) for feature in item.why.features if abs(feature.contribution) >= 0.005)
    return clean(" · ".join(parts))


def _feature(feature: Feature) -> str:
    name = FEATURES.get(feature.name, feature.name.replace("_", " "))
    return f"{name} {feature.contribution:+.2f}"


def cut_table(console: Console, cut: Sequence[Cut], memories: Mapping[str, Memory], most: int = SHOWN_CUTS) -> Table:
    """The nearest omissions with the gate that stopped each, a count of the others, and what those gates mean."""
    table = _grid()
    for item in cut[:most]:
        memory = memories.get(item.id)
        said = Text(f"{item.gate:<{GATE}} {clean(_short(memory)) if memory else item.id}", no_wrap=True)
        said.overflow = "ellipsis"
        table.add_row(Text("-"), bar(console, item.score), said)
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
