"""Scores: presets of feature weights, and one calibrated scale of 0..1 on which "nothing relevant" is decided (F10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from memwarden.recall import features
from memwarden.recall.columns import Mask
from memwarden.recall.features import Feature
from memwarden.recall.question import Question
from memwarden.recall.view import Floats, View
from memwarden.records import Feature as Explained

Preset = Mapping[Feature, float]

PRESETS: Final[Mapping[str, Preset]] = {
    "chat": {
        features.base: 1.0,
        features.best_in_session: 0.5,
        features.said_by_named: 0.3,
        features.says_when: 0.2,
        features.on_date: 0.5,
        features.answers_question: 0.2,
        features.only_asks: -0.05,
    },
    "assistant": {
        features.base: 1.0,
        features.best_in_session: 0.5,
        features.recent: 0.4,
        features.on_date: 0.5,
        features.answers_question: 0.2,
    },
}
"""Weights for people talking to each other, and for somebody talking to an assistant."""


@dataclass(frozen=True, slots=True)
class Scale:
    """From evidence to a probability, one for words only and one for each embedding model.

    Attributes:
        slope: logits for one unit of evidence.
        middle: the evidence at which an answer is as likely as none.
        falloff: logits lost for one unit of ranking score below the best.
    """

    slope: float
    middle: float
    falloff: float = 4.0


WORDS_SCALE: Final = Scale(slope=6.0, middle=0.35)
DENSE_SCALE: Final = Scale(slope=6.0, middle=0.60)

DEFAULT_BAR: Final = 0.3
"""A query answers when the best score reaches this."""
WORDS_SHARE: Final = 0.7
"""Weight of word evidence beside a cosine."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a view's places score for a question.

    Attributes:
        scores: calibrated 0..1, one a place, in the order of ranking.
        confidence: the score of the best allowed place; 0 when there is none.
        preset: the name of the weights.
    """

    scores: Floats
    confidence: float
    preset: str
    _question: Question
    _view: View

    def explain(self, place: int) -> tuple[Explained, ...]:
        """Return each feature's value and weight for a place, the largest contribution first."""
        parts = [
            Explained(feature.__name__, float(feature(self._question, self._view)[place]), weight)
            for feature, weight in PRESETS[self.preset].items()
        ]
        return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))


def rank(question: Question, view: View, allowed: Mask) -> Ranking:
    """Score every place of a view. ``allowed``: the places that may be in the answer; the others only lend context."""
    if not allowed.any():
        return Ranking(np.zeros(view.size, np.float32), 0.0, view.preset, question, view)
    total = np.zeros(view.size, np.float32)
    for feature, weight in PRESETS[view.preset].items():
        total += np.float32(weight) * feature(question, view)
    scale = WORDS_SCALE if question.vector is None else DENSE_SCALE
    logit = (
        -np.inf
        if question.small_talk
        else scale.slope * (float(evidence(question, view)[allowed].max()) - scale.middle)
    )
    below = np.maximum(float(total[allowed].max()) - total, 0)
    with np.errstate(over="ignore"):
        scores = (1 / (1 + np.exp(scale.falloff * below - logit))).astype(np.float32)
    return Ranking(scores, float(scores[allowed].max()), view.preset, question, view)


def evidence(question: Question, view: View) -> Floats:
    """Raw evidence that a place answers: cosine of the pair, and the share of the question's idf that its words cover.

    It is not normalised by question or namespace, so that it means the same in a store of ten rows and of ten thousand.
    """
    share = features.words_heard(question, view) * view.brevity
    if question.vector is None or view.vectors is None:
        return np.asarray(share, np.float32)
    return np.asarray(features.cosine_pair(question, view) + np.float32(WORDS_SHARE) * share, np.float32)
