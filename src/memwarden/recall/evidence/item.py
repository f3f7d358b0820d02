"""Evidence of a single item: the chance that it bears on the question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from memwarden.recall.evidence.weights import MAX_LOGIT
from memwarden.recall.index.columns import Floats, Mask


def judge_items(weights: Mapping[str, float], total: Floats, answer: float, allowed: Mask) -> Floats:
    """Return for each place the chance that it bears on the question, in the order of the scores.

    Args:
        weights: of ``constant``, ``answer`` and ``below``. total: scores in deviations. answer: logit of the answer.
    """
    best = np.maximum.reduce(total, where=allowed, initial=-np.inf)
    below = np.maximum(best - total, np.float32(0))
    logits = weights["constant"] + weights["answer"] * answer - weights["below"] * below
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT))), np.float32)


def raise_days(chances: Floats, on_day: Mask, answer: float) -> Floats:
    """Raise what was on the days that a question alone asks for to at least the chance of the answer, in its order."""
    return np.where(on_day, answer + (1 - answer) * chances, chances).astype(np.float32)
