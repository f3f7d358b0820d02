"""Columns of a namespace in RAM: filters, postings of words, named days, typed statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from memwarden import filters
from memwarden.clock import UNSET, microseconds
from memwarden.models.products import multiply
from memwarden.statements.reader import QuestionReading, attribute_code, load_weights, with_other_keys
from memwarden.statements.statement import ANYBODY, NO_DAY, NONE, PackedStatement, unpack
from memwarden.statements.wording import SELF
from memwarden.text.tokenizer import SURFACE_BIT

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

CODED = (
    "channel", "kind", "category", "tags", "characters", "source", "role", "name", "user_id", "agent_id", "run_id",
    "actor_id", "thread_id", "trust",
)  # fmt: skip
NUMBERS = {
    "importance": np.float64,
    "pinned": np.bool_,
    "created_at": np.int64,
    "updated_at": np.int64,
    "utc_offset": np.int16,
    "valid_from": np.int64,
    "valid_to": np.int64,
}
_MAYBE_UNSET = ("valid_from", "valid_to")


class GrowingArray:
    """A numpy array that rows are appended to; its memory doubles when it is full."""

    def __init__(self, dtype: npt.DTypeLike, width: int | None = None) -> None:
        shape = (16,) if width is None else (16, width)
        self._space: npt.NDArray[Any] = np.zeros(shape, dtype=dtype)
        self._size = 0

    def extend(self, values: npt.ArrayLike) -> None:
        added = np.asarray(values, dtype=self._space.dtype)
        wanted = self._size + len(added)
        if wanted > len(self._space):
            space = np.zeros((max(wanted, 2 * len(self._space)), *self._space.shape[1:]), dtype=self._space.dtype)
            space[: self._size] = self.array
            self._space = space
        self._space[self._size : wanted] = added
        self._size = wanted

    @property
    def array(self) -> npt.NDArray[Any]:
        """The rows so far; a view, good until the next append."""
        return self._space[: self._size]

    @property
    def nbytes(self) -> int:
        return int(self._space.nbytes)


class CodedColumn:
    """A column of few distinct values: a code a row and the list of values. A filter is answered a value at a time."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._code_of: dict[Hashable, int] = {}
        self._codes = GrowingArray(np.int32)

    def extend(self, values: tuple[Any, ...]) -> None:
        if values and values.count(values[0]) == len(values):  # as most columns are
            self._codes.extend(np.full(len(values), self.code(values[0]), np.int32))
            return
        for value in dict.fromkeys(values):
            self.code(value)
        self._codes.extend(np.fromiter(map(self._code_of.__getitem__, values), np.int32, len(values)))

    def code(self, value: Hashable) -> int:
        """Return the code of a value, a fresh code if the value is new."""
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
        return code

    def mask(self, condition: filters.Condition) -> Mask:
        holds = np.fromiter((filters.holds(condition, value) for value in self.values), np.bool_, len(self.values))
        return holds[self.codes]

    @property
    def codes(self) -> npt.NDArray[np.int32]:
        return self._codes.array

    @property
    def nbytes(self) -> int:
        return self._codes.nbytes + 120 * len(self.values)


