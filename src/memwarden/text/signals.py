"""What is known of a text by its words alone, as stores keep it: terms, flags, days."""

from __future__ import annotations

import sys
from array import array
from datetime import datetime
from typing import NamedTuple

from memwarden.text import flags, tokenizer
from memwarden.text.dates.calendar import encode
from memwarden.text.dates.recognizer import spans_in


class TextSignals(NamedTuple):
    """The columns of :class:`memwarden.records.Signals` that need no model."""

    terms: bytes
    flags: int
    days: bytes


MAX_DATED_CHARACTERS = 20_000
"""Of a longer text the beginning is searched for dates: a memory keeps a few of its days only."""


def make_text_signals(text: str, said: datetime) -> TextSignals:
    """Return the signals of a text that was said at a time."""
    return TextSignals(term_bytes(text), flags.flags(text), encode(spans_in(text[:MAX_DATED_CHARACTERS], said)))


def term_bytes(text: str) -> bytes:
    """Return the term ids of a text (:func:`memwarden.text.tokenizer.index_ids`), as little-endian uint32."""
    ids = array("I", tokenizer.index_ids(text))
    if sys.byteorder == "big":
        ids.byteswap()
    return ids.tobytes()
