"""Protocols of the models that memwarden calls, so that callers can bring their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their closeness in meaning.

    Attributes:
        name: the model and its size, stored with the vectors; a store refuses vectors of another name.
        dimensions: length of a vector.
        sides: where a vector is several vectors one after the other, their lengths; the second is multilingual.
            Embedders with one vector leave it out.
        english_only: whether its vectors say little of other languages; then questions in those go by words alone.
        slow: True for a model that takes more than about a millisecond a text: what is observed is then stored with its
            words, and the vectors follow. May be left out.
        ready: False while the next call would load the model first, which takes long; then it is made in a thread.
    """

    name: str
    dimensions: int
    english_only: bool

    @property
    def ready(self) -> bool: ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return a unit-length float32 row per text, shape (len(texts), dimensions).

        A text in which the model finds nothing (empty, only unknown signs) gets a row of zeros, never NaN. Called in
        a worker thread for batches; must be safe to call from several threads. Raises ModelUnavailable: then texts
        are stored, and questions answered, by their words alone.
        """


class EncodedTexts(NamedTuple):
    """Vectors of texts and their word pieces, from a single pass.

    Attributes:
        vectors: (n, dimensions) of unit length; a row of zeros for a text without word pieces.
        pieces: for each text (t, piece_dimensions) int8, 127 times a vector of unit length for each piece that is kept.
    """

    vectors: npt.NDArray[np.float32]
    pieces: list[npt.NDArray[np.int8]]


class EncodedQuestion(NamedTuple):
    """Vectors of a question and its word pieces, from a single pass.

    Attributes:
        vector: (dimensions,) of unit length, or zeros.
        pieces: (t, piece_dimensions) of unit length, a row per word piece; None from a model without them.
        words: for each word piece its word as written.
    """

    vector: npt.NDArray[np.float32]
    pieces: npt.NDArray[np.float32] | None = None
    words: Sequence[str] = ()


@runtime_checkable
class PieceEmbedder(Protocol):
    """An embedder that also gives the vectors of word pieces, from the same pass."""

    piece_dimensions: int

    def encode(self, texts: Sequence[str]) -> EncodedTexts:
        """Return the texts' vectors and their word pieces' vectors."""

    def question(self, text: str) -> EncodedQuestion:
        """Return a question's vector and those of its word pieces."""


@runtime_checkable
class Vocabulary(Protocol):
    """A model that knows usual words."""

    def knows(self, word: str) -> bool:
        """Whether its vocabulary holds a word whole."""


class Reranker(Protocol):
    """Judges a few candidates by reading question and text together, for example a cross-encoder."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return a score per text, higher is better, on any scale. Called in a worker thread.

        Raises ModelUnavailable: then the order stays as it was.
        """


class ChatModel(Protocol):
    """A model that answers prompts with JSON. Optional; if configured it judges what no rule decides.

    Attributes:
        name: the model, for the journal.
    """

    name: str

    def complete(self, system: str, prompt: str, *, schema: Mapping[str, Any], max_tokens: int) -> str:
        """Return the model's answer, at temperature 0. Called in a worker thread.

        Args:
            schema: the JSON schema that the answer shall have. Models may ignore it: the answer is checked.
            max_tokens: the most tokens of the answer.

        Raises ModelUnavailable: then memwarden goes on by its rules. Must come back within a time limit of its own.
        """


def first_width(embedder: Embedder | None) -> int | None:
    """Dimensions of the first side of an embedder's vectors; None without vectors."""
    if embedder is None:
        return None
    sides = getattr(embedder, "sides", (embedder.dimensions,))
    return int(sides[0]) or None


def second_width(embedder: Embedder | None) -> int | None:
    """Dimensions of the multilingual side; None where there is none."""
    sides: tuple[int, ...] = getattr(embedder, "sides", ())
    return int(sides[1]) if len(sides) > 1 else None
