"""Filter columns of a namespace in RAM: arrays that answer a filter with a mask."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from memwarden import filters
from memwarden.clock import UNSET, microseconds

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
