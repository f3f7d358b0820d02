"""Counting tokens. One counter for every budget, never a split on spaces."""

from __future__ import annotations

import math
from typing import Protocol

_NOT_ASCII = bytes(range(128, 256))


class TokenCounter(Protocol):
    """Tells how many tokens a text takes in a model's prompt."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, 0 for an empty text."""


def estimate(text: str) -> int:
    """The default counter: a token for 4 ASCII characters, and a token for 2 bytes of anything else, rounded up.

    English prose has 4.2 to 4.7 characters a token in today's vocabularies, Chinese and Japanese 2 to 3 bytes a
    token, so that the estimate is rather too high than too low.
    """
    if text.isascii():
        return math.ceil(len(text) / 4)
    encoded = text.encode("utf-8", "surrogatepass")
    ascii_length = len(encoded.translate(None, delete=_NOT_ASCII))
    return math.ceil(ascii_length / 4 + (len(encoded) - ascii_length) / 2)
