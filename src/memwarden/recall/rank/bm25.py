"""BM25 of a question's words over passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from memwarden.recall.index.columns import Counts, Floats, Mask, Rows
from memwarden.text.tokenizer import surface_id, term_id

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Saturation of a word's count, and weight of a passage's length. Measured with passages: 0.9 and 0.4 find as much as
# any others within 0.01.
K1: Final = 0.9
B: Final = 0.4
# Added to the sum of a question's inverse document frequencies, so that one matched word is never the whole question.
PSEUDO_MASS: Final = 2.0
# Rows of everyday text behind every idf, so that "name" is a common word in a store of ten rows, too.
PSEUDO_ROWS: Final = 100.0

Postings = Callable[[int], tuple[Rows, Counts]]


@dataclass(frozen=True, slots=True)
class MatchedWords:
    """What the words of a question say of every place.

    Attributes:
        passages: BM25 of each passage. bm25: of each place, that of its best passage.
        own: share of the question's idf held by a place. around: by a place or the turn before or after it.
        weights: idf of each word, in the order of the question. holding: number of places that hold each.
        held: which places hold each word, (words, places).
    """

    passages: Floats
    bm25: Floats
    own: Floats
    around: Floats
    weights: tuple[float, ...]
    holding: tuple[int, ...]
    held: Mask

    def unseen(self, allowed: Mask) -> float:
        """Return the share of the question's idf that no allowed place holds."""
        found = (self.held & allowed).any(axis=1)
        if self.holding != tuple(np.count_nonzero(self.held, axis=1).tolist()):  # a part of a large namespace
            found |= np.array(self.holding) > 0
        weights = np.array(self.weights)
        return float(weights[~found].sum() / (weights.sum() + PSEUDO_MASS))

    def share_around(self, place: int, view: NamespaceView, allowed: Mask) -> float:
        """Return the share of the question's idf held by a place or an allowed turn before or after it."""
        near = [each for each in (int(view.previous[place]), int(view.following[place])) if each >= 0 and allowed[each]]
        found = self.held[:, [place, *near]].any(axis=1)
        weights = np.array(self.weights)
        return float(weights[found].sum() / (weights.sum() + PSEUDO_MASS))


def idf(total: int, holding: int, prior: float) -> float:
    """Return the inverse document frequency of a word.

    Args:
        total: number of rows. holding: number of rows that hold the word.
        prior: share of everyday texts that hold it.
    """
    return float(np.log1p((total + PSEUDO_ROWS) / (holding + PSEUDO_ROWS * prior + 0.5)))


def form_ids(term: int, form: str) -> tuple[int, ...]:
    """Return the further ids of a word, given its surface form in the question.

    They find memories in another language, where the word has another stem or is a stem itself.
    """
    stem = term_id(form)
    return (surface_id(form),) if stem == term else (stem, surface_id(form))


def find_word(postings: Postings, term: int, others: Sequence[int]) -> tuple[Rows, Counts]:
    """Return the rows that hold a stem or one of its other ids, ascending, and how often each does."""
    rows, counts = postings(term)
    for other in others:
        more, more_counts = postings(other)
        if not len(more):
            continue
        if len(rows):
            alone = rows[np.minimum(rows.searchsorted(more), len(rows) - 1)] != more
            if not alone.any():  # usual: a row with the surface form has the stem
                continue
            more, more_counts = more[alone], more_counts[alone]
        together = np.concatenate((rows, more))
        order = np.argsort(together, kind="stable")
        rows, counts = together[order], np.concatenate((counts, more_counts))[order]
    return rows, counts


def count_holding(term: int, rows: int, view: NamespaceView) -> int:
    """Return how many memories of the namespace hold a term. rows: of the view."""
    return rows if view.whole is None else view.whole.holding(term, rows)


def match_words(question: Question, view: NamespaceView) -> MatchedWords:
    """Match a question's words with the passages of a view."""
    passages = view.passages
    norm = K1 * (1 - B + B * passages.length / view.mean_passage_length)
    scores = np.zeros(len(passages.length), np.float32)
    held = np.zeros((len(question.terms), view.size), np.bool_)
    weights, holding = list[float](), list[int]()
    for line, (term, prior) in enumerate(zip(question.terms, question.idf_prior, strict=True)):
        rows, counts = find_word(passages.postings, term, question.form_ids.get(term, ()))
        held[line, passages.owners[rows]] = True
        holding.append(count_holding(term, int(np.count_nonzero(held[line])), view))
        weights.append(idf(view.alive_count, holding[-1], prior))
        scores[rows] += np.float32(weights[-1]) * counts / (counts + norm[rows])
    around = held | (held[:, view.previous] & (view.previous >= 0)) | (held[:, view.following] & (view.following >= 0))
    idfs = np.array(weights, np.float32)
    mass = np.float32(idfs.sum() + PSEUDO_MASS)
    return MatchedWords(
        scores / mass,
        passages.best(scores / mass),
        idfs @ held / mass,
        idfs @ around / mass,
        tuple(weights),
        tuple(holding),
        held,
    )