class Columns:
    """Columns of all :data:`memwarden.filters.FIELDS`, a row for each memory version in order of arrival."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.coded = {name: CodedColumn() for name in CODED}
        self._numbers = {name: GrowingArray(dtype) for name, dtype in NUMBERS.items()}

    def extend(self, columns: dict[str, tuple[Any, ...]]) -> None:
        """Append rows, given as a tuple of values for each column."""
        self.ids.extend(columns["id"])
        for name, coded in self.coded.items():
            coded.extend(columns[name])
        for name, growing in self._numbers.items():
            values = columns[name]
            growing.extend([UNSET if value is None else value for value in values] if name in _MAYBE_UNSET else values)

    def number(self, name: str) -> npt.NDArray[Any]:
        return self._numbers[name].array

    def value(self, field: str, place: int) -> Any:
        """Return the value of a field of :data:`memwarden.filters.FIELDS`, times in microseconds; None for unset."""
        if field == "id":
            return self.ids[place]
        if field in self.coded:
            return self.coded[field].values[self.coded[field].codes[place]]
        value = self._numbers[field].array[place].item()
        return None if field in _MAYBE_UNSET and value == UNSET else value

    def mask(self, where: filters.Where) -> Mask:
        """Return which rows fulfil every condition."""
        result = np.ones(len(self.ids), dtype=np.bool_)
        for condition in where:
            result &= self._holds(condition)
        return result

    def _holds(self, condition: filters.Condition) -> Mask:
        if condition.field == "id":
            return np.fromiter((filters.holds(condition, item) for item in self.ids), np.bool_, len(self.ids))
        if condition.field in self.coded:
            return self.coded[condition.field].mask(condition)
        return _number_holds(self.number(condition.field), condition)

    @property
    def nbytes(self) -> int:
        return (
            100 * len(self.ids)
            + sum(item.nbytes for item in self.coded.values())
            + sum(number.nbytes for number in self._numbers.values())
        )


def _number_holds(values: npt.NDArray[Any], condition: filters.Condition) -> Mask:
    wanted = _stored_value(condition.field, condition.value)
    if condition.op == "$in":
        return np.isin(values, np.array(wanted, dtype=values.dtype))
    if condition.op == "$eq":
        return np.asarray(values == wanted, dtype=np.bool_)
    if condition.op == "$ne":
        return np.asarray(values != wanted, dtype=np.bool_)
    if condition.op == filters.UNSET_OR_AFTER:
        return np.asarray((values == UNSET) | (values > wanted), dtype=np.bool_)
    compare = {"$gt": np.greater, "$gte": np.greater_equal, "$lt": np.less, "$lte": np.less_equal}[condition.op]
    result = compare(values, wanted)
    return np.asarray(result & (values != UNSET) if condition.field in _MAYBE_UNSET else result, dtype=np.bool_)


def _stored_value(field: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_stored_value(field, item) for item in value)
    if filters.FIELDS[field] == filters.TIME:
        return UNSET if value is None else microseconds(value)
    if value is None:
        return float("nan")  # importance and pinned are never unset: equal to nothing, unequal to everything
    return value


Rows = npt.NDArray[np.int32]
Counts = npt.NDArray[np.float32]
TermIds = npt.NDArray[np.uint32]

_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
_NO_COUNTS: Counts = np.zeros(0, dtype=np.float32)
# Below this many rows since the last merge the dictionary answers; a merge sorts everything (0.1 s at 100,000 rows).
TAIL_ROWS = 2_000
BULK_ROWS = 64
# Rows that wait until a term is looked up. More are added at once, in the thread that builds an index.
MAX_DEFERRED = 500
# So many terms that were looked up are known without looking again.
MAX_LOOKED_UP = 256


class Postings:
    """The inverted index of a namespace. Rows are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self._terms: TermIds = np.zeros(0, dtype=np.uint32)
        self._starts: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._rows = _NO_ROWS
        self._counts = _NO_COUNTS
        # Parts of the arrays above: a question asks three times for each of its words.
        self._looked_up: dict[int, tuple[Rows, Counts]] = {}
        self._tail: dict[int, tuple[list[int], list[int]]] = {}
        self._tail_rows = 0
        # Rows that are added when a term is first looked up: the best of a large namespace are never looked up.
        self._deferred: list[tuple[int, tuple[bytes, ...]]] = []
        self._settling = Lock()

    def extend(self, first_row: int, texts: tuple[bytes, ...]) -> None:
        """Add rows ``first_row``, ``first_row + 1``, ... with their term ids (little-endian uint32)."""
        self._deferred.append((first_row, texts))
        if sum(len(texts) for _, texts in self._deferred) > MAX_DEFERRED:
            self._settle()

    def _settle(self) -> None:
        """Add the deferred rows."""
        with self._settling:
            for first_row, texts in self._deferred:
                self._add(first_row, texts)
            self._deferred = []

    def _add(self, first_row: int, texts: tuple[bytes, ...]) -> None:
        if len(texts) > BULK_ROWS:
            self._merge(*flatten_terms(first_row, texts))
            return
        for row, text in enumerate(texts, first_row):
            for term, count in Counter(np.frombuffer(text, dtype="<u4").tolist()).items():
                self._looked_up.pop(term, None)
                rows, counts = self._tail.setdefault(term, ([], []))
                rows.append(row)
                counts.append(count)
        self._tail_rows += len(texts)
        if self._tail_rows > TAIL_ROWS:
            self._merge(*flatten_terms(0, ()))

    def of(self, term: int) -> tuple[Rows, Counts]:
        """Return the rows that hold a term, ascending, and how often each does."""
        if self._deferred:
            self._settle()
        held = self._looked_up.get(term)
        if held is None:
            if len(self._looked_up) >= MAX_LOOKED_UP:
                self._looked_up.clear()
            held = self._looked_up[term] = self._look_up(term)
        return held

    def holds(self, terms: TermIds) -> Mask:
        """Return which terms any row holds."""
        if self._deferred:
            self._settle()
        places = np.minimum(self._terms.searchsorted(terms), max(len(self._terms) - 1, 0))
        merged = self._terms[places] == terms if len(self._terms) else np.zeros(len(terms), np.bool_)
        if not self._tail:
            return merged
        return merged | np.fromiter(map(self._tail.__contains__, terms.tolist()), np.bool_, len(terms))

    @property
    def nbytes(self) -> int:
        if self._deferred:
            self._settle()
        arrays = (self._terms, self._starts, self._rows, self._counts)
        return sum(array.nbytes for array in arrays) + 200 * len(self._tail)

    def _look_up(self, term: int) -> tuple[Rows, Counts]:
        place = int(self._terms.searchsorted(np.uint32(term)))
        rows, counts = _NO_ROWS, _NO_COUNTS
        if place < len(self._terms) and self._terms[place] == term:
            found = slice(self._starts[place], self._starts[place + 1])
            rows, counts = self._rows[found], self._counts[found]
        if term in self._tail:
            more_rows, more_counts = self._tail[term]
            rows = np.concatenate([rows, np.array(more_rows, dtype=np.int32)])
            counts = np.concatenate([counts, np.array(more_counts, dtype=np.float32)])
        return rows, counts

    def _merge(self, terms: TermIds, rows: Rows, counts: Counts) -> None:
        """Rebuild the sorted arrays from themselves, the dictionary and new sorted triples (term, row, count)."""
        if not len(self._rows) and not self._tail:
            self._take_sorted(terms, rows, counts)
            return
        tail = [(term, row, n) for term, (rs, ns) in self._tail.items() for row, n in zip(rs, ns, strict=True)]
        tail_terms, tail_rows, tail_counts = np.array(tail, dtype=np.int64).reshape(-1, 3).T
        all_terms = np.concatenate([np.repeat(self._terms, np.diff(self._starts)), tail_terms.astype(np.uint32), terms])
        all_rows = np.concatenate([self._rows, tail_rows.astype(np.int32), rows])
        all_counts = np.concatenate([self._counts, tail_counts.astype(np.float32), counts])
        order = np.argsort((all_terms.astype(np.uint64) << np.uint64(32)) | all_rows.astype(np.uint64), kind="stable")
        self._take_sorted(all_terms[order], all_rows[order], all_counts[order])
        self._tail, self._tail_rows = {}, 0

    def _take_sorted(self, terms: TermIds, rows: Rows, counts: Counts) -> None:
        """Hold these triples, which are in the order of terms and rows, and no others."""
        starts = np.flatnonzero(np.append(True, terms[1:] != terms[:-1])) if len(terms) else np.zeros(0, np.int64)
        self._terms, self._starts = terms[starts], np.append(starts, len(terms)).astype(np.int64)
        self._rows, self._counts = rows, counts
        self._looked_up.clear()


