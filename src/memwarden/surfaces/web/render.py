"""Renders templates: escaping, times, differences, and what nobody sees made visible."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from memwarden.records import APART, Memory, MemoryState, end_by_clock, local_time

HERE: Final = Path(__file__).parent
MAX_EXCERPT: Final = 280
MAX_TITLE: Final = 110
MAX_SHOWN: Final = 4_000
# Comparing takes the square of this many words.
MAX_COMPARED: Final = 1_500
# Tags that people and programs put on what others are not to read over a shoulder.
PRIVATE_TAGS: Final = frozenset(("sensitive", "private"))
# What shows nothing or turns the direction of writing. Joiners stay between letters that need them.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]|(?<![^\x00-\x7f])[\u200c\u200d]"
)
ASSETS: Final[Mapping[str, tuple[str, str]]] = {
    "style.css": ("static/style.css", "text/css"),
    "page.js": ("static/page.js", "text/javascript"),
    "graph.js": ("static/graph.js", "text/javascript"),
    "events.js": ("static/events.js", "text/javascript"),
    "import.js": ("static/import.js", "text/javascript"),
    "icon.svg": ("static/icon.svg", "image/svg+xml"),
    "htmx.js": ("vendor/htmx.js", "text/javascript"),
    "cytoscape.js": ("vendor/cytoscape.js", "text/javascript"),
    "uplot.js": ("vendor/uplot.js", "text/javascript"),
    "uplot.css": ("vendor/uplot.css", "text/css"),
}


# What became of a memory, as the history says it.
EVENTS_SAID: Final[Mapping[str, str]] = {
    "ADD": "new",
    "UPDATE": "corrected",
    "DELETE": "forgotten",
    "SUPERSEDE": "replaced",
    "MERGE": "merged",
    "RESTORE": "restored",
    "PROPOSE": "waits",
    "QUARANTINE": "held back",
    "CONFIRM": "approved",
    "TTL": "expired",
    "PROMOTE": "promoted",
    "EVICT": "dropped",
}
# Words of operational events, as pages say them.
OPS_SAID: Final[Mapping[str, str]] = {
    "classify": "a conversation looked through",
    "search": "memories looked for",
    "create": "remembered",
    "update": "corrected or replaced",
    "merge": "merged with another",
    "delete": "forgotten",
    "link": "linked to others",
    "ttl": "expired",
    "restore": "restored",
    "model": "a chat model did not help",
    "drop": "events lost",
    "use": "judged of use or not",
    "job": "a job ran",
}
OUTCOMES_SAID: Final[Mapping[str, str]] = {
    "ok": "done",
    "skipped": "nothing to do",
    "error": "failed",
    "failed": "failed",
}
NODES_SAID: Final[Mapping[str, str]] = {
    "hotpath": "a call",
    "context": "making a prompt",
    "episodic": "reading conversations",
    "worker": "a job",
    "overseer": "state for a goal",
    "proxy": "the proxy",
    "session": "a chat",
}


class DiffPart(NamedTuple):
    """A run of words of a comparison. kind: same, gone or new."""

    kind: str
    words: str


@cache
def digest_of(name: str) -> str:
    """Return what changes when a file of the page does, so that browsers may keep the file for ever."""
    path = HERE / ASSETS[name][0]
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12] if path.is_file() else "missing"


def show_text(text: object, most: int = MAX_SHOWN) -> Markup:
    """Return a text for a page: escaped, cut, and with a mark in place of each sign that nobody sees."""
    whole = str(text)
    cut = whole if len(whole) <= most else whole[: most - 1] + "…"
    pieces, end = [], 0
    for hit in _UNSEEN.finditer(cut):
        code = f"U+{ord(hit[0]):04X}"
        mark = Markup('<span class="unseen" title="a sign that nobody sees">{}</span>').format(code)
        pieces += [escape(cut[end : hit.start()]), mark]
        end = hit.end()
    return Markup("").join([*pieces, escape(cut[end:])])


def show_excerpt(text: object) -> Markup:
    """Return the beginning of a text as a line."""
    return show_text(" ".join(str(text)[: 4 * MAX_EXCERPT].split()), MAX_EXCERPT)


def show_line(text: object) -> Markup:
    """Return the beginning of a text, as long as a title."""
    return show_text(" ".join(str(text)[: 4 * MAX_TITLE].split()), MAX_TITLE)


def show_time(moment: datetime | None) -> Markup:
    """Return a time to the minute, with the whole of it for machines."""
    if moment is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), f"{moment:%Y-%m-%d %H:%M}")


def show_day(moment: datetime | None) -> Markup:
    """Return the day of a time."""
    if moment is None:
        return Markup("–")
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), f"{moment:%Y-%m-%d}")


def show_begin(memory: Memory) -> Markup:
    """Return the day since which a memory is true, by the clock of whoever said it."""
    return show_day(local_time(memory.since, memory.utc_offset))


def show_end(memory: Memory) -> Markup:
    """Return the day until which a memory was true, by the clock of whoever said it."""
    return show_day(end_by_clock(memory, memory.valid_to) if memory.valid_to else None)


def compare(old: str, new: str) -> list[DiffPart]:
    """Return what was taken out of a text and what was put in, in words; long texts are shown one after the other."""
    before, after = re.findall(r"\s+|\w+|[^\w\s]", old), re.findall(r"\s+|\w+|[^\w\s]", new)
    if max(len(before), len(after)) > MAX_COMPARED:
        return [DiffPart("gone", old), DiffPart("new", new)]
    found = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, begin, end, other, last in matcher.get_opcodes():
        if tag == "equal":
            found.append(DiffPart("same", "".join(before[begin:end])))
            continue
        gone, put = "".join(before[begin:end]), "".join(after[other:last])
        found += [DiffPart(kind, words) for kind, words in (("gone", gone), ("new", put)) if words]
    return found


def why_hidden(memory: Memory) -> str:
    """Return why a memory's words are hidden until somebody asks for them; empty for others."""
    if memory.state == MemoryState.QUARANTINED:
        return "held back: it reads like an attack"
    if memory.state in APART:
        return ""
    if PRIVATE_TAGS & {tag.lower() for tag in memory.tags}:
        return "tagged as private"
    return "part of the profile" if memory.category == "profile" else ""


def percent(part: float, whole: float) -> float:
    """Return a share in percent, for the width of a bar."""
    return round(min(100.0, 100 * part / whole), 2) if whole else 0.0


def _make_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("memwarden.surfaces.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {"text": show_text, "excerpt": show_excerpt, "line": show_line, "time": show_time, "day": show_day}
    made.filters |= {"begin": show_begin, "end": show_end}
    made.globals |= {"compare": compare, "why_hidden": why_hidden, "percent": percent, "MAX_SHOWN": MAX_SHOWN}
    made.globals |= {"events_said": EVENTS_SAID, "ops_said": OPS_SAID}
    made.globals |= {"outcomes_said": OUTCOMES_SAID, "nodes_said": NODES_SAID}
    return made


@cache
def environment() -> Environment:
    """Return the templates, read once."""
    return _make_environment()


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a template with values in it, every text escaped."""
    return environment().get_template(template).render(values)
