"""Whom memwarden calls for numbers or words: small protocols, so that anybody can bring their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their closeness in meaning.

    Attributes:
        name: the model and its size, stored with the vectors; a store refuses vectors of another name.
        dimensions: length of a vector.
        english_only: whether its vectors say little of other languages; then questions in those go by words alone.
        ready: False while the next call would load the model first, which takes long; then it is made in a thread.
    """

    name: str
    dimensions: int
    english_only: bool

    @property
    def ready(self) -> bool: ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit-length float32 row a text, shape (len(texts), dimensions).

        A text in which the model finds nothing (empty, only unknown signs) gets a row of zeros, never NaN. Called in
        a worker thread for batches; must be safe to call from several threads. Raises ModelUnavailable: then texts
        are stored, and questions answered, by their words alone.
        """


class Reranker(Protocol):
    """Judges a few candidates by reading question and text together, for example a cross-encoder."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one number a text, higher is better, on any scale. Called in a worker thread.

        Raises ModelUnavailable: then the order stays as it was.
        """
