"""Links of turns: the turn before, the session, and the vector norms that depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memwarden.recall.index.columns import Mask
from memwarden.recall.index.view import PREVIOUS, Floats, Ints

CHUNK = 2_048
"""Vectors at a time that fit into a processor's cache."""


@dataclass(frozen=True, slots=True)
class Links:
    """The order and sessions of a namespace's turns.

    Attributes:
        previous: the place of the turn before in the same session, or -1.
        session: number of the session, rising with the writing of its first turn, or -1 outside of any.
        sessions: how many there are.
    """

    previous: Ints
    session: Ints
    sessions: int


def derive_links(
    order: Ints, thread: npt.NDArray[np.int32], said: Ints, turns: Mask, derived: Mask, session_gap: int
) -> Links:
    """Derive the links from threads, times and the order of writing.

    A session is a run of turns of a thread without a silence of more than ``session_gap`` microseconds. A derived
    memory belongs to the session that its thread was in when it was written, if any.

    Args:
        order: the order of writing. thread: code of the thread. said: when, in microseconds.
        turns: the live turns of threads. derived: the other live memories of threads.
    """
    previous = np.full(len(order), -1, dtype=np.int64)
    session = np.full(len(order), -1, dtype=np.int64)
    places = np.flatnonzero(turns)
    if not len(places):
        return Links(previous, session, 0)
    places = places[np.lexsort((order[places], thread[places]))]
    begins = np.ones(len(places), dtype=np.bool_)
    same_thread = thread[places[1:]] == thread[places[:-1]]
    begins[1:] = ~same_thread | (said[places[1:]] - said[places[:-1]] > session_gap)
    previous[places[1:]] = np.where(begins[1:], -1, places[:-1])
    run = np.cumsum(begins) - 1
    number = np.empty(run[-1] + 1, dtype=np.int64)
    number[np.argsort(order[places[begins]])] = np.arange(len(number))
    session[places] = number[run]
    _join_derived(order, thread, places, np.flatnonzero(derived), session)
    return Links(previous, session, len(number))


def find_following(previous: Ints, among: Mask, places: Sequence[int]) -> list[int]:
    """Return the turns that follow any of these places, with only such turns in between.

    previous: the place of the turn before each. among: which turns count.
    """
    candidates = np.flatnonzero(among)
    found: list[int] = []
    last = np.array(places, dtype=np.int64)
    while len(last) and len(last := candidates[np.isin(previous[candidates], last)]):
        found += last.tolist()
    return found


def _join_derived(order: Ints, thread: npt.NDArray[np.int32], turns: Ints, derived: Ints, session: Ints) -> None:
    """Give each derived memory the session of the last turn of its thread that was written before it."""
    if not len(derived):
        return
    everything = np.concatenate([turns, derived])
    everything = everything[np.lexsort((order[everything], thread[everything]))]
    is_turn = np.isin(everything, turns, assume_unique=True)
    last_turn = np.maximum.accumulate(np.where(is_turn, np.arange(len(everything)), -1))
    at = np.flatnonzero(~is_turn & (last_turn >= 0))
    places, before = everything[at], everything[last_turn[at]]
    same_thread = thread[places] == thread[before]
    session[places[same_thread]] = session[before[same_thread]]


class LinkVectors:
    """Norms of linked vectors, carried on from state to state; only changed values are computed."""

    def __init__(self) -> None:
        self._previous: Ints = np.zeros(0, dtype=np.int64)
        self._session: Ints = np.zeros(0, dtype=np.int64)
        self._pair_norm: Floats = np.zeros(0, dtype=np.float32)
        self._session_sum: Floats = np.zeros((0, 0), dtype=np.float32)

    def norms(self, vectors: Floats | None, links: Links) -> tuple[Floats | None, Floats | None]:
        """Return |E_i + .7 E_prev| for each place and |sum of E| for each session; None without vectors."""
        if vectors is None:
            return None, None
        known, size = len(self._previous), len(links.previous)
        self._pair_norm = np.append(self._pair_norm, np.zeros(size - known, dtype=np.float32))
        changed = np.flatnonzero(links.previous[:known] != self._previous)
        self._norm_pairs(np.concatenate([changed, np.arange(known, size)]), vectors, links.previous)
        self._sum_sessions(vectors, links)
        self._previous, self._session = links.previous, links.session
        session_norm = np.maximum(np.linalg.norm(self._session_sum, axis=1), 1e-6)
        return self._pair_norm, session_norm.astype(np.float32)

    def _norm_pairs(self, places: Ints, vectors: Floats, previous: Ints) -> None:
        for start in range(0, len(places), CHUNK):
            some = places[start : start + CHUNK]
            before = previous[some]
            earlier = vectors[before]
            earlier[before < 0] = 0
            earlier *= np.float32(PREVIOUS)
            earlier += vectors[some]
            self._pair_norm[some] = np.maximum(np.sqrt(np.einsum("ij,ij->i", earlier, earlier)), 1e-3)

    def _sum_sessions(self, vectors: Floats, links: Links) -> None:
        known = len(self._session)
        total = np.zeros((links.sessions, vectors.shape[1]), dtype=np.float32)
        if known and np.array_equal(links.session[:known], self._session):
            total[: len(self._session_sum)] = self._session_sum
        else:
            known = 0
        new = np.arange(known, len(links.session))
        new = new[links.session[new] >= 0]
        if len(new):
            new = new[np.argsort(links.session[new], kind="stable")]
            sessions, starts = np.unique(links.session[new], return_index=True)
            total[sessions] += np.add.reduceat(vectors[new], starts, axis=0)
        self._session_sum = total
