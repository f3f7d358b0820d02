"""One store on three nodes of Citus: the same answers as in memory, each from one node, and rows that move whole."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from test_same_figures import played, untimed

from memwarden import AsyncWarden
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.doctor import look_for_leaks
from memwarden.testing.examples import a_batch, a_put
from memwarden_bench.citus_cluster import CitusCluster, start_cluster
from memwarden_bench.citus_load import CitusLoad

_LOCAL = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
"""
PEOPLE = [Namespace("default", f"user/{name}") for name in ("ana", "bo", "cy", "dee", "eli", "fay", "gus", "hal")]


def test_the_demo_is_answered_as_in_memory(citus_url: str) -> None:
    mine, reference = played(citus_url), played("memory://")
    assert untimed(mine.answers) == untimed(reference.answers)
    assert any(answer.turns for answer in mine.answers)


async def test_calls_are_counted_on_a_node(citus_url: str) -> None:
    place, store = Namespace("memwarden-server", "calls"), PostgresStore(citus_url)
    await store.open()
    counts = [await store.counts.add(place, "key", 86_400, 2) for _ in range(3)]
    assert [count.calls for count, _ in counts] == [2, 4, 6]
    await store.close()


async def test_a_store_of_one_server_is_distributed_with_its_rows_when_it_is_opened(citus: CitusCluster) -> None:
    url = citus.new_database(citus=False)
    async with AsyncWarden.open(url) as warden:
        for person in PEOPLE:
            await warden.store.apply(a_batch(a_put("a", namespace=person), namespace=person))
    citus.install(urlsplit(url).path[1:])
    async with AsyncWarden.open(url) as warden:
        assert sorted(await warden.store.namespaces()) == PEOPLE
        for person in PEOPLE:
            assert [memory.id for memory in await warden.store.find(person)] == ["a"]
    with psycopg.connect(url) as db:
        assert db.execute(_LOCAL).fetchall() == []
    with redirect_stdout(StringIO()) as out:
        assert await asyncio.to_thread(run, ["doctor", "--db", url, "--json"]) == 0
    nodes = json.loads(out.getvalue())["nodes"]
    assert {share["node"] for share in nodes} == {f"127.0.0.1:{node.port}" for node in citus.workers}
    assert sum(share["namespaces"] for share in nodes) == len(PEOPLE)
    assert all(share["namespaces"] and share["bytes"] for share in nodes)


@pytest.mark.soak
async def test_roles_that_another_database_made_reach_the_nodes() -> None:
    with start_cluster(Path(os.environ["MEMWARDEN_CITUS"])) as cluster:
        async with AsyncWarden.open(cluster.new_database(citus=False)):
            pass
        async with AsyncWarden.open(cluster.new_database()) as warden:
            await warden.store.apply(a_batch(a_put("a", namespace=PEOPLE[0]), namespace=PEOPLE[0]))
            assert await warden.store.namespaces() == PEOPLE[:1]


@pytest.mark.soak
async def test_nothing_leaks_across_nodes(citus: CitusCluster) -> None:
    async with AsyncWarden.open(citus.new_database(), config={}) as warden:
        found = await look_for_leaks(warden)
    assert [item for item in found.tried if item.leaks] == []
    assert found.left == ""
    assert any(item.boundary == "database" and item.tried for item in found.tried)


async def test_a_backup_comes_back_on_other_nodes(citus: CitusCluster, citus_url: str, tmp_path: Path) -> None:
    async with AsyncWarden.open(citus_url) as warden:
        for person in PEOPLE:
            await warden.scope(user=person.path.removeprefix("user/")).remember("Fay lives in Porto.")
    made = await PostgresStore(citus_url).back_up(tmp_path / "all.zip")
    assert [space.path for space in made.namespaces] == [person.path for person in PEOPLE]
    url = citus.new_database()
    other = PostgresStore(url)
    await other.restore(tmp_path / "all.zip")
    async with AsyncWarden.open(url) as warden:
        assert sorted(await warden.store.namespaces()) == PEOPLE
        assert await other.examine() == []


@pytest.mark.parametrize(
    ("namespaces", "seconds", "transfer"),
    [(40, 0.5, "block_writes"), pytest.param(2_000, 30, "force_logical", marks=pytest.mark.soak)],
)
async def test_writes_outlive_a_moved_shard_and_a_killed_node(
    citus: CitusCluster, namespaces: int, seconds: float, transfer: str
) -> None:
    load = CitusLoad(citus, citus.new_database(), namespaces, clients=8)
    found = await load.run(seconds, dead_seconds=seconds, transfer=transfer)
    assert found.acknowledged > namespaces
    assert found.reads > namespaces
    assert found.errors["dead"]
    assert found.longest["after"] < 10
    assert (found.lost, found.doubled, found.stale, found.misplaced) == ([], [], [], [])
