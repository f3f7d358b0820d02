"""Makes a text's signals: terms, flags, days and vectors, computed when it is written."""

from __future__ import annotations

import asyncio
import logging
import sys
from array import array
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import Embedder, EncodedTexts, PieceEmbedder
from memwarden.observability.instrument import record_model_failure
from memwarden.records import Signals
from memwarden.text import flags, tokenizer
from memwarden.text.dates.recognizer import spans_in
from memwarden.text.dates.spans import encode

log = logging.getLogger(__name__)

# A batch with more characters than this is prepared in a worker thread, so that the event loop goes on.
THREAD_CHARACTERS = 4_000


async def make_word_signals_in_thread(said: Sequence[tuple[str, datetime]]) -> list[Signals]:
    """Return the signals of each text that need no model, in order; with each text, when it was said."""
    return await make_signals_in_thread(said, None)


async def make_signals_in_thread(said: Sequence[tuple[str, datetime]], embedder: Embedder | None) -> list[Signals]:
    """Return the signals of each text, in order; with each text, when it was said."""
    if sum(len(text) for text, _ in said) > THREAD_CHARACTERS or not (embedder is None or embedder.ready):
        return await asyncio.to_thread(make_signals, said, embedder)
    return make_signals(said, embedder)


def make_signals(said: Sequence[tuple[str, datetime]], embedder: Embedder | None) -> list[Signals]:
    """Return the signals of each text, in order. Blocking."""
    vectors = _vectors([text for text, _ in said], embedder)
    return [
        Signals(term_bytes(text), vector, flags.flags(text), encode(spans_in(text, moment)), pieces)
        for (text, moment), (vector, pieces) in zip(said, vectors, strict=True)
    ]


def term_bytes(text: str) -> bytes:
    """The term ids of a text in order of appearance, as little-endian uint32."""
    ids = array("I", [tokenizer.term_id(term) for term in tokenizer.terms(text)])
    if sys.byteorder == "big":
        ids.byteswap()
    return ids.tobytes()


def _vectors(texts: Sequence[str], embedder: Embedder | None) -> list[tuple[bytes | None, bytes | None]]:
    """For each text its vector as float16 and its word pieces' vectors as int8, where the embedder gives them."""
    if embedder is None:
        return [(None, None)] * len(texts)
    try:
        found = _encode(texts, embedder)
    except ModelUnavailable as error:
        log.warning("%d texts are stored without a vector: %s", len(texts), error)
        record_model_failure("embedder_unavailable")
        return [(None, None)] * len(texts)
    rows = np.nan_to_num(found.vectors, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    halves = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0).astype("<f2")
    vectors = [half.tobytes() if length > 0 else None for half, length in zip(halves, lengths, strict=True)]
    pieces: list[bytes | None] = [piece.tobytes() for piece in found.pieces]
    return list(zip(vectors, pieces or [None] * len(texts), strict=True))


def _encode(texts: Sequence[str], embedder: Embedder) -> EncodedTexts:
    return embedder.encode(texts) if isinstance(embedder, PieceEmbedder) else EncodedTexts(embedder.embed(texts), [])
