"""Renders bullets and the ``<memories>`` block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime

from memwarden import checks, clock
from memwarden.recall.answer.frame import NOTICE, QUOTED, clean_line, fit_to_show, frame_memory, shown_name, with_notice
from memwarden.recall.answer.template import CLASSIC_TEMPLATE, Template
from memwarden.records import (
    OVERVIEW_ID,
    Channel,
    Kind,
    Memory,
    RecallItem,
    end_by_clock,
    local_time,
)

_INDENT = "   "


_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


# Names no speaker after a line that does: memories without one.
UNSAID = "noted: "

_DAY = 86_400


_AGES = (
    ("year", 365 * _DAY),
    ("month", 30 * _DAY),
    ("week", 7 * _DAY),
    ("day", _DAY),
    ("hour", 3_600),
    ("minute", 60),
)


def bullet_start(memory: Memory) -> str:
    """Return what stands before a bullet's words: ``[category]``, a turn's speaker and day."""
    return f"[{clean_line(memory.category)}] {_bullet_start(memory)}"


def until_of(memory: Memory) -> str:
    """Return until when a memory held, and of a plan from when it will, to stand after its words."""
    days = [f"from {format_day(by_clock_of(memory, memory.since))}"] if is_planned(memory) else []
    days += [f"until {format_day(end_by_clock(memory, memory.valid_to))}"] if memory.valid_to else []
    return f" ({' '.join(days)})" if days else ""


def is_planned(memory: Memory) -> bool:
    """Whether a memory was to be true from a later day on when it was written."""
    return memory.valid_from is not None and memory.valid_from.date() > memory.updated_at.date()


def render_bullets(items: Sequence[RecallItem], known: dict[str, str] | None = None) -> str:
    """Render items as a list, a line each. known: the lines made before, by their text, to which new ones are added."""
    made: dict[str, str] = {} if known is None else known
    for item in items:
        if item.text not in made:
            # Further lines of a whole text are indented, so that none of them can pass for a bullet of its own.
            made[item.text] = "\n  ".join(f"- {item.text}".splitlines())
    return with_notice("\n".join([made[item.text] for item in items]))


def render_related_bullet(item: RecallItem) -> str:
    """Render a memory that is shown because an item is related to it."""
    return "\n  ".join(f"- related: {item.text}".splitlines())


# Rendered entries of a block, by memory id, words and speaker.
KnownEntries = dict[tuple[str, str, str], str]


def order_items(items: Sequence[RecallItem], template: Template) -> list[RecallItem]:
    """Return items in the order in which a template shows them: newest first by day, otherwise as given.

    An overview comes first. Items of the same moment are ordered by score.
    """
    if not template.by_day:
        return list(items)
    return sorted(items, key=lambda item: (item.id == OVERVIEW_ID, item.created_at, item.score, item.id), reverse=True)


def render_memories_block(
    items: Sequence[RecallItem],
    now: datetime,
    template: Template = CLASSIC_TEMPLATE,
    known: KnownEntries | None = None,
) -> str:
    """Render items, in the order given, as a ``<memories>`` block. No items give an empty text.

    Args:
        now: the time that ages are counted to.
        known: entries rendered before with the same ``now`` and template. New entries are added.
    """
    return _render_block([(item.memory, item.text) for item in items], now, template, {} if known is None else known)


def format_context(memories: Sequence[Memory], now: datetime | None = None) -> str:
    """Render memories of the caller's choice as a ``<memories>`` block, ages counted to ``now``."""
    return _render_block(
        [(memory, framed_words(memory)) for memory in memories], now or clock.now(), CLASSIC_TEMPLATE, {}
    )


def _render_block(entries: Sequence[tuple[Memory, str]], now: datetime, template: Template, known: KnownEntries) -> str:
    if not entries:
        return ""
    texts: list[str] = []
    for (memory, words), named in zip(entries, _name_speakers([memory for memory, _ in entries]), strict=True):
        key = (memory.id, words, named)
        if key not in known:
            known[key] = _render_entry(memory, words, now, template, named)
        texts.append(known[key])
    head = [template.prefix] if template.prefix else []
    head += [NOTICE] if any(QUOTED in text for text in texts) else []
    if not template.numbered:
        after = [template.suffix] if template.suffix else []
        lines = [f"- {text}" for text in texts]
        listed = _insert_days([memory for memory, _ in entries], lines) if template.by_day else lines
        return "\n".join(["<memories>", *head, *listed, *after, "</memories>"])
    before = [*head, ""] if head else []
    after = ["", template.suffix] if template.suffix else []
    numbered = (f"{number}. {text}" for number, text in enumerate(texts, 1))
    return "\n".join(["<memories>", *before, "\n\n".join(numbered), *after, "</memories>"])


def _name_speakers(memories: Sequence[Memory]) -> list[str]:
    """Return for each memory the words that name its speaker.

    With a single person, only what an assistant said is named. Among several speakers each is named where the speaker
    changes, and a memory without a speaker is marked if it follows a named line.
    """
    speakers = [_speaker(memory) for memory in memories]
    people = {name for memory, name in zip(memories, speakers, strict=True) if not is_of_assistant(memory)}
    if len(people - {""}) < 2:
        return [f"{clean_line(name)}: " if name not in people else "" for name in speakers]
    names = [f"{clean_line(name)}: " if name else UNSAID for name in speakers]
    return ["" if name == last else words for words, name, last in zip(names, speakers, ["", *speakers], strict=False)]


