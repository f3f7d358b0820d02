"""Combination of the signals of a question into one score for each place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.recall.rank import dates, dense, neighbours, sessions, shape, speakers
from memwarden.recall.rank.bm25 import MatchedWords, match_words
from memwarden.text.tokenizer import GLUED_SCRIPT

if TYPE_CHECKING:
    from memwarden.recall.index.view import NamespaceView
    from memwarden.recall.question import Question

Weights = Mapping[str, float]

# Weights of the signals that are compared in standard deviations, by the models at hand.
CLOSENESS: Final[Mapping[str, Weights]] = {
    "both": {"words": 0.4, "multilingual": 0.2, "answering": 1.2, "first": 0.4, "pieces": 0.6},
    "multilingual": {"words": 0.4, "multilingual": 0.2, "answering": 1.2},
    "first": {"words": 0.7, "first": 1.0, "pieces": 0.6},
    "words": {"words": 1.0},
}
# Added to these weights as far as messages are long: MiniLM has learned on paragraphs.
OF_LONG_TEXTS: Final[Weights] = {"first": 0.6}
# The signal that also counts for the turns before and after a place.
LEADING: Final = {"both": "answering", "multilingual": "answering", "first": "first", "words": "words"}
# Weight of a message of an assistant. The best messages of a session count without it: there an assistant says what
# the session is about.
ASSISTANT: Final = -2.5
# Weights of a message's shape and neighbours. They count as far as the namespace holds short messages: in a store of
# documents they do harm. Those of :data:`OF_MOST` do so among a few long texts already.
SHAPE: Final[Weights] = {
    "asks": -1.5,
    "reports": 2.0,
    "unreported": -0.3,
    "length": 0.8,
    "around": 2.0,
    "before": 0.3,
    "after": 0.3,
    "says_when": 0.7,
}
# Signals that count as far as most messages are short.
OF_MOST: Final = ("reports", "unreported")
SPEAKER: Final = 0.8
ON_DAY: Final = 1.2
# Weights of what is told of others: by how far it is what is asked for, and where people ask about themselves.
OF_OTHERS: Final = -3.0
ABOUT_OTHERS: Final = -1.0
# Weight of the best messages of a place's session, by the sum of the other signals.
SESSION: Final = 0.5
# Share of a message that asks nothing in its score; the rest is that of the message with the talk that it continues.
OWN_SHARE: Final = 0.5
# Weight of a relation to a better place; the setting ``relation_weight`` overrides it.
RELATION_WEIGHT: Final = 0.1

# Standard deviation of each signal over the places of an everyday history, averaged over questions.
TYPICAL: Final[Weights] = {"words": 0.021, "multilingual": 0.08, "answering": 0.1, "first": 0.085, "pieces": 0.09}
# Rows for which the typical deviation counts: in a store of two notes the deviation says nothing.
PRIOR_ROWS: Final = 20.0


class Part(NamedTuple):
    """A signal's contribution to the score: its name, its value a place, and its weight."""

    name: str
    values: Floats
    weight: float


class Spread(NamedTuple):
    """Mean and standard deviation of a signal over a namespace."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close a question is to every passage, by signal.

    Attributes:
        kind: key of :data:`CLOSENESS`.
        words: what its words match. passages: values of each passage, by name of the signal.
        places: values of each place, that of its best passage.
    """

    kind: str
    words: MatchedWords
    passages: Mapping[str, Floats]
    places: Mapping[str, Floats]


@dataclass(frozen=True)
class Combination:
    """The combined score of every place.

    Attributes:
        parts: the contributions. total: their weighted sum. closeness: the signals it is made from.
        told: how far each place states the attribute that is asked for, 0..1.
        reports: how far each place reports what is or was, 0..1.
    """

    parts: tuple[Part, ...]
    total: Floats
    closeness: Closeness
    passage_total: Floats
    told: Floats
    reports: Floats

    def without(self, *names: str) -> Floats:
        """Return the sum without some parts."""
        gone = [np.float32(part.weight) * part.values for part in self.parts if part.name in names]
        return self.total - sum(gone) if gone else self.total

    @cached_property
    def best(self) -> Mapping[str, Floats]:
        """The signals of each place, by name."""
        return self.closeness.places


