"""Makes signals: terms, flags, days and vectors of texts, when written or soon after, and vectors of questions."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from itertools import chain, islice
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.errors import MemwardenError, ModelUnavailable
from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.models.protocols import Embedder, EncodedQuestion, EncodedTexts, PieceEmbedder, Vocabulary
from memwarden.models.side_by_side import SideBySideEmbedder, SideBySidePieceEmbedder
from memwarden.observability.instrument import record_model_failure
from memwarden.recall.index.namespace_index import NamespaceIndexes
from memwarden.records import Fill, Memory, Namespace, Signals
from memwarden.records.passages import unpack_passages
from memwarden.statements.reader import SaidText, StatementReader, lacks_signals
from memwarden.stores.protocol import Store
from memwarden.text.language import is_english
from memwarden.text.passages import read_passages
from memwarden.text.signals import TextSignals, make_text_signals, text_ids

Floats = npt.NDArray[np.float32]

log = logging.getLogger(__name__)
T = TypeVar("T")


# A text and when it was said; for what somebody said also the role and the speaker, by whom statements are read.
TextAndTime = tuple[str, datetime] | SaidText

# More characters than this are read in a worker thread.
THREAD_CHARACTERS = 4_000
# Up to so many characters are read at once, without asking whether a thread should.
SHORT_CHARACTERS = 1_000


async def read_long(characters: int, read: Callable[[], T]) -> T:
    """Return what ``read`` makes of so many characters."""
    return read() if characters <= THREAD_CHARACTERS else await asyncio.to_thread(read)


async def index_ids(text: str) -> list[int]:
    """Return the term ids of a text; of a long text in a thread."""
    read = partial(text_ids, text)
    return read() if len(text) <= SHORT_CHARACTERS else await asyncio.to_thread(read)


def said_text(memory: Memory) -> SaidText:
    """Return a memory's text with when and by whom it was said."""
    at = memory.said_at if memory.utc_offset else memory.created_at
    return SaidText(memory.text, at, memory.role, memory.name)


async def make_signals_in_thread(said: Sequence[TextAndTime], embedder: Embedder | None) -> list[Signals]:
    """Return the signals of each text, in order; with each text, when it was said."""
    if sum(len(each[0]) for each in said) > THREAD_CHARACTERS or not (embedder is None or embedder.ready):
        return await asyncio.to_thread(make_signals, said, embedder)
    return make_signals(said, embedder)


def make_signals(said: Sequence[TextAndTime], embedder: Embedder | None) -> list[Signals]:
    """Return the signals of each text, in order. Blocking."""
    passages = [read_passages(each[0]) for each in said]
    vectors = iter(_vectors(list(chain.from_iterable(passages)), embedder))
    by_text = [list(islice(vectors, len(some))) for some in passages]
    statements = _statements(said, [made[0].vector for made in by_text], embedder)
    return [
        _join_passages(make_text_signals(*each[:2]), made, stated)
        for each, made, stated in zip(said, by_text, statements, strict=True)
    ]


def _join_passages(words: TextSignals, made: Sequence[_PassageVectors], stated: bytes | None) -> Signals:
    """Return the signals of a text from those of its passages."""
    first = made[0]
    own = Signals(words.terms, first.vector, words.flags, words.days, first.pieces, stated, words.passages)
    if words.passages is None or all(each.vector is None for each in made):
        return own
    # A passage in which the model finds nothing, beside others in which it does.
    nothing = bytes(len(next(each.vector for each in made if each.vector is not None)))
    vectors = [each.vector or nothing for each in made]
    pieces = [each.pieces or b"" for each in made]
    division = unpack_passages(words.passages)._replace(
        pieces=tuple(each.pieces_count for each in made), vectors=b"".join(vectors[1:])
    )
    has_pieces = any(each.pieces is not None for each in made)
    return replace(own, vector=vectors[0], pieces=b"".join(pieces) if has_pieces else None, passages=division.pack())


def statement_reader(embedder: Embedder | None) -> StatementReader | None:
    """Return what reads statements beside an embedder; None where no multilingual model is at hand."""
    if isinstance(embedder, SideBySideEmbedder):
        embedder = embedder.multilingual
    return _reader(embedder) if isinstance(embedder, MultilingualEmbedder) else None


@cache
def _reader(encoder: MultilingualEmbedder) -> StatementReader:
    return StatementReader(encoder)


