"""Tiers of a large namespace are listed and searched by vector as those of a small one, and are not read whole."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from memwarden import AsyncWarden
from memwarden.recall.large import registry
from memwarden.records import Namespace, Scan
from memwarden.testing import get_runtime
from memwarden.tiers import ContextRequest, Task, assembler

ABOVE = 60
HERE = Namespace("default", "user/nora")


def opened(url: str) -> AsyncWarden:
    return AsyncWarden.open(url, {"search_above": ABOVE, "embedder": "wordllama", "merging": "off"})


def refuse_whole(warden: AsyncWarden, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the large namespace not be read whole."""
    scan = get_runtime(warden).store.scan

    async def read_others(namespace: Namespace, since: int = 0) -> Scan:
        assert namespace != HERE, "the namespace is read whole"
        return await scan(namespace, since)

    monkeypatch.setattr(get_runtime(warden).store, "scan", read_others)


@pytest.mark.parametrize("most", [1_000, 20])
async def test_tiers_are_read_in_part(
    new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(assembler, "MAX_READ", most)
    monkeypatch.setattr(registry, "MAX_COMPARED", most)
    url = new_database()
    async with opened(url) as warden:
        me = warden.scope(user="nora")
        for number in range(80):
            await me.remember(
                f"Nora keeps object {number} on shelf {number % 7}.",
                importance=(number % 5) / 5,
                created_at=f"2024-01-{1 + number % 28:02}",
            )
        await me.query("Where is object 7?")
        await get_runtime(warden).services.larges.wait_idle()
        assert await get_runtime(warden).services.larges.ready(HERE)
    listed, nearest = [], []
    for is_large in (True, False):
        async with opened(url) as warden:
            if is_large:
                refuse_whole(warden, monkeypatch)
            else:
                get_runtime(warden).services.larges.store = None
            assembling = warden.tiers.assembler()
            asked = ContextRequest(200, user="nora", shares={"user": 1.0})
            package = await assembling.build_context(Task("k1", {}), asked)
            listed.append([item.item.context_item_id for item in package.included])
            vector = np.zeros(128)
            vector[3] = 1.0
            found = await warden.backend("user/nora").query_semantic(vector.tolist(), 5)
            nearest.append([item.context_item_id for item in found])
        monkeypatch.undo()
    assert listed[0]
    assert listed[0] == listed[1]
    assert nearest[0]
    assert nearest[0] == nearest[1]
