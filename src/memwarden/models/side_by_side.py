"""Two embedders as one: their vectors lie side by side in a row, and recall weighs each side by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memwarden.models.protocols import Embedder, EncodedQuestion, EncodedTexts, PieceEmbedder


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
