"""SIGKILL in the middle of a long replay of the public API (F7): nothing acknowledged is lost, doubled or half there.

Two users' calls (remembering, merging, superseding, linking, correcting, forgetting, restoring, undoing, observing) go
on at once over one file. Their process is killed at named points of the write path, at system calls and at random
instants; each time the file must hold, entry by entry and byte by byte, what the same calls lead to undisturbed, up to
the last call that was answered or the one after it. What is then said again with the same key is answered as the first
time.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from replay import SETTINGS, USERS, Undisturbed, tape, undisturbed
from replay_child import LABELS

from memwarden import AsyncWarden
from told import Told, check_steps, check_store, replay

_CHILD = Path(__file__).with_name("replay_child.py")
SYSTEM_CALLS = ("pwrite64", "fdatasync")


@pytest.fixture(scope="module")
def wanted() -> dict[str, Undisturbed]:
    return {user: asyncio.run(undisturbed(user)) for user in USERS}


@pytest.fixture(scope="module")
def pickled(wanted: dict[str, Undisturbed], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("replay") / "wanted"
    file.write_bytes(pickle.dumps(wanted))
    return file


@pytest.fixture(scope="module")
def nursery(pickled: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has everything imported and does each job in a fork."""
    command = [sys.executable, str(_CHILD), str(pickled)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


class Site:
    """A file, what was acknowledged, and what the calls lead to. database: the URL of a PostgreSQL to use instead."""

    def __init__(self, folder: Path, nursery: subprocess.Popen[str], wanted: dict[str, Undisturbed]) -> None:
        self.file = folder / "memory.db"
        self.database = ""
        self.acks = folder / "acks"
        self.wanted = wanted
        self._nursery = nursery

    def job(self, **job: Any) -> str:
        return json.dumps({"file": self.database or str(self.file), "acks": str(self.acks), **job})

    @property
    def url(self) -> str:
        return self.database or f"sqlite:///{self.file}"

    def run(self, **job: Any) -> int:
        """Go on with the replay; how it ended, as ``subprocess`` tells it."""
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        self._nursery.stdin.write(self.job(**job) + "\n")
        self._nursery.stdin.flush()
        return int(self._nursery.stdout.readline())

    def acknowledged(self) -> dict[str, int]:
        """How many calls of each user were answered."""
        counts = dict.fromkeys(USERS, 0)
        for line in self.acks.read_text().splitlines() if self.acks.exists() else ():
            user, number = line.split()
            counts[user] = max(counts[user], int(number) + 1)
        return counts

    def damage(self) -> str:
        """What is wrong with the file, or nothing."""
        if not self.database and not self.file.exists():
            return ""
        try:
            _check_whole(self.file) if not self.database else wait_for_the_end(self.database)
            asyncio.run(self._examine())
        except AssertionError as error:
            return f"{error}"[:2_000] or "it is damaged"
        return ""

    async def _examine(self) -> None:
        async with AsyncWarden.open(self.url, SETTINGS) as warden:
            for user, done in self.acknowledged().items():
                me, should = warden.scope(user=user), self.wanted[user]
                store, namespace = warden.store, me.who.namespace
                rev, least = (await store.head(namespace)).rev, should.revs[done]
                assert rev >= least, f"LOST: {user} was told of revision {least}, there are {rev}"
                latest = min((rev for rev in should.revs if rev > least), default=least)
                reachable = {stop for stop in should.stops if least <= stop <= latest}
                assert rev in reachable, f"HALF: {user} is at revision {rev}, which is none of {reachable}"
                found = await tape(me)
                assert found.entries == should.tape.entries[:rev], f"the journal of {user} is another one"
                for key, content in found.contents.items():
                    assert content == should.tape.contents[key], f"memory {key} of {user} holds something else"
                journal = await store.journal(namespace, limit=10**6)
                states = [Told()]
                replay(journal, states)
                check_steps(journal)
                await check_store(store, namespace, states[-1])


def _check_whole(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        (check,) = db.execute("PRAGMA integrity_check").fetchone()
    assert check == "ok", check


def wait_for_the_end(database: str) -> None:
    """What a killed process sent last may still be under way in the server."""
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND application_name <> 'emptying'"  # conftest's
    )
    deadline = time.monotonic() + 300
    with psycopg.connect(database, autocommit=True) as db:
        while db.execute(f"{others} AND backend_type = 'client backend'").fetchone() != (0,):
            assert time.monotonic() < deadline, "the server does not let go of a killed process"
            time.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path, nursery: subprocess.Popen[str], wanted: dict[str, Undisturbed]) -> Site:
    return Site(tmp_path, nursery, wanted)


