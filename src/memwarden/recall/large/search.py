"""Recall in a namespace too large to be held in memory: the store finds candidates, the same features score them.

A part of the namespace is scored: the results of several searches, and the turns around the best of them. The digest of
the namespace (:mod:`memwarden.recall.large.statistics`) gives word frequencies and the spread of signals: a score
means the same as in a small namespace. The best become a small index, which answers as any other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import prod
from types import MappingProxyType
from typing import Final, NamedTuple, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.clock import moment
from memwarden.filters import Condition, Where
from memwarden.recall.answer.excerpt import normalize_text
from memwarden.recall.index.columns import (
    Counts,
    Floats,
    Ints,
    Mask,
    StatementTable,
    TermIds,
    count_ids,
    report_chances,
)
from memwarden.recall.index.columns import Rows as Places
from memwarden.recall.index.namespace_index import NamespaceIndex
from memwarden.recall.index.passages import (
    Passages,
    divide_rows,
    said_norms,
    sum_by_place,
    unit_rows,
)
from memwarden.recall.index.rows import FoundRows, Halves, MultilingualSide, found_rows, merge_rows, unpack_rows
from memwarden.recall.index.view import Links, NamespaceView, derive_links, unpack_spans
from memwarden.recall.large.statistics import NamespaceDigest, encode_codes, measure_question, measure_sample
from memwarden.recall.question import Date, Question
from memwarden.recall.rank.adjustments import AdjustedScores
from memwarden.recall.rank.combine import CLOSENESS, Closeness, Spread, measure_closeness
from memwarden.recall.rank.ranking import Ranking
from memwarden.records import STANDING_IN, Channel, IndexRow, Memory, Namespace
from memwarden.stores.shared.search import (
    KnownRows,
    OpenRows,
    SearchableStore,
    SearchLegs,
    SearchRows,
    SurroundingRow,
    format_term,
)
from memwarden.text.dates.calendar import day_number

P = ParamSpec("P")
T = TypeVar("T")

_DAY: Final = 86_400_000_000
MAX_SPANS: Final = 4
MAX_WORDS: Final = 8
# Seconds in which the threads of a store have sent their statements, if no other thread takes the interpreter.
SEND_SECONDS: Final = 0.0015
# Words of a question occur together about this many times as often as chance has it.
CO_OCCURRENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Reach:
    """The reach of a search, in rows.

    Attributes:
        near: nearest by vector. holding: with the question's words. newest: written last.
        in_time: said in an asked time. filtered: that fulfil filters.
        seeds: the best of all these; around: so many turns before and after each.
        neighboured: the best of all these, with the turn before and after each.
        kept: the best of all these, which are scored.
        finalists: the best of these, which become an index.
    """

    near: int = 120
    holding: int = 1_000
    newest: int = 50
    in_time: int = 200
    filtered: int = 500
    seeds: int = 8
    around: int = 24
    neighboured: int = 100
    kept: int = 150
    finalists: int = 60


class LargeNamespace:
    """A namespace searched in its store: its digest and the rows that stand for it.

    Attributes:
        whole: the digest. index: the rows that stand for the namespace. view: of them.
    """

    def __init__(self, whole: NamespaceDigest, index: NamespaceIndex) -> None:
        names = index.columns.coded["name"]
        self.whole = whole
        self.index = index
        self.view = index.whole_view
        # Of the sample, before the view counts as a part of the whole.
        self.mean_passage_length, self.short_share = self.view.mean_passage_length, self.view.short_share
        self.view.whole = whole
        self.view.speakers = {name: names.code(name) for name in whole.speakers}
        self.view.preset = whole.preset

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        return self.whole.nbytes + self.index.nbytes

    def count(self, open_: OpenRows) -> int:
        """Return about how many rows of the namespace are open."""
        mask = mask_open(self.index, open_)
        if open_.known is not None:
            mask &= mask_known(self.index, open_.known)
        share = float(np.count_nonzero(mask)) / max(int(np.count_nonzero(self.index.live)), 1)
        return round(share * self.whole.alive)


class RestoredRows(NamedTuple):
    """Rows that changed since a moment of the past, as they were then. They are candidates of every question about it.

    Attributes:
        rows: in the order of writing. open: which of them an answer may hold.
    """

    rows: Sequence[IndexRow]
    open: Sequence[bool]

    def found(self) -> FoundRows:
        """Return those that were active."""
        live = [place for place, row in enumerate(self.rows) if row.live]
        return found_rows([self.rows[place] for place in live], [self.open[place] for place in live])

    def find_resting(self, rows: Iterable[IndexRow]) -> list[int]:
        """Return the numbers of those that rest on any of these rows."""
        turns = [row for row in rows if row.channel == Channel.TURN]
        named = {name for row in turns for name in (row.id, *row.sources)}
        return [row.n for row in self.rows if row.channel != Channel.TURN and not named.isdisjoint(row.sources)]


def mask_open(index: NamespaceIndex, open_: OpenRows) -> Mask:
    """Return which rows of an index are open."""
    mask = index.mask(open_.where)
    mask &= (index.flags & open_.without) == 0
    if not open_.cards and (standing_in := index.extracted(*STANDING_IN)) is not None:
        mask &= ~standing_in
    return mask


def mask_known(index: NamespaceIndex, known: KnownRows) -> Mask:
    """Return which rows of an index were known at a moment, as far as they did not change since."""
    if known.until is None:
        return np.asarray(index.order <= known.last)
    began = index.columns.mask((Condition("valid_from", "$lte", moment(known.until)),))
    undated = index.columns.mask((Condition("valid_from", "$eq", None),))
    return began | undated & (index.columns.number("created_at") <= known.until)


class PartialView:
    """The rows gathered for a question, and the features' view of them.

    Attributes:
        rows: in the order of writing. view: of them, a place a row. always: numbers of those that are there by their
        category.
    """

    def __init__(self, rows: FoundRows, always: Ints, view: NamespaceView) -> None:
        self.rows = rows
        self.always = always
        self.view = view
        self._place = {n: place for place, n in enumerate(rows.n.tolist())}

    def place(self, n: int) -> int | None:
        """Return the place of a row by its number."""
        return self._place.get(n)

    def places(self, numbers: Iterable[int]) -> Ints:
        """Return the places of rows by their numbers, ascending."""
        return np.array(sorted(self._place[n] for n in numbers if n in self._place), np.int64)

    def same_words(self, terms: Sequence[int]) -> list[int]:
        """Return the turns whose words are these and no others; their order is not compared."""
        wanted, size = set(terms), 4 * len(terms)
        return [
            place
            for place, held in enumerate(self.rows.terms)
            if terms
            and len(held) == size
            and self.rows.turn[place]
            and wanted == set(np.frombuffer(held, "<u4").tolist())
        ]

    def best(self, scores: Floats, allowed: Mask, most: int, others: bool) -> list[int]:
        """Return the numbers of the best allowed rows, and of what is always there.

        others: whether to add as many of the best rows that are not allowed.
        """
        chosen = np.isin(self.rows.n, self.always) & self.rows.open
        chosen[_best_numbers(scores, allowed, most)] = True
        if others:
            chosen[_best_numbers(scores, ~allowed, most)] = True
        return [int(n) for n in self.rows.n[chosen]]


class QuestionRows(NamedTuple):
    """What is scored for a question.

    Attributes:
        part: the rows. read: the same by number, and rows that were forgotten.
        resting: numbers of those that rest on others. spread: of the signals over the namespace.
        contents: of the rows, by id.
    """

    part: PartialView
    read: dict[int, IndexRow]
    resting: list[int]
    spread: dict[str, Spread]
    contents: dict[str, SurroundingRow]


async def gather(
    store: SearchableStore,
    namespace: Namespace,
    large: LargeNamespace,
    question: Question,
    open_: OpenRows,
    always: tuple[str, ...],
    reach: Reach, session_gap: int, of_model: Callable[[list[IndexRow]], list[IndexRow]], *, narrow: bool,
    restored: RestoredRows | None = None,
) -> tuple[SearchRows, QuestionRows]:  # fmt: skip
    """Look for candidates, and read the best of them with what stands around them and rests on them.

    Args:
        always: categories that are there whatever is asked. of_model: returns rows with the signals of the model.
        narrow: whether filters may leave little.
        restored: rows that changed since the moment that is asked about.
    """
    legs = plan_legs(question, large.whole, open_, always, reach, narrow=narrow)
    found, sampled = await asyncio.gather(
        store.look(namespace, legs), _run_beside(measure_sample, question, large.view, large.whole)
    )
    newest, always_there = unpack_rows(found.newest), unpack_rows(found.always)
    legs_found = (found.near, found.holding, found.timely, found.filtered)
    then = [] if restored is None else [restored.found()]
    rows = merge_rows([*map(unpack_rows, legs_found), newest, always_there, *then])
    alone = np.full(len(rows), -1, np.int64)
    first = _view(rows, large, question, Links(alone, alone, 0))
    met = np.isin(large.index.order, rows.n)
    closeness = measure_closeness(replace(question, pieces=None), first)
    spread = measure_question(question, sampled, large.view, large.whole, first, closeness.words.bm25, met)
    best, leading = _order_by_closeness(closeness, spread), _best_by_signal(closeness, rows.open)
    seeds = _seeds(rows, best, reach, _find_around(large.whole, reach))
    kept = np.concatenate([best[: reach.kept], np.flatnonzero(np.isin(rows.n, always_there.n)), leading])
    near = await store.surround(namespace, rows.n[np.unique(kept)].tolist(), seeds, open_)
    resting = [found.row.n for found in near.resting]
    contents = {found.row.id: found for found in (*near.resting, *near.rows) if found.row.live}
    both = [(found.row, found.is_open) for found in (*near.resting, *near.rows)]
    if restored is not None:
        resting += restored.find_resting(found.row for found in near.rows)
        both += zip(restored.rows, restored.open, strict=True)
    rows, read = join_surroundings(both, of_model)
    links = link_rows(rows, {n: count for _, n, count in seeds}, session_gap)
    part = PartialView(rows, always_there.n, _view(rows, large, question, links))
    return found, QuestionRows(part, read, resting, spread, contents)


async def _run_beside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run work in a thread while the store works: a moment later, so that the store's threads send first."""
    await asyncio.sleep(SEND_SECONDS)
    return await asyncio.to_thread(work, *args, **kwargs)


