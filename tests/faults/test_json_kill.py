"""SIGKILL and power cuts wherever a store of JSON files touches its files (E8): nothing is lost or half there."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

import pytest
from json_child import run
from kill_child import NAMESPACE, the_batch

from memwarden.errors import StoreCorrupt
from memwarden.stores.jsonfile import JsonStore
from memwarden.stores.memory.store import MemoryStore
from memwarden.stores.transfer.pages import Page

BATCHES = 12


async def _page(store: MemoryStore) -> Page:
    return await store.dump_page(NAMESPACE, 0, limit=10_000)


async def _wanted() -> list[Page]:
    """What the namespace holds after each number of batches."""
    store, pages = MemoryStore(), []
    await store.open()
    for number in range(BATCHES + 1):
        pages.append(await _page(store))
        await store.apply(the_batch("w", number))
    return pages


@pytest.fixture(scope="module")
def wanted() -> list[Page]:
    return asyncio.run(_wanted())


async def _held(root: Path) -> Page:
    store = JsonStore(root)
    await store.open()
    try:
        return await _page(store)
    finally:
        await store.close()


def _check(site: Path, wanted: list[Page]) -> int:
    """The store holds what was acknowledged, or one batch more; returns how many batches."""
    told = len((site / "acks").read_text().splitlines()) if (site / "acks").exists() else 0
    held = asyncio.run(_held(site / "store"))
    assert held in wanted[told : told + 2], f"after {told} acknowledged batches it stands at revision {held.rev}"
    return told


def _points(site: Path) -> list[str]:
    """Every point that an undisturbed run passes."""
    site.mkdir()
    assert run(site) == 0
    return sorted(set((site / "passed").read_text().splitlines()))


@pytest.mark.parametrize("passages", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_kills_at_every_point(tmp_path: Path, wanted: list[Page], passages: int) -> None:
    points, died = _points(tmp_path / "undisturbed"), set()
    chance = random.Random(5)
    for number, point in enumerate(points):
        site = tmp_path / str(number)
        site.mkdir()
        for nth in (1, chance.randint(2, 6))[:passages]:
            code = run(site, at=point, nth=nth)
            assert code in (0, -signal.SIGKILL)
            if code:
                died.add(point)
            _check(site, wanted)
        assert run(site) == 0
        assert _check(site, wanted) == BATCHES
    assert died == set(points)
    assert len(died) >= 20, f"it died at {sorted(died)} only"


def test_the_harness_finds_a_store_that_does_not_sync(tmp_path: Path, wanted: list[Page]) -> None:
    assert run(tmp_path, at="applied, not answered", nth=5, fault="no sync") == -signal.SIGKILL
    with pytest.raises((AssertionError, StoreCorrupt)):
        _check(tmp_path, wanted)
