"""The statements of many texts as arrays: which answer a question, and which later ones replace earlier ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden.statements.reader import QuestionReading
from memwarden.statements.statement import WIDTH, unpack
from memwarden.statements.subjects import same_subject
from memwarden.statements.weights import NONE, Floats, StatementWeights, attribute_code, load_weights

Ints = npt.NDArray[np.int64]

# Chosen by how often the current value stands above an outdated one: the meaning of two statements counts most, then
# what they are statements of, that both state something, and that the later one tells of a change.
ATTRIBUTE_SHARE: Final = 0.3
STATES_SHARE: Final = 0.3
CHANGE_SHARE: Final = 0.3
WORDS_SHARE: Final = 0.3
REPLACES: Final = 1.0
"""From this score on the later of two statements that both bear on a question replaces the earlier one."""

_NONE_CODE: Final = attribute_code(NONE)


class PlaceEvidence(NamedTuple):
    """What statements say for each place. Places without statements have zeros.

    similarity: how near the best statement lies to where the answer lies, -1..1.
    attribute: how much the question and a statement ask for and tell the same attribute, 0..1.
    states: the chance that something is stated that holds. subject: that a statement is of whom the question is about.
    """

    similarity: Floats
    attribute: Floats
    states: Floats
    subject: npt.NDArray[np.bool_]


class StatementTable:
    """Statements in the order of the places of their texts; a place may have none."""

    def __init__(self, weights: StatementWeights | None = None) -> None:
        self._given = weights
        self.place: Ints = np.zeros(0, np.int64)
        self.vectors = np.zeros((0, WIDTH), np.int8)
        self.codes = np.zeros((0, 3), np.uint32)
        self.chances = np.zeros((0, 3), np.uint8)
        self.states = np.zeros(0, np.uint8)
        self.changes = np.zeros(0, np.uint8)
        self.since: Ints = np.zeros(0, np.int64)
        self.subject = np.zeros(0, np.int32)
        self.subjects: list[tuple[str, ...]] = []
        self._subject_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.place)

    @property
    def nbytes(self) -> int:
        """About how much memory the statements take."""
        arrays = (
            self.place,
            self.vectors,
            self.codes,
            self.chances,
            self.states,
            self.changes,
            self.since,
            self.subject,
        )
        return sum(array.nbytes for array in arrays) + 60 * len(self.subjects)

    def extend(self, first: int, packed: Sequence[bytes | None]) -> None:
        """Take in the statements of the texts at the places from ``first`` on."""
        rows = [(first + number, each) for number, blob in enumerate(packed) if blob for each in unpack(blob)]
        if not rows:
            return
        numbers = [self._subject(each.subject) for _, each in rows]
        vectors = np.frombuffer(b"".join(each.vector for _, each in rows), np.int8).reshape(-1, WIDTH)
        self.place = np.concatenate([self.place, np.array([place for place, _ in rows], np.int64)])
        self.vectors = np.concatenate([self.vectors, vectors])
        self.codes = np.concatenate([self.codes, np.array([each.attributes for _, each in rows], np.uint32)])
        self.chances = np.concatenate([self.chances, np.array([each.chances for _, each in rows], np.uint8)])
        self.states = np.concatenate([self.states, np.array([each.states for _, each in rows], np.uint8)])
        self.changes = np.concatenate([self.changes, np.array([each.changes for _, each in rows], np.uint8)])
        self.since = np.concatenate([self.since, np.array([each.since for _, each in rows], np.int64)])
        self.subject = np.concatenate([self.subject, np.array(numbers, np.int32)])

    def evidence(self, question: QuestionReading, size: int) -> PlaceEvidence:
        """Return what the statements say about a question, for each of ``size`` places."""
        similarity, attribute, states = (np.zeros(size, np.float32) for _ in range(3))
        subject = np.zeros(size, np.bool_)
        if not len(self):
            return PlaceEvidence(similarity, attribute, states, subject)
        about = np.array([same_subject(keys, question.subjects) for keys in self.subjects], np.bool_)[self.subject]
        near = self.vectors.astype(np.float32) @ question.vector / 127
        tells = self._shared_attribute(question.attributes) * about
        # Every place takes its best statement; a similarity below zero is kept, so the start is the lowest there is.
        lowest = np.full(size, -1, np.float32)
        np.maximum.at(lowest, self.place, near)
        similarity[self.place] = lowest[self.place]
        np.maximum.at(attribute, self.place, tells)
        np.maximum.at(states, self.place, self.states.astype(np.float32) / 255)
        np.logical_or.at(subject, self.place, about)
        return PlaceEvidence(similarity, attribute, states, subject)

    def _shared_attribute(self, asked: Floats) -> Floats:
        """How much each statement tells what is asked for: the overlap of both chances, without "none"."""
        weights = self._given or load_weights()
        wanted = {int(code): float(chance) for code, chance in zip(weights.codes, asked, strict=True)}
        wanted[_NONE_CODE] = 0.0
        codes, lines = np.unique(self.codes, return_inverse=True)
        chance = np.array([wanted.get(int(code), 0.0) for code in codes], np.float32)[lines].reshape(self.codes.shape)
        return np.asarray(np.sqrt(chance * self.chances / 255).sum(axis=1), np.float32)

    def replacement_scores(self, places: Sequence[int], shared_words: Floats | None = None) -> Floats:
        """Return how surely the text at one place replaces that at another: line and column number ``places``.

        Only a later place replaces an earlier one; all else is -inf. From REPLACES on, two texts that bear on the same
        question tell an old and a new value; of texts that do not, the score says little. shared_words: 0..1, how much
        the two texts share words that are rare in the namespace.
        """
        size = len(places)
        scores = np.full((size, size), -np.inf, np.float32)
        number = {place: line for line, place in enumerate(places)}
        rows = np.flatnonzero(np.isin(self.place, np.asarray(places, np.int64)))
        if not len(rows):
            return scores
        owner = np.array([number[int(place)] for place in self.place[rows]], np.int64)
        vectors = self.vectors[rows].astype(np.float32) / 127
        both = np.minimum(self.states[rows, None], self.states[None, rows]).astype(np.float32) / 255
        pair = vectors @ vectors.T + ATTRIBUTE_SHARE * self._same_attribute(rows) + STATES_SHARE * both
        pair += CHANGE_SHARE * (self.changes[rows].astype(np.float32) / 255)[:, None]
        later = self.place[rows][:, None] > self.place[rows][None]
        np.maximum.at(scores, (owner[:, None], owner[None]), np.where(later, pair, -np.inf))
        return scores if shared_words is None else np.asarray(scores + WORDS_SHARE * shared_words, np.float32)

    def _same_attribute(self, rows: Ints) -> Floats:
        codes, chances = self.codes[rows], self.chances[rows].astype(np.float32) / 255
        overlap = np.zeros((len(rows), len(rows)), np.float32)
        for left in range(3):
            for right in range(3):
                same = (codes[:, None, left] == codes[None, :, right]) & (codes[:, None, left] != _NONE_CODE)
                overlap += same * np.sqrt(chances[:, None, left] * chances[None, :, right])
        return overlap

    def _subject(self, key: str) -> int:
        number = self._subject_of.setdefault(key, len(self.subjects))
        if number == len(self.subjects):
            self.subjects.append(tuple(key.split("+")) if key else ())
        return number