def join_surroundings(
    found: Iterable[tuple[IndexRow, bool]], of_model: Callable[[list[IndexRow]], list[IndexRow]]
) -> tuple[FoundRows, dict[int, IndexRow]]:
    """Return the active rows in the order of writing, and all rows by number.

    Args:
        found: rows, and whether each is open. The last of several counts.
        of_model: returns rows with the signals of the model that questions are encoded with.
    """
    both = {row.n: (row, is_open) for row, is_open in found}
    numbers = sorted(both)
    own = of_model([both[n][0] for n in numbers])
    live = [place for place, row in enumerate(own) if row.live]
    rows = found_rows([own[place] for place in live], [both[numbers[place]][1] for place in live])
    return rows, dict(zip(numbers, own, strict=True))


def link_rows(rows: FoundRows, seeds: Mapping[int, int], session_gap: int) -> Links:
    """Return sessions of some rows of a namespace, and the turns before them where those are at hand.

    Args:
        seeds: number of a row -> number of rows before and after it in its thread that are at hand, too.
    """
    threads = encode_codes(rows.threads)
    in_thread = threads > 0
    links = derive_links(rows.n, threads, rows.said, rows.turn & in_thread, in_thread & ~rows.turn, session_gap)
    order = np.lexsort((rows.n, threads))
    run = np.cumsum(~_follows_directly(rows.n[order], threads[order], seeds))
    run_of = np.empty(len(rows), np.int64)
    run_of[order] = run
    previous = np.where(run_of[links.previous] == run_of, links.previous, -1)
    return replace(links, previous=previous)


