"""A cluster of Citus grows: a node is added, shards move while others write, a large namespace gets its own shard."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import psycopg
import pytest

from memwarden import AsyncWarden, Warden
from memwarden.records import Namespace
from memwarden.stores.postgres import PostgresStore
from memwarden.surfaces.doctor import look_for_leaks
from memwarden.testing.examples import a_batch, a_put
from memwarden_bench.citus_cluster import CitusCluster, start_cluster
from server_process import free_port

pytestmark = pytest.mark.soak

PEOPLE = [Namespace("default", f"user/p{number}") for number in range(24)]
SERVE = Path(__file__).parents[2] / "bench/scripts/serve_cluster.py"
SETTINGS = {"fsync": "off", "citus.shard_count": "4"}
_PLACE = """
    SELECT shardid, nodeport FROM citus_shards WHERE table_name = 'memwarden.namespaces'::regclass
    AND shardid = get_shard_id_for_distribution_column('memwarden.namespaces', %s::text)
"""
_ISOLATE = """
    SELECT isolate_tenant_to_new_shard('memwarden.namespaces', %s::text, 'CASCADE',
        shard_transfer_mode => 'block_writes')
"""
_PATHS_OF_SHARD = """
    SELECT count(*) FROM memwarden.namespaces WHERE rev > 0
    AND get_shard_id_for_distribution_column('memwarden.namespaces', namespace) = %s
"""
_QUEUE = """
    SELECT count(*) FROM pg_dist_partition
    WHERE logicalrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'memwarden_jobs'::regnamespace)
