"""Text of changes: the header that reports them to a thread."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from memwarden import checks
from memwarden.recall.answer.excerpt import ELLIPSIS, one_line
from memwarden.recall.answer.frame import clean_line, frame_memory, with_notice
from memwarden.recall.answer.render import day_of, until_of
from memwarden.recall.answer.render import shown_words as shown_words
from memwarden.recall.time.changes import SIGNS, NetChange
from memwarden.records import Delta, Memory
from memwarden.text.tokenizer import TokenCounter

MAX_BULLETS = 3
# A bullet's text is cut to this length: it tells what changed, the memory itself is a query away.
MAX_BULLET_CHARACTERS = 100


def render_change(net: NetChange, memory: Memory) -> str:
    """Render a net change, for instance ``+created: [Personal] Preferred name is Ana (imp=2)``."""
    if net.wordless:
        return _render_end(net.kind, memory)
    words = f"{_short_words(memory)}{until_of(memory)}"
    sign = f"{SIGNS[net.kind]}{net.kind}"
    if net.kind == "merged":
        return f"{sign}: Combined {net.notes} notes: {words}"
    level = f" (imp={checks.to_level(memory.importance)})" if net.kind == "created" else ""
    return f"{sign}: [{category_label(memory.category)}] {words}{level}"


def _short_words(memory: Memory) -> str:
    words = one_line(shown_words(memory))
    if len(words) > MAX_BULLET_CHARACTERS:
        words = words[: MAX_BULLET_CHARACTERS - 1].rstrip() + ELLIPSIS
    return frame_memory(memory, words)


def render_outdated(net: NetChange, memory: Memory, now: datetime, *, below: bool) -> str:
    """Render a change of what a model was shown, without the words that are no longer so.

    below: whether the new words stand among the memories of the same prompt.
    """
    label = category_label(memory.category)
    if net.kind == "updated" and (memory.valid_to is None or memory.valid_to > now):
        words = "(see the memories)" if below else _short_words(memory)
        return f"{SIGNS['updated']}updated: [{label}] {words}"
    return _render_end("soft_deleted" if net.kind == "updated" else net.kind, memory)


def _render_end(kind: str, memory: Memory) -> str:
    day = day_of(memory)
    return f"{SIGNS[kind]}{kind}: [{category_label(memory.category)}] what was known of {day} holds no longer"


def category_label(category: str) -> str:
    """Return a category's display name: ``relationship_dynamic`` is ``Relationship dynamic``."""
    words = clean_line(category.replace("_", " "))
    return words[:1].upper() + words[1:]


def make_delta(since: int, rev: int, nets: Sequence[NetChange], contents: Iterable[Memory]) -> Delta:
    """Make the delta of net changes, newest first. contents: of the versions that the newest nets name."""
    known = {(memory.id, memory.version): memory for memory in contents}
    told = [(net, known.get((net.memory_id, net.version))) for net in nets[:MAX_BULLETS]]
    bullets = tuple(render_change(net, memory) for net, memory in told if memory is not None)
    return Delta(since, rev, bullets, len(nets) - len(bullets), _text(since, bullets, len(nets) - len(bullets)))


def tell_outdated(
    since: int, rev: int, found: Sequence[tuple[NetChange, Memory]], now: datetime, below: Collection[str] = ()
) -> Delta:
    """Make the delta of what was shown and is no longer so. below: ids of what the same text shows."""
    told = found[:MAX_BULLETS]
    bullets = tuple(render_outdated(net, memory, now, below=memory.id in below) for net, memory in told)
    return Delta(since, rev, bullets, len(found) - len(told), _text(since, bullets, len(found) - len(told)))


def fit_delta(whole: Delta, budget: int | None, count: TokenCounter) -> Delta | None:
    """Shorten a delta to a token budget; None when not even its header fits."""
    changes = len(whole.bullets) + whole.more
    for shown in range(len(whole.bullets), -1, -1):
        bullets, more = whole.bullets[:shown], changes - shown
        text = _text(whole.since, bullets, more)
        if budget is None or count(text) <= budget:
            return Delta(whole.since, whole.rev, bullets, more, text)
    return None


def _text(since: int, bullets: Sequence[str], more: int) -> str:
    if not bullets and not more:
        return ""
    others = [f"(+{more} more)"] if more else []
    head = f"Memory updates since rev {since}:"
    return "\n".join([head, with_notice("\n".join([*(f"- {change}" for change in bullets), *others]))])