def count_stems(texts: Sequence[bytes]) -> Counts:
    """Number of stems of each text: its term ids without those of surface forms."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts)) // 4
    return count_ids(np.frombuffer(b"".join(texts), dtype="<u4"), sizes)


def count_ids(ids: TermIds, sizes: Ints) -> Counts:
    """Return the number of stems of each text. ids: of all texts, one after the other. sizes: number of ids of each."""
    stems = np.zeros(len(sizes), np.float32)
    worded = np.flatnonzero(sizes)
    if len(worded):
        begins = np.cumsum(sizes) - sizes
        stems[worded] = np.add.reduceat((ids < SURFACE_BIT).view(np.int8), begins[worded], dtype=np.int32)
    return stems


def flatten_terms(first_row: int, texts: tuple[bytes, ...]) -> tuple[TermIds, Rows, Counts]:
    """Distinct (term, row) pairs of many texts and how often each occurs."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) // 4
    terms = np.frombuffer(b"".join(texts), dtype="<u4").astype(np.uint64)
    rows = np.repeat(np.arange(first_row, first_row + len(texts), dtype=np.uint64), lengths)
    pairs, counts = np.unique((terms << np.uint64(32)) | rows, return_counts=True)
    return (
        (pairs >> np.uint64(32)).astype(np.uint32),
        pairs.astype(np.uint32).astype(np.int32),
        counts.astype(np.float32),
    )


