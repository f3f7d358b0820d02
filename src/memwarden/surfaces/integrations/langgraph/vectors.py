"""Semantic search over items: indexed fields, their embeddings and the distance."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, cast

import numpy as np
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp, ensure_embeddings, get_text_at_path, tokenize_path

from memwarden.errors import InvalidConfig, StoreError
from memwarden.runtime import Runtime
from memwarden.stores.shared.items import Rank

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

    def __init__(self, config: Mapping[str, Any], parts: Runtime) -> None:
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
        self.embeddings = WardenEmbeddings(parts) if embed is None else ensure_embeddings(embed)
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

    def __init__(self, parts: Runtime) -> None:
        self._parts = parts

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts. Raises InvalidConfig when the warden has no embedder, ModelUnavailable."""
        embedder = self._parts.working.embedder
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
