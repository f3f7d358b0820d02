"""Scores: presets of feature weights, and the calibrated 0..1 scale that decides "nothing relevant"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from memwarden.recall.index.columns import Mask
from memwarden.recall.index.view import Floats, NamespaceView
from memwarden.recall.question import Question
from memwarden.recall.rank import evidence, features
from memwarden.recall.rank.features import Feature
from memwarden.recall.rank.outdated import demote_outdated
from memwarden.records import Feature as Explained

Preset = Mapping[Feature, float]

RELATION_WEIGHT: Final = 0.10
"""Small boost for what is related to an answer; the setting ``relation_weight`` overrides it."""

STATED: Final = 5.0
"""Weight of what statements say; a deviation of it is about .15."""

PRESETS: Final[Mapping[str, Preset]] = {
    "chat": {
        features.base: 1.0,
        features.words_heard: 2.0,
        features.stated: STATED,
        features.from_person: 1.0,
        features.says_much: 0.7,
        features.newness: 0.8,
        features.only_asks: -1.5,
        features.said_by_named: 1.4,
        features.says_when: 0.2,
        features.on_day: 1.2,
        features.related: RELATION_WEIGHT,
    },
    "assistant": {
        features.base: 1.0,
        features.stated: STATED,
        features.from_person: 1.2,
        features.says_much: 1.8,
        features.newness: 2.0,
        features.recent: 1.0,
        features.only_asks: -1.8,
        features.said_by_named: 0.7,
        features.on_day: 0.8,
        features.related: RELATION_WEIGHT,
    },
}
"""Weights for people talking to each other, and for somebody talking to an assistant."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How near two statements have to be to have to do with each other: for words only, and by embedding model.

    The best of many places is high by chance, the more so the more places there are; ``growth`` takes that off, so
    that a score means the same in a store of ten memories and of ten thousand.

    Attributes:
        middle: the evidence, less the growth, at which the score is .5.
        slope: logits for each unit of evidence.
        growth: evidence that each e-fold of places brings by chance.
    """

    middle: float
    slope: float = 10.0
    growth: float = 0.04


WORDS_SCALE: Final = Scale(middle=0.07)
DENSE_SCALES: Final[Mapping[str, Scale]] = {
    "wordllama-l2-supercat-128": Scale(middle=0.33),
    # Of a question to a wrong store the best evidence grows by .053 (RealMem) and .062 (LoCoMo) an e-fold.
    "all-minilm-l6-v2-int8-80": Scale(middle=0.31, growth=0.05),
}
"""By model. Cosines of a model that was not measured only rank: whether there is an answer is told by words alone."""

MAX_LOGITS: Final = 3.0
"""No more logits than this are given to two statements."""
WORD_WEIGHT: Final = 0.7
"""Weight of the share of words that two statements share, beside a cosine."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The scores of a view's places for a question.

    Attributes:
        scores: the chance that a place bears on the question, 0..1, one a place, in the order of ranking.
        confidence: the chance that what is shown holds the answer; 0 when nothing may be shown.
        preset: the name of the weights.
        parts: each feature's name, values and weight.
    """

    scores: Floats
    confidence: float
    preset: str
    parts: tuple[tuple[str, Floats, float], ...] = ()

    @property
    def weights(self) -> Weights:
        """Name and weight of each feature."""
        return tuple((name, weight) for name, _, weight in self.parts)

    def values(self, place: int) -> tuple[float, ...]:
        """Return the value of each feature for a place."""
        return tuple([values.item(place) for _, values, _ in self.parts])


Weights = tuple[tuple[str, float], ...]


def explain_features(weights: Weights, values: Sequence[float]) -> tuple[Explained, ...]:
    """Return each feature's value and weight, the largest contribution first."""
    parts = [Explained(name, value, weight) for (name, weight), value in zip(weights, values, strict=True)]
    return tuple(sorted(parts, key=lambda part: -abs(part.contribution)))


def rank(
    question: Question,
    view: NamespaceView,
    allowed: Mask,
    *,
    preset: str = "auto",
    model: str | None = None,
    relation_weight: float = RELATION_WEIGHT,
    among: int | None = None,
) -> Ranking:
    """Score every place of a view.

    Args:
        allowed: the places that may be in the answer; the others only lend context.
        preset: a name of :data:`PRESETS`, or ``auto`` to choose by who speaks in the namespace.
        model: name of the embedding model.
        relation_weight: weight of :func:`memwarden.recall.rank.features.related`, which counts where there are
        relations. among: how many places of the whole namespace are allowed, when the view is only a part of it.
    """
    preset = view.preset if preset == "auto" else preset
    rows = int(np.count_nonzero(allowed))
    weights = PRESETS[preset].items()
    if rows and among is not None:
        rows = max(rows, among)
    if not rows:
        return Ranking(np.zeros(view.size, np.float32), 0.0, preset)
    question = replace(question, preset=preset)
    question.memo["allowed"] = allowed
    parts = tuple(
        (feature.__name__, feature(question, view), relation_weight if feature is features.related else weight)
        for feature, weight in weights
        if feature.__name__ not in question.left_out and (feature is not features.related or view.related is not None)
    )
    total = np.zeros(view.size, np.float32)
    for _, values, weight in parts:
        total += np.float32(weight) * values
    if question.small_talk:
        return Ranking(np.zeros(view.size, np.float32), 0.0, preset, parts)
    learned = evidence.calibration(evidence.kind_of(question, view, model))
    signals = evidence.item_signals(question, view)
    logits = evidence.item_logits(learned.item, signals, view.size, rows)
    shown = evidence.shown_signals(question, view, signals, logits, allowed, rows)
    found = evidence.logit(learned.shown, shown)
    # The current value first: what was replaced stands just below what replaced it.
    total = demote_outdated(view, total, allowed)
    below = np.maximum(float(total[allowed].max()) - total, 0)
    of_item = learned.score["constant"] + learned.score["shown"] * found - learned.score["below"] * below
    confidence = evidence.MAX_CHANCE * float(evidence.chance(np.array([found], np.float32))[0])
    return Ranking(evidence.chance(of_item), confidence, preset, parts)


def score_pair(heard: float, cosine: float | None, rows: int, model: str | None) -> float:
    """Return how related two statements are, on the scale of questions and answers.

    heard: the share of the first's words that the second holds. rows: the number of rows searched.
    """
    dense = None if cosine is None else DENSE_SCALES.get((model or "").partition("+")[0])
    scale = dense or WORDS_SCALE
    found = heard if dense is None or cosine is None else cosine + WORD_WEIGHT * heard
    logits = min(scale.slope * (found - scale.growth * float(np.log(max(rows, 1))) - scale.middle), MAX_LOGITS)
    return float(1 / (1 + np.exp(-max(logits, -60.0))))
