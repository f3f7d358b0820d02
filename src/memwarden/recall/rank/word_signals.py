"""Scores every place by a question's words: BM25 of turns, pairs and sessions, and the share of words heard.

There are two ways to the same numbers. Word by word, each touches only the places that hold the word, as a large
namespace needs. In a small namespace the number of numpy's calls costs more than their sizes: there all words are lines
of a table. A property test holds the two together to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from memwarden.recall.index.columns import Counts, Rows
from memwarden.recall.index.view import Floats, NamespaceView
from memwarden.text.tokenizer import surface_id, term_id

PSEUDO_MASS: Final = 2.0  # idf mass of doubt: a single matched word is less than five
PSEUDO_ROWS: Final = 100.0  # rows of everyday text behind every idf, so that tiny stores have an idf
TABLE_CELLS: Final = 10_000
"""Up to so many words times places are a table. Measured, it takes two thirds of the time at 100 places, and as long as
the other way at 20,000 cells."""


class WordSignals(NamedTuple):
    """What the words of a question say of every place.

    Attributes:
        turn, pair: BM25 a place. session: BM25 a session.
        heard: share of the idf mass in a place or the turn before. own: the share in the place alone.
    """

    turn: Floats
    pair: Floats
    session: Floats
    heard: Floats
    own: Floats


class QueryWord(NamedTuple):
    """A word of the question that some places hold. tf: how often each of them does. term: its id."""

    idf: float
    rows: Rows
    tf: Counts
    term: int = 0


def idf(total: int, df: int, prior: float) -> float:
    """idf with everyday rows behind it: in a store of ten rows "name" is still a common word."""
    return float(np.log1p((total + PSEUDO_ROWS) / (df + PSEUDO_ROWS * prior + 0.5)))


def form_ids(term: int, form: str) -> tuple[int, ...]:
    """Return the ids beside a stem's under which memories hold a word, given its surface form in the question.

    They are for memories that were taken for another language: there the word has another stem, or is one itself.
    """
    stem = term_id(form)
    return (surface_id(form),) if stem == term else (stem, surface_id(form))


def find_word(postings: Callable[[int], tuple[Rows, Counts]], term: int, others: Sequence[int]) -> tuple[Rows, Counts]:
    """Return the rows that hold a stem or one of its other ids, ascending, and how often each does."""
    rows, tf = postings(term)
    for other in others:
        more, counts = postings(other)
        if not len(more):
            continue
        if len(rows):
            alone = rows[np.minimum(rows.searchsorted(more), len(rows) - 1)] != more
            if not alone.any():  # nearly always: what holds the surface form holds the stem
                continue
            more, counts = more[alone], counts[alone]
        together = np.concatenate((rows, more))
        order = np.argsort(together, kind="stable")
        rows, tf = together[order], np.concatenate((tf, counts))[order]
    return rows, tf


def word_signals(
    terms: Sequence[int],
    priors: Sequence[float],
    view: NamespaceView,
    forms: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> WordSignals:
    """Compute the signals, by the cheaper of the two ways.

    terms: ids, once each. priors: the share of everyday texts that hold each of them. forms: by a term its other ids
    (:func:`form_ids`).
    """
    words: list[QueryWord] = []
    mass = 0.0
    for term, prior in zip(terms, priors, strict=True):
        rows, tf = find_word(view.postings, term, forms.get(term, ()))
        weight = idf(view.alive_count, _df(term, len(rows), view), prior)
        mass += weight
        if len(rows):
            words.append(QueryWord(weight, rows, tf, term))
    way = sum_by_table if words and len(words) * view.size <= TABLE_CELLS else sum_by_word
    found = way(words, view)
    doubted = np.float32(mass + PSEUDO_MASS)
    return found._replace(heard=found.heard / doubted, own=found.own / doubted)


def _df(term: int, found: int, view: NamespaceView) -> int:
    return found if view.whole is None else view.whole.holding(term, found)


def sum_by_word(words: Sequence[QueryWord], view: NamespaceView) -> WordSignals:
    """The sums over the words; ``heard`` and ``own`` are idf mass. Each word touches only the places that hold it."""
    turn, pair, heard_mass, own_mass = np.zeros((4, view.size), np.float32)
    session = np.zeros(view.sessions, np.float32)
    turn_part, pair_part, session_part = view.norms
    frequency = np.zeros(view.size, np.float32)
    for weight, rows, tf, term in words:
        turn[rows] += weight * tf / (tf + turn_part[rows])
        own_mass[rows] += weight
        after = view.following[rows]
        has_after = after >= 0
        after = after[has_after]
        frequency[rows] = tf
        only_before = after[frequency[after] == 0]
        frequency[after] += tf[has_after]
        both = np.concatenate((rows, only_before))
        heard = frequency[both]
        pair[both] += weight * heard / (heard + pair_part[both])
        heard_mass[both] += weight
        frequency[both] = 0
        if view.sessions:
            said = np.bincount(view.slot[rows], tf, view.sessions + 1)[:-1]
            spread = int(np.count_nonzero(said))
            if view.whole is not None:
                spread = view.whole.sessions_holding(term, spread)
            rare = np.log1p((view.session_count - spread + 0.5) / (spread + 0.5))
            session += (rare * said / (said + session_part)).astype(np.float32)
    return WordSignals(turn, pair, session, heard_mass, own_mass)


def sum_by_table(words: Sequence[QueryWord], view: NamespaceView) -> WordSignals:
    """Compute the same sums from tables, a line a word and a column a place; at least 1 word."""
    turn_part, pair_part, session_part = view.norms
    weights = np.array([[word.idf] for word in words], np.float32)
    table = np.zeros((len(words), view.size + 1), np.float32)  # the last column stands for no turn before
    for line, word in zip(table, words, strict=True):
        line[word.rows] = word.tf
    own = table[:, :-1]
    heard = own + table[:, view.preceding]
    session = np.zeros(view.sessions, np.float32)
    if view.sessions:
        order, starts, slots = view.by_session
        counted = np.zeros((len(words), view.sessions + 1))
        counted[:, slots] = np.add.reduceat(own[:, order], starts, axis=1)
        said = counted[:, :-1]
        spread = np.count_nonzero(said, axis=1)[:, None]
        if view.whole is not None:
            pairs = zip(words, spread[:, 0].tolist(), strict=True)
            spread = np.array([[view.whole.sessions_holding(word.term, found)] for word, found in pairs])
        rare = np.log1p((view.session_count - spread + 0.5) / (spread + 0.5))
        session = _sum_lines((rare * said / (said + session_part)).astype(np.float32))
    return WordSignals(
        turn=_sum_lines(weights * own / (own + turn_part)),
        pair=_sum_lines(weights * heard / (heard + pair_part)),
        session=session,
        heard=_sum_lines(weights * (heard > 0)),
        own=_sum_lines(weights * (own > 0)),
    )


def _sum_lines(table: Floats) -> Floats:
    """Add the lines in order, as ``sum_by_word`` does."""
    return np.asarray(np.add.reduce(table, axis=0), np.float32)
