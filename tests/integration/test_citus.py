"""One store on three nodes of Citus: the same answers as in memory, each from one node, and rows that move whole."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import psycopg
from test_same_figures import played, untimed

from memwarden import AsyncWarden
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.testing.examples import a_batch, a_put
from memwarden_bench.citus_cluster import CitusCluster

_LOCAL = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
"""
_PLACES = "SELECT count(DISTINCT nodeport) FROM citus_shards WHERE table_name = 'memwarden.memories'::regclass"
PEOPLE = [Namespace("default", f"user/{name}") for name in ("ana", "bo", "cy", "dee", "eli", "fay", "gus", "hal")]


def test_the_demo_is_answered_as_in_memory(citus_url: str) -> None:
    mine, reference = played(citus_url), played("memory://")
    assert untimed(mine.answers) == untimed(reference.answers)
    assert any(answer.turns for answer in mine.answers)


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
        assert db.execute(_PLACES).fetchone() == (2,)


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