def _kill_everywhere(site: Site, seed: int, most: int, instants: int) -> set[str]:
    """Kill at every named point and at so many instants; return the points where it died."""
    chance, died = random.Random(seed), set[str]()
    points = list(LABELS)
    chance.shuffle(points)
    for label in points:
        code = site.run(at=label, nth=chance.randint(2, most))
        assert code in (0, -signal.SIGKILL), "the replay itself failed; its error stands above"
        if code:
            died.add(label)
        assert site.damage() == "", f"killed at {label!r}"
    for _ in range(instants):
        assert site.run(after=0.1 + chance.random() / 4) in (0, -signal.SIGKILL)
        assert site.damage() == ""
    return died


def test_kills_all_over_a_replay(site: Site) -> None:
    died = _kill_everywhere(site, seed=3, most=3, instants=2)
    assert len(died) >= 20, f"it died at {sorted(died)} only"
    assert died == set(LABELS)
    before = site.acknowledged()
    assert site.run(calls=max(before.values()) + 10) == 0
    assert site.damage() == ""
    assert min(site.acknowledged().values()) == max(before.values()) + 10


@pytest.mark.soak
def test_kills_until_the_replay_is_over(site: Site, tmp_path: Path) -> None:
    for seed in range(20):
        site.file, site.acks = tmp_path / f"{seed}.db", tmp_path / f"{seed}.acks"
        while min(site.acknowledged().values()) < len(site.wanted[USERS[0]].answers):
            _kill_everywhere(site, seed, most=60, instants=6)


@pytest.mark.parametrize("nths", [(40,), pytest.param((9, 40), marks=pytest.mark.soak)])
@pytest.mark.parametrize("call", SYSTEM_CALLS)
def test_kills_at_system_calls(site: Site, pickled: Path, tmp_path: Path, call: str, nths: tuple[int, ...]) -> None:
    for nth in nths:
        last = killed_at(call, nth, [sys.executable, str(_CHILD), str(pickled), site.job()], tmp_path)
        assert "memory.db" in last
        assert site.damage() == "", last


def killed_at(call: str, nth: int, child: list[str], folder: Path) -> str:
    """Run a child that is killed when it makes the nth such system call; return the last one, as strace shows it."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not there; kills at statements are tested above")
    trace = folder / f"trace{nth}"
    options = ["-f", "-y", "-e", f"trace={call}", f"--inject={call}:signal=KILL:when={nth}", "-o", str(trace)]
    done = subprocess.run([strace, *options, *child], capture_output=True, text=True, timeout=600)
    if "ptrace" in done.stderr and "permitted" in done.stderr:
        pytest.skip("this machine does not let a test trace a process")
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [line for line in trace.read_text().splitlines() if f"{call}(" in line][-1]


@pytest.mark.parametrize(
    ("label", "nth"), [("insert journal", 5), ("write edge", 4), ("update head", 6), ("insert receipt", 3)]
)
def test_the_harness_finds_a_store_without_transactions(site: Site, label: str, nth: int) -> None:
    assert site.run(at=label, nth=nth, users=["ana"], fault="no transaction") == -signal.SIGKILL
    again = {"calls": 20, "users": ["ana"]}
    assert site.damage() != "" or site.run(**again) == 1, "a call whose key was lost did not write again"


def test_the_harness_finds_answers_that_come_too_early(site: Site) -> None:
    """Who is answered before the commit does not find there what was answered."""
    assert site.run(calls=60, users=["ana"], fault="answers before commit") == 1


@pytest.mark.parametrize("fault", [None, "no sync"])
def test_what_is_answered_was_synced(site: Site, pickled: Path, tmp_path: Path, fault: str | None) -> None:
    job = site.job(calls=9, users=["ana"], fault=fault)
    assert synced_before_told([sys.executable, str(_CHILD), str(pickled), job], tmp_path, 9) == (fault is None)


def synced_before_told(child: list[str], folder: Path, calls: int) -> bool:
    """By the system calls of a child: whether, before a call is noted as answered, what it wrote to the log was synced.

    calls: so many are noted.
    """
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not there; the settings of the live connections are read back elsewhere")
    trace = folder / "trace"
    options = ["-f", "-y", "-e", "trace=write,pwrite64,fdatasync,fsync", "-o", str(trace)]
    done = subprocess.run([strace, *options, *child], capture_output=True, text=True, timeout=600)
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("this machine does not let a test trace a process")
    assert done.returncode == 0, done.stderr
    story = "".join(_letter(line) for line in trace.read_text().splitlines())
    assert story.count("A") == calls
    return "w" not in re.sub(r"w+s", "", story.rpartition("A")[0])


def _letter(line: str) -> str:
    if "write(" in line and "/acks>" in line:
        return "A"
    if "-wal>" not in line or "resumed" in line:
        return ""
    return "w" if "pwrite64(" in line else "s" if "sync(" in line else ""
