"""The embedder of the settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

import numpy as np
import numpy.typing as npt

from memwarden.errors import InvalidConfig, ModelMismatch, missing_extra
from memwarden.models.minilm import MiniLMEmbedder
from memwarden.models.multilingual import MultilingualEmbedder
from memwarden.models.protocols import Embedder
from memwarden.models.side_by_side import SideBySideEmbedder, SideBySidePieceEmbedder
from memwarden.settings import Settings


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
    from memwarden.text.tokenizer import stop_words

    return MiniLMEmbedder(stop_words("en"))


def _make_endpoint(settings: Settings) -> Embedder:
    try:
        from memwarden.models.openai import OpenAIEmbedder
    except ImportError:
        raise missing_extra("embedder 'openai'", "openai") from None
    return OpenAIEmbedder(settings.embedding_model, settings.embedding_dimensions, settings.embedding_url or None)
