"""Followers: newer texts that are close to the best ones, which may state what holds now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from memwarden.models.products import multiply
from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.recall.rank.currency import best_places

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView

# Best places, each of which may have followers, and best places among which these are.
MAX_FOLLOWED: Final = 5
MAX_FOLLOWING: Final = 400
# Cosine by the multilingual model above which two texts have a subject in common: of 750 unrelated pairs, none.
MIN_COSINE: Final = 0.3
# What a cosine of one more than that adds to the score.
WEIGHT: Final = 15.0
# Difference of score to the best place at which a place lends a third of that.
REACH: Final = 3.0
# Chance of an answer below which nothing is added, and from which all is.
LEAST_ANSWER, SURE_ANSWER = 0.5, 0.7


def raise_followers(view: NamespaceView, total: Floats, allowed: Mask, answer: float) -> Floats:
    """Raise texts that are newer than one of the best and close to it. None of them reaches that one.

    In a store of long texts almost everything is close to the best one, so that this counts only as far as most texts
    are short. Without the multilingual model nothing is raised. answer: the chance that the store holds it.
    """
    weight = WEIGHT * view.mostly_short * min(max((answer - LEAST_ANSWER) / (SURE_ANSWER - LEAST_ANSWER), 0.0), 1.0)
    vectors, starts = view.passages.second, view.passages.starts
    if weight == 0 or vectors is None:
        return total
    best = best_places(total, allowed, MAX_FOLLOWING)
    followed = best[:MAX_FOLLOWED]
    cosines = multiply(vectors[starts[best]], vectors[starts[followed]].T)
    lent = np.float32(weight) * np.maximum(cosines - np.float32(MIN_COSINE), 0)
    lent *= np.exp((total[followed] - total[followed[:1]]) / np.float32(REACH))
    lent *= view.since[best][:, None] > view.since[followed][None]
    lent *= _states(view, best)[:, None]
    if view.statements is not None:
        lent *= ~view.statements.are_apart(best[:, None], followed[None])
    gap = np.maximum(total[followed][None] - total[best][:, None], 0) * np.float32(0.999)
    raised = total.copy()
    raised[best] += np.minimum(lent, gap).max(axis=1)
    return raised


def _states(view: NamespaceView, places: Ints) -> Mask:
    """Return which texts state something: no question, wish or plan, and none of an assistant."""
    doubted = view.says_doubt[places] | view.asks_question[places]
    return np.asarray(~doubted & (view.from_person[places] > 0), np.bool_)
