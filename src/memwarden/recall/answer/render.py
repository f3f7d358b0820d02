"""Renders the texts that reach a prompt: bullets and the ``<memories>`` block."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memwarden import clock, importance
from memwarden.recall.answer import frame
from memwarden.records import Channel, Kind, Memory, RecallItem, Trust

PREFIX = "You have the following relevant memories from past interactions:"
SUFFIX = "Use these memories to inform your responses, but don't explicitly reference them unless directly relevant."
FORMAT = "[{{memoryType}}, importance={{importance}}, {{age}}]\nSummary: {{summary}}\nContext: {{sourceContext}}"
PLACEHOLDERS = ("memoryType", "importance", "age", "summary", "sourceContext", "day", "speaker", "until")
"""What a format may hold, each in double braces. A line of which every placeholder is empty is left out."""
MAX_IN_CONTEXT = 100
"""Maximum number of memories in a block."""
TASK_OPEN, TASK_CLOSE = "<task_context>", "</task_context>"
"""Between these stands the context of a task (:mod:`memwarden.tiers.budget`)."""
_INDENT = "   "
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_DAY = 86_400
_AGES = (
    ("year", 365 * _DAY),
    ("month", 30 * _DAY),
    ("week", 7 * _DAY),
    ("day", _DAY),
    ("hour", 3_600),
    ("minute", 60),
)


@dataclass(frozen=True, slots=True)
class Template:
    """The words of a ``<memories>`` block: before the memories, after them, and of each of them.

    numbered: whether memories are numbered and stand apart; else each is a line of a list.
    """

    prefix: str = PREFIX
    suffix: str = SUFFIX
    format: str = FORMAT
    numbered: bool = True


CLASSIC_TEMPLATE = Template()
"""Numbered memories with kind, importance and age, before and after them an explanation."""
LEAN_TEMPLATE = Template(
    "Known from earlier, newest first:", "", "{{day}}{{speaker}}: {{summary}}{{until}}", numbered=False
)
"""A line a memory: when, who where several speak, what, and until when it held."""


def render_bullet(memory: Memory, words: str) -> str:
    """Render a memory as a bullet: ``[category]``, a turn's speaker and day, and the words."""
    return f"[{frame.clean_line(memory.category)}] {_bullet_start(memory)}{words}"


def render_bullets(items: Sequence[RecallItem]) -> str:
    """Render items as a list, a line each."""
    # Further lines of a whole text are indented, so that none of them can pass for a bullet of its own.
    return frame.with_notice("\n".join("\n  ".join(f"- {item.text}".splitlines()) for item in items))


def render_related_bullet(item: RecallItem) -> str:
    """Render a memory that is shown because an item is related to it."""
    return "\n  ".join(f"- related: {item.text}".splitlines())


def render_memories_block(items: Sequence[RecallItem], now: datetime, template: Template = CLASSIC_TEMPLATE) -> str:
    """Render items as a ``<memories>`` block; an empty text for no items."""
    return _block([(item.memory, item.text) for item in items], now, template)


def format_context(memories: Sequence[Memory], now: datetime | None = None) -> str:
    """Render memories of the caller's choice as a ``<memories>`` block, ages counted to ``now``."""
    return _block([(memory, framed_words(memory)) for memory in memories], now or clock.now(), CLASSIC_TEMPLATE)


def _block(entries: Sequence[tuple[Memory, str]], now: datetime, template: Template) -> str:
    if not entries:
        return ""
    several = len({_speaker(memory) for memory, _ in entries}) > 1
    texts = [_entry(memory, words, now, template, several) for memory, words in entries]
    head = [template.prefix] if template.prefix else []
    head += [frame.NOTICE] if any(frame.QUOTED in text for text in texts) else []
    if not template.numbered:
        after = [template.suffix] if template.suffix else []
        return "\n".join(["<memories>", *head, *(f"- {text}" for text in texts), *after, "</memories>"])
    before = [*head, ""] if head else []
    after = ["", template.suffix] if template.suffix else []
    listed = (f"{number}. {text}" for number, text in enumerate(texts, 1))
    return "\n".join(["<memories>", *before, "\n\n".join(listed), *after, "</memories>"])


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
    return frame.frame_memory(memory, shown_words(memory))


def fit_to_show(memory: Memory, text: str) -> str:
    """Return a memory's text, for an untrusted memory without sentences that read like orders."""
    if memory.trust != Trust.EXTERNAL:
        return text
    from memwarden.security.injection import (
        redact_for_prompt,  # its tables are for those alone who keep what came from outside
    )

    return redact_for_prompt(text)


def format_day(moment: datetime) -> str:
    """Format a date as people write it: ``8 May 2023``."""
    return f"{moment.day} {moment:%b %Y}"


def speaker(memory: Memory) -> str:
    """Return who said a turn: the name, else the role."""
    return frame.shown_name(memory.name or "") or memory.role or "someone"


def _bullet_start(memory: Memory) -> str:
    return f"{speaker(memory)}, {format_day(memory.created_at)}: " if memory.channel == Channel.TURN else ""


def _speaker(memory: Memory) -> str:
    return speaker(memory) if memory.channel == Channel.TURN else ""


def _entry(memory: Memory, words: str, now: datetime, template: Template, several: bool) -> str:
    kind = Kind.NOTE if memory.kind == Kind.UNKNOWN else memory.kind
    context = memory.context and frame.frame_memory(memory, fit_to_show(memory, memory.context))
    occasion = context or _occasion(memory)
    values = {
        "memoryType": frame.clean_line(kind.upper()),
        "importance": str(importance.to_ten(memory.importance)),
        "age": format_age(memory.created_at, now),
        "summary": frame.clean_line(words),
        "sourceContext": frame.clean_line(occasion),
        "day": format_day(memory.created_at),
        "speaker": frame.clean_line(f", {_speaker(memory)}") if several and _speaker(memory) else "",
        "until": f" (until {format_day(memory.valid_to)})" if memory.valid_to else "",
    }
    lines = [_fill_in(line, values) for line in template.format.split("\n") if _says_something(line, values)]
    return f"\n{_INDENT}".join(lines)


def _says_something(line: str, values: Mapping[str, str]) -> bool:
    named = _PLACEHOLDER.findall(line)
    return not named or any(values[name] for name in named)


def _fill_in(line: str, values: Mapping[str, str]) -> str:
    """Fill in a line in a single pass, so that double braces in a memory stay as they are."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], line)


def _occasion(memory: Memory) -> str:
    if memory.channel != Channel.TURN:
        return ""
    return f"Said by {speaker(memory)} on {format_day(memory.created_at)}"


def join_changes(told: str, items: Sequence[RecallItem]) -> str:
    """Join the changes and, after a blank line, the items."""
    return f"{told}\n\n{render_bullets(items)}" if items else told
