"""A server with an upstream loads its embedding model before it takes requests; one without does not."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.surfaces.proxy.routes import ModelProxy


class Embedder:
    """An embedder that is loaded at its first use."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.ready = False

    def embed(self, texts: Any) -> None:
        self.texts += texts
        self.ready = True


@pytest.mark.parametrize("upstream", ["https://models.example/v1", None])
async def test_the_model_is_loaded_where_turns_have_a_deadline(upstream: str | None) -> None:
    given = {} if upstream is None else {"upstream": upstream}
    async with AsyncWarden.open("memory://", config={"embedder": "none", "extraction": "off", **given}) as warden:
        embedder = Embedder()
        object.__setattr__(warden._runtime.services, "embedder", embedder)
        proxy = ModelProxy(warden)
        for _ in range(2):
            await proxy.warm()
        assert len(embedder.texts) == (upstream is not None)
        await proxy.close()