def measure_closeness(question: Question, view: NamespaceView, allowed: Mask | None = None) -> Closeness:
    """Measure the signals of a question. allowed: places that may be in the answer; None for all."""
    words = match_words(question, view)
    cosines = dense.measure_cosines(question, view)
    found = {"words": words.passages}
    for name, values in (
        ("first", cosines.first),
        ("multilingual", cosines.multilingual),
        ("answering", cosines.answering),
    ):
        if values is not None:
            found[name] = values
    kind = _kind_of(question, found)
    if "first" in CLOSENESS[kind]:
        pieces = dense.match_pieces(question, view, _choose_compared(view, found, CLOSENESS[kind], allowed))
        if pieces is not None:
            found["pieces"] = pieces
    places = {name: view.passages.best(values) for name, values in found.items()}
    known = view.alive if view.lacking is None else view.alive & ~view.lacking
    if view.lacking is not None and known.any():
        # Of a text without a vector the words decide.
        places = {name: values if name == "words" else _fill_lacking(values, known) for name, values in places.items()}
    return Closeness(kind, words, found, {name: lend_to_replies(view, values) for name, values in places.items()})


def _fill_lacking(values: Floats, known: Mask) -> Floats:
    """Return values with the mean of the known ones for the others."""
    return np.where(known, values, values[known].mean())


def lend_to_replies(view: NamespaceView, values: Floats) -> Floats:
    """Return values of places, for a short reply at least that of the question before it."""
    replies = view.short_answers
    if not len(replies):
        return values
    lent = values.copy()
    lent[replies] = np.maximum(values[replies], values[view.previous[replies]])
    return lent


def _kind_of(question: Question, found: Mapping[str, Floats]) -> str:
    """Return the key of :data:`CLOSENESS` that suits the models at hand and the question's script."""
    if "multilingual" in found:
        # Of Chinese and Japanese, MiniLM and WordLlama know single characters at most.
        return "multilingual" if GLUED_SCRIPT.search(question.text) or "first" not in found else "both"
    return "first" if "first" in found else "words"


def _choose_compared(
    view: NamespaceView, found: Mapping[str, Floats], weights: Weights, allowed: Mask | None
) -> Ints | None:
    """Return the passages whose word pieces are compared; None for all."""
    owners = view.passages.owners
    if len(owners) <= dense.MAX_COMPARED:
        return None
    total = sum(np.float32(weights[name] / TYPICAL[name]) * found[name] for name in weights if name in found)
    if allowed is not None:
        total = np.where(allowed[owners], total, np.float32(-np.inf))
    return np.sort(np.argpartition(-total, dense.MAX_COMPARED)[: dense.MAX_COMPARED])


def measure_spread(closeness: Closeness, view: NamespaceView) -> dict[str, Spread]:
    """Measure the spread of the signals over the live places of a view."""
    return {name: _spread_of(values, TYPICAL[name], view.alive) for name, values in closeness.places.items()}


def _spread_of(values: Floats, typical: float, live: Mask) -> Spread:
    seen = values[live]
    rows = len(seen)
    if not rows:
        return Spread(0.0, typical)
    mean = float(np.add.reduce(seen, dtype=np.float64)) / rows
    variance = max(float(np.vecdot(seen, seen)) / rows - mean**2, 0.0)
    return Spread(mean, float(np.sqrt((rows * variance + PRIOR_ROWS * typical**2) / (rows + PRIOR_ROWS))))


