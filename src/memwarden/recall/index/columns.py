"""Filter columns of a namespace in RAM: arrays that answer a filter with a mask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from memwarden import filters
from memwarden.clock import UNSET, microseconds
from memwarden.text.dates.calendar import DaySpan, day_number
from memwarden.text.tokenizer import SURFACE_BIT

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

_NO_ROWS: Rows = np.zeros(0, dtype=np.int32)
_NO_COUNTS: Counts = np.zeros(0, dtype=np.float32)
# Below this many rows since the last merge the dictionary answers; a merge sorts everything (0.1 s at 100,000 rows).
TAIL_ROWS = 2_000
BULK_ROWS = 64


class Postings:
    """The inverted index of a namespace. Rows are numbered in the order in which they are added."""

    def __init__(self) -> None:
        self._terms: npt.NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._starts: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._rows = _NO_ROWS
        self._counts = _NO_COUNTS
        self._tail: dict[int, tuple[list[int], list[int]]] = {}
        self._tail_rows = 0

    def extend(self, first_row: int, texts: tuple[bytes, ...]) -> None:
        """Add rows ``first_row``, ``first_row + 1``, ... with their term ids (little-endian uint32)."""
        if len(texts) > BULK_ROWS:
            self._merge(*flatten_terms(first_row, texts))
            return
        for row, text in enumerate(texts, first_row):
            for term, count in Counter(np.frombuffer(text, dtype="<u4").tolist()).items():
                rows, counts = self._tail.setdefault(term, ([], []))
                rows.append(row)
                counts.append(count)
        self._tail_rows += len(texts)
        if self._tail_rows > TAIL_ROWS:
            self._merge(*flatten_terms(0, ()))

    def of(self, term: int) -> tuple[Rows, Counts]:
        """Return the rows that hold a term, ascending, and how often each does."""
        rows, counts = self._bulk(term)
        if term not in self._tail:
            return rows, counts
        more_rows, more_counts = self._tail[term]
        return (
            np.concatenate([rows, np.array(more_rows, dtype=np.int32)]),
            np.concatenate([counts, np.array(more_counts, dtype=np.float32)]),
        )

    @property
    def nbytes(self) -> int:
        arrays = (self._terms, self._starts, self._rows, self._counts)
        return sum(array.nbytes for array in arrays) + 200 * len(self._tail)

    def _bulk(self, term: int) -> tuple[Rows, Counts]:
        place = int(self._terms.searchsorted(np.uint32(term)))
        if place == len(self._terms) or self._terms[place] != term:
            return _NO_ROWS, _NO_COUNTS
        found = slice(self._starts[place], self._starts[place + 1])
        return self._rows[found], self._counts[found]

    def _merge(self, terms: npt.NDArray[np.uint32], rows: Rows, counts: Counts) -> None:
        """Rebuild the sorted arrays from themselves, the dictionary and new (term, row, count) triples."""
        tail = [(term, row, n) for term, (rs, ns) in self._tail.items() for row, n in zip(rs, ns, strict=True)]
        tail_terms, tail_rows, tail_counts = np.array(tail, dtype=np.int64).reshape(-1, 3).T
        all_terms = np.concatenate([np.repeat(self._terms, np.diff(self._starts)), tail_terms.astype(np.uint32), terms])
        all_rows = np.concatenate([self._rows, tail_rows.astype(np.int32), rows])
        all_counts = np.concatenate([self._counts, tail_counts.astype(np.float32), counts])
        order = np.argsort((all_terms.astype(np.uint64) << np.uint64(32)) | all_rows.astype(np.uint64), kind="stable")
        self._terms, starts = np.unique(all_terms[order], return_index=True)
        self._starts = np.append(starts, len(order)).astype(np.int64)
        self._rows, self._counts = all_rows[order], all_counts[order]
        self._tail, self._tail_rows = {}, 0


def count_stems(texts: Sequence[bytes]) -> Counts:
    """Number of stems of each text: its term ids without those of surface forms."""
    sizes = np.fromiter((len(text) // 4 for text in texts), np.int64, len(texts))
    is_stem = np.frombuffer(b"".join(texts), dtype="<u4") < SURFACE_BIT
    before = np.concatenate(([0], np.cumsum(is_stem)))
    ends = np.cumsum(sizes)
    stems: Counts = (before[ends] - before[ends - sizes]).astype(np.float32)
    return stems


def flatten_terms(first_row: int, texts: tuple[bytes, ...]) -> tuple[npt.NDArray[np.uint32], Rows, Counts]:
    """Distinct (term, row) pairs of many texts and how often each occurs."""
    lengths = np.fromiter((len(text) // 4 for text in texts), np.int64, len(texts))
    terms = np.frombuffer(b"".join(texts), dtype="<u4").astype(np.uint64)
    rows = np.repeat(np.arange(first_row, first_row + len(texts), dtype=np.uint64), lengths)
    pairs, counts = np.unique((terms << np.uint64(32)) | rows, return_counts=True)
    return (
        (pairs >> np.uint64(32)).astype(np.uint32),
        pairs.astype(np.uint32).astype(np.int32),
        counts.astype(np.float32),
    )


Days = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]


def unpack_spans(stored: Iterable[bytes], first_place: int = 0) -> tuple[Places, Days]:
    """Return the place of each stored span, and its first and last day, shape (spans, 2)."""
    blobs = list(stored)
    counts = [len(blob) // 8 for blob in blobs]
    places = np.repeat(np.arange(first_place, first_place + len(blobs), dtype=np.int64), counts)
    days = np.frombuffer(b"".join(blobs), dtype="<i4").astype(np.int32).reshape(-1, 2)
    return places, days


def find_overlaps(places: Places, days: Days, size: int, asked: Sequence[DaySpan]) -> npt.NDArray[np.bool_]:
    """Return a mask of the ``size`` rows that share a day with the question."""
    rows = np.zeros(size, np.bool_)
    for span in asked:
        first, last = day_number(span.first), day_number(span.last)
        rows[places[(days[:, 0] <= last) & (days[:, 1] >= first)]] = True
    return rows


def date_closeness(places: Places, days: Days, size: int, asked: Sequence[DaySpan]) -> npt.NDArray[np.float32]:
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
