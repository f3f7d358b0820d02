"""Postings: the rows of each term and its counts, as sorted arrays and a dictionary for recent rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memwarden.text.tokenizer import SURFACE_BIT

Rows = npt.NDArray[np.int32]
Counts = npt.NDArray[np.float32]

_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
_NO_COUNTS: Counts = np.zeros(0, dtype=np.float32)
# Below this many rows since the last merge the dictionary answers; a merge sorts everything (0.1 s at 100,000 rows).
TAIL_ROWS = 2_000
BULK_ROWS = 64


class Postings:
    """The inverted index of a namespace. Rows are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self._terms: npt.NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._starts: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._rows = _NO_ROWS
        self._counts = _NO_COUNTS
        self._tail: dict[int, tuple[list[int], list[int]]] = {}
        self._tail_rows = 0

    def extend(self, first_row: int, texts: tuple[bytes, ...]) -> None:
        """Add rows ``first_row``, ``first_row + 1``, ... with their term ids (little-endian uint32)."""
        if len(texts) > BULK_ROWS:
            self._merge(*flatten_terms(first_row, texts))
            return
        for row, text in enumerate(texts, first_row):
            for term, count in Counter(np.frombuffer(text, dtype="<u4").tolist()).items():
                rows, counts = self._tail.setdefault(term, ([], []))
                rows.append(row)
                counts.append(count)
        self._tail_rows += len(texts)
        if self._tail_rows > TAIL_ROWS:
            self._merge(*flatten_terms(0, ()))

    def of(self, term: int) -> tuple[Rows, Counts]:
        """Return the rows that hold a term, ascending, and how often each does."""
        rows, counts = self._bulk(term)
        if term not in self._tail:
            return rows, counts
        more_rows, more_counts = self._tail[term]
        return (
            np.concatenate([rows, np.array(more_rows, dtype=np.int32)]),
            np.concatenate([counts, np.array(more_counts, dtype=np.float32)]),
        )

    @property
    def nbytes(self) -> int:
        arrays = (self._terms, self._starts, self._rows, self._counts)
        return sum(array.nbytes for array in arrays) + 200 * len(self._tail)

    def _bulk(self, term: int) -> tuple[Rows, Counts]:
        place = int(self._terms.searchsorted(np.uint32(term)))
        if place == len(self._terms) or self._terms[place] != term:
            return _NO_ROWS, _NO_COUNTS
        found = slice(self._starts[place], self._starts[place + 1])
        return self._rows[found], self._counts[found]

    def _merge(self, terms: npt.NDArray[np.uint32], rows: Rows, counts: Counts) -> None:
        """Rebuild the sorted arrays from themselves, the dictionary and new (term, row, count) triples."""
        tail = [(term, row, n) for term, (rs, ns) in self._tail.items() for row, n in zip(rs, ns, strict=True)]
        tail_terms, tail_rows, tail_counts = np.array(tail, dtype=np.int64).reshape(-1, 3).T
        all_terms = np.concatenate([np.repeat(self._terms, np.diff(self._starts)), tail_terms.astype(np.uint32), terms])
        all_rows = np.concatenate([self._rows, tail_rows.astype(np.int32), rows])
        all_counts = np.concatenate([self._counts, tail_counts.astype(np.float32), counts])
        order = np.argsort((all_terms.astype(np.uint64) << np.uint64(32)) | all_rows.astype(np.uint64), kind="stable")
        self._terms, starts = np.unique(all_terms[order], return_index=True)
        self._starts = np.append(starts, len(order)).astype(np.int64)
        self._rows, self._counts = all_rows[order], all_counts[order]
        self._tail, self._tail_rows = {}, 0


def count_stems(texts: Sequence[bytes]) -> Counts:
    """Number of stems of each text: its term ids without those of surface forms."""
    sizes = np.fromiter((len(text) // 4 for text in texts), np.int64, len(texts))
    is_stem = np.frombuffer(b"".join(texts), dtype="<u4") < SURFACE_BIT
    before = np.concatenate(([0], np.cumsum(is_stem)))
    ends = np.cumsum(sizes)
    stems: Counts = (before[ends] - before[ends - sizes]).astype(np.float32)
    return stems


def flatten_terms(first_row: int, texts: tuple[bytes, ...]) -> tuple[npt.NDArray[np.uint32], Rows, Counts]:
    """Distinct (term, row) pairs of many texts and how often each occurs."""
    lengths = np.fromiter((len(text) // 4 for text in texts), np.int64, len(texts))
    terms = np.frombuffer(b"".join(texts), dtype="<u4").astype(np.uint64)
    rows = np.repeat(np.arange(first_row, first_row + len(texts), dtype=np.uint64), lengths)
    pairs, counts = np.unique((terms << np.uint64(32)) | rows, return_counts=True)
    return (
        (pairs >> np.uint64(32)).astype(np.uint32),
        pairs.astype(np.uint32).astype(np.int32),
        counts.astype(np.float32),
    )
