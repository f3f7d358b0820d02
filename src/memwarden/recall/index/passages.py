"""Passages of the texts of a namespace: the rows that words and vectors are searched in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from memwarden.models.products import multiply
from memwarden.recall.index.columns import (
    Counts,
    Floats,
    GrowingArray,
    Ints,
    Mask,
    Postings,
    Rows,
    TermIds,
    count_stems,
    maps,
    report_chances,
)
from memwarden.recall.index.rows import MultilingualSide
from memwarden.records.passages import StoredPassages, unpack_passages

Values = npt.NDArray[Any]
Pieces = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of all places, dead places included; ordered by place, then as in the text.

    Attributes:
        owners: int32 (P,), the place of each passage, ascending.
        starts: int64 (size + 1,). The passages of place i are ``starts[i]`` to before ``starts[i + 1]``.
        length: float32 (P,), number of stems.
        postings: term id -> the live passages that hold it, ascending, and how often each does.
        holds: term ids -> which of them any passage holds, dead ones included.
        vectors: float32 (P, d) of unit length, a row of zeros for no vector; None without an embedder.
        second: the multilingual vectors, alike; None for an embedder with one side.
        pieces: int8 (n, 64), vectors of word pieces; None from a model without.
        piece_starts: int64 (P + 1,). The word pieces of passage p are ``piece_starts[p]`` to before the next.
    """

    owners: npt.NDArray[np.int32]
    starts: Ints
    length: Floats
    postings: Callable[[int], tuple[Rows, Counts]]
    holds: Callable[[TermIds], Mask]
    vectors: Floats | None
    second: Floats | None
    pieces: Pieces | None
    piece_starts: Ints

    @property
    def single(self) -> bool:
        """Whether every place is one passage, so that the number of a passage is that of its place."""
        return len(self.owners) + 1 == len(self.starts)

    @property
    def first(self) -> Ints:
        """The first passage of each place."""
        return self.starts[:-1]

    def of_first(self, rows: Values | None) -> Values | None:
        """Return the row of each place's first passage. rows: of all passages."""
        return rows if rows is None or self.single else rows[self.first]

    def best(self, values: Values) -> Values:
        """Return for each place the largest value of its passages. values: (P,)."""
        if self.single or not len(values):
            return values
        best: Values = np.maximum.reduceat(values, self.first)
        return best

    def best_at(self, values: Values) -> Ints:
        """Return for each place the passage with the largest value, the first of several. values: (P,)."""
        if self.single or not len(values):
            return np.arange(len(self.starts) - 1)
        # Stable from the best to the worst within each place: the first of a place is its best.
        order = np.lexsort((-values, self.owners))
        return order[self.first]


def sum_by_place(passages: Rows, counts: Counts, owners: npt.NDArray[np.int32]) -> tuple[Rows, Counts]:
    """Return the places of ascending passages, each once, and the sums of their counts."""
    if not len(passages):
        return passages, counts
    places = owners[passages]
    begins = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    return places[begins], np.add.reduceat(counts, begins)


