"""The features' view of a namespace: arrays of a value for each place, its edges and links of turns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from memwarden.recall.index.columns import Counts, Floats, GrowingArray, Ints, Mask, Rows, TermIds
from memwarden.recall.index.passages import Passages
from memwarden.recall.index.rows import MultilingualSide, RelatedEdges
from memwarden.records import Edge, RelationType
from memwarden.text.dates.calendar import DaySpan, day_number
from memwarden.text.flags import Flag

if TYPE_CHECKING:
    from memwarden.recall.index.columns import StatementTable

Values = npt.NDArray[Any]
ANSWER_TERMS: Final = 4  # terms of a reply that leans on the question before it
SENTENCE_TERMS: Final = 14  # terms of a sentence that says something
TALK_TERMS: Final = 25  # terms of a message of a talk

_DAY: Final = 86_400_000_000
_MINUTE: Final = np.int64(60_000_000)


class NamespaceStatistics(Protocol):
    """Statistics of a namespace of which only some places are at hand.

    Attributes:
        alive: number of memories. clock: see :class:`NamespaceView`.
    """

    @property
    def alive(self) -> int: ...
    @property
    def clock(self) -> tuple[int, int] | None: ...

    def holding(self, term: int, found: int) -> int:
        """Return how many memories hold a term; found: how many of those at hand do."""

    def holds(self, terms: TermIds) -> Mask:
        """Return which terms are known to be in memories that are not at hand."""


class NamespaceView:
    """Arrays of a namespace's state; places are in the order of arrival, dead places included.

    Attributes:
        postings: term id -> the live places that hold it, ascending, and how often each does.
        length: terms of a memory.
        previous: the live turn before in the same session, or -1.
        session: number of the session, rising in time, or -1.
        turns: the live turns.
        speaker: code of who said it; ``speakers`` maps the names of the namespace to their codes.
        offsets: by how many minutes the clock of whoever said it was ahead of UTC.
        day_places, days: the days that memories name: places, and first and last day since 1970 of a span of theirs.
        statements: what the texts state; None for a part of a large namespace.
        live: the places that are not dead.
        passages: the passages of the places, with their words and vectors.
        lacking: which places have no vector yet; None if all have one.
        second: the multilingual vectors, or None for an embedder with one side.
        by_model: which places an assistant said; None where nobody says.
        related: the ``related_to`` edges between places, or None when there are none.
        preset: the named set of weights that suits the namespace.
        whole: what is known of the namespace when these places are only a part of it; None when they are all of it.
        since: from when each place holds: its ``valid_from``, else when it was said.
        extracted: what was extracted from turns, dead ones too; None without any.
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
        offsets: npt.NDArray[np.int16],
        day_places: Ints,
        days: npt.NDArray[np.int32],
        statements: StatementTable | None,
        live: Mask,
        passages: Passages,
        related: RelatedEdges | None,
        preset: str,
        whole: NamespaceStatistics | None = None,
        second: MultilingualSide | None = None,
        by_model: Mask | None = None,
        extracted: Mask | None = None,
        lacking: Mask | None = None,
        since: Ints | None = None,
    ) -> None:
        self.extracted = extracted
        self.lacking = lacking
        self.whole = whole
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
        self.since = created_at if since is None else since
        self.offsets = offsets
        self.day_places = day_places
        self.days = days
        self.statements = statements
        self.alive = live
        self.live = None if bool(live.all()) else live
        self.passages = passages
        self.second = second
        self.by_model = by_model
        self.related = related
        self.preset = preset

    @property
    def size(self) -> int:
        return len(self.length)

    @property
    def vectors(self) -> Floats | None:
        """The vectors of the first side, a row a passage; None without an embedder."""
        return self.passages.vectors

    @property
    def pieces(self) -> npt.NDArray[np.int8] | None:
        """Vectors of word pieces, those of place i from ``piece_starts[i]`` on; None without."""
        return self.passages.pieces

    @cached_property
    def piece_starts(self) -> Ints:
        """Where the word pieces of each place begin."""
        return self.passages.piece_starts[self.passages.starts]

    @cached_property
    def alive_count(self) -> int:
        return int(np.count_nonzero(self.alive)) if self.whole is None else self.whole.alive

    @cached_property
    def known_words(self) -> set[str]:
        """Words that were looked up and are not misspelled (:mod:`memwarden.recall.spelling`)."""
        return set()

    @cached_property
    def kept(self) -> Mask:
        """Which places hold what a person or a program had remembered: no turns, and nothing extracted from them."""
        return ~self.turns if self.extracted is None else ~self.turns & ~self.extracted

    @cached_property
    def from_person(self) -> Floats:
        """1 where a person speaks, or where nobody is said to."""
        said = np.ones(self.size, np.float32)
        if self.by_model is not None:
            said[self.by_model] = 0
        return said

    @cached_property
    def nothing(self) -> Floats:
        """A 0 for each place, shared by all features that have nothing to say: adding it may be left out."""
        zeros = np.zeros(self.size, np.float32)
        zeros.setflags(write=False)
        return zeros

    @cached_property
    def has_previous(self) -> Mask:
        return np.asarray(self.previous >= 0)

    @cached_property
    def following(self) -> Ints:
        """The turn after each place, or -1."""
        after = np.full(self.size, -1, np.int64)
        places = np.flatnonzero(self.has_previous)
        after[self.previous[places]] = places
        return after

    @cached_property
    def slot(self) -> Ints:
        """Session of each place; places without a session, and dead places, share the last slot."""
        return np.where((self.session >= 0) & self.alive, self.session, self.sessions)

    @cached_property
    def mean_passage_length(self) -> float:
        """Terms of a passage. Of a part of a large namespace, the namespace's mean is set from outside."""
        return max(_mean(self.passages.length, self.alive[self.passages.owners]), 1e-6)

    @cached_property
    def log_length(self) -> Floats:
        """Logarithm of a text's number of terms, up to that of a sentence: a long mail says no more for its length."""
        return np.log1p(np.minimum(self.length, SENTENCE_TERMS)).astype(np.float32)

    @cached_property
    def short_answers(self) -> Ints:
        """Places that say little but the answer to what the turn before asks: "Braga."."""
        short = self.has_previous & self.alive & ~self.chatter & ~self.asks_question & (self.length <= ANSWER_TERMS)
        return np.flatnonzero(short & self.asks_question[self.previous])

    @cached_property
    def short_share(self) -> float:
        """Share of the live texts that are messages of a talk, not documents, 0..1."""
        return float(np.mean(self.length[self.alive] <= TALK_TERMS)) if self.alive.any() else 1.0

    @property
    def mostly_short(self) -> float:
        """Return 0 where half of the texts are long or more, 1 where none is."""
        return max(0.0, 2 * self.short_share - 1)

    @cached_property
    def reports(self) -> Floats:
        """How far a text reports what is or was, 0..1. The mean where that is not known."""
        if self.second is None:
            return self.nothing
        found = self.passages.best(self.second.reports).copy()
        if self.lacking is not None:
            known = self.alive & ~self.lacking
            found[self.lacking] = found[known].mean() if known.any() else 0
        answers = self.short_answers
        if len(answers):  # "Tiler." alone reports as little as "Yes."
            found[answers] = np.maximum(found[answers], found[answers].mean())
        return found

    @cached_property
    def has_time_word(self) -> Mask:
        return np.asarray((self.flags & Flag.TIME) != 0)

    @cached_property
    def asks_question(self) -> Mask:
        return np.asarray((self.flags & Flag.QUESTION) != 0)

    @cached_property
    def announces_change(self) -> Mask:
        """Where a text says that something changed, ended or was wrong."""
        return np.asarray((self.flags & Flag.CHANGES) != 0)

    @cached_property
    def says_doubt(self) -> Mask:
        """Where a text says a wish, a plan, the past or a guess."""
        return np.asarray((self.flags & Flag.DOUBT) != 0)

    @cached_property
    def says_now(self) -> Mask:
        """Where a text says that something holds now."""
        return np.asarray((self.flags & Flag.NOW) != 0)

    @cached_property
    def chatter(self) -> Mask:
        return np.asarray((self.flags & Flag.CHATTER) != 0)

    @cached_property
    def said_day(self) -> Ints:
        """The day on which it was said, days since 1970."""
        return self.said_local // _DAY

    @cached_property
    def said_local(self) -> Ints:
        """When it was said by the clock of whoever said it, microseconds from 1970 by that clock."""
        return self.created_at + self.offsets * _MINUTE if self.offsets.any() else self.created_at

    @cached_property
    def last_offset(self) -> int:
        """By how many minutes the clock of the person who spoke last was ahead of UTC; an assistant has none."""
        turns = np.flatnonzero(self.turns if self.by_model is None else self.turns & ~self.by_model)
        return int(self.offsets[turns[np.argmax(self.created_at[turns])]]) if len(turns) else 0

    @cached_property
    def clock(self) -> tuple[int, int] | None:
        """When the oldest and the newest live turn were said, microseconds since 1970; None without any."""
        if self.whole is not None:
            return self.whole.clock
        said = self.created_at[self.turns]
        return (int(said.min()), int(said.max())) if len(said) else None


