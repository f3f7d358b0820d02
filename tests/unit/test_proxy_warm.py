"""A server with an upstream loads its embedding model before it takes requests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from memwarden.surfaces.proxy.routes import load_embedder


class LazyEmbedder:
    """An embedder that is loaded at its first use."""

    name = "lazy"
    english_only = False
    dimensions = 2
    texts: Sequence[str] = ()
    ready = False

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.texts = [*self.texts, *texts]
        self.ready = True
        return np.zeros((len(texts), self.dimensions), np.float32)


async def test_a_model_is_loaded_once() -> None:
    embedder = LazyEmbedder()
    for _ in range(2):
        await load_embedder(embedder)
    assert embedder.ready
    assert len(embedder.texts) == 1


async def test_a_model_that_is_ready_is_not_asked() -> None:
    embedder = LazyEmbedder()
    embedder.ready = True
    await load_embedder(embedder)
    await load_embedder(None)
    assert embedder.texts == ()
