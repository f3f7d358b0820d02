"""The part of a long text that answers a question: the best matching sentence and its neighbours."""

from __future__ import annotations

import re
from collections.abc import Callable

BULLET_CHARACTERS = 280
ELLIPSIS = "…"

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_SPACE = re.compile(r"\s+")


def one_line(text: str) -> str:
    """Return the text with every run of white space as one space."""
    return _SPACE.sub(" ", text).strip()


def excerpt(text: str, weigh: Callable[[str], float], limit: int = BULLET_CHARACTERS) -> str:
    """Return at most ``limit`` characters of a text as one line, around the sentence that weighs most.

    ``weigh`` tells how much a sentence says about the question; when all weigh nothing, the beginning is taken. What
    was left out shows as an ellipsis.
    """
    line = one_line(text)
    if len(line) <= limit:
        return line
    sentences = [part for part in map(one_line, _SENTENCE_END.split(text)) if part]
    weights = [weigh(sentence) for sentence in sentences]
    best = max(range(len(sentences)), key=lambda number: weights[number])
    first, last = _widen(sentences, weights, best, limit - 4)
    body = " ".join(sentences[first : last + 1])
    before = f"{ELLIPSIS} " if first else ""
    after = f" {ELLIPSIS}" if last < len(sentences) - 1 else ""
    if len(before) + len(body) + len(after) <= limit:
        return f"{before}{body}{after}"
    return f"{before}{body[: limit - len(before) - 2].rstrip()} {ELLIPSIS}"


def _widen(sentences: list[str], weights: list[float], best: int, limit: int) -> tuple[int, int]:
    """Take in neighbours, the weightier side first, as long as they fit."""
    first = last = best
    length = len(sentences[best])
    while True:
        sides = [side for side in (first - 1, last + 1) if 0 <= side < len(sentences)]
        fitting = [side for side in sides if length + 1 + len(sentences[side]) <= limit]
        if not fitting:
            return first, last
        side = max(fitting, key=lambda number: (weights[number], number))  # on a tie: read on
        length += 1 + len(sentences[side])
        first, last = min(first, side), max(last, side)
