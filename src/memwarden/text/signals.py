"""Signals of a text that need no model: terms by passage, flags, days."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from memwarden.records.passages import StoredPassages
from memwarden.text.dates.recognizer import encode, spans_in
from memwarden.text.flags import flags
from memwarden.text.language import language_of
from memwarden.text.passages import read_passages
from memwarden.text.tokenizer import index_ids

# Characters. A memory keeps a few of its days only, so the beginning of a longer text is searched for dates.
MAX_DATED_CHARACTERS: Final = 20_000


class TextSignals(NamedTuple):
    """The columns of :class:`memwarden.records.Signals` that need no model."""

    terms: bytes
    flags: int
    days: bytes
    passages: bytes | None


def make_text_signals(text: str, said: datetime) -> TextSignals:
    """Return the signals of a text. said: when it was said."""
    days = encode(spans_in(text[:MAX_DATED_CHARACTERS], said))
    ids = passage_ids(text)
    passages = None if len(ids) == 1 else StoredPassages(tuple(map(len, ids)), (0,) * len(ids)).pack()
    return TextSignals(_pack(chain.from_iterable(ids)), flags(text), days, passages)


def passage_ids(text: str) -> list[list[int]]:
    """Return the term ids of each passage (:func:`memwarden.text.tokenizer.index_ids`), in order."""
    passages = read_passages(text)
    if len(passages) == 1:
        return [index_ids(text)]
    language = language_of(text)
    return [index_ids(passage, language) for passage in passages]


def text_ids(text: str) -> list[int]:
    """Return the term ids of all passages of a text, in order."""
    return list(chain.from_iterable(passage_ids(text)))


def term_bytes(text: str) -> bytes:
    """Return the term ids of a text as stores hold them: little-endian uint32."""
    return _pack(text_ids(text))


def _pack(ids: Iterable[int]) -> bytes:
    numbers = array("I", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
