"""Strips memwarden's own words from messages: nobody said what was put into a prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from memwarden.recall.answer.render import DEFAULT_TEMPLATE, PREFIX, SUFFIX, TASK_CLOSE, TASK_OPEN, Template

_OPEN, _CLOSE = "<memories>", "</memories>"
_BLOCK_START = re.compile(rf"{_OPEN}\s*{re.escape(PREFIX)}")
# What a block looks like that has no end: an answer was cut off, or a history was.
_LINES = re.compile(r"(?:[ \t]*(?:\n|\Z)|\s*(?:\d+\. .*|Summary: .*|Context: .*)(?:\n {3}.*)*)*")
_MAX_NEWLINES = 2  # newlines between a block and the words of a message
_BULLET = r"- [+\u2191\u2194\u2212~\u21ba]\w+: .*(?:\n|\Z)"
_UPDATES = re.compile(
    rf"^Memory updates since rev \d+:[ \t]*\n(?:{_BULLET})*(?:\(\+\d+ more\)[ \t]*(?:\n|\Z))?", re.MULTILINE
)
_TIER = r"(?:(?:Task|Project) .*|Global):\n"
# The whole form: others use tags of that name in prompts of their own.
_TASK = re.compile(rf"{re.escape(TASK_OPEN)}\n(?:{_TIER}(?:- \[.*\n)+)+{re.escape(TASK_CLOSE)}")
_SIGNS = re.compile(
    rf"{re.escape(PREFIX)}|{re.escape(SUFFIX)}|^Memory updates since rev \d+:[ \t]*$|"
    rf"^{re.escape(TASK_OPEN)}\n{_TIER}- \[",
    re.MULTILINE,
)


def strip_context(text: str) -> str:
    """Return a message without the blocks and headers that memwarden puts into prompts, and the space around them."""
    text = strip_blocks(_BLOCK_START, SUFFIX, text)
    left = _UPDATES.sub("", _TASK.sub("", text)) if "Memory updates since rev" in text or TASK_OPEN in text else text
    return text if left == text else left.strip()


def strip_blocks(begin: re.Pattern[str], suffix: str, text: str, *, whole: bool = False) -> str:
    """Return a text without the blocks that begin so, and the empty line to what stands beside them.

    A memory cannot hold the tag that ends a block, but may well quote ``suffix``, the block's last words: a block is
    over at its tag. One that has none is cut off: lines of memories belong to it, and nothing after them.

    whole: leave those that are cut off.
    """
    heads = list(begin.finditer(text)) if _OPEN in text else []
    if not heads:
        return text
    left = text[: heads[0].start()]
    for head, until in zip(heads, [*(head.start() for head in heads[1:]), len(text)], strict=True):
        close = text.find(_CLOSE, head.end(), until)
        cut = head.start() if whole else _end_of_lines(text, head.end(), suffix)
        end = close + len(_CLOSE) if close >= 0 else cut
        left = _join(left, text[end:until])
    return left


def _end_of_lines(text: str, at: int, suffix: str) -> int:
    lines = _LINES.match(text, at)
    end = lines.end() if lines else at
    said = text[end : end + len(suffix)]
    return end + len(said) if suffix.startswith(said) else end


def _join(before: str, after: str) -> str:
    """Join what stands before and after a block that was taken out."""
    for _ in range(_MAX_NEWLINES):
        if not before.strip():
            before, after = "", after.removeprefix("\n")
        elif not after.strip():
            before, after = before.removesuffix("\n"), ""
    return before + after


def holds_context(text: str) -> bool:
    """Whether a stored text repeats such a block or header, or the first or last sentence of a block."""
    return _SIGNS.search(text) is not None


def strip_template_context(text: str, template: Template) -> str:
    """Return a text without all that memwarden puts into prompts, in a template's or the default words."""
    return strip_context(strip_blocks(_template_start(template.prefix), template.suffix, text))


def strip_messages(messages: Sequence[Mapping[str, Any]], template: Template) -> list[dict[str, Any]]:
    """Return messages without the blocks of a template; messages without other words are left out."""
    stripped = [
        dict(message) | {"content": strip_template_context(message["content"], template)} for message in messages
    ]
    return [message for message in stripped if message["content"].strip()]


def strip_whole_blocks(text: str, template: Template) -> str:
    """Return a text without complete blocks of memories, in a template's or the default words."""
    for each in {template: None, DEFAULT_TEMPLATE: None}:
        text = strip_blocks(_template_start(each.prefix), each.suffix, text, whole=True)
    return text


@lru_cache(maxsize=64)
def _template_start(prefix: str) -> re.Pattern[str]:
    # Without a prefix only the number of the first memory tells our block from another use of the tag.
    return re.compile(rf"{_OPEN}\s*" + (re.escape(prefix) if prefix else r"(?=1\. )"))