def _follows_directly(n: Ints, threads: npt.NDArray[np.int32], seeds: Mapping[int, int]) -> Mask:
    """Return which rows follow the row before them in their thread without a gap. n, threads: in order of thread."""
    begins = np.searchsorted(threads, threads, "left")
    ends = np.searchsorted(threads, threads, "right")
    at = np.flatnonzero(np.isin(n, np.fromiter(seeds, np.int64, len(seeds))))
    reach = np.array([seeds[int(number)] for number in n[at]], np.int64)
    covered = np.zeros(len(n) + 2, np.int64)
    np.add.at(covered, np.maximum(at - reach, begins[at]) + 1, 1)
    np.add.at(covered, np.minimum(at + reach, ends[at] - 1) + 1, -1)
    return np.asarray(np.cumsum(covered)[: len(n)] > 0, np.bool_)


def plan_legs(
    question: Question, whole: NamespaceDigest, open_: OpenRows, always: tuple[str, ...], reach: Reach, *, narrow: bool
) -> SearchLegs:
    """Return where to look for a question."""
    vector = None if question.vector is None else question.whole_vector.astype("<f2").tobytes()
    return SearchLegs(
        open=open_,
        vector=vector,
        near=reach.near if vector is not None else 0,
        words=word_query(question.terms, whole, reach.holding, question.form_ids),
        holding=2 * reach.holding,
        newest=reach.newest,
        times=_asked_spans(question, whole),
        in_time=reach.in_time,
        always=always,
        filtered=reach.filtered if narrow else 0,
    )


