"""One store on three nodes of Citus: the same answers as in memory, each from one node, and rows that move whole."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from test_same_figures import played, untimed

from law_stores import texts_of, told, vocabulary
from memwarden import AsyncWarden
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.doctor import look_for_leaks
from memwarden.testing.examples import a_batch, a_put
from memwarden.testing.state_machine import store_machine
from memwarden_bench.citus_cluster import CitusCluster, start_cluster
from memwarden_bench.citus_load import CitusLoad
from stopped_migration import DISTRIBUTION, KILLED, ROW_TABLES, fill_source, migrating

_LOCAL = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
"""
WHILE_DISTRIBUTING = 60
"""Trips of a migration to the server after which a part of the tables is distributed."""
DATA = Path(os.environ.get("MEMWARDEN_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
REALMEM = sorted((DATA / "realmem").glob("*_dialogues_256k.json"))
needs_realmem = pytest.mark.skipif(not REALMEM, reason="RealMem is not part of the project; set MEMWARDEN_DATA")
SETTINGS = settings(
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
    print_blob=True,
)
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
async def test_a_cluster_of_the_release_before_is_upgraded(citus_url: str) -> None:
    async with AsyncWarden.open(citus_url) as warden:
        await warden.scope(user="ana").remember("Ana lives in Oslo.")
    with psycopg.connect(citus_url, autocommit=True) as db:
        db.execute("DROP FUNCTION memwarden.places_with(text, bigint)")
        db.execute("UPDATE memwarden.meta SET value = '18' WHERE key = 'schema'")
    async with AsyncWarden.open(citus_url) as warden:
        assert (await warden.scope(user="ana").query("Where does Ana live?")).items
    with psycopg.connect(citus_url) as db:
        assert db.execute("SELECT count(*) FROM pg_proc WHERE proname = 'places_with'").fetchone() == (1,)


async def test_nothing_leaks_across_nodes(citus: CitusCluster) -> None:
    async with AsyncWarden.open(citus.new_database(), config={}) as warden:
        found = await look_for_leaks(warden)
    assert [item for item in found.tried if item.leaks] == []
    assert found.left == ""
    assert any(item.boundary == "database" and item.tried for item in found.tried)


def test_a_migration_that_is_killed_while_citus_distributes_is_rolled_back_and_finished(
    citus: CitusCluster, tmp_path: Path
) -> None:
    url = citus.new_database()
    with migrating(fill_source(tmp_path), url) as migration, psycopg.connect(url, autocommit=True) as db:
        assert migration.run("kill", WHILE_DISTRIBUTING)[0] == KILLED
        assert db.execute(b"SELECT to_regnamespace('memwarden') IS NOT NULL").fetchone() == (False,)
        assert migration.run()[0] == 0  # both sides hold the same
        (tables,) = db.execute(f"SELECT count(*) FROM ({ROW_TABLES}) t".encode()).fetchone() or (0,)
        assert len(db.execute(DISTRIBUTION.encode()).fetchall()) == tables > 10


@pytest.mark.parametrize("language", ["en", pytest.param("ja", marks=pytest.mark.soak)])
def test_the_laws_store_is_answered_as_in_memory(language: str, citus_url: str) -> None:
    texts = [note.text for note in vocabulary(language).notes(1, 24)]
    with told(texts) as reference, told(texts, citus_url) as mine:
        for note in vocabulary(language).notes(1, 24)[:5]:
            wanted, found = (me.query(note.question, top_k=5, threshold=0.0).items for me in (reference, mine))
            assert [(item.memory.text, item.score) for item in found] == [
                (item.memory.text, pytest.approx(item.score, abs=1e-4)) for item in wanted
            ]
            assert texts_of(mine.context(note.question, 200)) == texts_of(reference.context(note.question, 200))


@pytest.mark.soak
@needs_realmem
def test_a_persona_of_realmem_is_answered_as_on_sqlite(citus_url: str, tmp_path: Path) -> None:
    mine, reference = (played(url, [REALMEM[0]]) for url in (citus_url, f"sqlite:///{tmp_path / 'store.db'}"))
    assert untimed(mine.answers) == untimed(reference.answers)
    assert mine.turns == reference.turns > 500


@pytest.mark.parametrize(
    ("start", "examples"), [(0, 1), *(pytest.param(start, 40, marks=pytest.mark.soak) for start in range(1, 6))]
)
def test_random_calls_are_answered_as_the_reference_does(
    emptied_citus: Callable[[], str], start: int, examples: int
) -> None:
    machine = seed(start)(store_machine(lambda folder: PostgresStore(emptied_citus(), connections=2)))
    run_state_machine_as_test(machine, settings=settings(SETTINGS, max_examples=examples))


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


@pytest.mark.soak
@pytest.mark.parametrize(
    ("namespaces", "seconds", "transfer"),
    [(40, 0.5, "block_writes"), (2_000, 30, "force_logical")],
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
