"""SIGKILL of a process that runs LangGraph's agents: they go on from exactly what was acknowledged, on both engines.

Two threads of an agent with tools side by side, interrupts and a subgraph run at once (``agent.py``). Their process is
killed at named points of the write path, at system calls and at random instants. Each time everything that the saver
acknowledged must be there, byte by byte, no checkpoint may be half there, and the messages must be a beginning of what
an undisturbed run says; at the end the agents come to that run's end.

A SIGKILL says nothing about power loss: that a commit is synced before it is acknowledged is shown on SQLite by the
system calls. On PostgreSQL the server syncs, as ``test_postgres_faults.py`` shows for batches, whose transactions
begin in the same way.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import psycopg
import pytest
from agent_child import POSTGRES_LABELS, SQLITE_LABELS

from agent import NotingSaver, build, contents, expected, lost
from memwarden import AsyncWarden
from memwarden.stores.shared.checkpoints import CheckpointSearch

_CHILD = Path(__file__).with_name("agent_child.py")
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(_CHILD.parents[1])}
_MANY = 10_000
THREADS = ("t1", "t2")
ENGINES = pytest.mark.parametrize("engine", ["sqlite", "postgres"])
LABELS = {"sqlite": SQLITE_LABELS, "postgres": POSTGRES_LABELS}
SYSTEM_CALLS = {"sqlite": ("pwrite64", "fdatasync"), "postgres": ("sendto",)}
_UNNAMED = {
    "sqlite": """
        SELECT count(*) FROM checkpoint_blobs b WHERE NOT EXISTS (
            SELECT 1 FROM checkpoints c, json_each(c.links) link
            WHERE c.ns = b.ns AND c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
                AND json_extract(link.value, '$[0]') = b.channel AND json_extract(link.value, '$[1]') = b.version)
    """,
    "postgres": """
        SELECT count(*) FROM memwarden.checkpoint_blobs b WHERE NOT EXISTS (
            SELECT FROM memwarden.checkpoints c, unnest(c.channels, c.versions) AS link (channel, version)
            WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
                AND link.channel = b.channel AND link.version = b.version)
    """,
}
"""Values that belong to no checkpoint."""


class Nursery:
    """A process that has everything imported and does each job in a fork."""

    def __init__(self) -> None:
        command = [sys.executable, str(_CHILD)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_ENVIRONMENT
        )

    def begin(self, job: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def end(self) -> int:
        """Wait for the job; how it ended, as ``subprocess`` tells it."""
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=200)


@pytest.fixture(scope="module")
def nurseries() -> Iterator[tuple[Nursery, Nursery]]:
    both = (Nursery(), Nursery())
    yield both
    for item in both:
        item.close()


class Site:
    """A store, and what was acknowledged."""

    def __init__(self, engine: str, url: str, folder: Path, nurseries: tuple[Nursery, Nursery]) -> None:
        self.engine = engine
        self.url = url
        self.acks = folder / "acks"
        self.kills = 0
        self.nurseries = nurseries

    def job(self, **job: Any) -> dict[str, Any]:
        return {"url": self.url, "acks": str(self.acks), "threads": THREADS, "rounds": _MANY, **job}

    def run(self, **job: Any) -> int:
        """Go on; how it ended, as ``subprocess`` tells it."""
        self.nurseries[0].begin(self.job(**job))
        code = self.nurseries[0].end()
        self.kills += code != 0
        return code

    def notes(self) -> list[dict[str, Any]]:
        lines = self.acks.read_text().splitlines(keepends=True) if self.acks.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def damage(self) -> list[str]:
        """Everything that is wrong with the store."""
        return [*self._damage_of_tables(), *asyncio.run(self._damage())]

    def _damage_of_tables(self) -> Iterator[str]:
        if self.engine == "sqlite":
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as db:
                (check,) = db.execute("PRAGMA integrity_check").fetchone()
                (unnamed,) = db.execute(_UNNAMED["sqlite"]).fetchone()
        else:
            with psycopg.connect(self.url) as server:
                ((unnamed,),) = server.execute(_UNNAMED["postgres"].encode()).fetchall()
            check = "ok"
        if check != "ok":
            yield f"integrity_check: {check}"
        if unnamed:
            yield f"HALF: {unnamed} values belong to no checkpoint"

    async def _damage(self) -> list[str]:
        async with AsyncWarden.open(self.url, {"embedder": "none"}) as warden:
            me = warden.scope(user="ana")
            saver = NotingSaver(me, lambda text: None)
            notes = self.notes()
            wrong = await lost(saver, notes)
            known = {tuple(sorted(note["kept"].items())) for note in notes if "seal" in note}
            more = 0
            for item in await warden.store.checkpoints.find(me.who.namespace, CheckpointSearch(), _MANY):
                key = item.saved.key
                named = {"thread_id": key.thread, "checkpoint_ns": key.ns, "checkpoint_id": key.id}
                more += tuple(sorted(named.items())) not in known
                if {(value.channel, value.version) for value in item.values} != set(item.saved.links):
                    wrong.append(f"HALF: {key} lacks a value")
            if more > self.kills * len(THREADS):
                wrong.append(f"{more} checkpoints were never acknowledged, after {self.kills} kills")
            graph = build(saver)
            for thread in THREADS:
                said = contents(await graph.aget_state({"configurable": {"thread_id": thread}}))
                if said != expected(1 + len(said) // 5)[: len(said)]:
                    wrong.append(f"OTHER: {thread} says {[text[:20] for text in said]}")
            return wrong

    def rounds(self) -> int:
        """How many rounds the thread that is furthest has ended."""
        return asyncio.run(self._rounds())

    async def _rounds(self) -> int:
        async with AsyncWarden.open(self.url, {"embedder": "none"}) as warden:
            graph = build(NotingSaver(warden.scope(user="ana"), lambda text: None))
            states = [await graph.aget_state({"configurable": {"thread_id": item}}) for item in THREADS]
            return max(len(contents(state)) // 5 for state in states)

    def finish(self) -> None:
        """Everybody goes on, undisturbed, to the same end."""
        rounds = self.rounds() + 2
        assert self.run(rounds=rounds) == 0
        assert self.damage() == []
        assert self.rounds() == rounds


@pytest.fixture
def site(engine: str, request: pytest.FixtureRequest, tmp_path: Path, nurseries: tuple[Nursery, Nursery]) -> Site:
    if engine == "postgres":
        return Site(engine, str(request.getfixturevalue("postgres_url")), tmp_path, nurseries)
    return Site(engine, f"sqlite:///{tmp_path / 'memory.db'}", tmp_path, nurseries)


def at_labels(site: Site, chance: random.Random, most: int, count: int = 99) -> Iterator[str]:
    labels = LABELS[site.engine]
    for label in chance.sample(labels, min(count, len(labels))):
        assert site.run(at=label, nth=chance.randint(2, most)) == -signal.SIGKILL, f"not killed at {label!r}"
        yield label


def at_system_calls(site: Site, chance: random.Random, folder: Path) -> Iterator[str]:
    strace = shutil.which("strace")
    for call in SYSTEM_CALLS[site.engine] if strace else ():
        for nth in (chance.randint(15, 30), chance.randint(40, 60)):
            trace = folder / "trace"
            inject = f"--inject={call}:signal=KILL:when={nth}"
            options = ["-f", "-qq", "-e", f"trace={call}", inject, "-o", str(trace)]
            command = [str(strace), *options, sys.executable, str(_CHILD), json.dumps(site.job())]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=_ENVIRONMENT)
            if "ptrace" in done.stderr and "permitted" in done.stderr:
                return
            assert done.returncode == -signal.SIGKILL, done.stderr
            site.kills += 1
            yield f"{call} {nth}"


def at_any_time(site: Site, chance: random.Random, times: int) -> Iterator[str]:
    for _ in range(times):
        after = 0.3 + chance.random() / 2
        assert site.run(after=after) == -signal.SIGKILL
        yield f"after {after:.3f} s"


@ENGINES
def test_kills_at_some_points_of_a_run_of_agents(engine: str, site: Site) -> None:
    chance = random.Random(4)
    for point in chain(at_labels(site, chance, most=8, count=2), at_any_time(site, chance, times=1)):
        assert site.damage() == [], f"killed at {point!r}"
    site.finish()


@pytest.mark.soak
@ENGINES
def test_kills_all_over_a_run_of_agents(engine: str, site: Site, tmp_path: Path) -> None:
    chance = random.Random(5)
    died: list[str] = []
    enough = 20 - len(LABELS[engine])
    for points in (
        at_labels(site, chance, most=8),
        at_system_calls(site, chance, tmp_path),
        at_any_time(site, chance, times=max(4, enough)),
    ):
        for point in points:
            assert site.damage() == [], f"killed at {point!r}"
            died.append(point)
    (tmp_path / "died").write_text("\n".join(died))  # the record, beside the store
    assert len(set(died)) >= 20, died
    assert set(LABELS[engine]) <= set(died)
    site.finish()


@pytest.mark.soak
@ENGINES
def test_kills_again_and_again(engine: str, site: Site) -> None:
    chance = random.Random(6)
    for _ in range(10):
        for point in chain(at_labels(site, chance, most=40), at_any_time(site, chance, times=10)):
            assert site.damage() == [], f"killed at {point!r}"
    site.finish()


@ENGINES
@pytest.mark.soak
@pytest.mark.parametrize(
    ("fault", "labels", "found"),
    [
        ("no transaction", {"sqlite": "put value", "postgres": "put checkpoint"}, "HALF"),
        ("answers before commit", {"sqlite": "commit", "postgres": "commit"}, "LOST"),
    ],
)
def test_the_harness_finds_a_broken_store(
    engine: str, site: Site, fault: str, labels: dict[str, str], found: str
) -> None:
    """The same kills and the same examination, on stores with the protection taken out."""
    label = labels[engine]
    for nth in range(5, 30, 3):
        assert site.run(at=label, nth=nth, fault=fault, threads=["t1"]) != 0
        wrong = site.damage()
        if wrong:
            break
    assert any(re.search(found, item) for item in wrong), wrong


@ENGINES
def test_two_processes_run_agents_on_one_store(engine: str, site: Site) -> None:
    """Each on a thread of its own at once, then each on the other's."""
    for rounds, threads in ((1, THREADS), (2, THREADS[::-1])):
        for nursery, thread in zip(site.nurseries, threads, strict=True):
            nursery.begin(site.job(threads=[thread], rounds=rounds))
        assert [nursery.end() for nursery in site.nurseries] == [0, 0]
        assert site.damage() == []
        assert site.rounds() == rounds


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize("fault", [None, "no sync"])
@pytest.mark.soak
def test_what_is_acknowledged_was_synced(engine: str, site: Site, tmp_path: Path, fault: str | None) -> None:
    """By the system calls: before a checkpoint is noted as acknowledged, what it wrote to the log was synced."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not there; the settings of the live connections are read back elsewhere")
    trace = tmp_path / "trace"
    options = ["-f", "-y", "-e", "trace=write,pwrite64,fdatasync,fsync", "-o", str(trace)]
    job = json.dumps(site.job(fault=fault, puts=6))
    command = [strace, *options, sys.executable, str(_CHILD), job]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=_ENVIRONMENT)
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("this machine does not let a test trace a process")
    assert done.returncode == 0, done.stderr
    story = "".join(_letter(line) for line in trace.read_text().splitlines())
    assert story.count("A") == len(site.notes()) == 12
    assert ("w" not in re.sub(r"w+s", "", story.rpartition("A")[0])) == (fault is None), story


def _letter(line: str) -> str:
    if "write(" in line and "/acks>" in line:
        return "A"
    if "-wal>" not in line or "resumed" in line:
        return ""
    return "w" if "pwrite64(" in line else "s" if "sync(" in line else ""
