"""Parts of a text that is longer than a single memory may be."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memwarden.text.sentences import split_spans

_PARAGRAPH_END: Final = re.compile(r"\n[^\S\n]*\n\s*")
_SPACE_END: Final = re.compile(r"\s+")
# Marks that follow a character: variation selectors, joiners and the tones of emoji.
_JOINING: Final = re.compile("[\u200d\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")
# Maximum characters by which a cut moves to the left of joined characters.
_MAX_JOINED: Final = 16


def cut_text(text: str, max_bytes: int) -> list[str]:
    """Cut a text into parts of at most ``max_bytes`` UTF-8 bytes each, at the last good place of each part.

    A good place is the end of a paragraph, else of a sentence or line, else a space, in the second half of the part.
    Without one the part is full. A part of white space alone is left out; all others joined are the text.

    Args:
        max_bytes: fewer than 4, the longest character, count as 4.
    """
    max_bytes = max(max_bytes, 4)
    if len(text) * 4 <= max_bytes or len(text.encode()) <= max_bytes:
        return [text]
    parts: list[str] = []
    start = 0
    while start < len(text):
        window = _fit(text[start : start + max_bytes], max_bytes)
        end = len(text) if start + len(window) >= len(text) else start + _find_cut(window)
        if text[start:end].strip():
            parts.append(text[start:end])
        start = end
    return parts


def _fit(text: str, max_bytes: int) -> str:
    """Return the longest beginning of a text within a number of bytes."""
    return text.encode()[:max_bytes].decode(errors="ignore")


def _find_cut(window: str) -> int:
    """Return where a part ends that may be as long as the window, at least 1."""
    half = len(window) // 2
    for pattern in (_PARAGRAPH_END, None, _SPACE_END):
        if pattern is None:
            ends = [half + span.start for span in split_spans(window[half:])][1:]
        else:
            ends = [hit.end() for hit in pattern.finditer(window, half)]
        if ends:
            return ends[-1]
    return _before_joined(window)


def _before_joined(window: str) -> int:
    """Return the last place of a window that is between two characters as people see them."""
    for end in range(len(window) - 1, max(len(window) - _MAX_JOINED, 1), -1):
        mark, before = window[end], window[end - 1]
        if not unicodedata.combining(mark) and not _JOINING.match(mark) and before != "\u200d":
            return end
    return len(window)
