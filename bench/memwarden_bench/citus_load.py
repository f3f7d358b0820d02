"""Loads a store on Citus with writers and readers while a shard moves and a node is killed, and checks every write."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

from memwarden import clock
from memwarden.errors import StoreUnavailable
from memwarden.records import Batch, Memory, Namespace, Put, Signals
from memwarden.stores.postgres import PostgresStore
from memwarden_bench.citus_cluster import CitusCluster, Node
from memwarden_bench.peers import optional

psycopg = optional("psycopg")

_PLACE = """
    SELECT path, nodeport FROM unnest(%s::text[]) AS path JOIN citus_shards
    ON shardid = get_shard_id_for_distribution_column('memwarden.namespaces', path)
"""
_SHARD = """
    SELECT shardid, nodeport FROM citus_shards WHERE table_name = 'memwarden.namespaces'::regclass ORDER BY 1 LIMIT 1
"""
_MOVE = "SELECT citus_move_shard_placement(%s, '127.0.0.1', %s, '127.0.0.1', %s, %s)"
_WINDOW_SECONDS = 0.5  # calls of a phase end within its first part


@dataclass
class Findings:
    """What a load showed. Times are in seconds.

    Attributes:
        acknowledged: writes that the store confirmed. lost, doubled: of those. stale: reads that missed one.
        errors: refused writes and reads by phase. misplaced: errors for namespaces of a node that was not killed.
        longest: longest confirmed write of each phase. moved: duration of the move of a shard.
    """

    acknowledged: int = 0
    reads: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    misplaced: list[str] = field(default_factory=list)
    longest: dict[str, float] = field(default_factory=dict)
    moved: float = 0.0


class CitusLoad:
    """Writers and readers over namespaces.

    Args:
        url: of the coordinator. namespaces: number of people. clients: writers, and as many readers.
    """

    def __init__(self, cluster: CitusCluster, url: str, namespaces: int, clients: int) -> None:
        self._cluster = cluster
        self._url = url
        self._people = [Namespace("default", f"user/p{number}") for number in range(namespaces)]
        self._clients = clients
        self._kept: dict[Namespace, list[str]] = {person: [] for person in self._people}
        self._phase = "before"
        self._dead: set[Namespace] = set()
        self._ended = False
        self.findings = Findings()

    async def run(self, seconds: float, dead_seconds: float, transfer: str = "force_logical") -> Findings:
        """Run the load: some seconds undisturbed, while a shard moves, while a worker is dead, and after it is back.

        Args:
            transfer: mode of the move. With ``block_writes`` it is shorter, and its writers wait.
        """
        store = PostgresStore(self._url, connections=2 * self._clients)
        await store.open()
        work = [asyncio.create_task(self._write(store, number)) for number in range(self._clients)]
        work += [asyncio.create_task(self._read(store, number)) for number in range(self._clients)]
        try:
            await asyncio.sleep(seconds)
            await self._enter("moving")
            await self._move(transfer)
            await self._enter("still")
            await self._kill(self._cluster.workers[-1], dead_seconds)
            await asyncio.sleep(seconds)
        finally:
            self._ended = True
            await asyncio.gather(*work)
        await self._check(store)
        await store.close()
        return self.findings

    async def _enter(self, phase: str) -> None:
        self._phase = phase
        await asyncio.sleep(_WINDOW_SECONDS)

    async def _move(self, transfer: str) -> None:
        began = time.monotonic()
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as db:
            found = await (await db.execute(_SHARD)).fetchone()
            assert found is not None
            shard, source = found
            (target,) = (node.port for node in self._cluster.workers[:2] if node.port != source)
            await db.execute(_MOVE.encode(), (shard, source, target, transfer))
        self.findings.moved = time.monotonic() - began

    async def _kill(self, node: Node, seconds: float) -> None:
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as db:
            places = await (await db.execute(_PLACE, ([person.path for person in self._people],))).fetchall()
        self._dead = {Namespace("default", path) for path, port in places if port == node.port}
        self._phase = "dead"
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(node.start)
        await self._enter("after")

    async def _write(self, store: PostgresStore, number: int) -> None:
        chance, written = random.Random(number), 0
        while not self._ended:
            person, written = chance.choice(self._people), written + 1
            memory_id, at, phase, began = f"w{number}-{written}", clock.now(), self._phase, time.monotonic()
            memory = Memory(memory_id, person, f"note {written}", at, at)
            try:
                await store.apply(Batch(person, (Put(memory, Signals()),), at))
            except StoreUnavailable as error:
                self._refused(phase, person, error)
                continue
            self.findings.acknowledged += 1
            self.findings.longest[phase] = max(self.findings.longest.get(phase, 0.0), time.monotonic() - began)
            self._kept[person].append(memory_id)

    async def _read(self, store: PostgresStore, number: int) -> None:
        chance = random.Random(-1 - number)
        while not self._ended:
            person, phase = chance.choice(self._people), self._phase
            wanted = list(self._kept[person])
            try:
                found = {memory.id for memory in await store.get(person, wanted)}
            except StoreUnavailable as error:
                self._refused(phase, person, error)
                continue
            self.findings.reads += 1
            self.findings.stale += sorted(set(wanted) - found)

    def _refused(self, phase: str, person: Namespace, error: StoreUnavailable) -> None:
        self.findings.errors[phase] += 1
        if person not in self._dead:
            self.findings.misplaced.append(f"{phase}, {person}: {error}")

    async def _check(self, store: PostgresStore) -> None:
        for person, kept in self._kept.items():
            added = Counter(entry.memory_id for entry in await store.journal(person))
            self.findings.lost += [memory_id for memory_id in kept if not added[memory_id]]
            self.findings.doubled += [memory_id for memory_id, times in added.items() if times > 1]
