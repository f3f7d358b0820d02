"""SIGKILL inside a write: nothing acknowledged is lost, nothing is half there, nothing is doubled.

Two processes with four writers each work on one file. Each is killed at a named point of the write path (the points
are told by SQLite's own trace of statements and by its progress handler, and listed in ``kill_child.LABELS``), the
file is examined, and both go on from their logs of what was acknowledged.

What this does not show: a SIGKILL leaves the kernel's page cache alone, so it says nothing about power loss. That a
commit is synced before it is acknowledged is shown by the last test here and by the settings read back from the live
connections in ``test_sqlite_faults.py``; that the disk keeps what it was told to sync is the disk's promise.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kill_child import LABELS, WRITERS, the_batch, work

from forks import FORKS
from memwarden.records import Put, Remove, WriteMode

_MANY = 100_000
_ONE_CORE = 20.0


class Child(NamedTuple):
    """A process that writes, and the file of its stderr."""

    process: ForkServerProcess
    errors: Path


@dataclass(frozen=True)
class Site:
    """A file that two processes, ``p`` and ``q``, write to."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "memory.db"

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def start(self, name: str, **job: Any) -> Child:
        plan = {"batches": _MANY, "at": None, "nth": 1, **job}
        errors = self.folder / f"{name}.errors"
        process = FORKS.Process(target=work, args=(self.file, self.log(name), name, plan, errors))
        process.start()
        return Child(process, errors)

    def acknowledged(self) -> set[tuple[str, int]]:
        lines = [line for name in "pq" if self.log(name).exists() for line in self.log(name).read_text().splitlines()]
        return {(writer, int(number)) for writer, number in (line.split() for line in lines)}


def _end(child: Child, seconds: float = _ONE_CORE) -> tuple[int, str]:
    child.process.join(seconds)
    if (code := child.process.exitcode) is None:
        child.process.kill()
        child.process.join()
        return 0, f"it was still writing after {seconds} s: {child.errors.read_text('utf-8')}"
    return code, child.errors.read_text("utf-8")


def damage(site: Site) -> list[str]:
    """Return everything that is wrong with the file, read with plain SQL and none of the store's code."""
    with closing(sqlite3.connect(site.file)) as db:
        return [*_damage_of_counters(db), *_damage_of_batches(db, site.acknowledged())]


def _damage_of_counters(db: sqlite3.Connection) -> Iterable[str]:
    (check,) = db.execute("PRAGMA integrity_check").fetchone()
    if check != "ok":
        yield f"integrity_check: {check}"
    seqs = [seq for (seq,) in db.execute("SELECT seq FROM journal ORDER BY seq")]
    if seqs != list(range(1, len(seqs) + 1)):
        yield "the journal has gaps"
    heads = db.execute("SELECT no, rev, rows FROM namespaces").fetchall()
    if len(heads) > 1:
        yield "the namespace is there twice"
    no, rev, rows = heads[0] if heads else (1, 0, 0)
    if rev != len(seqs):
        yield f"the revision is {rev}, the journal has {len(seqs)} entries"
    for table in ("memories", "signals"):
        if [row for (row,) in db.execute(f"SELECT row FROM {table} ORDER BY row")] != [
            no << 32 | n for n in range(1, rows + 1)
        ]:
            yield f"{table} does not have the rows 1 to {rows}"


def _damage_of_batches(db: sqlite3.Connection, acknowledged: set[tuple[str, int]]) -> Iterable[str]:
    kept: dict[str, int] = dict(db.execute("SELECT key, rev FROM receipts").fetchall())
    for who, count in sorted(acknowledged):
        if f"{who}:{count}" not in kept:
            yield f"LOST: batch {count} of {who} was acknowledged"
    journal = db.execute("SELECT event, memory_id, actor FROM journal ORDER BY seq").fetchall()
    expected_memories: dict[str, tuple[str, int, str]] = {}
    entries = 0
    for key, rev in sorted(kept.items(), key=lambda item: item[1]):
        writer, number = key.split(":")
        changes = the_batch(writer, int(number)).changes
        wanted = []
        for change in changes:
            assert isinstance(change, Put | Remove)
            if isinstance(change, Remove):
                wanted.append(("DELETE", change.id, writer))
                text, version, _ = expected_memories.get(change.id, ("", 0, ""))
                expected_memories[change.id] = (text, version, "soft_deleted")
            elif change.mode == WriteMode.CREATE:
                wanted.append(("ADD", change.memory.id, writer))
                expected_memories[change.memory.id] = (change.memory.text, 1, "active")
            else:
                wanted.append(("UPDATE", change.memory.id, writer))
                expected_memories[change.memory.id] = (change.memory.text, 2, "active")
        if journal[rev - len(wanted) : rev] != wanted:
            yield f"batch {key} is not whole in the journal"
        entries += len(wanted)
    if entries != len(journal):
        yield f"the journal has {len(journal)} entries, the batches make {entries}"
    memories = {row[0]: row[1:] for row in db.execute("SELECT id, text, version, state FROM memories")}
    if memories != expected_memories:
        yield f"{len(memories)} memories are not what the batches say"
    changed = sum(1 for _, version, _ in expected_memories.values() if version == 2)
    if db.execute("SELECT count(*) FROM versions").fetchone() != (changed,):
        yield "the earlier versions are not those of the changed memories"


def _pairs(labels: list[str]) -> list[tuple[str, str]]:
    return list(zip(labels[::2], labels[1::2], strict=True))


