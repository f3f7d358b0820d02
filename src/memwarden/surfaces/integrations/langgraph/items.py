"""Items of the store: values as JSON text, their filters and their embeddings."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, cast
from uuid import UUID

import msgspec
import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp, ensure_embeddings, get_text_at_path, tokenize_path

from memwarden.errors import InvalidConfig, InvalidFilter, InvalidInput, StoreError
from memwarden.runtime.services import Runtime
from memwarden.stores.shared.items import Matches, Rank

# The longest value: what a server's JSON document may reach before it should be a file.
MAX_BYTES = 16_000_000

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda item, other: item > other,
    "$gte": lambda item, other: item >= other,
    "$lt": lambda item, other: item < other,
    "$lte": lambda item, other: item <= other,
}
_OPERATORS = ("$eq", "$ne", *_COMPARISONS)
# Below it a float is written like the whole number that it is, with ``.0`` behind it.
MAX_PLAIN_NUMBER = 10**15
_NEVER_IN_A_KEY = frozenset("'\"\\")


class UnsavableValue(InvalidInput, TypeError):
    """A value that cannot be kept. A TypeError too, as LangGraph's own stores raise."""


def text_of(value: Any) -> str:
    """Return a value as JSON text. Raises InvalidInput unless it is a JSON object of allowed size.

    Times, UUIDs, members of enums and dataclasses are written as LangGraph's stores write them: as texts, by their
    values and as objects.
    """
    if not isinstance(value, Mapping):
        raise UnsavableValue(f"the value of an item is a mapping, not {value!r:.80}")
    try:
        _check_keys(value)
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, default=_plain)
        size = len(text.encode())
    except UnicodeEncodeError:  # half of a character pair: as an escape it is JSON all the same
        text = json.dumps(dict(value), allow_nan=False, default=_plain)
        size = len(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnsavableValue(f"the value of an item is not JSON: {error}") from None
    # Measured in bytes after encoding: that is what a row and a server hold.
    if size > MAX_BYTES:
        raise InvalidInput(f"the value of an item has at most {MAX_BYTES:,} bytes as JSON, not {size:,}")
    return text


def value_of(text: str) -> Any:
    """Return the value that :func:`text_of` wrote."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # half of a character pair, or a number beyond all floats
        return json.loads(text)


def matcher(conditions: Mapping[str, Any] | None) -> Matches | None:
    """Return a predicate on JSON texts for all conditions; None without any.

    A condition is a field, or a dotted path of fields, and what it has to be: a value; a mapping of operators to
    values; a mapping of inner fields to conditions; or a list, element by element.

    Raises InvalidFilter, which is a ValueError, for an unknown operator and for a field with quotes in its name.
    """
    if not conditions:
        return None
    if not isinstance(conditions, Mapping):
        raise InvalidFilter(f"a filter is a mapping of fields to conditions, not {conditions!r:.80}")
    conditions = {field: _plain_condition(condition) for field, condition in conditions.items()}
    for field, condition in conditions.items():
        _check_field(field)
        _check(condition)
    # A substring test leaves most rows out before any JSON is parsed.
    wanted = needles(conditions)
    return lambda text: (
        all(any(map(text.__contains__, some)) for some in wanted) and _fits_all(json.loads(text), conditions)
    )


def needles(conditions: Mapping[str, Any] | None) -> tuple[tuple[str, ...], ...]:
    """Return texts of which, for each condition, one occurs in every matching value, as :func:`text_of` writes it.

    Looking for such a text is many times faster than parsing the value, and databases can do it. Only fields on top are
    told apart from paths, and only what has few spellings: ASCII, as other signs may be escaped, and whole numbers as
    the beginning of a number.
    """
    found = []
    for field, given in (conditions or {}).items():
        condition = _plain_condition(given)
        wanted = condition.get("$eq") if isinstance(condition, Mapping) else condition
        texts = _json_beginnings(wanted)
        if texts and field.isascii() and "." not in field:
            found.append(tuple(f"{json.dumps(field)}: {text}" for text in texts))
    return tuple(found)


def _json_beginnings(value: Any) -> tuple[str, ...]:
    """Return the texts with which JSON may write a value, none when there are many."""
    if isinstance(value, str):
        return (json.dumps(value),) if value.isascii() else ()
    if isinstance(value, bool | int | float) and value in (0, 1):  # 1 is true, as Python says
        return ("1", "true") if value else ("0", "-0", "false")
    if isinstance(value, int | float) and abs(value) < MAX_PLAIN_NUMBER and value == int(value):
        return (str(int(value)),)
    return ()


def _check_field(field: Any) -> None:
    if not isinstance(field, str) or _NEVER_IN_A_KEY & set(field) or not field.isprintable():
        raise InvalidFilter(f"Invalid filter key: {field!r}. A filter key is a field's name, without quotes")


def _check(condition: Any) -> None:
    if isinstance(condition, Mapping):
        operators = any(str(name).startswith("$") for name in condition)
        for name, inner in condition.items():
            if operators and name not in _OPERATORS:
                raise InvalidFilter(f"Unsupported operator: {name}; there are {', '.join(_OPERATORS)}")
            if not operators:
                _check_field(name)
                _check(inner)
    elif isinstance(condition, list | tuple):
        for inner in condition:
            _check(inner)


def _fits_all(value: Mapping[str, Any], conditions: Mapping[str, Any]) -> bool:
    return all(_fits(_field(value, field), condition) for field, condition in conditions.items())


def _field(value: Mapping[str, Any], name: str) -> Any:
    """Return the field of this name, else the value at the dotted path, else None."""
    if name in value or "." not in name:
        return value.get(name)
    found: Any = value
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def _fits(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_holds(value, operator, given) for operator, given in condition.items())
        return isinstance(value, Mapping) and _fits_all(value, condition)
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(_fits(item, wanted) for item, wanted in zip(value, condition, strict=True))
        )
    return _same(value, condition)


def _holds(value: Any, operator: str, given: Any) -> bool:
    if operator == "$eq":
        return _same(value, given)
    if operator == "$ne":
        return not _same(value, given)
    compare = _COMPARISONS[operator]
    if isinstance(value, str) and isinstance(given, str):
        return compare(value, given)
    numbers = _number(value), _number(given)
    # What is neither two texts nor two numbers has no order in JSON.
    return None not in numbers and compare(*numbers)


def _same(value: Any, other: Any) -> bool:
    """Compare JSON values as Python does, and LangGraph's store in memory: true is 1, at any depth."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_same(value[name], other[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)


def _number(value: Any) -> float | int | None:
    """Return a number, also from a text; None for anything else."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return value


def _plain_condition(condition: Any) -> Any:
    """Return a condition with times, UUIDs and the like as they stand in values."""
    if isinstance(condition, Mapping):
        return {name: _plain_condition(inner) for name, inner in condition.items()}
    if isinstance(condition, list | tuple):
        return [_plain_condition(inner) for inner in condition]
    known = isinstance(condition, Enum | date | time | UUID) or is_dataclass(condition)
    return _plain(condition) if known else condition


def _check_keys(value: Any) -> None:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise TypeError(f"the name of a field is a text, not {name!r:.80}")
            _check_keys(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_keys(inner)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} is no JSON: {value!r:.80}")


_FLOAT = np.dtype("<f4")
DISTANCES = ("cosine", "l2", "inner_product")


class ItemIndex:
    """An index configuration with its embedding model.

    Args:
        config: LangGraph's ``IndexConfig``: ``embed`` (an Embeddings, a function, an async function or
            ``provider:model``; without it the warden's own embedder), ``dims`` (checked when given), ``fields`` (also
            named ``text_fields``; default: the whole value), ``distance_type`` (``cosine``, ``l2``, ``inner_product``).

    Raises InvalidConfig; ValueError for an ``embed`` that LangGraph cannot load.
    """

    def __init__(self, config: Mapping[str, Any], runtime: Runtime) -> None:
        self.distance = config.get("distance_type") or "cosine"
        if self.distance not in DISTANCES:
            raise InvalidConfig(f"distance_type is any of {', '.join(DISTANCES)}, not {self.distance!r:.80}")
        fields = config.get("fields") or config.get("text_fields") or ["$"]
        # A single path in place of a list is a common slip, and its letters would be taken for paths.
        if isinstance(fields, str):
            fields = [fields]
        if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
            raise InvalidConfig(f"the fields of an index are a list of paths, not {fields!r:.80}")
        self._fields = [(path, _tokens(path)) for path in fields]
        self._dims = config.get("dims")
        embed = config.get("embed")
        self.embeddings = WardenEmbeddings(runtime) if embed is None else ensure_embeddings(embed)
        self.config = {**config, "__tokenized_fields": self._fields}

    def texts(self, put: PutOp) -> list[tuple[str, str]]:
        """Return the fields of a value that get a vector, and their texts."""
        if put.value is None or put.index is False:
            return []
        paths = self._fields if put.index is None else [(path, _tokens(path)) for path in put.index]
        found: list[tuple[str, str]] = []
        for path, tokens in paths:
            texts = get_text_at_path(put.value, cast(Any, tokens))
            found += [(f"{path}.{number}" if len(texts) > 1 else path, text) for number, text in enumerate(texts)]
        # A path that is named twice is embedded once.
        return list(dict(found).items())

    def to_bytes(self, vector: Sequence[float]) -> bytes:
        """Return a vector as bytes. Raises InvalidConfig for the wrong number of dimensions."""
        made = np.asarray(vector, _FLOAT)
        if made.ndim != 1 or (self._dims is not None and len(made) != self._dims):
            raise InvalidConfig(f"the index says dims = {self._dims}, the embedding has the shape {made.shape}")
        return made.tobytes()

    def rank(self, vector: Sequence[float]) -> Rank:
        """Return a function of closeness to a vector; vectors of another length get -inf."""
        asked = np.frombuffer(self.to_bytes(vector), _FLOAT)
        size = asked.nbytes

        def rank(vectors: Sequence[bytes]) -> list[float]:
            # Vectors of another length come from another model; comparing them would mean nothing.
            fitting = [number for number, item in enumerate(vectors) if len(item) == size]
            scores = np.full(len(vectors), -np.inf)
            if fitting:
                matrix = np.frombuffer(b"".join(vectors[number] for number in fitting), _FLOAT).reshape(-1, len(asked))
                scores[fitting] = _closeness(matrix, asked, self.distance)
            return cast(list[float], scores.tolist())

        return rank


class WardenEmbeddings(Embeddings):
    """The warden's embedder with LangChain's interface."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts. Raises InvalidConfig when the warden has no embedder, ModelUnavailable."""
        embedder = self._runtime.services.embedder
        if embedder is None:
            raise InvalidConfig("the warden has no embedder (setting embedder = 'none'); give index an 'embed'")
        return cast(list[list[float]], embedder.embed(texts).tolist())

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _closeness(matrix: Any, asked: Any, distance: str) -> Any:
    if distance == "l2":
        return -np.linalg.norm(matrix - asked, axis=1)
    inner = matrix @ asked
    if distance == "inner_product":
        return inner
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked)
    # A vector of zeros has no direction: it is close to nothing, and not NaN.
    return np.divide(inner, lengths, out=np.zeros_like(inner), where=lengths > 0)