class PassageTable:
    """The passages of an index, which rows are appended to.

    Attributes:
        postings: over passages, dead ones included.
    """

    def __init__(self, dimensions: int | None, piece_dimensions: int | None, second_dimensions: int | None) -> None:
        """dimensions, piece_dimensions, second_dimensions: of the vectors; None for none."""
        self.postings = Postings()
        self._owners = GrowingArray(np.int32)
        self._starts = GrowingArray(np.int64)
        self._starts.extend([0])
        self._length = GrowingArray(np.float32)
        self._vectors = GrowingArray(np.float32, dimensions) if dimensions else None
        self._second = GrowingArray(np.float32, second_dimensions) if second_dimensions else None
        self._adapted_norm = GrowingArray(np.float32) if second_dimensions else None
        self._reports = GrowingArray(np.float32) if second_dimensions else None
        self._pieces = GrowingArray(np.int8, piece_dimensions) if piece_dimensions else None
        self._piece_starts = GrowingArray(np.int64)
        self._piece_starts.extend([0])

    @property
    def owners(self) -> npt.NDArray[np.int32]:
        """The place of each passage."""
        return self._owners.array

    @property
    def single(self) -> bool:
        """Whether every place is one passage."""
        return len(self._owners.array) + 1 == len(self._starts.array)

    @property
    def dimensions(self) -> int | None:
        """Numbers of a vector of the first side; None without an embedder."""
        return None if self._vectors is None else int(self._vectors.array.shape[1])

    @property
    def second_side(self) -> MultilingualSide | None:
        """What is known of the multilingual vectors; None without."""
        if self._second is None or self._adapted_norm is None or self._reports is None:
            return None
        return MultilingualSide(self._second.array, self._adapted_norm.array, self._reports.array)

    @property
    def nbytes(self) -> int:
        """About how much memory the passages take."""
        growing = (
            self._owners, self._starts, self._length, self._vectors, self._second, self._adapted_norm, self._reports,
            self._pieces, self._piece_starts,
        )  # fmt: skip
        return self.postings.nbytes + sum(item.nbytes for item in growing if item is not None)

    def view(self, postings: Callable[[int], tuple[Rows, Counts]]) -> Passages:
        """Return the passages as they are now. postings: the live passages that hold a term, and how often."""
        return Passages(
            self.owners,
            self._starts.array,
            self._length.array,
            postings,
            self.postings.holds,
            None if self._vectors is None else self._vectors.array,
            None if self._second is None else self._second.array,
            None if self._pieces is None else self._pieces.array,
            self._piece_starts.array,
        )

    def first_vectors(self, places: npt.ArrayLike) -> Floats:
        """Return the vectors of the first passages of places, (len(places), d). Requires an embedder."""
        assert self._vectors is not None
        found: Floats = self._vectors.array[self._starts.array[np.asarray(places, np.int64)]]
        return found

    def extend(
        self,
        terms: Sequence[bytes],
        vectors: Sequence[bytes | None],
        pieces: Sequence[bytes | None],
        passages: Sequence[bytes | None],
    ) -> None:
        """Append the passages of further places, each as stores hold it."""
        first_place = len(self._starts.array) - 1
        divided = divide_rows(terms, vectors, pieces, passages, self._width)
        first = len(self.owners)
        self.postings.extend(first, tuple(divided.terms))
        places = np.repeat(np.arange(first_place, first_place + len(terms), dtype=np.int32), divided.counts)
        self._owners.extend(places)
        self._starts.extend(self._starts.array[-1] + np.cumsum(divided.counts))
        self._length.extend(count_stems(divided.terms))
        if self._pieces is not None:
            width = self._pieces.array.shape[1]
            self._pieces.extend(np.frombuffer(b"".join(divided.pieces), np.int8).reshape(-1, width))
            sizes = np.cumsum([len(blob) // width for blob in divided.pieces])
            self._piece_starts.extend(self._piece_starts.array[-1] + sizes)
        if self._vectors is not None:
            self._extend_vectors(divided.vectors, self._vectors)

    @property
    def _width(self) -> int:
        """Numbers of a stored vector, both sides."""
        sides = (self._vectors, self._second)
        return sum(side.array.shape[1] for side in sides if side is not None)

    def _extend_vectors(self, stored: Sequence[bytes | None], first: GrowingArray) -> None:
        both = stack_vectors(stored, self._width)
        if self._second is None or self._adapted_norm is None or self._reports is None:
            first.extend(both)
            return
        width = first.array.shape[1]
        first.extend(unit_rows(both[:, :width]))
        second = unit_rows(both[:, width:])
        self._second.extend(second)
        self._adapted_norm.extend(said_norms(second))
        self._reports.extend(report_chances(second))


@dataclass(frozen=True, slots=True)
class DividedRows:
    """Stored rows, divided into passages.

    Attributes:
        counts: number of passages of each row. terms, vectors, pieces: of each passage; a vector may be None.
    """

    counts: Ints
    terms: Sequence[bytes]
    vectors: Sequence[bytes | None]
    pieces: Sequence[bytes]


def divide_rows(
    terms: Sequence[bytes],
    vectors: Sequence[bytes | None],
    pieces: Sequence[bytes | None],
    passages: Sequence[bytes | None],
    width: int,
) -> DividedRows:
    """Divide rows into their passages. width: numbers of a vector, 0 without vectors."""
    if passages.count(None) == len(passages):
        return DividedRows(np.ones(len(terms), np.int64), terms, vectors, [blob or b"" for blob in pieces])
    divided = [_divide(*row, width) for row in zip(terms, vectors, pieces, passages, strict=True)]
    return DividedRows(
        np.array([len(row[0]) for row in divided], np.int64),
        [each for row in divided for each in row[0]],
        [each for row in divided for each in row[1]],
        [each for row in divided for each in row[2]],
    )


def _divide(
    terms: bytes, vector: bytes | None, pieces: bytes | None, stored: bytes | None, width: int
) -> tuple[list[bytes], list[bytes | None], list[bytes]]:
    """Return terms, vectors and word pieces of each passage of a text."""
    division = None if stored is None else unpack_passages(stored)
    if division is None or sum(division.terms) * 4 != len(terms):
        return [terms], [vector], [pieces or b""]
    return (
        _slice(terms, division.terms, 4),
        _divide_vectors(vector, division, 2 * width),
        _divide_pieces(pieces or b"", division),
    )


def _divide_vectors(vector: bytes | None, division: StoredPassages, size: int) -> list[bytes | None]:
    """size: bytes of a vector."""
    rest = len(division.terms) - 1
    if not vector or not size or len(division.vectors) != rest * size:
        return [vector, *[None] * rest]
    return [vector, *(division.vectors[start : start + size] for start in range(0, rest * size, size))]


def _divide_pieces(pieces: bytes, division: StoredPassages) -> list[bytes]:
    total = sum(division.pieces)
    if not total or len(pieces) % total:
        return [pieces, *[b""] * (len(division.terms) - 1)]
    return _slice(pieces, division.pieces, len(pieces) // total)


def _slice(whole: bytes, counts: Sequence[int], size: int) -> list[bytes]:
    ends = accumulate(counts)
    return [whole[(end - count) * size : end * size] for count, end in zip(counts, ends, strict=True)]


def stack_vectors(stored: Sequence[bytes | None], dimensions: int) -> Floats:
    """Return stored vectors as rows; zeros for a missing vector."""
    missing = bytes(2 * dimensions)
    whole = b"".join(blob if blob else missing for blob in stored)
    return np.frombuffer(whole, dtype="<f2").reshape(len(stored), dimensions).astype(np.float32)


def unit_rows(vectors: Floats) -> Floats:
    """Return each row at unit length; a row of zeros stays."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return np.asarray(np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0), np.float32)


def said_norms(vectors: Floats) -> Floats:
    """Return the length of each mapped vector, so that no mapped vectors have to be kept."""
    return np.asarray(np.maximum(np.linalg.norm(multiply(vectors, maps().said), axis=1), 1e-6), np.float32)
