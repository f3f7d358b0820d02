"""Rows of a part of a large namespace: turns before them, and passages of texts that are partly read."""

from __future__ import annotations

import io
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from memwarden.recall.index.rows import FoundRows
from memwarden.recall.large.search import link_rows, read_divisions
from memwarden.recall.large.statistics import decode_digest, make_digest
from memwarden.recall.spelling import correct_spelling
from memwarden.records.passages import StoredPassages
from memwarden.text.tokenizer import term_id

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
    divided = read_divisions([None, stored[:read], stored], np.array([1, 9, 9]), 4)
    assert divided.places.tolist() == [1, 2]
    assert divided.counts.tolist() == [3, 3]
    assert divided.sizes.tolist() == [3, 2, 4, 3, 2, 4]
    assert {place: vectors.tolist() for place, vectors in divided.vectors.items()} == {2: [[1, 0], [0, 1]]}


def test_a_division_that_fits_no_text_is_one_passage() -> None:
    stored = StoredPassages((3, 2), (0, 0)).pack()
    divided = read_divisions([stored, stored[:6], stored], np.array([9, 5, 5]), 4)
    assert divided.places.tolist() == [2]
    assert divided.sizes.tolist() == [3, 2]


def test_a_digest_knows_a_word_of_a_single_memory() -> None:
    """A question with such a word would be read as misspelled."""
    rows = some_turns([1, 2, 3, 4, 5])
    often, once, never = 7, 8, 9
    rows.terms = [term.to_bytes(4, "little") for term in (often, often, often, often, once)]
    made = make_digest(rows, 5, GAP, (), "chat")
    for digest in (made, decode_digest(made.encode())):
        assert digest.holds(np.array([often, once, never], np.uint32)).tolist() == [True, True, False]


def test_a_digest_of_an_earlier_release_knows_common_words_alone() -> None:
    rows = some_turns([1, 2, 3, 4])
    rows.terms = [term.to_bytes(4, "little") for term in (7, 7, 7, 8)]
    encoded = make_digest(rows, 4, GAP, (), "chat").encode()
    with np.load(io.BytesIO(encoded)) as arrays:
        earlier = {name: arrays[name] for name in arrays if name != "rare"}
    file = io.BytesIO()
    np.savez(file, **earlier)
    assert decode_digest(file.getvalue()).holds(np.array([7, 8], np.uint32)).tolist() == [True, False]


def test_a_word_of_a_single_memory_is_not_misspelled() -> None:
    rows = some_turns([1, 2, 3, 4])
    desert, dessert = (term_id(word).to_bytes(4, "little") for word in ("desert", "dessert"))
    rows.terms = [dessert, dessert, dessert, desert]
    view: Any = SimpleNamespace(
        whole=make_digest(rows, 4, GAP, (), "chat"),
        passages=SimpleNamespace(postings=lambda term: ([], []), holds=lambda terms: np.zeros(len(terms), np.bool_)),
        known_words=set(),
    )
    for word in ("desert", "dessert"):
        assert correct_spelling(f"Who was in the {word}?", view, lambda word: False) == f"Who was in the {word}?"
    assert (
        correct_spelling("Who was in the desirt?", view, lambda word: word.lower() != "desirt")
        == "Who was in the desert?"
    )
