"""Rows of a part of a large namespace: turns before them, and passages of texts that are partly read."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from memwarden.recall.index.rows import FoundRows
from memwarden.recall.large.search import link_rows, read_division
from memwarden.records.passages import StoredPassages

GAP = 4 * 3_600_000_000
MINUTE = 60_000_000


def some_turns(numbers: list[int], thread: str = "t") -> FoundRows:
    """Return turns of a thread, said a minute apart."""
    count = len(numbers)
    n = np.array(numbers, np.int64)
    texts = [b""] * count
    return FoundRows(
        n,
        n * MINUTE,
        np.zeros(count, np.int16),
        np.ones(count, np.bool_),
        np.ones(count, np.bool_),
        np.zeros(count, np.uint8),
        [f"m{number}" for number in numbers],
        [thread] * count,
        [None] * count,
        texts,
        texts,
        np.zeros((count, 0), np.float16),
        [None] * count,
    )


def test_a_turn_whose_predecessor_was_not_read_has_none() -> None:
    rows = some_turns([4, 5, 6, 9, 10, 11])
    links = link_rows(rows, {5: 1, 10: 1}, GAP)
    assert links.previous.tolist() == [-1, 0, 1, -1, 3, 4]
    assert links.session.tolist() == [0] * 6  # a minute or three apart, so of one session


def test_a_candidate_that_was_not_surrounded_is_linked_to_nothing() -> None:
    rows = some_turns([4, 5, 6, 7])
    assert link_rows(rows, {}, GAP).previous.tolist() == [-1] * 4
    assert link_rows(rows, {5: 1}, GAP).previous.tolist() == [-1, 0, 1, -1]


def test_spans_that_overlap_are_one() -> None:
    rows = some_turns([2, 3, 4, 5, 6])
    assert link_rows(rows, {3: 1, 5: 1}, GAP).previous.tolist() == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize("read", [2 + 4 * 3, 2 + 6 * 3])
def test_a_division_is_read_from_its_beginning(read: int) -> None:
    stored = StoredPassages((3, 2, 4), (0, 0, 0), struct.pack("<4e", 1, 0, 0, 1)).pack()
    assert read_division(stored[:read], 9, 4) == ((3, 2, 4), None)
    sizes, vectors = read_division(stored, 9, 4) or ((), None)
    assert sizes == (3, 2, 4)
    assert vectors is not None
    assert vectors.tolist() == [[1, 0], [0, 1]]


def test_a_division_that_fits_no_text_is_one_passage() -> None:
    stored = StoredPassages((3, 2), (0, 0)).pack()
    assert read_division(stored, 9, 4) is None
    assert read_division(stored[:6], 5, 4) is None
