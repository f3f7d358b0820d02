"""MaxSim: how closely the words of a memory, or of the turn before it, match each word of a question.

A namespace keeps the vectors of its memories' pieces in a flat matrix, (total, 64) int8 of 127 times unit length;
memory i owns rows ``starts[i]`` to ``starts[i + 1]``. All here are plain functions over such arrays.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
TokenVectors = npt.NDArray[np.int8]

MAX_CANDIDATES: Final = 100
"""So many of the best by words and vectors are looked at again."""
MET: Final = 20.0
"""Weight of :func:`match_closeness` in the sum of z-scores: its spread over candidates is about .05."""

_ONE: Final = np.float32(1 / 127)


def best_matches(question: Floats, tokens: TokenVectors, starts: Ints, places: Ints) -> Floats:
    """Return each question piece's cosine to its nearest piece in each memory, (pieces, len(places)).

    It is -1 throughout for a memory without pieces and for place -1.

    Args:
        question: (pieces, 64) of unit length.
        tokens, starts: the pieces of all memories.
        places: the memories to look at.
    """
    best = np.full((len(question), len(places)), -1, np.float32)
    sizes = np.where(places >= 0, starts[places + 1] - starts[places], 0)
    filled = np.flatnonzero(sizes)
    if not len(filled) or not len(question):
        return best
    sizes = sizes[filled]
    begins = np.cumsum(sizes) - sizes
    rows = np.arange(int(sizes.sum())) + np.repeat(starts[places[filled]] - begins, sizes)
    met = tokens[rows].astype(np.float32) @ (question.T * _ONE)
    best[:, filled] = np.maximum.reduceat(met, begins, axis=0).T
    return best


def match_closeness(
    question: Floats, weights: Floats, tokens: TokenVectors, starts: Ints, places: Ints, previous: Ints
) -> Floats:
    """Return the weighted mean of the pieces' best matches in each memory or the turn before.

    Args:
        question: (pieces, 64) of unit length. weights: a weight for each piece, >= 0, not all 0. The root of the idf of
            the piece's word, .5 for a stop word or a sign.
        tokens, starts: the pieces of all memories.
        places: the memories to look at. previous: for each of them the turn before, or -1.
    """
    wanted, at = np.unique(np.concatenate([places, previous]), return_inverse=True)
    best = best_matches(question, tokens, starts, wanted)
    met = np.maximum(best[:, at[: len(places)]], best[:, at[len(places) :]])
    met[met < 0] = 0
    return np.asarray((weights / np.float32(weights.sum())) @ met, np.float32)


def lift_candidates(total: Floats, candidates: Ints, met: Floats) -> Floats:
    """Return the z-score sums with each candidate lifted by its closeness, the worst by 0."""
    total = total.copy()
    if len(met):
        total[candidates] += np.float32(MET) * (met - met.min())
    return total
