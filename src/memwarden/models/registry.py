"""Which embedder a warden works with: that of its settings, or that which its store holds vectors of."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from memwarden.errors import InvalidConfig
from memwarden.models.protocols import Embedder
from memwarden.settings import Settings


def make_embedder(settings: Settings, bound: str | None) -> Embedder | None:
    """Return the embedder of the settings; it loads its model at first use. None: words only.

    Args:
        bound: the model that the store holds vectors of, None for a new store. The setting ``auto`` follows it.

    Raises InvalidConfig when a package is missing, and for ``auto`` when the store's model is none of ours.
    """
    choice = settings.embedder if settings.embedder != "auto" else _choose(bound)
    if choice == "none":
        return None
    if choice == "openai":
        return _make_endpoint(settings)
    return _make_local(choice)


def _choose(bound: str | None) -> str:
    if bound is None:
        return "minilm+multilingual" if find_spec("onnxruntime") is not None else "wordllama+multilingual"
    if bound == "none":
        return bound
    for choice in ("wordllama", "minilm", "multilingual", "minilm+multilingual", "wordllama+multilingual"):
        if _name_of(choice) == bound:
            return choice
    raise InvalidConfig(
        f"this store holds vectors of {bound!r}, which is none of memwarden's embedders; name it by the settings "
        "embedder, embedding_model, embedding_dimensions and embedding_url"
    )


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
        from memwarden.models.multilingual import MultilingualEmbedder

        return MultilingualEmbedder()
    from memwarden.models.side_by_side import SideBySideEmbedder, SideBySidePieceEmbedder

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
