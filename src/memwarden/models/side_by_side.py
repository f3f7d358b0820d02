"""Embedder of an English model with a multilingual model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from memwarden.models.protocols import Embedder, EncodedQuestion, EncodedTexts, PieceEmbedder, Vocabulary

T = TypeVar("T")
U = TypeVar("U")


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
        try:
            yield
        finally:
            self._alternating -= 1

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

    def knows(self, word: str) -> bool:
        """Whether the vocabulary of either model holds a word whole."""
        sides = (self._english, self._multilingual)
        return any(side.knows(word) for side in sides if isinstance(side, Vocabulary))

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
