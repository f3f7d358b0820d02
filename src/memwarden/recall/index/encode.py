"""Makes a text's signals: terms, flags, days and vectors, computed when it is written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from functools import cache

import numpy as np
import numpy.typing as npt

from memwarden.concurrency.tasks import THREAD_CHARACTERS
from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import Embedder, EncodedTexts, PieceEmbedder
from memwarden.models.side_by_side import MultilingualEmbedder, SideBySideEmbedder
from memwarden.observability.instrument import record_model_failure
from memwarden.records import Memory, Signals
from memwarden.statements.reader import SaidText, StatementReader
from memwarden.text.flags import make_text_signals

Floats = npt.NDArray[np.float32]

log = logging.getLogger(__name__)


TextAndTime = tuple[str, datetime] | SaidText
"""A text and when it was said; for what somebody said also the role and the speaker, by whom statements are read."""


def said_text(memory: Memory) -> SaidText:
    """Return a memory's text with when and by whom it was said."""
    return SaidText(memory.text, memory.created_at, memory.role, memory.name)


async def make_word_signals_in_thread(said: Sequence[TextAndTime]) -> list[Signals]:
    """Return the signals of each text that need no model, in order; with each text, when it was said."""
    return await make_signals_in_thread(said, None)


async def make_signals_in_thread(said: Sequence[TextAndTime], embedder: Embedder | None) -> list[Signals]:
    """Return the signals of each text, in order; with each text, when it was said."""
    if sum(len(each[0]) for each in said) > THREAD_CHARACTERS or not (embedder is None or embedder.ready):
        return await asyncio.to_thread(make_signals, said, embedder)
    return make_signals(said, embedder)


def make_signals(said: Sequence[TextAndTime], embedder: Embedder | None) -> list[Signals]:
    """Return the signals of each text, in order. Blocking."""
    vectors = _vectors([each[0] for each in said], embedder)
    statements = _statements(said, [vector for vector, _ in vectors], embedder)
    return [
        Signals(words.terms, vector, words.flags, words.days, pieces, stated)
        for words, (vector, pieces), stated in zip(
            (make_text_signals(*each[:2]) for each in said), vectors, statements, strict=True
        )
    ]


def statement_reader(embedder: Embedder | None) -> StatementReader | None:
    """Return what reads statements beside an embedder; None where no multilingual model is at hand."""
    if isinstance(embedder, SideBySideEmbedder):
        embedder = embedder.multilingual
    return _reader(embedder) if isinstance(embedder, MultilingualEmbedder) else None


@cache
def _reader(encoder: MultilingualEmbedder) -> StatementReader:
    return StatementReader(encoder)


def multilingual_vector(vector: Floats, embedder: Embedder) -> Floats:
    """Return the part of a row that the multilingual model made, of unit length."""
    if isinstance(embedder, SideBySideEmbedder):
        vector = vector[sum(embedder.sides[: embedder.multilingual_side]) :][
            : embedder.sides[embedder.multilingual_side]
        ]
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


def _statements(
    said: Sequence[TextAndTime], vectors: Sequence[bytes | None], embedder: Embedder | None
) -> list[bytes | None]:
    """The packed statements of texts that have a vector; None where they were not read."""
    reader = statement_reader(embedder)
    if reader is None or embedder is None:
        return [None] * len(said)
    found: list[bytes | None] = [None] * len(said)
    chosen: list[tuple[int, SaidText]] = []
    for place, (each, stored) in enumerate(zip(said, vectors, strict=True)):
        if stored is not None:
            vector = multilingual_vector(np.frombuffer(stored, "<f2").astype(np.float32), embedder)
            text = each if isinstance(each, SaidText) else SaidText(*each)
            chosen.append((place, text._replace(vector=vector)))
    try:
        packed = reader.pack_all([text for _, text in chosen])
    except ModelUnavailable as error:
        log.warning("%d texts are stored without statements: %s", len(chosen), error)
        return found
    for (place, _), stated in zip(chosen, packed, strict=True):
        found[place] = stated
    return found


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
