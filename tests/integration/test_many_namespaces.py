"""The indexes of a process: how many are kept, when one is thrown away, and what counts as a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memwarden import AsyncWarden
from memwarden.recall.index.namespace_index import NamespaceIndex, NamespaceIndexes
from memwarden.records import Head, Namespace, Scan
from memwarden.settings import Settings
from memwarden.stores.memory.store import MemoryStore
from memwarden.testing import get_runtime

HOUR = 3_600.0
USERS = ("ana", "ben", "eva")


def indexes(warden: AsyncWarden) -> NamespaceIndexes:
    return get_runtime(warden).services.indexes


def kept(warden: AsyncWarden) -> set[str]:
    """The namespaces of the users whose indexes are kept."""
    spaces = [Namespace("default", f"user/{user}") for user in USERS]
    return {space.path for space in spaces if indexes(warden).held(space) is not None}


async def fill(warden: AsyncWarden, users: Sequence[str]) -> None:
    for user in users:
        await warden.scope(user=user).remember([f"{user} sails the boat number {number}." for number in range(50)])


async def ask(warden: AsyncWarden, user: str) -> list[str]:
    result = await warden.scope(user=user).query("Who sails the boat number 7?", threshold=0.0, top_k=1)
    return [item.memory.text for item in result.items]


async def size_of_one() -> int:
    async with AsyncWarden.open("memory://", config={"embedder": "none", "merging": "off"}) as warden:
        await fill(warden, ["ana"])
        await ask(warden, "ana")
        index = indexes(warden).held(Namespace("default", "user/ana"))
        assert index is not None
        return index.nbytes


async def test_the_least_recently_used_index_goes_when_memory_is_short(url: str) -> None:
    room_for_two = int(2.7 * await size_of_one())
    async with AsyncWarden.open(
        url, config={"embedder": "none", "merging": "off", "index_bytes": room_for_two}
    ) as warden:
        await fill(warden, ["ana", "ben", "eva"])
        for user in ("ana", "ben", "ana"):
            await ask(warden, user)
        assert kept(warden) == {"user/ana", "user/ben"}
        assert await ask(warden, "eva") == ["eva sails the boat number 7."]
        assert kept(warden) == {"user/ana", "user/eva"}
        assert await ask(warden, "ben") == ["ben sails the boat number 7."]  # built again, answers as before
        assert kept(warden) == {"user/ben", "user/eva"}


async def test_an_index_that_follows_a_change_is_in_use(url: str) -> None:
    room_for_two = int(2.8 * await size_of_one())  # one of them grows
    config = {"embedder": "none", "merging": "off", "index_bytes": room_for_two}
    async with AsyncWarden.open(url, config=config) as warden:
        await fill(warden, ["ana", "ben", "eva"])
        for user in ("ana", "ben"):
            await ask(warden, user)
        await warden.scope(user="ana").remember("ana sails one more boat.")
        for user in ("ana", "eva"):
            await ask(warden, user)
        assert kept(warden) == {"user/ana", "user/eva"}


async def test_an_index_that_grows_takes_the_place_of_others(url: str) -> None:
    room_for_two = int(2.7 * await size_of_one())
    config = {"embedder": "none", "merging": "off", "index_bytes": room_for_two}
    async with AsyncWarden.open(url, config=config) as warden:
        await fill(warden, ["ana", "ben"])
        for user in ("ana", "ben"):
            await ask(warden, user)
        await fill(warden, ["ben"] * 6)
        await ask(warden, "ben")
        assert kept(warden) == {"user/ben"}


async def test_the_index_in_use_is_kept_however_large_it_is(url: str) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none", "index_bytes": 1}) as warden:
        await fill(warden, ["ana", "ben"])
        for user in ("ana", "ben", "ben"):
            assert await ask(warden, user) == [f"{user} sails the boat number 7."]
        assert kept(warden) == {"user/ben"}


class Restorable:
    """A store that can be put back to another state, which it says with its epoch."""

    def __init__(self) -> None:
        self.state = MemoryStore()
        self.epoch = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    async def restore(self, other: MemoryStore) -> None:
        await other.open()
        self.state = other
        self.epoch += 1

    async def head(self, namespace: Namespace) -> Head:
        return Head((await self.state.head(namespace)).rev, self.epoch)

    async def scan(self, namespace: Namespace, since: int = 0) -> Scan:
        scan = await self.state.scan(namespace, since)
        return Scan(scan.rows, Head(scan.head.rev, self.epoch))


@pytest.mark.parametrize("more", [0, 1])
async def test_a_new_epoch_throws_the_index_away(more: int) -> None:
    """The revision is the same or higher, as after a backup was put back; the rows are others."""
    settings = Settings(embedder="none", merging="off")
    store: Any = Restorable()
    backup = MemoryStore()
    async with AsyncWarden(backup, settings) as old:
        await old.scope(user="ana").remember(["Ana sails the green boat."] * (1 + more))
    async with AsyncWarden(store, settings) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana sails the red boat.")
        before = await me.query("Which boat does Ana sail?", threshold=0.0)
        assert [item.memory.text for item in before.items] == ["Ana sails the red boat."]
        await store.restore(backup)
        result = await me.query("Which boat does Ana sail?", threshold=0.0)
        assert {item.memory.text for item in result.items} == {"Ana sails the green boat."}
        assert len(result.items) == 1 + more
        index = await indexes(warden).current(me.who.namespace)
        assert (index.size, index.epoch, index.rev) == (1 + more, 1, 1 + more)


async def test_a_mostly_dead_index_is_built_anew(url: str) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none", "merging": "off"}) as warden:
        me = warden.scope(user="ana")
        stored = await me.remember([f"Ana sails the boat number {number}." for number in range(1_100)])
        ids = [str(result.id) for result in stored.results]

        async def index() -> NamespaceIndex:
            return await indexes(warden).current(me.who.namespace)

        first = await index()
        for start in (0, 400):  # few enough at once to be followed row by row
            await me.forget(ids[start : start + 400])
            assert await index() is first
        assert (first.size, first.mostly_dead) == (1_100, True)
        fresh = await index()
        assert (fresh.size, fresh.mostly_dead, fresh.rev) == (300, False, first.rev)
        assert await index() is fresh
        result = await me.query("Who sails the boat number 900?", threshold=0.0, top_k=1)
        assert [item.memory.text for item in result.items] == ["Ana sails the boat number 900."]


# --- sessions


async def sessions(warden: AsyncWarden) -> dict[str, int]:
    """The session of each memory of Ana's, by its text; -1 for none."""
    index = await indexes(warden).current(warden.scope(user="ana").who.namespace)
    memories = await warden.scope(user="ana").find()
    places = {memory.text: index.place(memory.id) for memory in memories}
    return {text: int(index.view.session[place]) for text, place in places.items() if place is not None}


