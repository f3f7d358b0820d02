"""Passages of a text: the units of search, each of about a paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from memwarden.text.sentences import split_spans
from memwarden.text.tokenizer import GLUED_SCRIPT

# Characters. Longest passage. Measured on BEAM with BM25: whole turns .37, passages of 500 characters .49.
# The models read all of a passage of this length.
MAX_PASSAGE: Final = 500
# A text with this share of a script without spaces says twice as much in a character.
GLUED_SHARE: Final = 0.5
# Where a sentence longer than a passage is cut: the last of these within the passage, if it leaves half of it.
_CUT: Final = re.compile(r"[;:,、，；：\s]")


class PassageSpan(NamedTuple):
    """Place of a passage in its text: from ``start`` to before ``end``."""

    start: int
    end: int


def split_passages(text: str) -> list[PassageSpan]:
    """Split a text into passages of whole sentences or lines, of about equal length.

    A short text is one passage. A sentence is cut only if it is longer than a passage. The passages cover every
    character that is not white space, in order, without overlap. There is at least one.
    """
    limit = _limit(text)
    if len(text) <= limit:
        return [PassageSpan(0, len(text))]
    pieces = [piece for span in split_spans(text) for piece in _cut_long(text, span.start, span.end, limit)]
    return _join(pieces, limit) or [PassageSpan(0, len(text))]


def read_passages(text: str) -> list[str]:
    """Return the texts of the passages, in order."""
    spans = split_passages(text)
    return [text] if len(spans) == 1 else [text[span.start : span.end] for span in spans]


def _limit(text: str) -> int:
    """Maximum characters of a passage of this text."""
    return MAX_PASSAGE if len(text) <= MAX_PASSAGE // 2 else limit_characters(text, MAX_PASSAGE)


def limit_characters(text: str, most: int) -> int:
    """Return the maximum of a text in characters: half of ``most`` without spaces between words."""
    if text.isascii():
        return most
    glued = len(GLUED_SCRIPT.findall(text[:most]))
    return most // 2 if glued >= GLUED_SHARE * min(len(text), most) else most


def _cut_long(text: str, start: int, end: int, limit: int) -> Iterator[PassageSpan]:
    """Yield a sentence, in parts if it is longer than a passage."""
    while end - start > limit:
        cuts = [hit.end() for hit in _CUT.finditer(text, start + limit // 2, start + limit)]
        middle = cuts[-1] if cuts else start + limit
        yield PassageSpan(start, middle)
        start = middle
    yield PassageSpan(start, end)


def _join(pieces: Sequence[PassageSpan], limit: int) -> list[PassageSpan]:
    """Join sentences to passages of about equal length, none longer than ``limit``."""
    left = sum(piece.end - piece.start for piece in pieces)
    passages: list[PassageSpan] = []
    for piece in pieces:
        length = piece.end - piece.start
        if passages and _takes(passages[-1], piece, limit, left):
            passages[-1] = PassageSpan(passages[-1].start, piece.end)
        else:
            passages.append(piece)
        left -= length
    return passages


def _takes(passage: PassageSpan, piece: PassageSpan, limit: int, left: int) -> bool:
    """Whether a passage takes a further sentence. left: characters of this sentence and all after it."""
    if piece.end - passage.start > limit:
        return False
    size = passage.end - passage.start
    # Passages that the rest needs, this one included, and the length of each.
    share = (size + left) / -(-(size + left) // limit)
    return size + (piece.end - piece.start) / 2 <= share
