"""Cosines of a question's vectors with passages, and matches of its word pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from memwarden.models.products import multiply
from memwarden.recall.index.columns import Floats, Ints, cosine_and_closeness
from memwarden.recall.question import first_term
from memwarden.recall.rank.bm25 import count_holding, idf

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Passages whose word pieces are compared; in a larger namespace the best by the other signals.
MAX_COMPARED: Final = 1_000
# Weight of a word piece of a stop word or a punctuation mark; other pieces weigh the root of their word's idf.
STOP_WEIGHT: Final = 0.5

PieceVectors = npt.NDArray[np.int8]

_ONE: Final = np.float32(1 / 127)


@dataclass(frozen=True, slots=True)
class Cosines:
    """Cosines with every passage; None for a model that is not at hand.

    Attributes:
        first: by the first model. multilingual: by the multilingual model.
        answering: by the multilingual model after two maps, one for questions, one for statements that answer them.
    """

    first: Floats | None
    multilingual: Floats | None
    answering: Floats | None


def measure_cosines(question: Question, view: NamespaceView) -> Cosines:
    """Return the cosines of a question with the passages of a view."""
    passages = view.passages
    first = multilingual = answering = None
    if question.vector is not None and passages.vectors is not None:
        first = np.vecdot(passages.vectors, question.vector)
    if question.second is not None and passages.second is not None and view.second is not None:
        multilingual, answering = cosine_and_closeness(question.second, passages.second, view.second.adapted_norm)
    return Cosines(first, multilingual, answering)


def match_pieces(question: Question, view: NamespaceView, among: Ints | None = None) -> Floats | None:
    """Return for each passage how well it matches the question's word pieces, 0..1; None without word pieces.

    The mean over the question's pieces of the cosine to the nearest piece of the passage, rare words weighing more.

    Args:
        among: the only passages that are compared; the others get the lowest value of these.
    """
    passages = view.passages
    if question.pieces is None or passages.pieces is None or not len(question.pieces):
        return None
    compared = np.arange(len(passages.owners)) if among is None else among
    by_word = {word: _weigh_piece(word, view) for word in {*question.piece_words}}
    weights = np.array([by_word[word] for word in question.piece_words], np.float32)
    weights /= weights.sum()
    best = np.maximum(best_matches(question.pieces, passages.pieces, passages.piece_starts, compared), 0)
    found = np.zeros(len(passages.owners), np.float32)
    values = weights @ best
    if among is not None:
        found[:] = values.min(initial=0.0)
    found[compared] = values
    return found


def best_matches(question: Floats, pieces: PieceVectors, starts: Ints, compared: Ints) -> Floats:
    """Return each question piece's cosine to its nearest piece in each passage, shape (pieces, len(compared)).

    The value is -1 for a passage without pieces.

    Args:
        question: (pieces, 64) of unit length.
        pieces, starts: of all passages; see :class:`memwarden.recall.index.passages.Passages`.
        compared: numbers of passages, ascending, each once.
    """
    best = np.full((len(question), len(compared)), -1, np.float32)
    sizes = starts[compared + 1] - starts[compared]
    filled = np.flatnonzero(sizes)
    if not len(filled) or not len(question):
        return best
    sizes = sizes[filled]
    begins = np.cumsum(sizes) - sizes
    if len(compared) < len(starts) - 1:
        pieces = pieces[np.arange(int(sizes.sum())) + np.repeat(starts[compared[filled]] - begins, sizes)]
    products = multiply(pieces.astype(np.float32), np.multiply(question.T, _ONE, order="C"))
    best[:, filled] = np.maximum.reduceat(products, begins, axis=0).T
    return best


def _weigh_piece(word: str, view: NamespaceView) -> float:
    term, prior = first_term(word)
    if not prior:
        return STOP_WEIGHT
    holding = count_holding(term, len(view.postings(term)[0]), view)
    return float(idf(view.alive_count, holding, prior) ** 0.5)