def _tokens(path: str) -> Any:
    return path if path == "$" else tokenize_path(path)


logger = logging.getLogger(__name__)


class ThreadSweeper:
    """Sweeps in a daemon thread.

    It ends by :meth:`stop`, by cancelling its future, and with the warden.

    Args:
        sweep: removes what expired and returns how many; None when there is nothing left to sweep for.
    """

    def __init__(self, sweep: Callable[[], int | None]) -> None:
        self._sweep = sweep
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._future: Future[None] | None = None

    def start(self, seconds: float, *, at_all: bool = True) -> Future[None]:
        """Sweep every ``seconds``; a running sweeper is returned. Cancelling the future ends it."""
        if not at_all:
            done = Future[None]()
            done.set_result(None)
            return done
        if self._future is not None and self._thread is not None and self._thread.is_alive():
            return self._future
        # A new event for each thread: an old thread that is still ending must not be woken to go on.
        self._stop = stop = threading.Event()
        self._future = future = Future[None]()
        future.add_done_callback(lambda done: stop.set())
        self._thread = threading.Thread(
            target=self._run, args=(stop, future, seconds), name="memwarden-sweeper", daemon=True
        )
        self._thread.start()
        return future

    def stop(self, timeout: float | None = None) -> bool:
        """Stop; return whether it ended within ``timeout`` seconds (None: no limit)."""
        self._stop.set()
        thread, self._thread = self._thread, None
        # The thread itself may let the store go; joining itself would raise.
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        if thread.is_alive():
            self._thread = thread
            return False
        return True

    def _run(self, stop: threading.Event, future: Future[None], seconds: float) -> None:
        while not stop.wait(seconds):
            try:
                if self._sweep() is None:
                    break
            except Exception as error:
                _log_failure(error, seconds)
        with contextlib.suppress(InvalidStateError):  # it was cancelled
            future.set_result(None)


class TaskSweeper:
    """Sweeps in a task of the running event loop; it ends as :class:`ThreadSweeper` does."""

    def __init__(self, sweep: Callable[[], Awaitable[int | None]]) -> None:
        self._sweep = sweep
        self._task: asyncio.Task[None] | None = None

    def start(self, seconds: float, *, at_all: bool = True) -> asyncio.Task[None]:
        if not at_all:
            # Callers wait for a task in any case; this one is over at once.
            return asyncio.get_running_loop().create_task(asyncio.sleep(0))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run(seconds))
        return self._task

    async def stop(self, seconds: float | None = None) -> bool:
        task, self._task = self._task, None
        if task is None or task.done():
            return True
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            self._task = task
        return bool(done)

    async def _run(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                if await self._sweep() is None:
                    return
            except Exception as error:
                _log_failure(error, seconds)


def _log_failure(error: Exception, seconds: float) -> None:
    """Log a failed sweep; the next sweep tries again."""
    known = isinstance(error, StoreError)
    logger.warning("expired items were not removed, next try in %s s: %s", seconds, error, exc_info=not known)
