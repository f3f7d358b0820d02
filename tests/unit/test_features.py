"""The features of a ranking that are arithmetic alone: best matches of word pieces, lifts, deviations."""

from __future__ import annotations

import numpy as np

from memwarden.recall.index.columns import cosine_and_closeness, maps
from memwarden.recall.index.passages import said_norms
from memwarden.recall.rank import features

TOKENS = np.array([[127, 0], [0, 127], [76, 102]], np.int8)
STARTS = np.array([0, 2, 2, 3])
"""The first memory has two pieces, the second none, the third a piece between the two."""
QUESTION = np.array([[1, 0], [0, 1]], np.float32)


def test_each_piece_meets_its_nearest() -> None:
    found = features.best_matches(QUESTION, TOKENS, STARTS, np.array([0, 1, 2, -1]))
    assert np.allclose(found, [[1, -1, 0.6, -1], [1, -1, 0.8, -1]], atol=4e-3)


def test_nothing_meets_nothing() -> None:
    assert features.best_matches(QUESTION[:0], TOKENS, STARTS, np.array([0])).shape == (0, 1)
    assert features.best_matches(QUESTION, TOKENS, STARTS, np.array([1])).tolist() == [[-1], [-1]]


def test_pieces_are_weighed_and_the_turn_before_helps() -> None:
    weights = np.array([3, 1], np.float32)
    alone = features.match_closeness(QUESTION, weights, TOKENS, STARTS, np.array([2]), np.array([-1]))
    assert np.allclose(alone, [(3 * 0.6 + 0.8) / 4], atol=4e-3)
    after = features.match_closeness(QUESTION, weights, TOKENS, STARTS, np.array([2, 1]), np.array([0, -1]))
    assert np.allclose(after, [1, 0], atol=4e-3)


def test_the_worst_candidate_is_not_lifted() -> None:
    total = np.array([1, 2, 3], np.float32)
    lifted = features.lift_candidates(total, np.array([0, 2]), np.array([0.9, 0.4], np.float32))
    assert lifted[1:].tolist() == [2, 3]
    assert lifted[0] > 1
    assert total.tolist() == [1, 2, 3]
    assert features.lift_candidates(total, np.array([], int), np.array([], np.float32)).tolist() == [1, 2, 3]


def test_signals_that_are_alike_have_a_deviation_of_one() -> None:
    found = features.deviation(np.array([0, 4, 1e-12], np.float32))
    assert found.tolist() == [1, 2, 1]


def test_a_single_pass_over_many_vectors_gives_both_cosines_of_each() -> None:
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((600, 512)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near, adapted = cosine_and_closeness(vectors[599], vectors, said_norms(vectors))
    assert near.argmax() == 599
    assert np.allclose(near, vectors @ vectors[599], atol=1e-5)
    mapped, said = vectors[599] @ maps().asked, vectors @ maps().said
    wanted = said @ mapped / np.linalg.norm(mapped) / np.linalg.norm(said, axis=1)
    assert np.allclose(adapted, wanted, atol=1e-4)
