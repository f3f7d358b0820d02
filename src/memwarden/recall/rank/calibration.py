"""What brings closeness to chances: of answers, of requests, of two statements, and where a model has read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Floats, Mask
from memwarden.recall.index.view import NamespaceView
from memwarden.recall.question import PSEUDO_ROWS, Question
from memwarden.recall.rank import features
from memwarden.settings import DEFAULT_THRESHOLD
from memwarden.text.sentences import split_spans
from memwarden.text.tokenizer import GLUED_SCRIPT, words_and_forms

SignalWeights = Mapping[str, float]

# Logits of what speaks for an answer, and how often it then stands in what is shown; of questions about somebody who
# speaks, by name, the second: where little speaks for those there is no answer, but much seldom deceives.
EVIDENCE: Final = (-10.0, -6.0, -3.0, -1.5, -0.5, 0.3, 1.0, 2.0, 2.65, 4.0, 10.0)
CHANCES: Final = (0.0, 0.05, 0.15, 0.22, 0.3, DEFAULT_THRESHOLD, 0.45, 0.55, 0.7, 0.71, 0.75)
CHANCES_OF_SPEAKER: Final = (0.0, 0.005, 0.01, 0.03, 0.08, DEFAULT_THRESHOLD, 0.37, 0.45, 0.7, 0.78, 0.85)
# Of requests, logits that they are at home there, and how often a session that they need then is shown.
CHANCES_OF_REQUEST: Final = (0.0, 0.02, 0.04, 0.07, 0.15, DEFAULT_THRESHOLD, 0.38, 0.48, 0.54, 0.66, 0.88)
# So many items hold an answer as often as a block does.
ITEMS_LIKE_BLOCK: Final = 20
# Of endlessly many items these hold an answer half as often; of a question about a named speaker, and of a request, one
# fewer: there the best come first more surely.
ITEMS_FOR_HALF: Final = 2.0
# Where memories share an item each counts as an item; of a question about a named speaker so much, since there the best
# come first, and the shared item bears on the answer so much less often than all items hold it.
SHARING_OF_SPEAKER: Final = 0.5
SHARED_OF_SPEAKER: Final = 0.4
# What asks for several is answered about as often, whatever the evidence: so far the chance is evened. Neither is so
# of a speaker by name nor of a request.
CHANCE_OF_SEVERAL: Final = 0.6
EVENED: Final = 0.3


class Told(NamedTuple):
    """What speaks for an answer.

    Attributes:
        evidence: logits. chance: how often an answer then stands in what is shown. request: how far it is a request.
        half: of endlessly many items so many hold the answer half as often.
    """

    evidence: float
    chance: float
    half: float = ITEMS_FOR_HALF
    request: float = 0.0


def tell_request(
    question: Question, view: NamespaceView, allowed: Mask, kind: str, told: Told, shown: Mapping[str, float]
) -> Told:
    """Return what speaks for an answer, told of a question, as far as it is a request.

    kind: of the calibration. shown: what speaks for an answer among the allowed places, by name.
    """
    share = request_share(question, shown["plain"])
    if not share:
        return told
    asked = request_logit(question, view, allowed, kind, shown)
    chance = float(np.interp(asked, EVIDENCE, CHANCES_OF_REQUEST))
    return Told(
        told.evidence + share * (asked - told.evidence),
        told.chance + share * (chance - told.chance),
        told.half - share,
        share,
    )


# A request has so many sentences more than a question, or so many words more than this.
REQUEST_SENTENCES: Final = 2.0
QUESTION_TERMS: Final = 8.0
REQUEST_TERMS: Final = 8.0
# No shorter text is a request; to find its sentences takes longer.
MIN_REQUEST: Final = 40


def request_share(question: Question, plain: float) -> float:
    """How far a message is a request, 0..1: it tells of a matter in several sentences before it asks, if it does.

    plain: how far memories are short plain facts: there nothing is a request, for the attribute can be told.
    """
    if len(question.text) < MIN_REQUEST or question.of_days:
        return 0.0
    words = len(question.terms) / (2 if GLUED_SCRIPT.search(question.text) else 1)  # a word there is about two terms
    sentences = sum(any(map(str.isalnum, span.text)) for span in split_spans(question.text))
    share = (sentences - 1) / REQUEST_SENTENCES + max(0.0, words - QUESTION_TERMS) / REQUEST_TERMS
    return 0.0 if share <= 0 else min(share, 1.0) * (1.0 - plain)


# So many logits more are given to a request, so that no more than every eighth that is at home falls below the bar.
REQUEST_GRACE: Final = 0.6
# The line was fitted on memories of so many words, an assistant's long answers among them. Short ones hold less of a
# request and lie farther from it: so many logits less for each e-fold, but not below so many words.
REQUEST_LENGTH: Final = 70.0
REQUEST_OF_LENGTH: Final = 1.0
MIN_REQUEST_LENGTH: Final = 7.0


@cache
def request_weights() -> Mapping[str, SignalWeights]:
    """Return the weights that ``bench/scripts/fit_requests.py`` fitted, by the model that leads."""
    stored: Mapping[str, SignalWeights] = json.loads(
        Path(__file__).with_name("requests.json").read_text(encoding="utf-8")
    )
    return stored


def request_logit(
    question: Question, view: NamespaceView, allowed: Mask, kind: str, shown: Mapping[str, float]
) -> float:
    """The logit that a request is about what is known here, and not put to the memory of somebody else."""
    weights = request_weights()["multilingual" if kind.endswith(":other") else kind.partition("+")[0]]
    found = request_signals(question, view, allowed, shown["lead"])
    length = min(max(shown["length"], MIN_REQUEST_LENGTH), REQUEST_LENGTH)
    shorter = REQUEST_OF_LENGTH * math.log(REQUEST_LENGTH / length)
    return sum(weight * found[name] for name, weight in weights.items()) + shorter + REQUEST_GRACE


# Words that more texts than this hold anyway say nothing of what a request is about.
EVERYDAY_SHARE: Final = 2e-3
# No more memories were seen when the line was fitted.
MAX_REQUEST_ROWS: Final = 1_500


def request_signals(question: Question, view: NamespaceView, allowed: Mask, lead: float) -> dict[str, float]:
    """What tells whether a request is at home here, by name.

    lead: the best cosine. heard: the most of its words in a memory and the turn before. topic: how much oftener its
    rare words are said here than elsewhere, as a mean of logarithms. rows: how many memories are searched.
    """
    rows = max(view.alive_count, 1)
    held = [
        (len(found) if view.whole is None else view.whole.holding(term, len(found)), prior)
        for term, prior, (found, _) in zip(
            question.terms, question.idf_prior, features.find_words(question, view), strict=True
        )
        if prior < EVERYDAY_SHARE
    ]
    oftener = [math.log((times + PSEUDO_ROWS * prior) / ((rows + PSEUDO_ROWS) * prior)) for times, prior in held]
    return {
        "constant": 1.0,
        "lead": lead,
        "heard": float(features.words_heard(question, view)[allowed].max()),
        "topic": math.fsum(oftener) / len(oftener) if oftener else 0.0,
        "rows": math.log(min(rows, MAX_REQUEST_ROWS) + 1),
    }


# The line was fitted with these two models side by side; cosines of others mean something else.
READ_KIND: Final = "minilm+multilingual:"
# Where a model has read what was said there is a fact for so many turns, from hardly any reading to nearly all. Written
# rules make fewer facts than the first.
READ_SHARE: Final = (0.06, 0.12)
# Of fewer facts it is not known what they leave out.
READ_FACTS: Final = (15.0, 30.0)


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

    def logit(self, found: float, rows: int) -> float:
        """The logit that so much evidence, the best among so many rows, is no chance."""
        return self.slope * (found - self.growth * float(np.log(max(rows, 1))) - self.middle)


WORDS_SCALE: Final = Scale(middle=0.07)
# By model. Cosines of a model that was not measured only rank: whether there is an answer is told by words alone.
DENSE_SCALES: Final[Mapping[str, Scale]] = {
    "wordllama-l2-supercat-128": Scale(middle=0.33),
    # Of a question to a wrong store the best evidence grows by .053 (RealMem) and .062 (LoCoMo) an e-fold.
    "all-minilm-l6-v2-int8-128": Scale(middle=0.31, growth=0.05),
}

# No more logits than this are given to two statements.
MAX_LOGITS: Final = 3.0
# Weight of the share of words that two statements share, beside a cosine.
WORD_WEIGHT: Final = 0.7


def scale_of(model: str | None) -> Scale | None:
    """The scale of a model, or of the first of two side by side."""
    return DENSE_SCALES.get((model or "").partition("+")[0])


def score_pair(heard: float, cosine: float | None, rows: int, model: str | None) -> float:
    """Return how related two statements are, on the scale of questions and answers.

    heard: the share of the first's words that the second holds. rows: the number of rows searched.
    """
    dense = None if cosine is None else scale_of(model)
    scale = dense or WORDS_SCALE
    found = heard if dense is None or cosine is None else cosine + WORD_WEIGHT * heard
    logits = min(scale.logit(found, rows), MAX_LOGITS)
    return float(1 / (1 + np.exp(-max(logits, -60.0))))


# The logit that what was said on a day, or speaks of it, answers a question for that day.
OF_DAY: Final = 2.0
OFF_DAY: Final = 50.0
NO_EVIDENCE: Final = 60.0


def rank_by_days(question: Question, view: NamespaceView, allowed: Mask, total: Floats) -> tuple[float, Floats]:
    """The logit that the days asked about are known, and the ranking with what is of other days far below."""
    near = features.on_day(question, view)
    known = bool((near[allowed] > 0).any())
    return OF_DAY if known else -NO_EVIDENCE, total - np.where(near > 0, np.float32(0), np.float32(OFF_DAY))


def weigh_held_words(question: Question, view: NamespaceView, place: int, words: str) -> float:
    """How much of some words of the question a place holds, rare words weighing more."""
    named, rows_of = words_and_forms(words), features.find_words(question, view)
    pairs = zip(question.stems, question.forms, question.idf_prior, rows_of, strict=True)
    return sum(-float(np.log(prior)) for *both, prior, (rows, _) in pairs if named & {*both} and place in rows)