def turn(text: str, hour: float) -> dict[str, object]:
    return {"role": "user", "content": text, "created_at": 1_770_000_000 + hour * HOUR}


@pytest.mark.parametrize(
    ("config", "expected"),
    [({}, [0, 0, 1, 1]), ({"session_gap_hours": 6}, [0, 0, 0, 0]), ({"session_gap_hours": 2}, [0, 1, 2, 2])],
)
async def test_a_silence_of_session_gap_hours_ends_a_session(
    url: str, config: dict[str, float], expected: list[int]
) -> None:
    texts = ["We sail at noon.", "The sea is calm.", "Back in the harbour.", "Supper is ready."]
    async with AsyncWarden.open(url, config={"embedder": "none", **config}) as warden:
        me = warden.scope(user="ana", thread="t1")
        await me.observe([turn(text, hour) for text, hour in zip(texts, (0, 3, 8, 8.5), strict=True)])
        found = await sessions(warden)
        assert [found[text] for text in texts] == expected


async def test_a_stated_memory_joins_the_session_that_its_thread_is_in(url: str) -> None:
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        item, other = warden.scope(user="ana", thread="t1"), warden.scope(user="ana", thread="t2")
        await item.observe(turn("We sail at noon.", 0))
        await item.remember("They sail at noon.")
        await other.observe(turn("The cat is ill.", 1))
        await item.observe(turn("The mast broke.", 10))
        await item.remember("The mast needs repair.")
        await other.remember("The cat needs a vet.")
        await warden.scope(user="ana").remember("The year is long.")
        await warden.scope(user="ana", thread="t3").remember("The attic is full.")
        assert await sessions(warden) == {
            "We sail at noon.": 0,
            "They sail at noon.": 0,
            "The cat is ill.": 1,
            "The cat needs a vet.": 1,
            "The mast broke.": 2,
            "The mast needs repair.": 2,
            "The year is long.": -1,
            "The attic is full.": -1,
        }
