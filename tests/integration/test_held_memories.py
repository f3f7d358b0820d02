"""Memories that stood in an answer are kept to be shown again: never an old version, and within a number of bytes."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.clock import now
from memwarden.recall.answer.memory_cache import CachedMemory, MemoryCache
from memwarden.records import Memory, Namespace
from memwarden.settings import Settings
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing import get_runtime
from memwarden.text import tokenizer
from memwarden.tiers.backend import ContextItem

WORDS = Settings(embedder="none")
BOAT = "Which boat does Ana sail?"


class Counting(SqliteStore):
    """A store that takes down which memories are read by their ids."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read: list[str] = []

    async def get(self, namespace: Namespace, ids: Sequence[str], *, removed: bool = False) -> list[Memory]:
        self.read.extend(ids)
        return await super().get(namespace, ids, removed=removed)


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[AsyncWarden, AsyncWarden, Counting]]:
    """Two wardens on one file, as two processes have them, and the store of the first."""
    store = Counting(tmp_path / "one.db")
    async with AsyncWarden(store, WORDS) as first, AsyncWarden(SqliteStore(tmp_path / "one.db"), WORDS) as second:
        yield first, second, store


async def texts(warden: AsyncWarden) -> set[str]:
    found = await warden.scope(user="ana").query(BOAT, threshold=0.0)
    return {item.memory.text for item in found.items}


async def test_a_second_answer_reads_nothing_and_is_the_same(two: tuple[AsyncWarden, AsyncWarden, Counting]) -> None:
    warden, _, store = two
    me = warden.scope(user="ana")
    await me.remember(["Ana sails the red boat.", "Ana sails the big boat."])
    first = await me.query(BOAT)
    assert len(store.read) == 2
    assert await me.query(BOAT) == first
    assert len(store.read) == 2


async def test_what_another_process_changes_is_in_the_next_answer(
    two: tuple[AsyncWarden, AsyncWarden, Counting],
) -> None:
    warden, other, _ = two
    theirs = other.scope(user="ana")
    (red,) = (await theirs.remember("Ana sails the red boat.")).results
    assert await texts(warden) == {"Ana sails the red boat."}
    await get_runtime(other).services.items.upsert(
        replace(await theirs.get(str(red.id)), text="Ana sails the green boat.")
    )
    assert await texts(warden) == {"Ana sails the green boat."}
    await theirs.forget(str(red.id))
    assert await texts(warden) == set()


async def test_a_payload_that_a_reader_changes_stays_as_it_was_in_later_answers(
    two: tuple[AsyncWarden, AsyncWarden, Counting],
) -> None:
    warden, _, _ = two
    await warden.backend("user/ana").add(ContextItem("i1", "note", payload={"text": "Ana sails the red boat."}))
    for _ in range(2):
        (item,) = (await warden.scope(user="ana").query(BOAT, threshold=0.0)).items
        payload: Any = item.memory.payload
        assert payload == {"text": "Ana sails the red boat."}
        payload["text"] = "changed"


def memory(number: int, text: str) -> Memory:
    return Memory(f"m{number}", Namespace("default", "user/ana"), text, created_at=now(), updated_at=now())


def test_the_least_recently_used_go_when_there_is_no_room() -> None:
    held = MemoryCache(2 * CachedMemory(memory(0, "A boat.")).nbytes)
    for place in (0, 1):
        held.hold(7, place, memory(place, "A boat."))
    held.known(7, [0])
    held.hold(7, 2, memory(2, "A boat."))
    assert set(held.known(7, range(3))) == {0, 2}
    assert held.known(8, range(3)) == {}


def test_one_that_is_bigger_than_the_room_is_not_kept_and_drops_no_other() -> None:
    small = memory(0, "A boat.")
    held = MemoryCache(CachedMemory(small).nbytes)
    held.hold(7, 0, small)
    assert held.hold(7, 1, memory(1, "A long boat. " * 100)).passages[0].startswith("A long boat.")
    assert set(held.known(7, (0, 1))) == {0}


def test_they_take_no_more_memory_than_they_say() -> None:
    """With all that is worked out from them, for short texts and long ones."""
    for sentences in (1, 5, 100):
        held = MemoryCache(10**9)
        tokenizer.terms("Boat number 7 sails around the island of Fehmarn today.")  # what is loaded once
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for place in range(200):
            text = " ".join(
                f"Boat number {place + item} sails around the island of Fehmarn today." for item in range(sentences)
            )
            item = held.hold(7, place, memory(place, text))
            _ = item.bullet_start, item.passages
        took = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert took < held.nbytes
