"""Features of recall: how well each memory of a namespace answers a question.

A feature is a function ``(question, view) -> a float for each place``. :mod:`memwarden.recall.rank.score` names the
weights of the presets. Every constant is round, was picked by hand and stands below; nothing is fitted to a data set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from memwarden.recall.index.view import Floats, NamespaceView
from memwarden.recall.query_analysis import everyday_share
from memwarden.recall.question import Question
from memwarden.recall.rank import maxsim
from memwarden.recall.rank.date_match import date_closeness
from memwarden.recall.rank.word_signals import idf, word_signals
from memwarden.text.dates.calendar import day_number
from memwarden.text.tokenizer import term_id, terms

Feature = Callable[[Question, NamespaceView], Floats]

SESSION_DOCUMENT: Final = 0.7  # weight of the whole session as a document, beside the turn's 1
SMALL_STORE: Final = 20.0  # memories below which z-scores are taken with caution
RANGE_FLOOR: Final = 8.0  # spread of base sums below which rows do not differ in earnest


def _spread_over_rows(name: str, session: Floats, question: Question, view: NamespaceView) -> Floats:
    """Spread each session's value over its rows; rows without a session get the mean."""
    if not view.sessions:
        return np.zeros(view.size, np.float32)
    value = np.empty(view.sessions + 1, np.float32)
    value[:-1] = session
    value[-1] = session_mean(session, view) if question.measure is None else question.measure.session_means[name]
    return value[view.slot]


def session_mean(session: Floats, view: NamespaceView) -> float:
    """Return the mean of a value over the sessions with words."""
    used = session[view.session_length > 0]
    return float(np.add.reduce(used) / len(used)) if len(used) else 0.0


def _word_signal(name: str, question: Question, view: NamespaceView) -> Floats:
    if name not in question.memo:
        found = word_signals(question.terms, question.idf_prior, view, question.form_ids)
        question.memo["bm25_turn"], question.memo["bm25_pair"], session, question.memo["heard"] = found
        question.memo["session_words"] = session
        question.memo["bm25_session"] = _spread_over_rows("bm25_session", session, question, view)
    return question.memo[name]


def words_heard(question: Question, view: NamespaceView) -> Floats:
    """Share of the question's idf mass that the place and the turn before it cover."""
    return _word_signal("heard", question, view)


def bm25_turn(question: Question, view: NamespaceView) -> Floats:
    """BM25 of the row alone."""
    return _word_signal("bm25_turn", question, view)


def bm25_pair(question: Question, view: NamespaceView) -> Floats:
    """BM25 of the row and the turn before it, since a question and its answer form a document."""
    return _word_signal("bm25_pair", question, view)


def bm25_session(question: Question, view: NamespaceView) -> Floats:
    """BM25 of the row's whole session."""
    return _word_signal("bm25_session", question, view)


