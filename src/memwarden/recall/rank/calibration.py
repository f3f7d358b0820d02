"""Fitted weights: of evidence for an answer, and of whether it is lacking where a model has read what was said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Floats, Mask
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.question import Question
from memwarden.recall.rank import features

SignalWeights = Mapping[str, float]

# The line was fitted with these two models side by side; cosines of others mean something else.
READ_KIND: Final = "minilm+multilingual:"
# Where a model has read what was said there is a fact for so many turns, from hardly any reading to nearly all. Written
# rules make fewer facts than the first.
READ_SHARE: Final = (0.06, 0.12)
# Of fewer facts it is not known what they leave out.
READ_FACTS: Final = (15.0, 30.0)


class Calibration(NamedTuple):
    """Weights of a kind of embedder and a language.

    Attributes:
        item: of what speaks for a single memory. shown: of what speaks for the whole answer.
        score: from the answer's logit and the distance to the best ranked memory to an item's logit.
    """

    item: SignalWeights
    shown: SignalWeights
    score: SignalWeights


@cache
def _stored() -> Mapping[str, Mapping[str, SignalWeights]]:
    found: Mapping[str, Mapping[str, SignalWeights]] = json.loads(
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


class ReadCalibration(NamedTuple):
    """The line that tells whether an answer is there among what a model has read.

    Attributes:
        weights: of the signals. evidence, chances: logits by the line, and how often the answer then was there.
    """

    weights: SignalWeights
    evidence: tuple[float, ...]
    chances: tuple[float, ...]


@cache
def read_calibration() -> ReadCalibration:
    """Return the line that ``bench/scripts/fit_absence.py`` fitted."""
    stored = json.loads(Path(__file__).with_name("absence.json").read_text(encoding="utf-8"))
    return ReadCalibration(stored["weights"], tuple(stored["evidence"]), tuple(stored["chances"]))


def read_share(question: Question, view: NamespaceView, allowed: Mask, kind: str) -> float:
    """How far a model has read what was said, 0..1: by how many facts it made of it; 0 where that cannot be judged.

    kind: of the calibration.
    """
    if view.worded is None or view.whole is not None or view.statements is None or question.reading is None:
        return 0.0
    if question.of_days or not kind.startswith(READ_KIND):
        return 0.0
    facts, turns = int(np.count_nonzero(view.worded & allowed)), int(np.count_nonzero(view.turns & allowed))
    of_turns = float(np.interp(facts / max(turns, 1), READ_SHARE, (0.0, 1.0)))
    return min(of_turns, float(np.interp(facts, READ_FACTS, (0.0, 1.0))))


def absence_signals(
    question: Question, view: NamespaceView, allowed: Mask, signals: Mapping[str, Floats], evidence: float, own: float
) -> dict[str, float]:
    """What tells whether an answer is lacking among what a model has read, by name.

    signals: of the places, for a single memory. evidence: the logit that an answer is there, by what is shown. own: the
    greatest share of the question's words in a place: beside little evidence it is a shared name.
    """
    assert question.reading is not None
    assert view.worded is not None
    features.stated(question, view)
    near = np.zeros(view.size, np.float32)
    for name, share in (("lead", 1.0), ("other", 1.0), ("adapted", 1.0), ("own", 0.5)):
        if name in signals:
            near += np.float32(share) * signals[name]
    told = question.memo["similarity"]
    return {
        "constant": 1.0,
        "evidence": evidence,
        "own": own,
        "near": float(near[allowed].max()),
        "fact": float(told[allowed & view.worded].max()),
        "reason_or_list": float(question.reading.when in ("why", "list")),
        "implicit": float(question.reading.implicit),
    }


def chance_where_read(
    question: Question, view: NamespaceView, allowed: Mask, signals: Mapping[str, Floats], told: tuple[float, float]
) -> float:
    """The chance that an answer is there where a model has read what was said: what no fact comes near is doubted.

    told: by what is shown, the logit and the greatest share of the question's words in a place.
    """
    line = read_calibration()
    found = absence_signals(question, view, allowed, signals, *told)
    logit = sum(weight * found[name] for name, weight in line.weights.items())
    return float(np.interp(logit, line.evidence, line.chances))


# Where facts stand beside their turns more of what ranks high bears on the question: scores without and with facts.
SCORES: Final = (0.0, 0.1, 0.27, 1.0)
SCORES_WHERE_READ: Final = (0.0, 0.1, 0.42, 1.0)


def lift_scores(scores: Floats, read: float) -> Floats:
    """Return scores as they are where a model has read so much of what was said; their order stays."""
    lifted = np.interp(scores, SCORES, SCORES_WHERE_READ)
    return np.asarray(scores + np.float32(read) * (lifted - scores), np.float32)
