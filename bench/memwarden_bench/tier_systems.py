"""Drivers for ``bench speed --tiers``: three tiers of items and a context made of them.

All embed with the same model inside their own calls. The users of the drivers are ``task``, ``project`` and ``global``
to add to; to ask, ``project`` searches it by meaning, ``decisions`` lists the newest hundred, and ``context`` makes a
text of all three within a budget, with a question or without.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from memwarden.text.tokenizer import estimate
from memwarden.tiers import ContextItem, ContextRequest, Task
from memwarden.tiers.budget import DEFAULT_SHARES
from memwarden_bench.systems import ITEMS, Kind, LangGraph

if TYPE_CHECKING:
    from memwarden.models.protocols import Embedder

BUDGET: Final = 2_000
"""Tokens of a context: some sixty items of the made-up sentences."""
QUESTION_BUDGET: Final = BUDGET // 5
"""So many items of a tier are asked for, as memwarden does."""
PEER: Final = "LangGraph InMemoryStore"
_BATCH = 100


class Tiers:
    """memwarden's tiers, in memory or on SQLite."""

    url = "memory://"

    def __init__(self, folder: Path, model: Embedder) -> None:
        self._folder = folder

    def open(self) -> None:
        """See :class:`memwarden_bench.systems.System`."""
        from memwarden import Warden

        self._warden = Warden.open(self.url.format(folder=self._folder), config={"embedder": "wordllama"})
        tiers = self._warden.tiers
        self._project = tiers.project("p", max_items=10**9)
        self._global, self._task = tiers.global_store(), tiers.task("k")
        self._assembler = tiers.assembler()

    def add(self, user: str, texts: Sequence[str]) -> None:
        """Add items to a tier, many at a time, so that they are committed together."""

        async def all_of_them(some: Sequence[str]) -> None:
            await asyncio.gather(*(self._add(user, text) for text in some))

        for start in range(0, len(texts), _BATCH):
            self._warden._loop.run(all_of_them(texts[start : start + _BATCH]))

    async def _add(self, user: str, text: str) -> ContextItem:
        if user == "task":
            return await self._task._inner.add_reasoning(text, "plan")
        if user == "project":
            return await self._project._inner.add_decision(text, ["bench"])
        return await self._global._inner.add_pattern(text, "bench")

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See the module."""
        if user == "context":
            request = ContextRequest(BUDGET, query=question or None, threshold=0.0)
            return [self._assembler.build_context(Task("k", {"project_id": "p"}), request).text]
        if user == "decisions":
            return [decision.payload["decision"] for decision in self._project.query_decisions()]
        backend = self._warden.backend("project/p")
        vector = _vector(question)
        return [item.payload["decision"] for item in backend.query_semantic(vector, most)]

    def close(self) -> None:
        """See :class:`memwarden_bench.systems.System`."""
        self._warden.close()


class TiersOnDisk(Tiers):
    """memwarden's tiers on SQLite."""

    url = "sqlite:///{folder}/tiers.db"


class LangGraphTiers(LangGraph):
    """LangGraph's ``InMemoryStore``, a namespace a tier, with a plain assembler.

    It searches each tier, as it comes where nothing is asked, and takes what fits the tier's share in that order.
    """

    def add(self, user: str, texts: Sequence[str]) -> None:
        """Add items to a tier."""
        kind = {"task": "reasoning", "project": "decision", "global": "pattern"}[user]
        self._store.batch(
            [
                self._put(("tier", user), str(next(self._numbers)), {"text": text, "kind": kind, "importance": 0.9})
                for text in texts
            ]
        )

    def ask(self, user: str, question: str, most: int = ITEMS) -> list[str]:
        """See the module."""
        if user == "decisions":
            found = self._store.search(("tier", "project"), filter={"kind": "decision"}, limit=100)
            return [item.value["text"] for item in found]
        if user == "project":
            return [item.value["text"] for item in self._store.search(("tier", user), query=question, limit=most)]
        lines: list[str] = []
        for tier, share in DEFAULT_SHARES.items():
            asked = question if tier != "task" else ""
            left = int(BUDGET * share) - estimate(f"{tier}:\n")
            lines.append(f"{tier}:")
            for item in self._store.search(("tier", tier), query=asked or None, limit=QUESTION_BUDGET):
                line = f"- [{item.value['kind']}] {item.value['text']}"
                cost = estimate(line + "\n")
                if cost <= left:
                    lines.append(line)
                    left -= cost
        return ["\n".join(lines)]


def _vector(question: str) -> list[float]:
    from memwarden.models.wordllama import shared_embedder

    found: list[float] = shared_embedder().embed([question])[0].tolist()
    return found


TIER_SYSTEMS: Mapping[str, Kind] = {
    item.name: item
    for item in (
        Kind("memwarden, in memory", Tiers, ("memwarden",), "from memwarden import Warden", keeps=False, does=()),
        Kind("memwarden, on SQLite", TiersOnDisk, ("memwarden",), "from memwarden import Warden", keeps=True, does=()),
        Kind(f"{PEER}, three namespaces", LangGraphTiers, ("langgraph", "numpy"), "", keeps=False, does=()),
    )
}
"""The systems by their name; the last is what the others are compared with."""