"""
_MOVE = "SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, 'force_logical')"


@pytest.fixture
def small_cluster(citus: CitusCluster) -> Any:
    """A coordinator and one worker, to which the test adds others."""
    with start_cluster(Path(os.environ["MEMWARDEN_CITUS"]), workers=1, settings=SETTINGS) as cluster:
        yield cluster


async def test_an_added_node_takes_shards_while_others_write(small_cluster: CitusCluster) -> None:
    url = small_cluster.new_database()
    store = PostgresStore(url)
    await store.open()
    kept: dict[Namespace, list[str]] = {person: [] for person in PEOPLE}
    ended, rounds = asyncio.Event(), asyncio.Queue[int]()

    async def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            for person in PEOPLE:
                await store.apply(a_batch(a_put(f"m{number}", namespace=person), namespace=person))
                kept[person].append(f"m{number}")
            rounds.put_nowait(number)

    writing = asyncio.create_task(write())
    try:
        before = await store.spread()
        await asyncio.to_thread(small_cluster.join, url)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
            await db.execute("SELECT citus_rebalance_start(shard_transfer_mode => 'force_logical')")
            await db.execute("SELECT citus_rebalance_wait()")
        while not rounds.empty():
            rounds.get_nowait()
        async with asyncio.timeout(120):  # the second of two rounds begins after the move
            moved_before, _ = await rounds.get(), await rounds.get()
    finally:
        ended.set()
        await writing
    after = await store.spread()
    assert (len(before), len(after)) == (1, 2)
    assert all(share.namespaces and share.bytes for share in after)
    assert sum(share.namespaces for share in after) == len(PEOPLE)
    assert all(len(written) > moved_before for written in kept.values())
    for person, written in kept.items():
        assert sorted(entry.memory_id for entry in await store.journal(person)) == sorted(written)
    await store.close()
    async with AsyncWarden.open(url) as warden:
        for name in ("ana", "bo", "cy", "dee", "eli"):  # some of them are on the new node
            me = warden.scope(user=name)
            await me.remember(f"{name.title()} lives in Oslo.")
            assert (await me.query(f"Where does {name.title()} live?")).items
        leaks = await look_for_leaks(warden)
    assert [item for item in leaks.tried if item.leaks] == []


async def test_a_large_namespace_gets_a_shard_of_its_own(citus: CitusCluster) -> None:
    url, large = citus.new_database(), PEOPLE[3]
    async with AsyncWarden.open(url) as warden:
        for person in PEOPLE:
            await warden.scope(user=person.path.removeprefix("user/")).remember("Fay lives in Porto.")
        me = warden.scope(user=large.path.removeprefix("user/"))
        wanted = await me.query("Where does Fay live?")
        with psycopg.connect(url, autocommit=True) as db:
            before = place_of(db, large)
            db.execute(_ISOLATE, [large.path])
            shard, port = place_of(db, large)
            assert shard != before[0]
            held = db.execute(_PATHS_OF_SHARD, [shard]).fetchone()
            (target,) = (node.port for node in citus.workers if node.port != port)
            db.execute(_MOVE, [shard, port, target])
            assert place_of(db, large) == (shard, target)
        assert held == (1,)
        await me.remember("Fay keeps bees.")
        found = await me.query("Where does Fay live?")
        assert found.items[0].text == wanted.items[0].text
        assert sorted(await warden.store.namespaces()) == sorted(PEOPLE)
        assert isinstance(warden.store, PostgresStore)
        assert sum(share.namespaces for share in await warden.store.spread()) == len(PEOPLE)
    async with AsyncWarden.open(url) as warden:
        assert (await warden.scope(user="p3").query("What does Fay keep?")).items


def place_of(db: psycopg.Connection[Any], person: Namespace) -> tuple[int, int]:
    """Return the shard of a namespace and the port of its node."""
    ((shard, port),) = db.execute(_PLACE, [person.path]).fetchall()
    return int(shard), int(port)


def test_jobs_run_by_namespace_and_their_queue_stays_on_the_coordinator(citus_url: str) -> None:
    with Warden.open(citus_url) as warden:
        for person in PEOPLE[:6]:
            warden.scope(user=person.path.removeprefix("user/")).remember("Fay keeps bees.")
    command = [sys.executable, "-m", "memwarden", "worker", "--once", "--db", citus_url]
    workers = [subprocess.Popen(command) for _ in range(2)]
    assert [worker.wait(600) for worker in workers] == [0, 0]
    with Warden.open(citus_url) as warden:
        found = [item for item in warden.jobs.status() if item.job == "expire"]
        assert len(found) == 6
        assert all(item.last is not None for item in found)
        for person in PEOPLE[:6]:
            events = warden.scope(user=person.path.removeprefix("user/")).journal.events(node="worker", op="job")
            assert [event.reason for event in events].count("expire") == 1
    with psycopg.connect(citus_url) as db:
        assert db.execute(_QUEUE).fetchone() == (0,)
        assert db.execute("SELECT to_regclass('memwarden_jobs.procrastinate_jobs') IS NOT NULL").fetchone() == (True,)


def test_the_demo_is_served_from_three_nodes_and_everything_stops(citus: CitusCluster) -> None:
    """``make cluster``, without the environment that it sets up first."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", str(SERVE), os.environ["MEMWARDEN_CITUS"], str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        try:
            question = {"query": "What did the allergy clinic find out about Tomas?", "user_id": "ines"}
            found = wait_for_answer(f"http://127.0.0.1:{port}/v1/memory/query", question, program)
            parts = psutil.Process(program.pid).children(recursive=True)
            names = [part.name() for part in parts if part.is_running()]
        finally:
            program.send_signal(signal.SIGINT)
            out, _ = program.communicate(timeout=120)
    assert found["items"]
    assert names.count("postgres") > 3
    assert out.count("Node 127.0.0.1:") == 2, out
    assert out.rstrip().endswith("The server and its nodes are stopped.")
    assert psutil.wait_procs(parts, timeout=30)[1] == []


def wait_for_answer(url: str, question: dict[str, str], program: subprocess.Popen[str]) -> Any:
    """Return the answer of a server that is being started."""
    until = time.monotonic() + 240
    while time.monotonic() < until and program.poll() is None:
        with suppress(httpx2.TransportError):
            answer = httpx2.post(url, json=question, timeout=60)
            assert answer.status_code == 200, answer.text
            return answer.json()
        time.sleep(0.3)
    raise AssertionError(f"no answer from {url}")
