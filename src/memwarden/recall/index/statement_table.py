"""The statements of a namespace as arrays: which answer a question, and which later texts replace earlier texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import GrowingArray, Mask
from memwarden.recall.index.view import Floats, Ints
from memwarden.statements.reader import (
    NONE,
    QuestionReading,
    StatementWeights,
    attribute_code,
    load_weights,
    same_subject,
)
from memwarden.statements.statement import WIDTH, unpack

# Chosen by how often the current value stands above an outdated value: the meaning of two statements counts most, then
# what they are statements of, that both state something, and that the later text tells of a change.
ATTRIBUTE_SHARE: Final = 0.3
STATES_SHARE: Final = 0.3
CHANGE_SHARE: Final = 0.3
WORDS_SHARE: Final = 0.3
REPLACES: Final = 1.0
"""From this score on the later of two texts that both bear on a question replaces the earlier text."""
CHUNK_ROWS: Final = 8_192
"""Vectors that are widened at a time: more leave the processor's cache."""

_NONE_CODE: Final = attribute_code(NONE)


class PlaceEvidence(NamedTuple):
    """What statements say for each place. Places without statements have zeros: unknown, not far.

    similarity: how near the best statement lies to where the answer lies, -1..1.
    attribute: how much the question and a statement of its subject ask for and tell the same attribute, 0..1.
    states: the chance that something is stated that holds.
    known: that the place has statements. subject: that a statement may be of whom the question is about.
    """

    similarity: Floats
    attribute: Floats
    states: Floats
    known: Mask
    subject: Mask


class TableRow(NamedTuple):
    """A statement of a text that an index holds.

    Attributes:
        code: of its likeliest attribute. chance: that the text states it, 0..1. sort: number in ``SORTS``.
        start, end: the place of its words in the text.
    """

    place: int
    code: int
    chance: float
    sort: int
    subjects: tuple[str, ...]
    start: int
    end: int


