"""A streaming replica answers reads, and no answer is older than what was acknowledged before the question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from memwarden import AsyncWarden
from memwarden.records import Namespace, Remove
from memwarden.stores.postgres import PostgresStore, replicas
from memwarden.testing.examples import NAMESPACE, a_batch, a_put
from memwarden_bench.citus_cluster import Node
from memwarden_bench.standby import ServerPair, start_pair

# Two servers and a copy of one of them: ten seconds.
pytestmark = pytest.mark.soak

OTHER = Namespace("test", "user/other")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerPair]:
    """A primary and its replica, which log their statements."""
    monkeypatch.setattr(replicas, "REST_SECONDS", 0.2)
    with start_pair({"log_statement": "all", "synchronous_commit": "local"}) as pair:
        yield pair


def count_reads(node: Node) -> int:
    """Return the number of statements about memories that a server was sent."""
    return node.log.read_text().count("FROM memwarden.memories WHERE")


async def ids(store: PostgresStore) -> set[str]:
    return {memory.id for memory in await store.find(NAMESPACE, limit=1_000)}


async def test_a_replica_answers_what_it_has_replayed_and_the_primary_the_rest(servers: ServerPair) -> None:
    store, other = PostgresStore(servers.url_with_replica), PostgresStore(servers.url)
    await store.open()
    await other.open()
    await store.apply(a_batch(a_put("a")))
    await other.apply(a_batch(a_put("z", namespace=OTHER), namespace=OTHER))
    await asyncio.to_thread(servers.wait_replayed)
    before = count_reads(servers.primary)
    for _ in range(5):
        assert await ids(store) == {"a"}
    assert count_reads(servers.primary) == before
    assert count_reads(servers.standby) == 5
    await asyncio.to_thread(servers.pause_replay, True)
    await other.apply(a_batch(a_put("b")))  # by another process
    assert await ids(store) == {"a", "b"}
    await store.apply(a_batch(Remove("a")))
    assert await ids(store) == {"b"}
    assert count_reads(servers.standby) == 5
    assert len(await store.find(OTHER)) == 1  # nothing new here
    assert count_reads(servers.standby) == 6
    await store.erase(NAMESPACE)
    assert await ids(store) == set()
    await asyncio.to_thread(servers.pause_replay, False)
    await asyncio.to_thread(servers.wait_replayed)
    await store.apply(a_batch(a_put("c")))
    assert await ids(store) == {"c"}
    await store.close()
    await other.close()


async def test_answers_under_lag_are_never_older(servers: ServerPair) -> None:
    """Replay stops and goes on while two processes write and read."""
    mine, others = PostgresStore(servers.url_with_replica), PostgresStore(servers.url_with_replica)
    await mine.open()
    await others.open()

    async def write_and_read(writer: PostgresStore, reader: PostgresStore, name: str) -> None:
        for number in range(60):
            await writer.apply(a_batch(a_put(f"{name}{number}")))
            assert f"{name}{number}" in await ids(reader)
            assert [item.memory_id for item in await reader.journal(NAMESPACE, memory_id=f"{name}{number}")]

    async def stop_and_go() -> None:
        for paused in (True, False) * 10:
            await asyncio.to_thread(servers.pause_replay, paused)
            await asyncio.sleep(0.05)

    await asyncio.gather(write_and_read(mine, others, "m"), write_and_read(others, mine, "o"), stop_and_go())
    assert await mine.scan(NAMESPACE) == await others.scan(NAMESPACE)
    await mine.close()
    await others.close()


async def test_questions_are_answered_with_a_replica_that_is_lost_and_returns(servers: ServerPair) -> None:
    async with AsyncWarden.open(servers.url_with_replica, config={"events": "off"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana keeps bees in Leeds.")
        await asyncio.to_thread(servers.wait_replayed)
        question = "Where does Ana keep bees?"
        assert (await me.query(question, threshold=0)).items[0].memory.text == "Ana keeps bees in Leeds."
        await asyncio.to_thread(servers.standby.kill)
        assert len(await me.find()) == 1
        await me.remember("Ana sold her car.")
        assert len(await me.find()) == 2
        await asyncio.to_thread(servers.standby.start)
        await asyncio.to_thread(servers.wait_replayed)
        await asyncio.sleep(0.3)
        before = count_reads(servers.standby)
        assert len(await me.find()) == 2
        assert count_reads(servers.standby) > before


async def test_a_primary_that_was_left_behind_answers_nothing(servers: ServerPair) -> None:
    """Both servers may be named as replicas. The former primary has writes of its own when it is started again."""
    both = ",".join(f"127.0.0.1:{node.port}" for node in (servers.primary, servers.standby))
    store = PostgresStore(f"{servers.url}&replicas={both}", connect_seconds=60)
    await store.open()
    await store.apply(a_batch(a_put("a")))
    await asyncio.to_thread(servers.wait_replayed)
    await asyncio.to_thread(servers.primary.kill)
    await asyncio.to_thread(servers.promote)
    await store.apply(a_batch(a_put("b")))
    assert await ids(store) == {"a", "b"}
    await asyncio.to_thread(servers.primary.start)
    with psycopg.connect(servers.primary.url(), autocommit=True) as db:  # as if it had been written before the loss
        db.execute("UPDATE memwarden.namespaces SET rev = 100")
    await asyncio.sleep(0.3)
    before = count_reads(servers.standby)
    for _ in range(4):
        assert await ids(store) == {"a", "b"}
    assert count_reads(servers.standby) == before + 4
    await store.close()
