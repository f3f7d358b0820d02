"""SIGKILL of two processes that write: nothing acknowledged is lost, nothing is half there, nothing is doubled.

Each process has several writers. Both are killed at random times and go on from their logs of what was acknowledged;
then the journal must be, writer by writer, exactly that of the batches 0 to the last one, in their order.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kill_child import NAMESPACE, name_of, the_batch
from test_replay_kill import wait_for_the_end

from memwarden import Warden
from memwarden.records import Head, JournalEntry, Put, WriteMode
from memwarden.stores.postgres import PostgresStore

_CHILD = Path(__file__).with_name("postgres_child.py")


def test_two_processes_are_killed_again_and_again(postgres_url: str, tmp_path: Path) -> None:
    site = Site(postgres_url, tmp_path, writers=4)
    for _ in range(4):
        site.run_and_kill(exchanges=4)
    asyncio.run(site.check())


@pytest.mark.soak
def test_a_thousand_exchanges_of_each_of_sixteen_writers(postgres_url: str, tmp_path: Path) -> None:
    site = Site(postgres_url, tmp_path, writers=8)
    while min(map(len, site.acknowledged().values())) < 1_000:
        site.run_and_kill(exchanges=400)
    asyncio.run(site.check())


class Site:
    """A database that two processes, ``p`` and ``q``, write to."""

    def __init__(self, url: str, folder: Path, writers: int) -> None:
        self._url = url
        self._folder = folder
        self._writers = writers
        self._fate = random.Random(7)

    def run_and_kill(self, exchanges: int) -> None:
        """Start both, wait for so many answers to each, and kill them at random times."""
        before = self._lines()
        children = [self._start(name) for name in "pq"]
        deadline = time.monotonic() + 120
        while any(now < then + exchanges for now, then in zip(self._lines(), before, strict=True)):
            assert time.monotonic() < deadline, "a child writes nothing"
            time.sleep(0.02)
        for child in children:
            time.sleep(self._fate.uniform(0, 0.3))
            child.kill()
        for child in children:
            _, errors = child.communicate()
            assert child.returncode == -9, errors.decode()

    def acknowledged(self) -> dict[str, set[int]]:
        """The numbers of the batches that each writer has an answer to."""
        heard: dict[str, set[int]] = {f"{name}{n}": set() for name in "pq" for n in range(self._writers)}
        for name in "pq":
            log = self._folder / f"{name}.log"
            for line in log.read_text().splitlines() if log.exists() else ():
                writer, number = line.split()
                heard[writer].add(int(number))
        return heard

    async def check(self) -> None:
        wait_for_the_end(self._url)
        store = PostgresStore(self._url)
        await store.open()
        journal = await store.journal(NAMESPACE, limit=1_000_000)
        assert [item.seq for item in journal] == list(range(1, len(journal) + 1))
        assert await store.head(NAMESPACE) == Head(len(journal), 0)
        rows = (await store.scan(NAMESPACE)).rows
        assert [row.n for row in rows] == list(range(1, len(rows) + 1))
        live = {row.id for row in rows if row.live}
        for writer, heard in self.acknowledged().items():
            mine = [item for item in journal if item.actor == writer]
            kept = sum(item.event == "ADD" for item in mine) // 2
            last = max(heard, default=-1)
            assert last + 1 <= kept <= last + 2  # what was under way when it was killed may be there or not
            assert [told(item) for item in mine] == list(expected(writer, kept))
            assert {name_of(writer, kept - 1, 1), name_of(writer, 0, 0)} <= live
        await store.close()

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        log = str(self._folder / f"{name}.log")
        command = [sys.executable, str(_CHILD), self._url, log, name, str(self._writers)]
        return subprocess.Popen(command, stderr=subprocess.PIPE)

    def _lines(self) -> list[int]:
        logs = (self._folder / f"{name}.log" for name in "pq")
        return [len(log.read_text().splitlines()) if log.exists() else 0 for log in logs]


def told(entry: JournalEntry) -> tuple[str, str]:
    return entry.event, entry.memory_id


def expected(writer: str, batches: int) -> Iterator[tuple[str, str]]:
    for number in range(batches):
        for change in the_batch(writer, number).changes:
            if isinstance(change, Put):
                yield ("ADD" if change.mode == WriteMode.CREATE else "UPDATE"), change.memory.id
            else:
                yield "DELETE", name_of(writer, number - 1, 1)


@pytest.mark.parametrize("said", ["The green bicycle belongs to Wilma Ortega."])
def test_another_process_is_heard_in_the_next_answer(postgres_url: str, said: str) -> None:
    with Warden.open(postgres_url, config={}) as warden:
        me = warden.scope(user="ann")
        assert not me.query("Whose is the green bicycle?")
        add = [sys.executable, "-m", "memwarden", "add", said, "--user", "ann", "--db", postgres_url]
        subprocess.run(add, check=True, capture_output=True)
        assert [item.memory.text for item in me.query("Whose is the green bicycle?", returns="full").items] == [said]
