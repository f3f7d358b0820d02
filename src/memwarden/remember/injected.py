"""Our own words, recognised when they come back: what was put into a prompt is nothing that somebody said (F8)."""

from __future__ import annotations

import re

from memwarden.recall.block import PREFIX, SUFFIX, TASK_CLOSE, TASK_OPEN

_BLOCK = re.compile(
    rf"<memories>\s*{re.escape(PREFIX)}.*?(?:</memories>|{re.escape(SUFFIX)}|\Z)(?:\s*</memories>)?", re.DOTALL
)
_BULLET = r"- [+\u2191\u2194\u2212~\u21ba]\w+: .*(?:\n|\Z)"
_NEWS = re.compile(
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


def without_injected(text: str) -> str:
    """Return a message without the blocks and headers that memwarden puts into prompts, and the space around them."""
    if not any(one in text for one in ("<memories>", "Memory updates since rev", TASK_OPEN)):
        return text
    left = _NEWS.sub("", _TASK.sub("", _BLOCK.sub("", text)))
    return text if left == text else left.strip()


def holds_injected(text: str) -> bool:
    """Whether a stored text repeats such a block or header, or the sentence that one begins or ends with."""
    return _SIGNS.search(text) is not None