def weigh_closeness(kind: str, view: NamespaceView) -> Weights:
    """Return the weights of the signals of a kind, as far as the messages of a view are long."""
    long = 1 - view.short_share
    return {name: weight + long * OF_LONG_TEXTS.get(name, 0.0) for name, weight in CLOSENESS[kind].items()}


def combine(
    question: Question,
    view: NamespaceView,
    closeness: Closeness,
    spread: Mapping[str, Spread],
    left_out: frozenset[str] = frozenset(),
) -> Combination:
    """Combine the signals. left_out: names of signals that do not count."""
    weights = weigh_closeness(closeness.kind, view)
    scaled = {
        name: (closeness.places[name] - np.float32(spread[name].mean)) / np.float32(spread[name].deviation)
        for name in weights
        if name in closeness.places
    }
    parts = [Part(name, values, weights[name]) for name, values in scaled.items()]
    told = shape.share_asked(question, view)
    reports = shape.reports(view, told)
    parts += [
        Part(name, values, (view.mostly_short if name in OF_MOST else view.short_share) * SHAPE[name])
        for name, values in _shapes(question, view, closeness, scaled, weights, reports)
    ]
    parts += [
        Part("speaker", speakers.said_by_named(question, view), SPEAKER),
        Part("on_day", dates.on_day(question, view), ON_DAY),
        Part("of_others", speakers.share_of_others(question, view), OF_OTHERS),
        Part("about_others", speakers.about_others(question, view), ABOUT_OTHERS),
    ]
    parts = [part for part in parts if part.name not in left_out]
    total = np.zeros(view.size, np.float32)
    for part in parts:
        if part.values is not view.nothing:
            total += np.float32(part.weight) * part.values
    further = [
        Part("assistant", speakers.said_by_assistant(question, view), ASSISTANT),
        Part("session", sessions.mean_best_two(view, total), SESSION),
    ]
    for part in further:
        if part.name not in left_out:
            parts.append(part)
            total = total + np.float32(part.weight) * part.values
    return Combination(
        tuple(parts), total, closeness, _sum_passages(closeness, weights, spread), told=told, reports=reports
    )


def add_talk(own: Combination, talk: Combination) -> Combination:
    """Return the combination of a message that continues a talk: its own score, and that of both together."""
    parts = [part._replace(weight=part.weight * OWN_SHARE) for part in own.parts]
    parts.append(Part("talk", talk.total, 1 - OWN_SHARE))
    total, passage_total = (
        np.float32(OWN_SHARE) * ours + np.float32(1 - OWN_SHARE) * theirs
        for ours, theirs in ((own.total, talk.total), (own.passage_total, talk.passage_total))
    )
    return replace(own, parts=tuple(parts), total=total, passage_total=passage_total)


def _shapes(
    question: Question,
    view: NamespaceView,
    closeness: Closeness,
    scaled: Mapping[str, Floats],
    weights: Weights,
    reports: Floats,
) -> list[tuple[str, Floats]]:
    leading = scaled[LEADING[closeness.kind]]
    unreported = view.nothing
    if reports is not view.nothing:
        close = sum((np.float32(weights[name]) * values for name, values in scaled.items()), view.nothing)
        unreported = close.clip(0) * (1 - reports)
    return [
        ("asks", shape.asks(question, view)),
        ("reports", reports),
        ("unreported", unreported),
        ("length", shape.log_length(question, view)),
        ("around", closeness.words.around),
        ("before", neighbours.value_of(view.previous, leading)),
        ("after", neighbours.value_of(view.following, leading)),
        ("says_when", dates.says_when(question, view)),
    ]


def _sum_passages(closeness: Closeness, weights: Weights, spread: Mapping[str, Spread]) -> Floats:
    """Return the weighted sum of the signals of each passage, which says which passage of a place is its best."""
    total = np.zeros(len(closeness.words.passages), np.float32)
    for name, values in closeness.passages.items():
        if name in weights:
            total += np.float32(weights[name] / spread[name].deviation) * values
    return total