def word_query(
    terms: Sequence[int],
    whole: NamespaceDigest,
    most: int,
    forms: Mapping[int, Sequence[int]] = MappingProxyType({}),
) -> str:
    """Return a tsquery that about ``most`` rows fulfil at most: rare words alone, common words only together.

    The rows that hold a rare word are few, and it weighs much; rows that hold only common words are worth a look when
    they hold several of them. Empty for no words. forms: see :func:`memwarden.recall.rank.bm25.find_word`.
    """
    share = {term: max(whole.holding(term, 0), 1) / max(whole.alive, 1) for term in terms}
    rarest = sorted(share, key=share.__getitem__)[:MAX_WORDS]
    chosen: list[frozenset[int]] = []
    left = float(most)
    for size in range(1, len(rarest) + 1):
        for together in combinations(rarest, size):
            some = frozenset(together)
            if any(item <= some for item in chosen):
                continue
            expected = whole.alive * prod([share[term] for term in some]) * CO_OCCURRENCE ** (size - 1)
            if expected <= left:
                chosen.append(some)
                left -= expected
    if not chosen and rarest:
        chosen.append(frozenset(rarest))

    def either(term: int) -> str:
        ids = [format_term(item) for item in (term, *forms.get(term, ()))]
        return ids[0] if len(ids) == 1 else f"({' | '.join(ids)})"

    return " | ".join("(" + " & ".join(sorted(map(either, some))) + ")" for some in chosen)


def open_rows(where: Where, without: int, *, cards: bool) -> OpenRows:
    """Return which rows may be in an answer: those that fulfil the conditions and have none of the flags."""
    return OpenRows(where, cards, without)


def add_details(part: PartialView, rows: Mapping[int, IndexRow], width: int | None, *, stating: bool) -> NamespaceView:
    """Return the part's view with what was read of some rows, by their number.

    width: of a word piece's vector; None for no word pieces. stating: whether what they state counts.
    """
    view = copy(part.view)
    read = [rows.get(n) for n in part.rows.n.tolist()]
    view.by_model = np.array([row is not None and row.role == "assistant" for row in read], np.bool_)
    view.__dict__.pop("from_person", None)  # worked out before anybody's role was known
    if width is not None:
        view.passages = _add_pieces(view.passages, read, width)
        view.__dict__.pop("piece_starts", None)
    if stating:
        view.statements = StatementTable()
        view.statements.extend(0, [None if row is None else row.statements for row in read])
    return view


