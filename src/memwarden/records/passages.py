"""Passages of a long text as stores hold them: how its terms, word pieces and vectors are divided."""

from __future__ import annotations

import struct
from typing import NamedTuple

_NUMBER = struct.Struct("<H")


class StoredPassages(NamedTuple):
    """Division of the signals of a text with several passages, in the order of the text.

    Attributes:
        terms: number of term ids of each passage.
        pieces: number of word pieces of each passage; zeros without word pieces.
        vectors: vectors of all passages but the first, one after the other as little-endian float16; empty without.
            The vector of the first passage is that of the text (:class:`memwarden.records.Signals`).
    """

    terms: tuple[int, ...]
    pieces: tuple[int, ...]
    vectors: bytes = b""

    def pack(self) -> bytes:
        """Return the bytes that a store holds."""
        count = len(self.terms)
        return _NUMBER.pack(count) + struct.pack(f"<{count}I{count}H", *self.terms, *self.pieces) + self.vectors


def unpack_passages(stored: bytes) -> StoredPassages:
    """Return what :meth:`StoredPassages.pack` made."""
    (count,) = _NUMBER.unpack_from(stored)
    numbers = struct.unpack_from(f"<{count}I{count}H", stored, _NUMBER.size)
    return StoredPassages(numbers[:count], numbers[count:], stored[_NUMBER.size + 6 * count :])


def without_vectors(stored: bytes | None) -> bytes | None:
    """Return stored passages without what a model made of them."""
    if stored is None:
        return None
    found = unpack_passages(stored)
    return StoredPassages(found.terms, (0,) * len(found.terms)).pack()
