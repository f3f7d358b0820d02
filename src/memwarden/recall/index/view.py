"""The features' view of a namespace: arrays of a value for each place, derived once a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from memwarden.recall.index.columns import Mask
from memwarden.recall.index.postings import Counts, Rows
from memwarden.text.flags import Flag

if TYPE_CHECKING:
    from memwarden.recall.index.statement_table import StatementTable

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

K1: Final = 0.9
B: Final = 0.4
PREVIOUS: Final = 0.7  # share of the turn before in a pair's vector
RECENT_SESSIONS: Final = 30.0
SHORT_TERMS: Final = 12

_DAY: Final = 86_400_000_000


class MultilingualSide(NamedTuple):
    """The second vector of every place, for languages that the first model cannot read.

    Attributes:
        vectors, pair_norm, session_norm: as of the first side (:class:`NamespaceView`).
        adapted_norm: length of each vector as the adapter maps what was said (:mod:`memwarden.recall.index.adapter`).
    """

    vectors: Floats
    pair_norm: Floats | None
    session_norm: Floats | None
    adapted_norm: Floats


class RelatedEdges(NamedTuple):
    """The ``related_to`` edges between places, each at both of its ends, grouped by place.

    Attributes:
        places: the places that have any, ascending. starts: where those of each begin in the other three.
        owners, others: the places at its two ends. strengths: 0..1.
    """

    places: Ints
    starts: Ints
    owners: Ints
    others: Ints
    strengths: Floats


class NamespaceStatistics(Protocol):
    """Statistics of a namespace of which only some places are at hand.

    Attributes:
        alive: how many memories it has. sessions: how many sessions with words. mean_lengths: see
        :class:`NamespaceView`. clock: see :class:`NamespaceView`.
    """

    @property
    def alive(self) -> int: ...
    @property
    def sessions(self) -> int: ...
    @property
    def mean_lengths(self) -> tuple[float, float, float]: ...
    @property
    def clock(self) -> tuple[int, int] | None: ...

    def holding(self, term: int, found: int) -> int:
        """Return how many memories hold a term; found: how many of those at hand do."""

    def sessions_holding(self, term: int, found: int) -> int:
        """Return how many sessions hold a term."""


class NamespaceView:
    """Arrays of a namespace's state; places are in the order of arrival, dead places included.

    Attributes:
        postings: term id -> the live places that hold it, ascending, and how often each does.
        length: terms of a memory.
        previous: the live turn before in the same session, or -1.
        session: number of the session, rising in time, or -1.
        turns: the live turns.
        speaker: code of who said it; ``speakers`` maps the names of the namespace to their codes.
        day_places, days: the days that memories name: places, and first and last day since 1970 of a span of theirs.
        pieces, piece_starts: vectors of word pieces, those of place i from ``piece_starts[i]`` on; None without.
        statements: what the texts state; None for a part of a large namespace.
        live: the places that are not dead.
        vectors: (size, d) of unit length, a row of zeros for no vector; None without an embedder.
        pair_norm: |E_i + .7 E_prev|, so that a pair's cosine needs no second matrix product.
        session_norm: length of each session's summed vectors.
        second: the multilingual vectors, or None for an embedder with one side.
        by_model: which places an assistant said; None where nobody says.
        related: the ``related_to`` edges between places, or None when there are none.
        preset: the named set of weights that suits the namespace.
        whole: what is known of the namespace when these places are only a part of it; None when they are all of it.
        ages: how many sessions began after a place's own, where the numbers of the sessions do not tell.
    """

    def __init__(
        self,
        *,
        postings: Callable[[int], tuple[Rows, Counts]],
        length: Floats,
        previous: Ints,
        session: Ints,
        sessions: int,
        turns: Mask,
        speaker: npt.NDArray[np.int32],
        speakers: Mapping[str, int],
        flags: npt.NDArray[np.uint8],
        created_at: Ints,
        day_places: Ints,
        days: npt.NDArray[np.int32],
        pieces: npt.NDArray[np.int8] | None,
        piece_starts: Ints,
        statements: StatementTable | None,
        live: Mask,
        vectors: Floats | None,
        pair_norm: Floats | None,
        session_norm: Floats | None,
        related: RelatedEdges | None,
        preset: str,
        whole: NamespaceStatistics | None = None,
        ages: Ints | None = None,
        second: MultilingualSide | None = None,
        by_model: Mask | None = None,
    ) -> None:
        self.whole = whole
        self._ages = ages
        self.postings = postings
        self.length = length
        self.previous = previous
        self.session = session
        self.sessions = sessions
        self.turns = turns
        self.speaker = speaker
        self.speakers = speakers
        self.flags = flags
        self.created_at = created_at
        self.day_places = day_places
        self.days = days
        self.pieces = pieces
        self.piece_starts = piece_starts
        self.statements = statements
        self.alive = live
        self.live = None if bool(live.all()) else live
        self.vectors = vectors
        self.pair_norm = pair_norm
        self.session_norm = session_norm
        self.second = second
        self.by_model = by_model
        self.related = related
        self.preset = preset

    @property
    def size(self) -> int:
        return len(self.length)

    @cached_property
    def alive_count(self) -> int:
        return int(np.count_nonzero(self.alive)) if self.whole is None else self.whole.alive

    @cached_property
    def from_person(self) -> Floats:
        """1 where a person speaks, or where nobody is said to."""
        said = np.ones(self.size, np.float32)
        if self.by_model is not None:
            said[self.by_model] = 0
        return said

    @cached_property
    def newness(self) -> Floats:
        """0..1: the share of the live places that were not said later."""
        share = np.zeros(self.size, np.float32)
        # By time and not by place: a row that is filled later gets a new place.
        order = np.argsort(self.created_at, kind="stable")
        counted = np.cumsum(self.alive[order])
        share[order] = counted / max(int(counted[-1]) if len(counted) else 0, 1)
        return share

    @cached_property
    def says_much(self) -> Floats:
        """Logarithm of a text's length, so that "ok" lies below a statement; longer than a paragraph counts no more."""
        return np.minimum(np.log(10 * self.length + 10), np.float32(6)).astype(np.float32)

    @cached_property
    def short_questions(self) -> Mask:
        """Places that ask something and say little else."""
        return np.asarray(self.asks_question & (self.length <= SHORT_TERMS))

    @cached_property
    def has_previous(self) -> Mask:
        return np.asarray(self.previous >= 0)

    @cached_property
    def before_share(self) -> Floats:
        """.7 where a place has a turn before it, else 0."""
        return np.where(self.has_previous, np.float32(PREVIOUS), np.float32(0))

    @cached_property
    def following(self) -> Ints:
        """The turn after each place, or -1."""
        after = np.full(self.size, -1, np.int64)
        places = np.flatnonzero(self.has_previous)
        after[self.previous[places]] = places
        return after

    @cached_property
    def preceding(self) -> Ints:
        """The turn before each place, or the number of places."""
        before = np.full(self.size, self.size, np.int64)
        places = np.flatnonzero(self.following >= 0)
        before[self.following[places]] = places
        return before

    @cached_property
    def slot(self) -> Ints:
        """Session of each place; places without a session, and dead places, share the last slot."""
        return np.where((self.session >= 0) & self.alive, self.session, self.sessions)

    @cached_property
    def in_session(self) -> Mask:
        return np.asarray(self.slot < self.sessions)

    @cached_property
    def recency(self) -> Floats:
        """exp(-sessions since / 30); nothing for places without a session."""
        age = np.maximum(self.last_session - self.session, 0) if self._ages is None else self._ages
        return np.where(self.in_session, np.exp(-age / RECENT_SESSIONS), 0).astype(np.float32)

    @cached_property
    def session_length(self) -> Floats:
        return np.bincount(self.slot, self.length, self.sessions + 1)[:-1].astype(np.float32)

    @cached_property
    def session_count(self) -> int:
        """Number of sessions with words in them."""
        return int(np.count_nonzero(self.session_length)) if self.whole is None else self.whole.sessions

    @cached_property
    def last_session(self) -> int:
        return int(self.session[self.alive].max(initial=0))

    @cached_property
    def by_session(self) -> tuple[Ints, Ints, Ints]:
        """Places ordered by slot, where each slot starts in them, and which slot that is."""
        order = np.argsort(self.slot, kind="stable")
        slots, starts = np.unique(self.slot[order], return_index=True)
        return order, starts, slots

    @cached_property
    def pair_length(self) -> Floats:
        before = np.where(self.has_previous, self.length[self.previous], np.float32(0))
        return np.asarray(self.length + before, np.float32)

    @cached_property
    def norms(self) -> tuple[Floats, Floats, Floats]:
        """Length parts of BM25 for turns, pairs and sessions."""
        turn, pair, session = self.mean_lengths
        return (
            _length_part(self.length, turn),
            _length_part(self.pair_length, pair),
            _length_part(self.session_length, session),
        )

    @cached_property
    def mean_lengths(self) -> tuple[float, float, float]:
        """Terms of a turn, a pair and a session."""
        if self.whole is not None:
            return self.whole.mean_lengths
        return (
            _mean(self.length, self.alive),
            _mean(self.pair_length, self.alive),
            _mean(self.session_length, self.session_length > 0),
        )

    @cached_property
    def has_time_word(self) -> Mask:
        return np.asarray((self.flags & Flag.TIME) != 0)

    @cached_property
    def asks_question(self) -> Mask:
        return np.asarray((self.flags & Flag.QUESTION) != 0)

    @cached_property
    def chatter(self) -> Mask:
        return np.asarray((self.flags & Flag.CHATTER) != 0)

    @cached_property
    def said_day(self) -> Ints:
        """The day on which it was said, days since 1970."""
        return self.created_at // _DAY

    @cached_property
    def clock(self) -> tuple[int, int] | None:
        """When the oldest and the newest live turn were said, microseconds since 1970; None without any."""
        if self.whole is not None:
            return self.whole.clock
        said = self.created_at[self.turns]
        return (int(said.min()), int(said.max())) if len(said) else None


def _mean(length: Floats, counted: Mask) -> float:
    return float(length[counted].mean()) if counted.any() else 1.0


def _length_part(length: Floats, mean: float) -> Floats:
    return np.asarray(K1 * (1 - B + B * length / max(mean, 1e-6)), np.float32)
