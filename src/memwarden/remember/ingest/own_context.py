"""Removal of the blocks that memwarden puts into prompts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from memwarden.recall.answer.frame import NOTICE
from memwarden.recall.answer.template import (
    CLASSIC_TEMPLATE,
    LEAN_TEMPLATE,
    PREFIX,
    SUFFIX,
    TASK_CLOSE,
    TASK_OPEN,
    Template,
)

_OPEN, _CLOSE = "<memories>", "</memories>"
_LEAN_HEAD = re.escape(LEAN_TEMPLATE.prefix)
_BLOCK_START = re.compile(rf"{_OPEN}\s*(?:{re.escape(PREFIX)}|{_LEAN_HEAD})")
# What a block looks like that has no end: an answer was cut off, or a history was.
_LINES = re.compile(rf"(?:[ \t]*(?:\n|\Z)|\s*(?:\d+\. .*|{re.escape(NOTICE)}|Summary: .*|Context: .*)(?:\n {{3}}.*)*)*")
# A day as the heading of a block: the year is left out below a heading of the same year.
_DAY = r"\d{1,2} [A-Z][a-z]{2}(?: \d{4})?"
# The lines of a block by day. They begin with a heading, so that an answer's own list stays.
_DAYS = rf"(?:[ \t]*{_DAY}[ \t]*(?:\n|\Z)(?:[ \t]*- .*(?:\n|\Z))+)"
_GLANCE = r"(?:[ \t]*- At a glance: .*(?:\n|\Z))?"
# The last line of a block that is cut off.
_CUT_LINE = r"(?:(?:-|\d{1,2}(?: (?:[A-Z][a-z]{0,2}(?: \d{0,4})?)?)?(?:\n-?)?|<[/a-z]{0,9})\Z)?"
_LEAN_LINES = re.compile(rf"[ \t]*\n?(?:{re.escape(NOTICE)}\n)?{_GLANCE}{_DAYS}*{_CUT_LINE}")
_MAX_NEWLINES = 2  # newlines between a block and the words of a message
_BULLET = r"- [+\u2191\u2194\u2212~\u21ba]\w+: .*(?:\n|\Z)"
_UPDATES = re.compile(
    rf"^Memory updates since rev \d+:[ \t]*\n(?:{re.escape(NOTICE)}\n)?(?:{_BULLET})*"
    r"(?:\(\+\d+ more\)[ \t]*(?:\n|\Z))?",
    re.MULTILINE,
)
_TIER = r"(?:(?:Task|Project) .*|Global):\n"
# The whole form: others use tags of that name in prompts of their own.
_TASK = re.compile(
    rf"{re.escape(TASK_OPEN)}\n(?:{re.escape(NOTICE)}\n)?(?:{_TIER}(?:- \[.*\n)+)+{re.escape(TASK_CLOSE)}"
)
_SIGNS = re.compile(
    rf"{re.escape(PREFIX)}|{re.escape(SUFFIX)}|"
    # People write the plain head, too. Only a day with a line of a memory after it makes it ours.
    rf"^{_LEAN_HEAD}[ \t]*\n+(?:{re.escape(NOTICE)}\n)?{_GLANCE}{_DAYS}|"
    rf"^Memory updates since rev \d+:[ \t]*$|"
    rf"^{re.escape(TASK_OPEN)}\n{_TIER}- \[",
    re.MULTILINE,
)


# A memory of the classic template without the block around it: a model repeats the lines, and not the tags.
_LOOSE_ENTRY = re.compile(
    r"^[ \t]*(?:[-*] |\d+[.)] )?\[[^\]\n]{1,60}, importance=\d{1,2}, [^\]\n]{1,40}\][ \t]*\n"
    r"[ \t]*Summary: .*(?:\n[ \t]*Context: .*)?(?:\n|\Z)",
    re.MULTILINE,
)
_SENTENCES = re.compile(rf"^[ \t]*(?:{re.escape(PREFIX)}|{re.escape(SUFFIX)})[ \t]*(?:\n|\Z)", re.MULTILINE)
# The same of the lean template: its head and the lines of its days.
_LOOSE_LEAN = re.compile(
    rf"^[ \t]*{_LEAN_HEAD}[ \t]*\n+(?:{re.escape(NOTICE)}\n)?{_GLANCE}{_DAYS}+",
    re.MULTILINE,
)


# A line that a block shows a memory in, and a model repeats by itself. Only what a memory says word for word goes.
# Several small words are the name of a speaker in a listed line alone: "guess what: ..." is a sentence.
_RETOLD_LINE = re.compile(
    r"^[ \t]*(?:(?:[-*] |\d{1,3}[.)] )[^:\n]{1,60}|[^:\s]{1,60}|(?![a-z])[^:\n]{1,60}): (\S.*)$",
    re.MULTILINE,
)
MAX_RETOLD_LINES = 100


def list_retold(text: str) -> list[str]:
    """Return the words of lines of a form in which a block shows memories."""
    return [found[1] for found in islice(_RETOLD_LINE.finditer(text), MAX_RETOLD_LINES)]


def strip_retold(text: str, told: Collection[str]) -> str:
    """Return a text without such lines of which the words are told already."""
    left = _RETOLD_LINE.sub(lambda found: "" if found[1] in told else found[0], text)
    return text if left == text else re.sub(r"\n{3,}", "\n\n", left).strip()


def plain_words(text: str) -> str:
    """Return a text as it is compared: small letters, single spaces, no sign at its end."""
    return " ".join(text.split()).casefold().rstrip(".!")


def strip_context(text: str) -> str:
    """Return a message without the blocks and headers that memwarden puts into prompts, and the space around them."""
    text = strip_blocks(_BLOCK_START, SUFFIX, text)
    left = _UPDATES.sub("", _TASK.sub("", text)) if "Memory updates since rev" in text or TASK_OPEN in text else text
    left = _strip_loose_lines(left)
    return text if left == text else left.strip()


def _strip_loose_lines(text: str) -> str:
    """Take out a block of which the tags are gone."""
    left = _LOOSE_ENTRY.sub("", text) if ", importance=" in text else text
    left = left if left == text else _SENTENCES.sub("", left)
    return _LOOSE_LEAN.sub("", left) if LEAN_TEMPLATE.prefix in left else left


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
        cut = head.start() if whole else _end_of_lines(text, head, suffix)
        end = close + len(_CLOSE) if close >= 0 else cut
        left = _join(left, text[end:until])
    return left


def _end_of_lines(text: str, head: re.Match[str], suffix: str) -> int:
    pattern = _LEAN_LINES if head.group().endswith(LEAN_TEMPLATE.prefix) else _LINES
    lines = pattern.match(text, head.end())
    end = lines.end() if lines else head.end()
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
    for each in {template: None, LEAN_TEMPLATE: None, CLASSIC_TEMPLATE: None}:
        text = strip_blocks(_template_start(each.prefix), each.suffix, text, whole=True)
    if "Memory updates since rev" not in text or (left := _UPDATES.sub(_keep_told, text)) == text:
        return text
    return left.strip()


def _keep_told(updates: re.Match[str]) -> str:
    # A turn tells what holds no longer. News with an importance are a query's: an application put them in on purpose.
    return updates[0] if "(imp=" in updates[0] else ""


@lru_cache(maxsize=64)
def _template_start(prefix: str) -> re.Pattern[str]:
    # Without a prefix only the number of the first memory tells our block from another use of the tag.
    return re.compile(rf"{_OPEN}\s*" + (re.escape(prefix) if prefix else rf"(?=1\. |{re.escape(NOTICE)})"))