def _add_pieces(passages: Passages, read: Sequence[IndexRow | None], width: int) -> Passages:
    """Return passages with the word pieces of the rows that were read. width: of a word piece's vector."""
    blobs: list[bytes] = []
    for row, count in zip(read, np.diff(passages.starts).tolist(), strict=True):
        divided = [b""] if row is None else divide_rows([row.terms], [None], [row.pieces], [row.passages], 0).pieces
        # A row that was changed meanwhile may have other passages.
        blobs += divided if len(divided) == count else [b""] * count
    starts = np.concatenate([[0], np.cumsum([len(blob) // width for blob in blobs])]).astype(np.int64)
    return replace(passages, pieces=np.frombuffer(b"".join(blobs), np.int8).reshape(-1, width), piece_starts=starts)


def rank_on_index(index: NamespaceIndex, part: PartialView, ranking: Ranking) -> Ranking:
    """Translate a ranking of a part to the places of an index of some of its rows."""
    at = np.array([part.place(n) for n in index.order.tolist()], np.int64)
    parts = tuple(part._replace(values=part.values[at]) for part in ranking.parts)
    steps = tuple((name, moved[at]) for name, moved in ranking.adjusted.steps)
    passages = tuple(ranking.passage_of(int(place)) for place in at)
    adjusted = AdjustedScores(
        ranking.adjusted.total[at] if len(ranking.adjusted.total) else ranking.adjusted.total, steps
    )
    return replace(ranking, scores=ranking.scores[at], parts=parts, adjusted=adjusted, passages=passages)


def _asked_spans(question: Question, whole: NamespaceDigest) -> tuple[tuple[int, int], ...]:
    spans = [(day_number(span.first) * _DAY, (day_number(span.last) + 1) * _DAY - 1) for span in question.asked_days]
    for date in question.dates:
        spans += _spans_of_date(date, whole)
    return tuple(dict.fromkeys(spans))[:MAX_SPANS]


def _spans_of_date(date: Date, whole: NamespaceDigest) -> list[tuple[int, int]]:
    """Return the spans of a named date; without a year, in each of the namespace's last years."""
    year, month, day = date
    if whole.clock is None:
        return []
    first, last = (moment(said).year for said in whole.clock)
    years = [year] if year is not None else range(last, max(first, last - 2) - 1, -1)
    return [_month_span(year, month, day) for year in years]


def _month_span(year: int, month: int | None, day: int | None) -> tuple[int, int]:
    begin = np.datetime64(f"{year:04}-{month or 1:02}", "M")
    end = begin + np.timedelta64(1 if month else 12, "M")
    days = [int(item.astype("datetime64[D]").astype(np.int64)) for item in (begin, end)]
    if day is not None and month:
        days = [days[0] + day - 1, days[0] + day]
    return days[0] * _DAY, days[1] * _DAY - 1


def _find_around(whole: NamespaceDigest, reach: Reach) -> int:
    """So many turns as a session has, within limits."""
    return max(2, min(reach.around, round(whole.alive / max(whole.sessions, 1))))


def _order_by_closeness(closeness: Closeness, spread: Mapping[str, Spread]) -> Ints:
    """Return the places of a view, those closest to a question first."""
    total = np.zeros(len(closeness.words.bm25), np.float32)
    for name, weight in CLOSENESS[closeness.kind].items():
        if name in closeness.places:
            total += np.float32(weight / spread[name].deviation) * closeness.places[name]
    return np.argsort(-total, kind="stable")


def _best_by_signal(closeness: Closeness, allowed: Mask) -> Ints:
    """Return the allowed place with the largest value of each signal."""
    places = np.flatnonzero(allowed)
    signals = (*closeness.places.values(), closeness.words.own)
    return np.array([places[np.argmax(values[places])] for values in signals if len(places)], np.int64)


def _seeds(rows: FoundRows, best: Ints, reach: Reach, around: int) -> list[tuple[str, int, int]]:
    """Return the best rows by themselves, as (thread, number, number of turns before and after).

    Args:
        best: places of rows, best first. around: number of turns before and after the first of them.
    """
    counts = [around] * reach.seeds + [1] * reach.neighboured
    return [
        (thread, int(rows.n[place]), count)
        for place, count in zip(best[: reach.neighboured].tolist(), counts, strict=False)
        if (thread := rows.threads[place]) is not None
    ]


def _best_numbers(scores: Floats, mask: Mask, most: int) -> Ints:
    places = np.flatnonzero(mask)
    return places[np.argsort(-scores[places], kind="stable")[:most]]


def _view(rows: FoundRows, large: LargeNamespace, question: Question, links: Links) -> NamespaceView:
    """Return the features' view of some rows."""
    passages = _passages(rows, question)
    places, days = unpack_spans(rows.days)
    names = large.index.columns.coded["name"]
    code = {name: names.code(name) for name in dict.fromkeys(rows.names)}
    view = NamespaceView(
        passages=passages,
        postings=_by_place(passages),
        length=np.add.reduceat(passages.length, passages.first) if len(rows) else passages.length,
        previous=links.previous,
        session=links.session,
        sessions=links.sessions,
        turns=rows.turn,
        speaker=np.fromiter(map(code.__getitem__, rows.names), np.int32, len(rows)),
        speakers=large.view.speakers,
        flags=rows.flags,
        created_at=rows.said,
        offsets=rows.offsets,
        day_places=places,
        days=days,
        statements=None,
        live=np.ones(len(rows), np.bool_),
        related=None,
        preset=large.whole.preset,
        whole=large.whole,
        second=_multilingual_side(passages),
    )
    view.mean_passage_length, view.short_share = large.mean_passage_length, large.short_share
    return view


def _passages(rows: FoundRows, question: Question) -> Passages:
    """Return the passages of rows, with the words of a question."""
    width = rows.vectors.shape[1]
    whole = np.fromiter(map(len, rows.terms), np.int64, len(rows)) // 4
    divisions = read_divisions(rows.passages, whole, 2 * width)
    counts = np.ones(len(rows), np.int64)
    counts[divisions.places] = divisions.counts
    starts = np.concatenate([[0], np.cumsum(counts)])
    owners = np.repeat(np.arange(len(rows), dtype=np.int32), counts)
    is_long = np.zeros(len(rows), np.bool_)
    is_long[divisions.places] = True
    sizes = whole[owners]
    sizes[is_long[owners]] = divisions.sizes
    # Without its own vector a passage counts by that of the first.
    vectors = rows.vectors.astype(np.float32)[owners]
    for place, others in divisions.vectors.items():
        vectors[starts[place] + 1 : starts[place + 1]] = others
    ids = np.frombuffer(b"".join(rows.terms), "<u4")
    return Passages(
        owners,
        starts,
        count_ids(ids, sizes),
        _postings(ids, sizes, _looked_up(question)),
        partial(np.isin, test_elements=ids),
        *_sides(vectors, question),
        None,
        np.zeros(int(starts[-1]) + 1, np.int64),
    )


class Divisions(NamedTuple):
    """How long texts are divided into passages.

    Attributes:
        places: of the texts that have more than one passage, ascending. counts: number of passages of each.
        sizes: number of terms of each passage, those of all texts one after the other.
        vectors: by place, those of all passages but the first, where they were read.
    """

    places: Ints
    counts: Ints
    sizes: Ints
    vectors: dict[int, Halves]


def read_divisions(blobs: Sequence[bytes | None], terms: Ints, size: int) -> Divisions:
    """Read divisions. Texts that count as one passage are left out.

    Args:
        blobs: stored divisions, perhaps only their beginnings; None for short texts.
        terms: number of terms of each text. size: bytes of a vector.
    """
    stored = [blob for blob in blobs if blob]
    lengths = np.fromiter(map(len, stored), np.int64, len(stored))
    joined = np.frombuffer(b"".join(stored), np.uint8)
    begins = np.cumsum(lengths) - lengths
    counts = joined[begins] | joined[begins + 1].astype(np.int64) << 8
    held = (counts > 0) & (lengths >= 2 + 4 * counts)
    if not held.any():
        none = np.zeros(0, np.int64)
        return Divisions(none, none, none, {})
    places = np.flatnonzero([bool(blob) for blob in blobs])[held]
    begins, counts, lengths = begins[held], counts[held], lengths[held]
    ends = 4 * np.cumsum(counts)
    steps = np.arange(ends[-1]) + np.repeat(begins + 2 - (ends - 4 * counts), 4 * counts)
    sizes = joined[steps].view("<u4").astype(np.int64)
    fits = np.add.reduceat(sizes, np.cumsum(counts) - counts) == terms[places]
    if not fits.all():
        sizes = sizes[np.repeat(fits, counts)]
        places, counts, lengths = places[fits], counts[fits], lengths[fits]
    vectors = {}
    if size:
        whole = lengths == 2 + 6 * counts + (counts - 1) * size
        for place, count in zip(places[whole].tolist(), counts[whole].tolist(), strict=True):
            halves = np.frombuffer(blobs[place] or b"", "<f2", offset=2 + 6 * count)
            vectors[place] = halves.reshape(count - 1, size // 2)
    return Divisions(places, counts, sizes, vectors)


def _by_place(passages: Passages) -> Callable[[int], tuple[Places, Counts]]:
    """Return the places that hold a term, and how often."""
    return lambda term: sum_by_place(*passages.postings(term), passages.owners)


def _sides(vectors: Floats, question: Question) -> tuple[Floats | None, Floats | None]:
    """The vectors by side; None where the question has none."""
    if question.vector is None:
        return None, None
    first = len(question.vector)
    both = vectors
    width = first + (0 if question.second is None else len(question.second))
    if vectors.shape[1] != width:
        both = np.zeros((len(vectors), width), np.float32)
    if question.second is None:
        return both, None
    return unit_rows(both[:, :first]), unit_rows(both[:, first:])


def _multilingual_side(passages: Passages) -> MultilingualSide | None:
    second = passages.second
    return None if second is None else MultilingualSide(second, said_norms(second), report_chances(second))


def _looked_up(question: Question) -> list[int]:
    """Return the term ids of a question's words in all forms."""
    return [item for term in question.terms for item in (term, *question.form_ids[term])]


def _postings(ids: TermIds, sizes: Ints, terms: Sequence[int]) -> Callable[[int], tuple[Places, Counts]]:
    """Return which passages hold each of the question's terms, and how often.

    Args:
        ids: term ids of all passages, one after the other. sizes: number of each.
    """
    asked = np.array(sorted(set(terms)), np.uint32)
    # Most ids are of other words: a table of their last bits drops them faster than a search.
    known = np.zeros(1 << 16, np.bool_)
    known[asked & 0xFFFF] = True
    hits = np.flatnonzero(known.take(ids.view("<u2")[::2]))
    at = asked.searchsorted(ids[hits])
    at[at == len(asked)] = 0
    exact = asked[at] == ids[hits] if len(asked) else np.zeros(0, np.bool_)
    hits, at = hits[exact], at[exact]
    passages = np.cumsum(sizes).searchsorted(hits, "right")
    keys, counts = np.unique(at * np.int64(len(sizes) + 1) + passages, return_counts=True)
    begins = keys.searchsorted(np.arange(len(asked) + 1) * np.int64(len(sizes) + 1))
    places = (keys % (len(sizes) + 1)).astype(np.int32)
    found = {
        term: (places[start:end], counts[start:end].astype(np.float32))
        for term, start, end in zip(asked.tolist(), begins[:-1].tolist(), begins[1:].tolist(), strict=True)
    }
    nowhere = np.zeros(0, np.int32), np.zeros(0, np.float32)
    return lambda term: found.get(term, nowhere)


async def find_echoes(
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]],
    part: PartialView,
    said: Sequence[str],
    words: Sequence[Sequence[int]],
) -> list[int]:
    """Return the places of a part that only repeat what stands in the prompt. words: the term ids of each text."""
    found = [
        (place, normalize_text(text)) for text, ids in zip(said, words, strict=True) for place in part.same_words(ids)
    ]
    if not found:
        return []
    stored = await read(list(dict.fromkeys(part.rows.ids[place] for place, _ in found)))
    texts = {memory.id: normalize_text(memory.text) for memory in stored}
    return [place for place, text in dict.fromkeys(found) if texts.get(part.rows.ids[place]) == text]