# A question takes about 10 KB.
MAX_KNOWN_QUESTIONS = 512
# Letters from which a word counts as misspelled where only the store says which words there are.
MIN_MISSPELLED = 6


class QuestionEncoder:
    """Makes the vectors of questions.

    Attributes:
        name: that of the embedder, None without any. reader: reads what a question asks for; None without the
            multilingual model.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self.name = None if embedder is None else embedder.name
        self.reader = statement_reader(embedder)
        self._embedder = embedder
        # Decided here: checking a protocol takes longer than embedding a question.
        self._encode = embedder.question if isinstance(embedder, PieceEmbedder) else partial(_embed_question, embedder)
        self._slow = bool(getattr(embedder, "slow", False))
        # By digest: what somebody asked is not kept.
        self._known: OrderedDict[bytes, EncodedQuestion] = OrderedDict()

    @property
    def ready(self) -> bool:
        """Whether nothing is left to load."""
        return self._embedder is None or self._embedder.ready

    def is_word(self, word: str) -> bool:
        """Whether a word is spelled as words usually are. Without a vocabulary every shorter word is."""
        model: object = self._embedder
        if isinstance(model, Vocabulary):
            return model.knows(word)
        return len(word) < MIN_MISSPELLED

    async def load(self) -> None:
        """Load the model in a thread."""
        if self._embedder is not None:
            await asyncio.to_thread(self._embedder.embed, [""])

    async def encode(self, text: str) -> EncodedQuestion | None:
        """Embed a question; None without an embedder or when it fails, to go by words alone."""
        embedder = self._embedder
        if embedder is None or (embedder.english_only and not is_english(text)):
            return None
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._known:
            self._known.move_to_end(digest)
            return self._known[digest]
        try:
            return self._remember(digest, await self._make(text, embedder))
        except ModelUnavailable as error:
            log.warning("a question is answered by its words alone: %s", error)
            record_model_failure("embedder_unavailable")
            return None

    async def _make(self, text: str, embedder: Embedder) -> EncodedQuestion:
        """Embed a question; by a slow model in a thread, which others do not wait for."""
        if embedder.ready and not self._slow:
            return self._encode(text)
        if not isinstance(embedder, SideBySidePieceEmbedder):
            return await asyncio.to_thread(self._encode, text)
        # In threads of their own: measured on two cores, a question waits two thirds of the time for both. The slower
        # begins first.
        loop = asyncio.get_running_loop()
        english = loop.run_in_executor(None, embedder.read_pieces, text)
        multilingual = loop.run_in_executor(None, embedder.read_whole, text)
        return embedder.join(*await asyncio.gather(english, multilingual))

    def _remember(self, digest: bytes, question: EncodedQuestion) -> EncodedQuestion:
        """Keep the vectors of a question for when it is asked again: by the page, the proxy or the next turn."""
        self._known[digest] = question
        if len(self._known) > MAX_KNOWN_QUESTIONS:
            self._known.popitem(last=False)
        return question


def _embed_question(embedder: Embedder | None, text: str) -> EncodedQuestion:
    assert embedder is not None
    return EncodedQuestion(embedder.embed([text])[0])


def multilingual_vector(vector: Floats, embedder: Embedder) -> Floats:
    """Return the part of a row that the multilingual model made, of unit length."""
    if isinstance(embedder, SideBySideEmbedder):
        vector = vector[sum(embedder.sides[: embedder.multilingual_side]) :][
            : embedder.sides[embedder.multilingual_side]
        ]
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


def _statements(
    said: Sequence[TextAndTime], vectors: Sequence[bytes | None], embedder: Embedder | None
) -> list[bytes | None]:
    """The packed statements of texts that have a vector; None where they were not read."""
    reader = statement_reader(embedder)
    if reader is None or embedder is None:
        return [None] * len(said)
    found: list[bytes | None] = [None] * len(said)
    chosen: list[tuple[int, SaidText]] = []
    for place, (each, stored) in enumerate(zip(said, vectors, strict=True)):
        if stored is not None:
            vector = multilingual_vector(np.frombuffer(stored, "<f2").astype(np.float32), embedder)
            text = each if isinstance(each, SaidText) else SaidText(*each, role=None)
            chosen.append((place, text._replace(vector=vector)))
    try:
        packed = reader.pack_all([text for _, text in chosen])
    except ModelUnavailable as error:
        log.warning("%d texts are stored without statements: %s", len(chosen), error)
        return found
    for (place, _), stated in zip(chosen, packed, strict=True):
        found[place] = stated
    return found


class _PassageVectors(NamedTuple):
    """Vectors of a passage: its own as float16, and those of its word pieces as int8; None without."""

    vector: bytes | None = None
    pieces: bytes | None = None
    pieces_count: int = 0


def _vectors(texts: Sequence[str], embedder: Embedder | None) -> list[_PassageVectors]:
    """Return the vectors of each passage."""
    if embedder is None:
        return [_PassageVectors()] * len(texts)
    try:
        found = _encode(texts, embedder)
    except ModelUnavailable as error:
        log.warning("%d texts are stored without a vector: %s", len(texts), error)
        record_model_failure("embedder_unavailable")
        return [_PassageVectors()] * len(texts)
    rows = np.nan_to_num(found.vectors, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    halves = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0).astype("<f2")
    vectors = [half.tobytes() if length > 0 else None for half, length in zip(halves, lengths, strict=True)]
    if not found.pieces:
        return [_PassageVectors(vector) for vector in vectors]
    return [
        _PassageVectors(vector, piece.tobytes(), len(piece))
        for vector, piece in zip(vectors, found.pieces, strict=True)
    ]


def _encode(texts: Sequence[str], embedder: Embedder) -> EncodedTexts:
    return embedder.encode(texts) if isinstance(embedder, PieceEmbedder) else EncodedTexts(embedder.embed(texts), [])


# Rows that are made ready between two writes: about a third of a second with MiniLM beside the multilingual model, so
# that a question that waits a second has the vectors of most of what was said just before.
BATCH_ROWS = 16
# The same for an embedder that loads its models anew for each batch.
LARGE_BATCH_ROWS = 512
# Seconds without new rows after which vectors are made, and the longest delay while rows keep coming. The models share
# the interpreter with the calls that write, which take up to three times as long beside them.
QUIET_SECONDS = 0.05
MAX_DELAY = 2.0
# A model or a store that failed is left alone for so long.
RETRY_SECONDS = 30.0


class SignalFiller:
    """Makes the signals of stored rows that have none yet, on an event loop.

    Attributes:
        stating: whether it reads statements, too.
    """

    def __init__(self, store: Store, indexes: NamespaceIndexes, embedder: Embedder, seconds: float) -> None:
        """seconds: wait of a question for vectors. Words answer for the rest, which are right less often."""
        self._seconds = seconds
        self._store = store
        self._indexes = indexes
        self._embedder = embedder
        self.stating = statement_reader(embedder) is not None
        self._due: OrderedDict[Namespace, dict[str, None]] = OrderedDict()
        self._under_way: dict[Namespace, frozenset[str]] = {}
        self._awaited: Counter[Namespace | None] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._progress = asyncio.Condition()
        self._wanted = asyncio.Event()
        self._added_at = 0.0
        self._paused = self._ignoring = 0
        self._closed = False

    @contextmanager
    def pause(self, *, collect: bool = True) -> Iterator[None]:
        """Only collect rows while this lasts, and begin with them afterwards; or leave them to a later call."""
        self._paused += 1
        self._ignoring += not collect
        try:
            yield
        finally:
            self._paused -= 1
            self._ignoring -= not collect
            self._begin()

    def add(self, namespace: Namespace, memory_ids: Iterable[str]) -> None:
        """Take rows whose signals are to be made; returns at once."""
        if self._closed or self._ignoring:
            return
        under_way = self._under_way.get(namespace, frozenset())
        ids = dict.fromkeys(memory_id for memory_id in memory_ids if memory_id not in under_way)
        if not ids:
            return
        self._due.setdefault(namespace, {}).update(ids)
        self._added_at = asyncio.get_running_loop().time()
        self._begin()

    def _begin(self) -> None:
        if self._due and self._task is None and not (self._paused or self._closed):
            self._task = asyncio.get_running_loop().create_task(self._run())

    def lacking(self, namespace: Namespace) -> int:
        """Return how many rows of a namespace this process knows to be without signals."""
        return len(self._due.get(namespace, ())) + len(self._under_way.get(namespace, ()))

    def count_all(self) -> int:
        """Return how many rows of all namespaces this process knows to be without signals."""
        return sum(map(len, self._due.values())) + sum(map(len, self._under_way.values()))

    async def wait(self, namespace: Namespace | None, seconds: float | None) -> bool:
        """Wait until nothing is due of a namespace, or of any, for so long at most; return whether that came about."""

        def is_done() -> bool:
            if self._task is None:
                return True
            return not (self._due or self._under_way) if namespace is None else not self.lacking(namespace)

        if is_done():
            return True
        self._wanted.set()
        waits = Counter([namespace] if seconds is not None else [])  # whoever waits for ever is in no hurry
        self._awaited += waits
        try:
            async with asyncio.timeout(seconds), self._progress:
                await self._progress.wait_for(is_done)
        except TimeoutError:
            return False
        finally:
            self._awaited -= waits
        return True

    async def wait_for_recent(self, namespace: Namespace) -> bool:
        """Wait for what was said just before, a while at most; return whether anything was awaited."""
        lacking = self.lacking(namespace)
        if lacking:
            await self.wait(namespace, self._seconds)
        return lacking > 0

    async def close(self) -> None:
        """Stop after the batch that is being made. What is left is made when the namespace is read again."""
        self._closed = True
        self._due.clear()
        self._wanted.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _await_pause(self) -> None:
        """Wait until no rows come, or until a caller waits for them."""
        loop = asyncio.get_running_loop()
        latest = loop.time() + MAX_DELAY
        while (left := min(self._added_at + QUIET_SECONDS, latest) - loop.time()) > 0 and not self._wanted.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), left)

    async def _run(self) -> None:
        try:
            await self._await_pause()
            while self._due and not self._paused:
                namespace = next((each for each in self._due if self._awaited[each]), next(iter(self._due)))
                ids = self._due[namespace]
                alternating = getattr(self._embedder, "alternating", False)
                # The last first: a question is mostly about what was said just before, and what holds now.
                some = list(ids)[-(LARGE_BATCH_ROWS if alternating else BATCH_ROWS) :]
                for memory_id in some:
                    del ids[memory_id]
                if not ids:
                    del self._due[namespace]
                else:
                    self._due.move_to_end(namespace)  # so that a long import holds up nobody else
                self._under_way[namespace] = frozenset(some)
                try:
                    await self._fill(namespace, some)
                except MemwardenError as error:
                    log.warning("%d rows wait for their vectors: %s", len(some), error)
                    self._retry_later(namespace, some)
                finally:
                    del self._under_way[namespace]
                    self._tidy(namespace)
                    async with self._progress:
                        self._progress.notify_all()
        finally:
            self._task = None
            self._wanted.clear()
            async with self._progress:
                self._progress.notify_all()

    async def _fill(self, namespace: Namespace, ids: Sequence[str]) -> None:
        lacking = await self._take_in(namespace, ids)
        memories = await self._store.get(namespace, lacking)
        if not memories:
            return
        signals = await asyncio.to_thread(self._make, memories)
        fills = [
            Fill(memory.id, memory.version, made)
            for memory, made in zip(memories, signals, strict=True)
            if made.vector is not None
        ]
        if not fills:
            self._retry_later(namespace, lacking)
            return
        await self._store.fill(namespace, fills)
        await self._take_in(namespace, [fill.id for fill in fills])

    def _tidy(self, namespace: Namespace) -> None:
        """Let go of an index of which much is outdated, once nothing more comes: each row that was filled has moved."""
        index = self._indexes.held(namespace)
        if index is not None and namespace not in self._due and 2 * index.size > 3 * index.alive + 3_000:
            self._indexes.drop(namespace)

    async def _take_in(self, namespace: Namespace, ids: Sequence[str]) -> list[str]:
        """Give the index the signals that are stored, also by other processes; return the rows that have none."""
        rows = self._indexes.of_model(await self._store.index_rows(namespace, ids))
        index = self._indexes.held(namespace)
        if index is not None:
            index.refill(rows)
        return [row.id for row in rows if lacks_signals(row, self.stating)]

    def _make(self, memories: Sequence[Memory]) -> list[Signals]:
        """The signals of memories; a text in which the model finds nothing gets a vector of zeros, so that it is
        done."""
        made = make_signals([said_text(memory) for memory in memories], self._embedder)
        if all(signals.vector is None for signals in made) and any(_says_anything(memory) for memory in memories):
            return made  # the model did not answer
        nothing, stated = bytes(2 * self._embedder.dimensions), b"" if self.stating else None
        return [
            signals if signals.vector is not None else replace(signals, vector=nothing, statements=stated)
            for signals in made
        ]

    def _retry_later(self, namespace: Namespace, ids: Sequence[str]) -> None:
        if not self._closed:
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self.add, namespace, list(ids))


def _says_anything(memory: Memory) -> bool:
    return any(map(str.isalnum, memory.text))