# A part of a text tells what the whole tells where it is nearly as sure.
NEARLY: Final = 0.7

_NONE_CODE: Final = attribute_code(NONE)


class TableRow(NamedTuple):
    """A statement of a text that an index holds.

    Attributes:
        code: of its likeliest attribute. chance: that the text states it, 0..1. sort: number in ``SORTS``.
        start, end: the place of its words in the text.
    """

    place: int
    code: int
    chance: float
    sort: int
    subjects: tuple[str, ...]
    start: int
    end: int


def _number_distinct(values: npt.NDArray[np.signedinteger[Any]], size: int) -> tuple[Ints, Ints]:
    """Return the distinct values, ascending, and the place of each value among them. values: below ``size``."""
    present = np.zeros(size, np.bool_)
    present[values] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[values]


_NOBODY: Final = frozenset[str]()


def _people_of(statements: Sequence[PackedStatement]) -> frozenset[str]:
    """Return the keys of the people that statements are about."""
    if not statements:
        return _NOBODY
    return frozenset(key for each in statements if each.subject for key in each.subject.split("+"))


class StatementTable:
    """Statements in the order of arrival of their texts; a text has several or none."""

    def __init__(self) -> None:
        self._place = GrowingArray(np.int64)
        self._codes = GrowingArray(np.uint32, 3)
        self._chances = GrowingArray(np.uint8, 3)
        self._states = GrowingArray(np.uint8)
        self._changes = GrowingArray(np.uint8)
        self._typical = GrowingArray(np.uint8)
        self._sort = GrowingArray(np.uint8)
        self._of_others = GrowingArray(np.bool_)
        self._spans = GrowingArray(np.uint16, 2)
        self._held = GrowingArray(np.int32, 2)
        self._subject = GrowingArray(np.int32)
        self._columns = GrowingArray(np.int32, 3)
        # Keys of the people that each text is about, all of its statements together.
        self._people = CodedColumn()
        self._subjects: list[tuple[str, ...]] = []
        self._of_anybody: list[int] = []
        self._of_several_keys: list[tuple[str, ...]] = []
        self._subject_of: dict[str, int] = {}
        self._with_key: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._place.array)

    @property
    def nbytes(self) -> int:
        """About how much memory the statements take."""
        numbers = (
            *(self._codes, self._chances, self._states),
            *(self._changes, self._typical, self._sort, self._spans, self._held),
        )
        arrays = sum(array.nbytes for array in (*numbers, self._place, self._subject, self._people, self._of_others))
        return arrays + 100 * len(self._subjects)

    def extend(self, first: int, packed: Sequence[bytes | None]) -> None:
        """Take in the statements of the texts at the places from ``first`` on. Places come in order, without gaps."""
        texts = [unpack(blob) if blob else [] for blob in packed]
        self._people.extend(tuple(map(_people_of, texts)))
        rows = [(place, each) for place, statements in enumerate(texts, first) for each in statements]
        if not rows:
            return
        self._place.extend([place for place, _ in rows])
        self._codes.extend(np.array([each.attributes for _, each in rows], np.uint32))
        self._chances.extend(np.array([each.chances for _, each in rows], np.uint8))
        self._states.extend([each.states for _, each in rows])
        self._changes.extend([each.changes for _, each in rows])
        self._typical.extend([each.typical for _, each in rows])
        self._sort.extend([each.sort for _, each in rows])
        self._of_others.extend([each.of_others for _, each in rows])
        self._spans.extend(np.array([(each.start, each.end) for _, each in rows], np.uint16))
        days = [(each.since, NO_DAY if each.until is None else each.until) for _, each in rows]
        self._held.extend(np.array(days, np.int32))
        self._subject.extend([self._number_of(each.subject) for _, each in rows])

    def stated(self, place: int) -> list[PackedStatement]:
        """Return what the text at a place states, without the vectors."""
        start, end = (int(self._place.array.searchsorted(place, side=side)) for side in ("left", "right"))
        numbers = (self._states, self._changes, self._typical, self._sort)
        found = []
        for row in range(start, end):
            wide = (self._codes, self._chances, self._spans, self._held)
            codes, chances, spans, held = (column.array[row].tolist() for column in wide)
            figures = (int(column.array[row]) for column in numbers)
            subject = "+".join(self._subjects[int(self._subject.array[row])])
            days = (held[0], None if held[1] == NO_DAY else held[1])
            found.append(
                PackedStatement._make(
                    (
                        tuple(codes),
                        tuple(chances),
                        *figures,
                        *spans,
                        *days,
                        subject,
                        b"",
                        bool(self._of_others.array[row]),
                    )
                )
            )
        return found

    def are_apart(self, ones: Ints, others: Ints) -> Mask:
        """Return which pairs of texts are about different people; not where a text is about nobody known.

        ones, others: places of the pairs, in shapes that broadcast.
        """
        codes, groups = self._people.codes, self._people.values
        first, at_first = _number_distinct(codes[ones], len(groups))
        second, at_second = _number_distinct(codes[others], len(groups))
        pairs, at_pair = _number_distinct(at_first * len(second) + at_second, len(first) * len(second))
        sides = ((groups[first[pair // len(second)]], groups[second[pair % len(second)]]) for pair in pairs.tolist())
        return np.array([bool(a and b) and a.isdisjoint(b) for a, b in sides], np.bool_)[at_pair]

    def rows(self, allowed: Mask, least: float) -> list[TableRow]:
        """Return what the texts at allowed places state with at least a chance; of clauses in clauses the inner."""
        place = self._place.array
        inside = place < len(allowed)
        chance = self._states.array * (self._chances.array[:, 0] / np.float32(255**3)) * self._typical.array
        wanted = np.flatnonzero(inside & allowed[np.where(inside, place, 0)] & (chance >= least))
        inner: dict[tuple[int, int], TableRow] = {}
        found = [self._row(row, float(chance[row])) for row in wanted.tolist()]
        for each in sorted(found, key=lambda each: each.start - each.end):
            wider = inner.get((each.place, each.code))
            if wider is None or each.chance >= NEARLY * wider.chance:
                inner[each.place, each.code] = each
        return list(inner.values())

    def rows_about(self, allowed: Mask, keys: Sequence[str]) -> list[TableRow]:
        """Return what texts at allowed places state of somebody, however surely; of each the clause that begins so."""
        numbers = [number for key in keys for number in self._with_key.get(key, ())]
        found = [self._row(row, 0.0) for row in np.flatnonzero(np.isin(self._subject.array, numbers)).tolist()]
        ordered = sorted(found, key=lambda each: (-each.start, each.start - each.end))
        return list({each.place: each for each in ordered if allowed[each.place : each.place + 1].any()}.values())

    def _row(self, row: int, chance: float) -> TableRow:
        numbers = (self._place.array[row], self._codes.array[row, 0], self._sort.array[row], *self._spans.array[row])
        place, code, sort, start, end = map(int, numbers)
        return TableRow(place, code, chance, sort, self._subjects[int(self._subject.array[row])], start, end)

    def share_attribute(self, question: QuestionReading, size: int) -> Floats:
        """Return how much each of ``size`` places tells the attribute that a question asks for, 0..1.

        Only statements that may be of whom the question is about count.
        """
        rows = slice(int(self._place.array.searchsorted(size)))
        about = self._are_about(rows, question.subjects) | question.is_request
        return self._most_shared(question, rows, about, size)

    def are_of_others(self, question: QuestionReading, size: int) -> Mask:
        """Return which of ``size`` places tell only of somebody else than whom a question is about.

        So does a text of a named person, a relative or "she" where people ask about themselves.
        """
        rows, owner, starts = self._rows_of(size)
        found = np.zeros(size, np.bool_)
        if len(owner):
            found[owner[starts]] = np.logical_and.reduceat(self._tell_of_others(rows, question), starts)
        return found

    def share_of_others(self, question: QuestionReading, size: int) -> Floats:
        """Return how much more each place tells what is asked for of somebody else than of whom it is asked, 0..1."""
        rows = self._rows_of(size)[0]
        of_others = self._tell_of_others(rows, question)
        told = [self._most_shared(question, rows, one, size) for one in (of_others, ~of_others)]
        return np.asarray(np.maximum(told[0] - told[1], 0), np.float32)

    def _tell_of_others(self, rows: slice, question: QuestionReading) -> Mask:
        """Return whether each statement is surely about others than whom a question is about."""
        asked = question.subjects
        if not asked or ANYBODY in asked:
            return np.zeros(rows.stop, np.bool_)
        if SELF in asked:
            return self._of_others.array[rows]
        # The speaker is no sister. Of two other people one may have a second name.
        of_speaker = np.array([keys == (SELF,) for keys in self._subjects], np.bool_)
        return np.asarray(of_speaker[self._subject.array[rows]], np.bool_)

    def _rows_of(self, size: int) -> tuple[slice, Ints, Ints]:
        """Return the rows of the first places, the place of each, and where those of a place begin."""
        rows = slice(int(self._place.array.searchsorted(size)))
        owner = self._place.array[rows]
        return rows, owner, np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))

    def _most_shared(self, question: QuestionReading, rows: slice, counted: Mask, size: int) -> Floats:
        """Return for each of ``size`` places how much its best counted statement tells what is asked for."""
        shared = np.zeros(size, np.float32)
        _, owner, starts = self._rows_of(size)
        if len(owner):
            told = self._shared_attribute(rows, question.attributes) * counted
            shared[owner[starts]] = np.maximum.reduceat(told, starts)
        return shared

    def share_change(self, size: int) -> Floats:
        """Return the chance that each of ``size`` places states a change or an end, 0..1."""
        chances = np.zeros(size, np.float32)
        rows = slice(int(self._place.array.searchsorted(size)))
        np.maximum.at(chances, self._place.array[rows], self._changes.array[rows] / np.float32(255))
        return chances

    def _are_about(self, rows: slice, subjects: Sequence[str]) -> Mask:
        """Return whether each statement may be of whom a question is about."""
        asked = with_other_keys(subjects, self._of_several_keys)
        about = np.full(len(self._subjects), not asked or ANYBODY in asked)
        for numbers in (self._of_anybody, *(self._with_key.get(key, []) for key in asked)):
            about[numbers] = True
        return np.asarray(about[self._subject.array[rows]], np.bool_)

    def _shared_attribute(self, rows: slice, asked: Floats) -> Floats:
        """Return the overlap of what each statement tells and what is asked for, without "none"."""
        self._find_columns()
        # The last is for statements of an attribute without a column.
        told = np.append(asked, np.float32(0))[self._columns.array[rows]]
        return np.asarray(np.sqrt(told * self._chances.array[rows] / np.float32(255)).sum(axis=1), np.float32)

    def _find_columns(self) -> None:
        """Find the columns of the attributes of statements that came since the last question."""
        codes = self._codes.array[len(self._columns.array) :]
        if not len(codes):
            return
        weights = load_weights()
        order = np.argsort(weights.codes)
        places = order[np.minimum(np.searchsorted(weights.codes, codes, sorter=order), len(order) - 1)]
        known = (weights.codes[places] == codes) & (codes != _NONE_CODE)
        self._columns.extend(np.where(known, places, -1))

    def _number_of(self, key: str) -> int:
        number = self._subject_of.setdefault(key, len(self._subjects))
        if number == len(self._subjects):
            keys = tuple(key.split("+")) if key else ()
            self._subjects.append(keys)
            if not keys or ANYBODY in keys:
                self._of_anybody.append(number)
            if len(keys) > 1:
                self._of_several_keys.append(keys)
            for each in keys:
                self._with_key.setdefault(each, []).append(number)
        return number


class QuestionMaps(NamedTuple):
    """What was learned of questions and statements.

    Attributes:
        asked, said: (512, 512): for a question and for what was said.
        personal: (513,): how much a question asks about somebody's life rather than about the world; the last is the
            constant.
        reports: (513,): how far a message reports what is or was, rather than to plan, ask, want or chat; likewise.
    """

    asked: Floats
    said: Floats
    personal: Floats
    reports: Floats


@cache
def maps() -> QuestionMaps:
    """Return the maps that lie beside this module; loaded at first use (1 MB)."""
    with np.load(Path(__file__).with_name("question_maps.npz")) as stored:
        return QuestionMaps(*(stored[name].astype(np.float32) for name in QuestionMaps._fields))


# Vectors that two questions are held against while they are in the processor's cache: reading them takes the time.
HELD_ROWS: Final = 256


def cosine_and_closeness(asked: Floats, vectors: Floats, norms: Floats) -> tuple[Floats, Floats]:
    """Return the question's product with each vector, and the cosine of the mapped question and mapped vectors."""
    mapped = asked @ maps().asked
    mapped /= max(float(np.linalg.norm(mapped)), 1e-6)
    mapped = maps().said @ mapped
    near, adapted = np.empty((2, len(vectors)), np.float32)
    for start in range(0, len(vectors), HELD_ROWS):
        held = vectors[start : start + HELD_ROWS]
        np.matmul(held, asked, out=near[start : start + HELD_ROWS])
        np.matmul(held, mapped, out=adapted[start : start + HELD_ROWS])
    return near, adapted / norms


def report_chances(vectors: Floats) -> Floats:
    """Return for each vector the chance that its text reports what is or was."""
    learned = maps().reports
    return np.asarray(1 / (1 + np.exp(-(multiply(vectors, learned[:-1, None])[:, 0] + learned[-1]))), np.float32)


def personal(asked: Floats) -> float:
    """Return the logit that a question asks about somebody's life rather than about the world."""
    return float(asked @ maps().personal[:-1] + maps().personal[-1])
