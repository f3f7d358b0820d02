"""The rows of a store's search as arrays, the rows nearest to a vector, and whether the store still has their model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.errors import InvalidInput
from memwarden.filters import Where
from memwarden.models.products import project
from memwarden.recall.index.columns import Floats, Ints, Mask
from memwarden.records import Channel, IndexRow, Namespace
from memwarden.stores.protocol import Store
from memwarden.stores.shared.search import NO_ROWS, PackedColumns

if TYPE_CHECKING:
    from memwarden.recall.index.namespace_index import NamespaceIndex

T = TypeVar("T")

Halves = npt.NDArray[np.float16]


class FoundRows:
    """Found rows as arrays, column by column.

    Attributes:
        n, said: int64. offsets: int16. open, turn: bool. flags: uint8.
        ids: texts, of index rows alone; empty for the rows of a search. threads, names: texts or None.
        terms, days: as in :class:`memwarden.records.Signals`.
        passages: how a long text is divided, see :data:`memwarden.stores.shared.search.PASSAGE_BYTES`; None for others.
        vectors: float16, a line for each row: of a long text that of its first passage; zeros for none.
    """

    __slots__ = (
        "days", "flags", "ids", "n", "names", "offsets", "open", "passages", "said", "terms", "threads", "turn",
        "vectors",
    )  # fmt: skip

    def __init__(
        self,
        n: Ints,
        said: Ints,
        offsets: npt.NDArray[np.int16],
        open: Mask,
        turn: Mask,
        flags: npt.NDArray[np.uint8],
        ids: list[str],
        threads: list[str | None],
        names: list[str | None],
        terms: list[bytes],
        days: list[bytes],
        vectors: Halves,
        passages: list[bytes | None],
    ) -> None:
        self.n = n
        self.said = said
        self.offsets = offsets
        self.open = open
        self.turn = turn
        self.flags = flags
        self.ids = ids
        self.threads = threads
        self.names = names
        self.terms = terms
        self.days = days
        self.vectors = vectors
        self.passages = passages

    def __len__(self) -> int:
        return len(self.n)


def unpack_rows(found: PackedColumns) -> FoundRows:
    """Unpack the rows of a search, in their order."""
    offsets, marks = np.frombuffer(found.marks, ">i4").reshape(-1, 2).T
    (terms, days), (vectors, passages) = np.frombuffer(found.lengths, ">i4").reshape(2, -1, 2).transpose(0, 2, 1)
    return FoundRows(
        np.frombuffer(found.n, ">i8").astype(np.int64),
        np.frombuffer(found.said, ">i8").astype(np.int64),
        offsets.astype(np.int16),
        (marks & 2) > 0,
        (marks & 1) > 0,
        (marks >> 8).astype(np.uint8),
        [],
        list(found.threads),
        list(found.names),
        _cut(found.terms, terms),
        _cut(found.days, days),
        _stack_halves(found.vectors, vectors),
        [blob or None for blob in _cut(found.passages, passages)],
    )


def found_rows(rows: Sequence[IndexRow], open: Sequence[bool]) -> FoundRows:
    """Return index rows as the rows of a search. open: which of them an answer may hold."""
    if not rows:
        return unpack_rows(NO_ROWS)
    columns = dict(zip(IndexRow._fields, zip(*rows, strict=True), strict=True))
    vectors = [vector or b"" for vector in columns["vector"]]
    return FoundRows(
        np.array(columns["n"], np.int64),
        np.array(columns["created_at"], np.int64),
        np.array(columns["utc_offset"], np.int16),
        np.array(open, np.bool_),
        np.array([channel == Channel.TURN for channel in columns["channel"]], np.bool_),
        np.array(columns["flags"], np.uint8),
        list(columns["id"]),
        list(columns["thread_id"]),
        list(columns["name"]),
        list(columns["terms"]),
        list(columns["days"]),
        _stack_halves(b"".join(vectors), np.fromiter(map(len, vectors), np.int64, len(vectors))),
        [blob or None for blob in columns["passages"]],
    )


def merge_rows(parts: Sequence[FoundRows]) -> FoundRows:
    """Merge the rows of several searches, each once, in the order of writing."""
    _, places = np.unique(np.concatenate([part.n for part in parts]), return_index=True)
    at = places.tolist()

    def lists(columns: Sequence[Sequence[T]]) -> list[T]:
        flat = list(chain.from_iterable(columns))
        return [flat[place] for place in at]

    return FoundRows(
        np.concatenate([part.n for part in parts])[places],
        np.concatenate([part.said for part in parts])[places],
        np.concatenate([part.offsets for part in parts])[places],
        np.concatenate([part.open for part in parts])[places],
        np.concatenate([part.turn for part in parts])[places],
        np.concatenate([part.flags for part in parts])[places],
        [],
        lists([part.threads for part in parts]),
        lists([part.names for part in parts]),
        lists([part.terms for part in parts]),
        lists([part.days for part in parts]),
        _stack([part.vectors for part in parts])[places],
        lists([part.passages for part in parts]),
    )


def _cut(joined: bytes, lengths: npt.NDArray[Any]) -> list[bytes]:
    if not joined:
        return [b""] * len(lengths)
    ends = np.cumsum(lengths).tolist()
    return [joined[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)] if ends else []


def _stack_halves(vectors: bytes, lengths: npt.NDArray[Any]) -> Halves:
    """Return vectors as lines, of zeros for each row without a vector. lengths: in bytes."""
    held = lengths // 2
    width = int(held.max(initial=0))
    matrix = np.zeros((len(held), width), np.float16)
    if width:
        matrix[held == width] = np.frombuffer(vectors, "<f2").reshape(-1, width)
    return matrix


def _stack(parts: Sequence[Halves]) -> Halves:
    width = max(part.shape[1] for part in parts)
    return np.concatenate(
        [part if part.shape[1] == width else np.zeros((len(part), width), np.float16) for part in parts]
    )


def find_nearest(index: NamespaceIndex, vector: Sequence[float], limit: int, where: Where) -> list[str]:
    """Return the ids of the memories nearest to a vector by cosine, nearest first; ties as written.

    Raises InvalidInput for a vector of the wrong size, of zeros or NaN, and when there are no vectors.
    """
    width = index.dimensions
    if width is None:
        raise InvalidInput("this store has no vectors (embedder 'none'); search it by words")
    asked = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(asked)) if asked.shape == (width,) else 0.0
    if not np.isfinite(length) or length == 0.0:
        raise InvalidInput(f"an embedding is {width} finite numbers, not all of them 0")
    passages = index.view.passages
    assert passages.vectors is not None
    places = np.flatnonzero(index.mask(where) & passages.best(np.asarray(passages.vectors.any(axis=1))))
    closeness = passages.best(project(passages.vectors, asked / length))[places]
    best = places[np.lexsort((index.order[places], -closeness))[:limit]]
    return [index.columns.ids[place] for place in best]


class ModelWatch:
    """Tells the indexes of a model whether their store still holds its vectors.

    An index that is held when the store moves stays true for what it holds, and goes on answering with the model that
    it is made of until the indexes of the new model are built.
    """

    def __init__(self, store: Store, model: str) -> None:
        """model: the name of the model, or ``none``."""
        self._store = store
        self._model = model
        self._passed: set[Namespace] = set()
        self.moved = False
        """Whether the store is known to hold the vectors of another model."""
        self.on_moved: Callable[[str], None] = lambda model: None
        """Called with the model that the store was moved to."""

    async def only_moved(self, namespace: Namespace, known: int, epoch: int) -> bool:
        """Whether the move alone made a namespace's new epoch, so that an index of the epoch before stays true."""
        if epoch != known + 1 or not await self.look():
            return False
        first = namespace not in self._passed
        self._passed.add(namespace)
        return first

    async def look(self) -> bool:
        """Ask whether the store was moved, and say so."""
        bound = await self._store.identity(self._model)
        if bound != self._model:
            self.moved = True
            self.on_moved(bound)
        return self.moved


class MultilingualSide(NamedTuple):
    """The second vector of every passage, for languages that the first model cannot read.

    Attributes:
        vectors: a row a passage, of unit length.
        adapted_norm: length of each vector as :class:`memwarden.recall.index.columns.QuestionMaps` map what was said.
        reports: chance that each passage reports what is or was, 0..1.
    """

    vectors: Floats
    adapted_norm: Floats
    reports: Floats


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