def test_kills_at_every_point_of_a_write(tmp_path: Path) -> None:
    """Every label is a point where a process really died; both die in each round."""
    site = Site(tmp_path)
    chance = random.Random(7)
    labels = list(LABELS) + list(LABELS[: len(LABELS) % 2])
    chance.shuffle(labels)
    died: dict[str, int] = {}
    for for_p, for_q in _pairs(labels):
        children = {
            label: site.start(name, at=label, nth=chance.randint(3, 25)) for name, label in (("p", for_p), ("q", for_q))
        }
        for label, child in children.items():
            code, errors = _end(child)
            assert code == -signal.SIGKILL, f"not killed at {label!r}: {errors}"
            died[label] = died.get(label, 0) + 1
        assert damage(site) == [], f"after {for_p!r} and {for_q!r}"
    assert set(died) == set(LABELS)
    assert len(died) >= 20
    _finish(site)


@pytest.mark.parametrize("nth", [2, 25, *(pytest.param(nth, marks=pytest.mark.soak) for nth in (6, 7, 9, 12, 18, 24))])
def test_kills_while_a_file_is_made(tmp_path: Path, nth: int) -> None:
    """At the nth statement of claiming and migrating a new file; the next to open it begins anew."""
    site = Site(tmp_path)
    code, errors = _end(site.start("p", at="opening", nth=nth))
    assert code == -signal.SIGKILL, errors
    for child in [site.start(name, batches=2) for name in "pq"]:
        code, errors = _end(child)
        assert code == 0, errors
    assert len(site.acknowledged()) == 2 * WRITERS * 2
    assert damage(site) == []


@pytest.mark.soak
def test_kills_at_any_time(tmp_path: Path) -> None:
    site = Site(tmp_path)
    chance = random.Random(11)
    for _ in range(6):
        children = [site.start(name) for name in "pq"]
        before = len(site.acknowledged())
        while len(site.acknowledged()) < before + 8:
            time.sleep(0.005)
            assert all(child.process.is_alive() for child in children)
        time.sleep(chance.random() * 0.1)
        for child in children:
            child.process.kill()
            assert _end(child)[0] == -signal.SIGKILL
        assert damage(site) == []
    _finish(site)


def _finish(site: Site) -> None:
    """Everybody goes on, undisturbed, to the same count: repeated batches must not count twice."""
    most = max(number for _, number in site.acknowledged()) + 3
    for child in [site.start(name, batches=most) for name in "pq"]:
        code, errors = _end(child)
        assert code == 0, errors
    assert damage(site) == []
    expected = {(f"{name}{writer}", number) for name in "pq" for writer in range(WRITERS) for number in range(most)}
    with closing(sqlite3.connect(site.file)) as db:
        assert db.execute("SELECT count(*) FROM receipts").fetchone() == (len(expected),)
        assert db.execute("SELECT count(*) FROM memories").fetchone() == (2 * len(expected),)
    assert site.acknowledged() <= expected


@pytest.mark.parametrize(
    ("fault", "label", "found"),
    [
        ("no transaction", "insert signals", "signals does not have"),
        ("no transaction", "insert journal", "rows"),
        ("no transaction", "update head", "revision"),
        ("no transaction", "insert receipt", "entries"),
        ("answers before commit", "commit", "LOST"),
    ],
)
def test_the_harness_finds_a_broken_store(tmp_path: Path, fault: str, label: str, found: str) -> None:
    """The same kills and the same examination, on stores with the protection taken out."""
    site = Site(tmp_path)
    code, errors = _end(site.start("p", at=label, nth=6, fault=fault))
    assert code == -signal.SIGKILL, errors
    assert any(re.search(found, item) for item in damage(site)), damage(site)


def test_the_harness_finds_a_store_that_doubles(tmp_path: Path) -> None:
    """Killed before it could note the answer, the caller sends the batch again; this store applies it again."""
    site = Site(tmp_path)
    assert _end(site.start("p", at="answered, not logged", nth=6))[0] == -signal.SIGKILL
    assert damage(site) == []
    most = max(number for _, number in site.acknowledged()) + 3
    code, errors = _end(site.start("p", batches=most, fault="applies repeats"))
    assert code == 0, errors
    assert any("entries" in item for item in damage(site)), damage(site)


_SYNC_CHILD = """
import asyncio, os, sys
from memwarden.stores.sqlite import SqliteStore
from memwarden.testing.examples import a_batch, a_put

async def main():
    store = SqliteStore(sys.argv[1])
    await store.open()
    for number in range(5):
        await store.apply(a_batch(a_put(f"m{number}")))
        os.write(1, b"acknowledged")
    await store.close()
asyncio.run(main())
"""


def test_a_commit_is_synced_before_it_is_acknowledged(tmp_path: Path) -> None:
    """By the system calls of a live store: between two acknowledgements the log is written and then synced."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not there; the settings of the live connections are read back elsewhere")
    trace = tmp_path / "trace"
    calls = "trace=write,pwrite64,fdatasync,fsync"
    command = [strace, "-f", "-y", "-e", calls, "-o", str(trace), sys.executable, "-c", _SYNC_CHILD]
    done = subprocess.run([*command, str(tmp_path / "memory.db")], capture_output=True, text=True, timeout=600)
    if "ptrace" in done.stderr and done.returncode != 0:
        pytest.skip("this machine does not let a test trace a process")
    assert done.returncode == 0, done.stderr
    story = "".join(_letter(line) for line in trace.read_text().splitlines())
    assert story.count("A") == 5
    assert re.fullmatch(r"[^A]*(w+s+A)(w+s+A){4}.*", story), story


def _letter(line: str) -> str:
    if "write(1" in line and "acknowledged" in line:
        return "A"
    if "-wal>" not in line or "resumed" in line:
        return ""
    return "w" if "pwrite64(" in line else "s" if "sync(" in line else ""
