"""What is evidence that a memory bears on a question, and that what is shown holds the answer.

Everything here is raw: a cosine, a share of words, whether a question asks about the speaker. Nothing is normalised by
the question or the namespace, so that a number means the same everywhere. The weights lie beside this module
(`evidence.json`) and are made by `bench/fit_evidence.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memwarden.recall.index import adapter
from memwarden.recall.index.columns import Mask
from memwarden.recall.index.view import Floats, Ints, NamespaceView
from memwarden.recall.question import Question
from memwarden.recall.rank import features
from memwarden.recall.rank.word_signals import PSEUDO_MASS, find_word, idf

Weights = Mapping[str, float]

MAX_LOGIT = 60.0
MAX_CHANCE = 0.75
"""However much speaks for an answer, so often it stands in what is shown: the rest is what ranking misses."""


class Calibration(NamedTuple):
    """Weights of a kind of embedder and a language.

    Attributes:
        item: of what speaks for a single memory. shown: of what speaks for the whole answer.
        score: from the answer's logit and the distance to the best ranked memory to an item's logit.
    """

    item: Weights
    shown: Weights
    score: Weights


@cache
def _stored() -> Mapping[str, Mapping[str, Weights]]:
    found: Mapping[str, Mapping[str, Weights]] = json.loads(
        Path(__file__).with_name("evidence.json").read_text(encoding="utf-8")
    )
    return found


def kind_of(question: Question, view: NamespaceView, model: str | None) -> str:
    """Name the calibration that suits the vectors at hand."""
    side = features.leading(question, view)
    if side is None:
        return "words"
    if question.second is not None and view.second is not None:
        first = "minilm" if (model or "").startswith("all-minilm") else "wordllama"
        return f"{first}+multilingual:{'english' if question.english else 'other'}"
    known = {"all-minilm": "minilm", "wordllama": "wordllama"}
    return next((name for start, name in known.items() if (model or "").startswith(start)), "words")


def calibration(kind: str) -> Calibration:
    """Return the weights of a kind."""
    stored = _stored()[kind]
    return Calibration(stored["item"], stored["shown"], stored["score"])


def item_signals(question: Question, view: NamespaceView) -> dict[str, Floats]:
    """What speaks for each place, by name."""
    return {
        "lead": features.cosine_turn(question, view),
        "other": features.cosine_other(question, view),
        "adapted": features.adapted(question, view),
        "own": features.word_signals_of(question, view).own,
        "asks": view.short_questions.astype(np.float32),
    }


def item_logits(weights: Weights, signals: Mapping[str, Floats], size: int, rows: int) -> Floats:
    """Logits that each place bears on the question. rows: among how many it was found."""
    total = np.full(size, weights["constant"] + weights["rows"] * np.log(rows + 1), np.float32)
    for name, values in signals.items():
        if weights.get(name):
            total += np.float32(weights[name]) * values
    return total


def shown_signals(
    question: Question, view: NamespaceView, signals: Mapping[str, Floats], logits: Floats, allowed: Mask, rows: int
) -> dict[str, float]:
    """What speaks for an answer among the allowed places, by name."""
    best = {name: float(values[allowed].max()) for name, values in signals.items() if name != "asks"}
    named = float(question.names_somebody)
    return {
        "constant": 1.0,
        "item": float(logits[allowed].max()),
        "rows": float(np.log(rows + 1)),
        **best,
        "lacking": _lacking(signals, view, allowed, rows, named),
        "unseen": _unseen(question, view, allowed),
        "personal": 0.0 if question.second is None else adapter.personal(question.second),
        "self": float(question.asks_of_self),
        "named": named,
        "detail": float(np.log(len(question.terms) + 1)),
    }


FEW = 20
"""Among fewer memories than this a lesser closeness is told from chance."""
PLAIN_TERMS = 5.0
"""Memories of fewer words are plain statements, which lie near to a question for them."""
NEAR = 0.965
"""So near lies a plain statement that answers, by the cosines of all models and half of the words."""
NAME = 0.49
"""What a shared name adds to that without being an answer."""


def _unseen(question: Question, view: NamespaceView, allowed: Mask) -> float:
    """Return the share of the question's words, rare words weighing more, that no allowed place holds."""
    mass = missing = 0.0
    for term, prior in zip(question.terms, question.idf_prior, strict=True):
        rows, _ = find_word(view.postings, term, question.form_ids.get(term, ()))
        found = len(rows) if view.whole is None else view.whole.holding(term, len(rows))
        weight = idf(view.alive_count, found, prior)
        mass += weight
        if not allowed[rows].any() and (view.whole is None or not found):
            missing += weight
    return missing / (mass + PSEUDO_MASS)


def _lacking(signals: Mapping[str, Floats], view: NamespaceView, allowed: Mask, rows: int, named: float) -> float:
    """How much is lacking until a plain statement would answer; nothing where memories are long."""
    places = np.flatnonzero(allowed)
    plain = 1.0 / (1.0 + float(np.exp(min(2 * (float(view.length[places].mean()) - PLAIN_TERMS), 50.0))))
    wanted = NEAR + NAME * named - 0.1 * max(0.0, float(np.log(FEW / rows)))
    return plain * max(0.0, wanted - _together(signals, places, named))


def _together(signals: Mapping[str, Floats], places: Ints, named: float) -> float:
    """The most that all cosines and half of the words say for a single place; a shared name is no evidence."""
    total = signals["lead"][places] + signals["other"][places] + signals["adapted"][places]
    total = total + np.float32(0.5 * (1 - named)) * signals["own"][places] - np.float32(2) * signals["asks"][places]
    return float(total.max())


def logit(weights: Weights, signals: Mapping[str, float]) -> float:
    """The logit that what is shown holds the answer."""
    found = sum(weight * signals[name] for name, weight in weights.items() if name in signals)
    return min(max(found, -MAX_LOGIT), MAX_LOGIT)


def chance(logits: Floats) -> Floats:
    """Logits as chances, 0..1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT))), np.float32)
