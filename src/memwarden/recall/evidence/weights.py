"""Fitted weights of the evidence, as ``bench/scripts/fit_recall.py`` writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

Weights = Mapping[str, float]

# Beyond these logits a chance is 0 or 1.
MAX_LOGIT: Final = 30.0


class EvidenceWeights(NamedTuple):
    """Weights of one kind of models and language.

    Attributes:
        subject: of the chance that the store knows the subject of a question.
        answer: of the chance that it holds the answer. plain: of the same in a store of plain statements.
        item: of the chance that an item bears on the question.
        later: of the chance that the later of two texts states the current value; empty for words alone.
    """

    subject: Weights
    answer: Weights
    plain: Weights
    item: Weights
    later: Weights


@cache
def load_weights() -> Mapping[str, EvidenceWeights]:
    """Return the fitted weights by kind."""
    text = Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
    return {kind: EvidenceWeights(**weights) for kind, weights in json.loads(text)["kinds"].items()}


def weigh(weights: Weights, signals: Mapping[str, float]) -> float:
    """Return the logit of signals: the sum of weight x signal, within bounds."""
    logit = sum(weight * signals[name] for name, weight in weights.items())
    return min(max(logit, -MAX_LOGIT), MAX_LOGIT)


def chance(logit: float) -> float:
    """Return a logit as a chance, 0..1."""
    return 1 / (1 + math.exp(-logit))