def _insert_days(memories: Sequence[Memory], lines: Sequence[str]) -> list[str]:
    """Put a heading above the first line of each day. The year is left out if it is that of the heading before."""
    listed: list[str] = []
    day: date | None = None
    for memory, line in zip(memories, lines, strict=True):
        said = by_clock_of(memory, memory.created_at)
        if said.date() != day and memory.id != OVERVIEW_ID:
            listed.append(f"{said.day} {said:%b}" if day and day.year == said.year else format_day(said))
            day = said.date()
        listed.append(line)
    return listed


def format_age(since: datetime, now: datetime) -> str:
    """Return an age in words: ``3 days ago``. A time in the future is ``just now``."""
    seconds = (now - since).total_seconds()
    for name, length in _AGES:
        count = int(seconds // length)
        if count >= 1:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def shown_words(memory: Memory) -> str:
    """Return a memory's words for a prompt: the summary, else the text, as far as fit to show."""
    return fit_to_show(memory, memory.summary or memory.text)


def framed_words(memory: Memory) -> str:
    """Return a memory's words for a prompt, in the frame of what comes from outside."""
    return frame_memory(memory, shown_words(memory))


def by_clock_of(memory: Memory, moment: datetime) -> datetime:
    """Return a moment by the clock of whoever said a memory."""
    return local_time(moment, memory.utc_offset) if memory.utc_offset else moment


def day_of(memory: Memory) -> str:
    """Return the day on which it was said, as people write it."""
    return format_day(by_clock_of(memory, memory.created_at))


def format_day(moment: datetime) -> str:
    """Format a date as people write it: ``8 May 2023``."""
    return f"{moment.day} {moment:%b %Y}"


def speaker(memory: Memory) -> str:
    """Return who said a turn: the name, else the role."""
    return shown_name(memory.name or "") or memory.role or "someone"


def is_of_assistant(memory: Memory) -> bool:
    """Return whether a model said a memory. People who talk with each other have names."""
    named = (memory.name or "assistant").casefold() != "assistant"
    return memory.channel == Channel.TURN and memory.role == "assistant" and not named


def _bullet_start(memory: Memory) -> str:
    return f"{speaker(memory)}, {day_of(memory)}: " if _has_speaker(memory) else ""


def _speaker(memory: Memory) -> str:
    return speaker(memory) if _has_speaker(memory) else ""


def _has_speaker(memory: Memory) -> bool:
    """Whether a memory is in a person's words: a turn, or what replaced one. Only that is true from its saying on."""
    replaces_turn = memory.role is not None and memory.valid_from == memory.created_at
    return memory.channel == Channel.TURN or bool(memory.name) or replaces_turn


def _render_entry(memory: Memory, words: str, now: datetime, template: Template, named: str) -> str:
    kind = Kind.NOTE if memory.kind == Kind.UNKNOWN else memory.kind
    context = memory.context and frame_memory(memory, fit_to_show(memory, memory.context))
    occasion = context or _occasion(memory)
    if template.by_day and memory.channel != Channel.TURN:
        words = _without_day(words, by_clock_of(memory, memory.created_at))
    values = {
        "memoryType": clean_line(kind.upper()),
        "importance": str(checks.to_ten(memory.importance)),
        "age": format_age(memory.created_at, now),
        "summary": clean_line(words),
        "sourceContext": clean_line(occasion),
        "speaker": named,
        "until": until_of(memory),
    }
    lines = [_fill_in(line, values) for line in template.format.split("\n") if _says_something(line, values)]
    return f"\n{_INDENT}".join(lines)


def _without_day(words: str, said: datetime) -> str:
    """Return somebody's quoted words without the day, which the line says already."""
    for day in (f"{said.day} {said:%B %Y}", f"{said:%Y-%m-%d}"):
        speaker, between, rest = words.partition(f', {day}: "')
        if between and '"' not in speaker:
            return f'{speaker}: "{rest}'
    return words


def _says_something(line: str, values: Mapping[str, str]) -> bool:
    named = _PLACEHOLDER.findall(line)
    return not named or any(values[name] for name in named)


def _fill_in(line: str, values: Mapping[str, str]) -> str:
    """Fill in a line in a single pass, so that double braces in a memory stay as they are."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], line)


def _occasion(memory: Memory) -> str:
    if memory.channel != Channel.TURN:
        return ""
    return f"Said by {speaker(memory)} on {day_of(memory)}"


def render_changes_and_block(
    told: str, now: datetime, template: Template, items: Sequence[RecallItem], known: KnownEntries | None = None
) -> str:
    """Render the changes and, after a blank line, the block of items in the template's order.

    known: as for :func:`render_memories_block`.
    """
    shown = render_memories_block(order_items(items, template), now, template, known)
    return "\n\n".join(part for part in (told, shown) if part)


def join_changes(told: str, items: Sequence[RecallItem]) -> str:
    """Join the changes and, after a blank line, the items."""
    return f"{told}\n\n{render_bullets(items)}" if items else told