def cosine_turn(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the row, the only matrix product of a question."""
    if "cosine_turn" not in question.memo:
        if question.vector is None or view.vectors is None:
            value = np.zeros(view.size, np.float32)
        else:
            value = view.vectors @ question.vector
        question.memo["cosine_turn"] = value
    return question.memo["cosine_turn"]


def cosine_pair(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the row plus .7 of the turn before."""
    if "cosine_pair" not in question.memo:
        own = cosine_turn(question, view)
        if view.pair_norm is not None:
            before = own[view.previous] * view.before_share
            own = np.asarray((own + before) / view.pair_norm, np.float32)
        question.memo["cosine_pair"] = own
    return question.memo["cosine_pair"]


def cosine_session(question: Question, view: NamespaceView) -> Floats:
    """Cosine with the mean vector of the row's session, from the same matrix product."""
    if view.session_norm is None or not view.sessions:
        return np.zeros(view.size, np.float32)
    total = np.bincount(view.slot, cosine_turn(question, view), view.sessions + 1)[:-1]
    question.memo["session_cosines"] = (total / view.session_norm).astype(np.float32)
    return _spread_over_rows("cosine_session", question.memo["session_cosines"], question, view)


def base(question: Question, view: NamespaceView) -> Floats:
    """Words and meaning of turn, pair and session: z-sums brought to 0..1.

    The means of the z-scores are left out: they move all places alike.
    """
    if "base" not in question.memo:
        names, weights, signals = list_signals(question, view)
        total = np.asarray((weights / _signal_deviations(names, signals, question, view)) @ signals, np.float32)
        if question.pieces is not None and view.pieces is not None and "word_pieces" not in question.left_out:
            total = _lift_by_pieces(question, view, total)
        # Two memories are always 1 deviation apart, however alike they are: in small stores z-scores say little.
        total *= caution(view)
        low, high = _span(total, view)
        if question.measure is not None:
            low = min(low, question.measure.low)
        spread = np.float32(max(high - low, RANGE_FLOOR))
        question.memo["base"] = np.asarray((total - low) / spread, np.float32)
        question.memo["scale"] = np.array([low, spread])
    return question.memo["base"]


def caution(view: NamespaceView) -> np.float32:
    """Return how far z-scores of a namespace of this size are trusted, 0..1."""
    return np.float32((view.alive_count / (view.alive_count + SMALL_STORE)) ** 0.5)


def list_signals(question: Question, view: NamespaceView) -> tuple[list[str], Floats, Floats]:
    """Return the names, the weights and the values, a line each, of the base's signals."""
    counted = [(part, weight) for part, weight in _BASE.items() if part.__name__ not in question.left_out]
    signals = np.stack([part(question, view) for part, _ in counted])
    return [part.__name__ for part, _ in counted], np.array([weight for _, weight in counted], np.float32), signals


_BASE: Final[dict[Feature, float]] = {
    bm25_turn: 1.0,
    bm25_pair: 1.0,
    bm25_session: SESSION_DOCUMENT,
    cosine_turn: 1.0,
    cosine_pair: 1.0,
    cosine_session: SESSION_DOCUMENT,
}


def _lift_by_pieces(question: Question, view: NamespaceView, total: Floats) -> Floats:
    """Rescore the best places word piece by word piece."""
    assert question.pieces is not None
    assert view.pieces is not None
    open_places = np.flatnonzero(question.memo.get("allowed", view.alive) & ~view.chatter)
    if not len(open_places) or not len(question.pieces):
        return total
    best = open_places[np.argsort(-total[open_places], kind="stable")[: maxsim.MAX_CANDIDATES]]
    weights = np.array([_piece_weight(word, view) for word in question.piece_words], np.float32)
    met = maxsim.match_closeness(question.pieces, weights, view.pieces, view.piece_starts, best, view.previous[best])
    return maxsim.lift_candidates(total, best, met)


def _piece_weight(word: str, view: NamespaceView) -> float:
    """The root of the idf of a piece's word; .5 for a stop word or a sign."""
    found = terms(word)
    if not found:
        return 0.5
    term = term_id(found[0])
    holding = len(view.postings(term)[0])
    if view.whole is not None:
        holding = view.whole.holding(term, holding)
    return float(idf(view.alive_count, holding, everyday_share(found[0])) ** 0.5)


def _signal_deviations(names: Sequence[str], signals: Floats, question: Question, view: NamespaceView) -> Floats:
    if question.measure is not None:
        return np.array([question.measure.deviations[name] for name in names], np.float32)
    return deviation(variances(signals, view))


def deviation(variance: Floats) -> Floats:
    """Standard deviations; 1 where all are alike."""
    return np.asarray(np.where(variance > 1e-9, np.sqrt(np.maximum(variance, 1e-9)), 1), np.float32)


def variances(signals: Floats, view: NamespaceView) -> Floats:
    """Variance of each signal over the live places; 0 without any."""
    seen = signals if view.live is None else signals[:, view.live]
    places = seen.shape[1]
    if not places:
        return np.zeros(len(signals), np.float32)
    square = np.einsum("ij,ij->i", seen, seen) / places
    return np.asarray(square - (np.add.reduce(seen, axis=1) / places) ** 2, np.float32)


def _span(values: Floats, view: NamespaceView) -> tuple[float, float]:
    seen = values if view.live is None else values[view.live]
    return (float(np.minimum.reduce(seen)), float(np.maximum.reduce(seen))) if len(seen) else (0.0, 0.0)


def best_in_session(question: Question, view: NamespaceView) -> Floats:
    """The best base in the row's session, 0..1: good sessions lift all their turns."""
    value = best_of_session(base(question, view), view)
    low, high = _span(value, view)
    if question.measure is not None:
        least, spread = question.memo["scale"].tolist()
        low = min(low, (question.measure.session_low - least) / spread)
    return np.asarray((value - low) / np.float32(max(high - low, RANGE_FLOOR / 20)), np.float32)


def best_of_session(own: Floats, view: NamespaceView) -> Floats:
    """The greatest of a value in the row's session; a row's own outside of any."""
    order, starts, slots = view.by_session
    best = np.zeros(view.sessions + 1, np.float32)
    best[slots] = np.maximum.reduceat(own[order], starts)
    value = best[view.slot]
    return np.where(view.in_session, value, own) if view.loose else value


def said_by_named(question: Question, view: NamespaceView) -> Floats:
    """1 where the only partner named in the question speaks."""
    if len(question.speakers) != 1:
        return np.zeros(view.size, np.float32)
    return np.asarray(view.speaker == question.speakers[0], np.float32)


def says_when(question: Question, view: NamespaceView) -> Floats:
    """1 where a question of time meets a time word."""
    if not question.when:
        return np.zeros(view.size, np.float32)
    return view.has_time_word.astype(np.float32)


def on_date(question: Question, view: NamespaceView) -> Floats:
    """1 on the day, in the month or in the year that the question names."""
    value = np.zeros(view.size, bool)
    for date in question.dates:
        fits = np.ones(view.size, bool)
        for column, part in enumerate(date):
            if part is not None:
                fits &= view.day[:, column] == part
        value |= fits
    return value.astype(np.float32)


def on_day(question: Question, view: NamespaceView) -> Floats:
    """0..1 for days the question asks about ("last week"): said on them, or naming them."""
    if not question.asked_days:
        return np.zeros(view.size, np.float32)
    said = np.zeros(view.size, np.bool_)
    for span in question.asked_days:
        said |= (view.said_day >= day_number(span.first)) & (view.said_day <= day_number(span.last))
    named = date_closeness(view.day_places, view.days, view.size, question.asked_days)
    return np.maximum(said.astype(np.float32), named)


def answers_question(question: Question, view: NamespaceView) -> Floats:
    """Base of the turn before if it asks a question, since this row answers it."""
    value = np.zeros(view.size, np.float32)
    value[view.answering] = base(question, view)[view.previous[view.answering]]
    return value


def only_asks(question: Question, view: NamespaceView) -> Floats:
    """1 where the row asks a question itself: questions hold fewer answers."""
    return view.asks_question.astype(np.float32)


def related(question: Question, view: NamespaceView) -> Floats:
    """0..1: the largest strength x (base of the other end - own base) over relations to possible answers.

    It brings a memory nearer to a better memory that it belongs to. Without the difference, facts that are alike would
    lift each other over a turn that answers better and has no relations.
    """
    value = np.zeros(view.size, np.float32)
    if view.related is not None:
        own = base(question, view)
        lent = view.related.strengths * (own[view.related.others] - own[view.related.owners])
        if "allowed" in question.memo:
            lent *= question.memo["allowed"][view.related.others]
        value[view.related.places] = np.maximum(np.maximum.reduceat(lent, view.related.starts), 0)
    return value


def recent(question: Question, view: NamespaceView) -> Floats:
    """exp(-sessions since / 30); nothing for rows without a session."""
    return view.recency