class StatementTable:
    """Statements in the order of arrival of their texts; a text has several or none."""

    def __init__(self, weights: StatementWeights | None = None) -> None:
        """weights: None for those of the wheel."""
        self._given = weights
        self._place = GrowingArray(np.int64)
        self._vectors = GrowingArray(np.int8, WIDTH)
        self._codes = GrowingArray(np.uint32, 3)
        self._chances = GrowingArray(np.uint8, 3)
        self._states = GrowingArray(np.uint8)
        self._changes = GrowingArray(np.uint8)
        self._typical = GrowingArray(np.uint8)
        self._sort = GrowingArray(np.uint8)
        self._spans = GrowingArray(np.uint16, 2)
        self._subject = GrowingArray(np.int32)
        self._subjects: list[tuple[str, ...]] = []
        self._subject_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._place.array)

    @property
    def nbytes(self) -> int:
        """About how much memory the statements take."""
        numbers = (self._codes, self._chances, self._states, self._changes, self._typical, self._sort, self._spans)
        arrays = sum(array.nbytes for array in (*numbers, self._place, self._subject, self._vectors))
        return arrays + 100 * len(self._subjects)

    def extend(self, first: int, packed: Sequence[bytes | None]) -> None:
        """Take in the statements of the texts at the places from ``first`` on."""
        rows = [(first + number, each) for number, blob in enumerate(packed) if blob for each in unpack(blob)]
        if not rows:
            return
        self._place.extend([place for place, _ in rows])
        self._vectors.extend(np.frombuffer(b"".join(each.vector for _, each in rows), np.int8).reshape(-1, WIDTH))
        self._codes.extend(np.array([each.attributes for _, each in rows], np.uint32))
        self._chances.extend(np.array([each.chances for _, each in rows], np.uint8))
        self._states.extend([each.states for _, each in rows])
        self._changes.extend([each.changes for _, each in rows])
        self._typical.extend([each.typical for _, each in rows])
        self._sort.extend([each.sort for _, each in rows])
        self._spans.extend(np.array([(each.start, each.end) for _, each in rows], np.uint16))
        self._subject.extend([self._number_of(each.subject) for _, each in rows])

    def rows(self, allowed: Mask, least: float) -> list[TableRow]:
        """Return what the texts at allowed places state with at least a chance; of clauses in clauses the inner."""
        place = self._place.array
        inside = place < len(allowed)
        chance = self._states.array * (self._chances.array[:, 0] / np.float32(255**3)) * self._typical.array
        wanted = np.flatnonzero(inside & allowed[np.where(inside, place, 0)] & (chance >= least))
        found = [
            TableRow(
                int(place[row]),
                int(self._codes.array[row, 0]),
                float(chance[row]),
                int(self._sort.array[row]),
                self._subjects[int(self._subject.array[row])],
                int(self._spans.array[row, 0]),
                int(self._spans.array[row, 1]),
            )
            for row in wanted.tolist()
        ]
        inner: dict[tuple[int, int], TableRow] = {}
        for each in sorted(found, key=lambda each: each.start - each.end):
            inner[each.place, each.code] = each
        return list(inner.values())

    def evidence(self, question: QuestionReading, size: int, among: Ints | None = None) -> PlaceEvidence:
        """Return what the statements say about a question, for each of ``size`` places.

        among: only these places are looked at, the others have zeros; None for all.
        """
        similarity, attribute, states = (np.zeros(size, np.float32) for _ in range(3))
        known, subject = (np.zeros(size, np.bool_) for _ in range(2))
        rows = self._rows(size, among)
        if len(rows):
            place = self._place.array[rows]
            about = [same_subject(keys, question.subjects) for keys in self._subjects]
            mine = np.array(about, np.bool_)[self._subject.array[rows]]
            known[place] = True
            # Every place takes its best statement, also where the best lies below zero.
            similarity[place] = -1
            np.maximum.at(similarity, place, self._closeness(rows, question.vector))
            np.maximum.at(attribute, place, self._shared_attribute(rows, question.attributes) * mine)
            np.maximum.at(states, place, self._states.array[rows].astype(np.float32) / 255)
            np.logical_or.at(subject, place, mine)
        return PlaceEvidence(similarity, attribute, states, known, subject)

    def replacement_scores(self, places: Sequence[int], times: Ints, shared_words: Floats | None = None) -> Floats:
        """Return how surely the text at a place replaces that at another: line and column number ``places``.

        Only a later text replaces an earlier text; all else is -inf. From REPLACES on, two texts that bear on the same
        question tell an old and a new value; of texts that do not, the score says little.

        Args:
            times: when the texts were said, one number a place. shared_words: 0..1, how much two texts share words that
                are rare in the namespace.
        """
        size = len(places)
        scores = np.full((size, size), -np.inf, np.float32)
        number = {place: line for line, place in enumerate(places)}
        rows = np.flatnonzero(np.isin(self._place.array, np.asarray(places, np.int64)))
        if not len(rows):
            return scores
        owner = np.array([number[int(place)] for place in self._place.array[rows]], np.int64)
        vectors = self._vectors.array[rows].astype(np.float32) / 127
        sure = self._states.array[rows].astype(np.float32) / 255
        pair = vectors @ vectors.T + ATTRIBUTE_SHARE * self._same_attribute(rows)
        pair += STATES_SHARE * np.minimum(sure[:, None], sure[None])
        pair += CHANGE_SHARE * (self._changes.array[rows].astype(np.float32) / 255)[:, None]
        # By when they were said, not by place: a row whose signals followed later has a later place.
        later = times[owner][:, None] > times[owner][None]
        np.maximum.at(scores, (owner[:, None], owner[None]), np.where(later, pair, -np.inf))
        return scores if shared_words is None else np.asarray(scores + WORDS_SHARE * shared_words, np.float32)

    def _rows(self, size: int, among: Ints | None) -> Ints:
        place = self._place.array
        if among is None:
            return np.flatnonzero(place < size)
        wanted = np.zeros(size, np.bool_)
        wanted[among] = True
        inside = place < size
        return np.flatnonzero(inside & wanted[np.where(inside, place, 0)])

    def _closeness(self, rows: Ints, vector: Floats) -> Floats:
        vectors = self._vectors.array
        found = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), CHUNK_ROWS):
            some = rows[start : start + CHUNK_ROWS]
            found[start : start + len(some)] = vectors[some].astype(np.float32) @ vector
        return found / np.float32(127)

    def _shared_attribute(self, rows: Ints, asked: Floats) -> Floats:
        """How much each statement tells what is asked for: the overlap of both chances, without "none"."""
        weights = self._given or load_weights()
        order = np.argsort(weights.codes)
        codes = self._codes.array[rows]
        places = order[np.minimum(np.searchsorted(weights.codes, codes, sorter=order), len(order) - 1)]
        known = (weights.codes[places] == codes) & (codes != _NONE_CODE)
        chance = np.where(known, asked[places], 0) * self._chances.array[rows] / np.float32(255)
        return np.asarray(np.sqrt(chance).sum(axis=1), np.float32)

    def _same_attribute(self, rows: Ints) -> Floats:
        codes, chances = self._codes.array[rows], self._chances.array[rows].astype(np.float32) / 255
        overlap = np.zeros((len(rows), len(rows)), np.float32)
        for left in range(3):
            for right in range(3):
                same = (codes[:, None, left] == codes[None, :, right]) & (codes[:, None, left] != _NONE_CODE)
                overlap += same * np.sqrt(chances[:, None, left] * chances[None, :, right])
        return overlap

    def _number_of(self, key: str) -> int:
        number = self._subject_of.setdefault(key, len(self._subjects))
        if number == len(self._subjects):
            self._subjects.append(tuple(key.split("+")) if key else ())
        return number


class QuestionMaps(NamedTuple):
    """What was learned of questions and statements.

    Attributes:
        asked, said: (512, 512): for a question and for what was said.
        personal: (513,): how much a question asks about somebody's life rather than about the world; the last is the
            constant.
    """

    asked: Floats
    said: Floats
    personal: Floats


@cache
def maps() -> QuestionMaps:
    """Return the maps that lie beside this module; loaded at first use (1 MB)."""
    with np.load(Path(__file__).with_name("question_maps.npz")) as stored:
        return QuestionMaps(*(stored[name].astype(np.float32) for name in QuestionMaps._fields))


def said_norms(vectors: Floats) -> Floats:
    """Return the length of each mapped vector, so that no mapped vectors have to be kept."""
    return np.asarray(np.maximum(np.linalg.norm(vectors @ maps().said, axis=1), 1e-6), np.float32)


def closeness(asked: Floats, vectors: Floats, norms: Floats) -> Floats:
    """Return the cosine between the mapped question and each mapped vector."""
    mapped = asked @ maps().asked
    mapped /= max(float(np.linalg.norm(mapped)), 1e-6)
    return np.asarray((vectors @ (maps().said @ mapped)) / norms, np.float32)


def personal(asked: Floats) -> float:
    """Return the logit that a question asks about somebody's life rather than about the world."""
    learned = maps().personal
    return float(asked @ learned[:-1] + learned[-1])
