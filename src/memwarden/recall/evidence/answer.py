"""Evidence of a whole answer: whether the store knows the subject, and whether it holds the answer.

Every signal is of the words that ask, so that a greeting or a reason around them changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memwarden.recall.evidence.relations import is_never_mentioned
from memwarden.recall.evidence.weights import chance, load_weights, weigh
from memwarden.recall.index.columns import Floats, Mask, personal
from memwarden.recall.rank.combine import Combination
from memwarden.recall.rank.dates import on_day
from memwarden.recall.rank.shape import plainness_of
from memwarden.recall.rank.speakers import tells_of_others
from memwarden.settings import DEFAULT_THRESHOLD
from memwarden.text.small_talk import content_terms

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

# Rows at which a store counts as small: there a lesser closeness tells an answer from chance.
SMALL_ROWS: Final = 20.0
# Chance of a report below which a message wishes, plans, asks or chats: it answers nothing.
MIN_REPORT: Final = 0.1
# Keys of the weights by how the names of first models begin: all-minilm, wordllama.
FIRST_MODELS: Final = {"all": "first", "wordllama": "wordllama"}
MIN_PLAIN: Final = 1e-3
# Signals of the best place that tell of the answer, in deviations.
TOP_PARTS: Final = ("words", "first", "after", "answering", "pieces")
# Least cosine by which a text without a word of the question may know its subject. Other models than these only rank.
# Texts of different subjects have cosines up to .3 by wordllama.
MIN_ALONE: Final = {"words": 1.1, "wordllama": 0.35}
# Chance of the subject where a name or days that alone are asked for are known.
KNOWN: Final = 0.9
# A question of a single word is held by many others.
MIN_ASKED_TERMS: Final = 2


class AnswerEvidence(NamedTuple):
    """Chances about a question, 0..1.

    Attributes:
        subject: that the store knows its subject; low for questions about the world.
        answer: that the store holds its answer. logit: of the answer.
    """

    subject: float
    answer: float
    logit: float


def kind_of(question: Question, combined: Combination, model: str | None) -> str:
    """Return the key of the fitted weights: by the models at hand and the question's language.

    model: name of the embedder. Cosines of a first model that is not among the fitted rank, but they tell no chances.
    """
    kind, first = combined.closeness.kind, (model or "").partition("-")[0]
    if kind == "both" and not (question.english and first == "all"):
        return "multilingual"
    return FIRST_MODELS.get(first, "words") if kind == "first" else kind


def judge_answer(
    question: Question, view: NamespaceView, combined: Combination, allowed: Mask, rows: int, kind: str
) -> AnswerEvidence:
    """Return the chances about a question.

    rows: number of allowed places in the whole namespace. kind: key of the fitted weights.
    """
    signals = answer_signals(question, view, combined, allowed, rows)
    weights = load_weights()[kind]
    plain, logit = plainness_of(view, allowed), weigh(weights.answer, signals)
    subject, answer = chance(weigh(weights.subject, signals)), chance(logit)
    if plain > MIN_PLAIN:
        of_plain = _judge_plain(question, weights.plain, signals, combined, allowed)
        subject, answer = subject + plain * (of_plain - subject), answer + plain * (of_plain - answer)
    others, reported = tells_of_others(question, view), combined.reports
    about = allowed if others is None else allowed & ~others
    if reported is not view.nothing:
        about = about & ((reported >= MIN_REPORT) | ~view.turns)
    if bool(about.sum() < allowed.sum()):
        # What is told of somebody else, or wished for, is of the subject, and no answer. A remembered
        # order is: "Never deploy on Fridays". In a long history names are not as sure.
        sure = max(plain, signals["small"])
        answer += sure * (_judge_about(question, view, combined, about, rows, kind, plain) - answer)
    if kind in MIN_ALONE and signals["own"] <= 0 and signals["first"] < MIN_ALONE[kind]:
        subject = answer = 0.0
    if is_never_mentioned(question, view, allowed):
        subject = answer = 0.0
    if question.of_days:  # what was on these days answers, whatever it is
        subject = answer = KNOWN if bool((on_day(question, view)[allowed] > 0).any()) else 0.0
    if is_asked_again(question, view, combined, allowed):
        subject = max(subject, KNOWN)
    if question.names_somebody and len(question.terms) == 1 and signals["own"] > 0:
        subject = max(subject, KNOWN)  # "Who is Tom?": any statement of him answers
    return AnswerEvidence(subject, answer, logit)


def is_asked_again(question: Question, view: NamespaceView, combined: Combination, allowed: Mask) -> bool:
    """Whether an earlier question holds every word of this one and has an allowed reply, which asks nothing."""
    held = combined.closeness.words.held
    if len(held) < MIN_ASKED_TERMS:
        return False
    replies = view.following[held.all(axis=0) & view.asks_question]
    replies = replies[replies >= 0]
    return bool((allowed[replies] & ~view.asks_question[replies]).any())


def answer_signals(
    question: Question, view: NamespaceView, combined: Combination, allowed: Mask, rows: int
) -> dict[str, float]:
    """Return the signals of an answer among the allowed places, by name."""
    words, best = combined.closeness.words, combined.closeness.places
    found = {name: _most(values, allowed) for name, values in best.items()}
    top = int(np.argmax(np.where(allowed, combined.without("reports", "unreported"), -np.inf)))
    reading = question.reading
    at_top = {part.name: float(part.values[top]) for part in combined.parts if part.name in TOP_PARTS}
    return {
        "constant": 1.0,
        **{name: found.get(name, 0.0) for name in ("words", "multilingual", "answering", "first", "pieces")},
        # Of the best place, in deviations. What a talk is about goes on in the turn after.
        **{f"top_{name}": at_top.get(name, 0.0) for name in TOP_PARTS},
        "own": _most(words.own, allowed),
        "around": words.share_around(top, view, allowed),
        "unseen": words.unseen(allowed),
        "personal": 0.0 if question.second is None else personal(question.second),
        "small": SMALL_ROWS / (rows + SMALL_ROWS),
        "reason_or_list": float(reading is not None and reading.when in ("why", "list")),
        "told": _most(combined.told, allowed),
        "named": float(question.names_somebody),
        "implicit": 0.0 if reading is None else reading.implicit,
        "english": float(question.english),
    }


def _judge_about(
    question: Question, view: NamespaceView, combined: Combination, about: Mask, rows: int, kind: str, plain: float
) -> float:
    """Return the chance that places hold the answer which may tell of whom the question is about; 0 without any."""
    if not about.any():
        return 0.0
    signals, weights = answer_signals(question, view, combined, about, rows), load_weights()[kind]
    answer = chance(weigh(weights.answer, signals))
    return answer + plain * (_judge_plain(question, weights.plain, signals, combined, about) - answer)


def _judge_plain(
    question: Question, weights: Mapping[str, float], signals: Mapping[str, float], combined: Combination, some: Mask
) -> float:
    """Return the chance that a store of plain statements knows the subject, or holds the answer."""
    of_plain = chance(weigh(weights, signals))
    return max(of_plain, KNOWN) if is_worded(question, combined, some) else of_plain


def is_worded(question: Question, combined: Combination, allowed: Mask) -> bool:
    """Return whether an allowed place holds every word of the question: "I live with my husband Tom." knows of him."""
    held = combined.closeness.words.held
    return bool(len(held)) and bool(np.logical_and.reduce(held, axis=0)[allowed].any())


def _most(values: Floats, allowed: Mask) -> float:
    return float(np.maximum.reduce(values, where=allowed, initial=-np.inf))


# A message of fewer words that say something leans on the talk before it, which is in the prompt: "in markdown?".
MIN_WORDS: Final = 8


def is_unsure(confidence: float, relevant: bool, message: str) -> bool:
    """Return whether a search may find for a message what its block does not hold.

    So it is if nothing was put in although the answer may be in the store.
    """
    if relevant or confidence < DEFAULT_THRESHOLD:
        return False
    return len(set(content_terms(message))) >= MIN_WORDS