def _mean(length: Floats, counted: Mask) -> float:
    return float(length[counted].mean()) if counted.any() else 1.0


def date_closeness(places: Ints, days: npt.NDArray[np.int32], size: int, asked: Sequence[DaySpan]) -> Floats:
    """Return 0..1 a row: the largest share of any of its spans within the asked days.

    "Since 2016" meets every day after and says nothing of any; "yesterday" in an asked month is 1.
    """
    rows = np.zeros(size, np.float32)
    length = days[:, 1] - days[:, 0] + np.int32(1)
    for span in asked:
        first, last = day_number(span.first), day_number(span.last)
        common = np.minimum(days[:, 1], last) - np.maximum(days[:, 0], first) + 1
        np.maximum.at(rows, places, (np.maximum(common, 0) / length).astype(np.float32))
    return rows


# Vectors at a time that fit into a processor's cache.
CHUNK = 2_048


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


# The memory at the other end, the type, and whether the edge goes there.
_End = tuple[str, str, bool]

_NONE: Mapping[_End, float] = MappingProxyType({})
_BYTES = 350  # an edge, kept at both of its ends


class Edges:
    """The relations between memories, each known at both of its ends."""

    def __init__(self) -> None:
        self._of: dict[str, dict[_End, float]] = {}
        self._count = 0
        self._number: dict[str, int] = {}  # of each memory at an end of a related_to edge
        self._row: dict[tuple[str, str], int] = {}
        self._ends = GrowingArray(np.int64, 2)
        self._strength = GrowingArray(np.float32)  # 0 for an edge that was taken away

    def follow(self, changed: Iterable[Edge]) -> None:
        """Take in edges that are new or changed, and drop those that were taken away."""
        new: list[Edge] = []
        for edge in changed:
            for item, other, goes in ((edge.from_id, edge.to_id, True), (edge.to_id, edge.from_id, False)):
                ends = self._of.setdefault(item, {})
                before = len(ends)
                if edge.live:
                    ends[other, edge.type, goes] = edge.strength
                else:
                    ends.pop((other, edge.type, goes), None)
                self._count += len(ends) - before
            if edge.type == RelationType.RELATED_TO:
                key = (edge.from_id, edge.to_id)
                if key in self._row:
                    self._strength.array[self._row[key]] = edge.strength if edge.live else 0
                elif edge.live:
                    self._row[key] = len(self._row)
                    new.append(edge)
        self._append(new)

    def of(self, memory_id: str) -> dict[tuple[str, str], float]:
        """Return the other end and the type of a memory's edges, with the larger strength where there are two ways."""
        found: dict[tuple[str, str], float] = {}
        for (other, kind, _), strength in self._of.get(memory_id, _NONE).items():
            found[other, kind] = max(strength, found.get((other, kind), 0.0))
        return found

    def touches(self, ids: Collection[str]) -> bool:
        """Whether any of these memories has or had an edge."""
        return not self._of.keys().isdisjoint(ids)

    def list_related(self, place_of: Mapping[str, int]) -> RelatedEdges | None:
        """Return the ``related_to`` edges between memories that have a place; None when there are none."""
        if not self._row:
            return None
        places = np.fromiter((place_of.get(item, -1) for item in self._number), np.int64, len(self._number))
        ends, strengths = places[self._ends.array], self._strength.array
        there = (ends >= 0).all(axis=1) & (strengths > 0)
        if not there.any():
            return None
        ends, strengths = ends[there], strengths[there]
        own, others = np.concatenate((ends[:, 0], ends[:, 1])), np.concatenate((ends[:, 1], ends[:, 0]))
        order = np.argsort(own, kind="stable")
        own = own[order]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        return RelatedEdges(own[starts], starts, own, others[order], np.concatenate((strengths, strengths))[order])

    def _append(self, edges: list[Edge]) -> None:
        if edges:
            number = self._number
            ends = [[number.setdefault(item, len(number)) for item in (edge.from_id, edge.to_id)] for edge in edges]
            self._ends.extend(ends)
            self._strength.extend([edge.strength for edge in edges])

    def __len__(self) -> int:
        return self._count // 2

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return _BYTES * self._count


Days = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


def unpack_spans(stored: Iterable[bytes], first_place: int = 0) -> tuple[Places, Days]:
    """Return the place of each stored span, and its first and last day, shape (spans, 2)."""
    blobs = list(stored)
    counts = np.fromiter(map(len, blobs), np.int64, len(blobs)) // 8
    places = np.repeat(np.arange(first_place, first_place + len(blobs), dtype=np.int64), counts)
    days = np.frombuffer(b"".join(blobs), dtype="<i4").astype(np.int32).reshape(-1, 2)
    return places, days
