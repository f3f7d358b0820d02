"""One store on three nodes of Citus: the same answers as in memory, each from one node, and rows that move whole."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test
from test_postgres_plans import Noting
from test_same_figures import played, untimed

from law_stores import texts_of, told, vocabulary
from memwarden import AsyncWarden
from memwarden.models.wordllama import shared_embedder
from memwarden.recall.index.encode import make_signals
from memwarden.records import Batch, Memory, Namespace, Put
from memwarden.stores.postgres import PostgresStore
from memwarden.stores.postgres.rows import register_dumpers
from memwarden.stores.postgres.search import Searcher, index_names
from memwarden.stores.postgres.transaction import TransactionKind, begin
from memwarden.stores.shared.search import OpenRows, SearchLegs, format_term
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.doctor import look_for_leaks
from memwarden.testing import get_runtime
from memwarden.testing.examples import a_batch, a_put
from memwarden.testing.state_machine import store_machine
from memwarden_bench import sentences
from memwarden_bench.citus_cluster import CitusCluster, start_cluster
from memwarden_bench.citus_load import CitusLoad
from stopped_migration import DISTRIBUTION, KILLED, ROW_TABLES, fill_source, migrating

_LOCAL = """
    SELECT relname FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid)
"""
# Groups of tables whose rows of the same path are on the same node.
_PLACEMENTS = """
    SELECT count(DISTINCT colocationid) FROM pg_dist_partition JOIN pg_class ON pg_class.oid = logicalrelid
    WHERE relnamespace = 'memwarden'::regnamespace AND partmethod = 'h'
"""
# Unique and foreign keys that do not begin with the tenant and the path of a namespace.
_KEYS = """
    SELECT relname, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
    WHERE relnamespace = 'memwarden'::regnamespace AND indisunique AND relname <> 'meta'
    AND pg_get_indexdef(indexrelid) NOT LIKE '%(tenant, namespace%'
    UNION ALL SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'memwarden'::regnamespace AND contype = 'f'
    AND pg_get_constraintdef(oid) NOT LIKE '%(tenant, namespace%REFERENCES%(tenant, namespace%'
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
        assert db.execute(_PLACEMENTS).fetchone() == (1,)
        assert db.execute(_KEYS).fetchall() == []
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


async def test_a_large_namespace_is_searched_on_its_node(citus_url: str, new_database: Callable[[], str]) -> None:
    """It is answered as on one PostgreSQL, by its own indexes, and what is written later is found, too."""
    here, answers = PEOPLE[0], []
    for url in (citus_url, new_database()):
        async with AsyncWarden.open(url, config={"search_above": 100}) as warden:
            services, me = get_runtime(warden).services, warden.scope(user="ana")
            await write(warden, here, [turn["content"] for turn in sentences.turns(130)])
            await me.query("Who has a canoe?")
            await services.larges.wait_idle()
            await write(warden, here, ["Wilma keeps axolotls behind the lighthouse."], first=130)
            # The server keeps a plan for any values from the sixth time on. It is a task of one node, too.
            asked = ["What does Wilma keep?", *sentences.questions(14)]
            answers.append([await me.query(question, top_k=5, threshold=0) for question in asked])
            assert services.indexes.held(here) is None
            with psycopg.connect(url, autocommit=True) as db:
                assert db.execute("SELECT count(*) FROM memwarden.vectors").fetchone() == (131,)
                if url == citus_url:
                    check_search_plans(db, here)
            assert isinstance(warden.store, PostgresStore)
            assert await warden.store.drop_search(here)
    mine, reference = answers
    assert "axolotls" in mine[0].items[0].text
    for found, wanted in zip(mine, reference, strict=True):
        assert [item.id for item in found.items] == [item.id for item in wanted.items]
        assert [item.score for item in found.items] == pytest.approx([item.score for item in wanted.items], abs=1e-4)


async def write(warden: AsyncWarden, here: Namespace, texts: Sequence[str], first: int = 0) -> None:
    """Write turns with numbered ids. first: the first number."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    turns = [
        Memory(
            f"m{first + place}", here, text, at, at, channel="turn", role="user", thread_id=f"t{(first + place) // 10}"
        )
        for place, text in enumerate(texts)
    ]
    signals = make_signals([(turn.text, turn.created_at) for turn in turns], shared_embedder())
    await warden.store.apply(Batch(here, tuple(map(Put, turns, signals)), at))


def check_search_plans(db: psycopg.Connection[Any], here: Namespace) -> None:
    """Each statement of a search is one task, and the node goes by the namespace's own indexes."""
    register_dumpers(db)
    noting: Any = Noting(db)
    own, word = index_names(here), format_term(10**6)
    legs = SearchLegs(OpenRows(), bytes(256), 20, word, 20, 20)
    Searcher(noting, 30).look(here, legs)
    Searcher(noting, 30).surround(here, [1, 2], [("t3", 30, 3)], OpenRows())
    Searcher(noting, 30).resting_around(here, [1, 2], [("t3", 30, 3)], OpenRows())
    statements = [item for item in noting.asked if b"FROM memwarden.rows_" not in item[0]]
    words = (
        f"SELECT n FROM memwarden.signals WHERE tenant = %s AND namespace = %s AND memwarden.words(terms) @@ '{word}'"
    )
    plans = [explain(db, here, "memwarden_app", *item) for item in statements]
    assert len(plans) == 7
    plans.append(explain(db, here, "memwarden_search", words.encode(), [here.tenant, here.path]))
    assert all("Task Count: 1" in plan for plan in plans)
    for name in (own.near, own.words):
        assert any(name in plan for plan in plans), name


def explain(db: psycopg.Connection[Any], here: Namespace, role: str, sql: bytes, values: Any) -> str:
    begin(db, here, 30, TransactionKind.READ)
    db.execute(f"SET LOCAL ROLE {role}".encode())
    for setting in ("enable_seqscan", "enable_hashjoin", "enable_mergejoin"):
        db.execute(f"SET LOCAL {setting} = off".encode())
    found = db.execute(b"EXPLAIN " + sql, values).fetchall()
    db.execute("ROLLBACK")
    return "\n".join(line for (line,) in found)


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


@pytest.mark.parametrize(
    ("namespaces", "seconds", "transfer"),
    [(12, 0.2, "block_writes"), pytest.param(2_000, 30, "force_logical", marks=pytest.mark.soak)],
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
