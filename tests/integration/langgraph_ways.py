"""LangGraph's store by its blocking and by its async methods, in the words of the blocking ones."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.embeddings import Embeddings

from memwarden import AsyncWarden, Warden
from memwarden.surfaces.integrations.langgraph import MemwardenStore

CONFIG = {"embedder": "none"}
"""Tests that are not about the warden's own embedder do without it: it takes a second to load."""


class Letters(Embeddings):
    """A fake embedder: how often each letter stands in a text. It stands in for a remote model, and counts calls."""

    dims = 64

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.documents += texts
        return [self._one(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.queries.append(text)
        return self._one(text)

    def _one(self, text: str) -> list[float]:
        counts = Counter(ord(letter) % self.dims for letter in text if letter.isalpha())
        length = math.sqrt(sum(count * count for count in counts.values())) or 1.0
        return [counts[number] / length for number in range(self.dims)]


class Way:
    """A store whose methods are called one way or the other."""

    def __init__(self, store: MemwardenStore, runner: asyncio.Runner | None) -> None:
        self.store = store
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        if self._runner is None:
            return getattr(self.store, name)
        runner = self._runner
        names = {"sweep_ttl": "asweep_ttl", "start_ttl_sweeper": "astart_ttl_sweeper"}
        method = getattr(self.store, names.get(name, f"a{name}"))

        async def call(given: Sequence[Any], named: Mapping[str, Any]) -> Any:
            return await method(*given, **named)

        return lambda *given, **named: runner.run(call(given, named))


USERS = itertools.count(1)
"""Over all stores: a fixture may be made anew over a store that holds what earlier tests wrote."""


class Ways:
    """Makes stores over one open warden, each test's for users of its own."""

    def __init__(self, warden: Warden | AsyncWarden, runner: asyncio.Runner | None) -> None:
        self.warden = warden
        self.test = next(USERS)
        self._runner = runner

    def store(self, *, user: str = "somebody", index: Any = None, ttl: Any = None) -> Way:
        scope = self.warden.scope(user=f"{user}-{self.test}")
        return Way(MemwardenStore(scope, index=index, ttl=ttl), self._runner)


@contextmanager
def opened(url: str, way: str, config: Mapping[str, Any] = CONFIG) -> Iterator[Ways]:
    """A warden that is open in one way: ``blocking`` or ``async``."""
    if way == "blocking":
        with Warden.open(url, config=dict(config)) as warden:
            yield Ways(warden, None)
        return
    with asyncio.Runner() as runner:
        async_warden = AsyncWarden.open(url, config=dict(config))
        runner.run(async_warden.start())
        try:
            yield Ways(async_warden, runner)
        finally:
            runner.run(async_warden.close())
