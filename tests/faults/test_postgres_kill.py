"""SIGKILL of two processes that write: nothing acknowledged is lost, nothing is half there, nothing is doubled.

Each process has four writers. Both are killed at random times and go on from their logs of what was acknowledged; then
the journal must be, writer by writer, exactly that of the batches 0 to the last one, in their order.
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
from kill_child import NAMESPACE, WRITERS, name_of, the_batch

from memwarden import Warden
from memwarden.records import Change, Head, Put, WriteMode
from memwarden.stores.postgres import PostgresStore

_CHILD = Path(__file__).with_name("postgres_child.py")
_ROUNDS = 4


def test_two_processes_are_killed_again_and_again(postgres_url: str, tmp_path: Path) -> None:
    fate = random.Random(7)
    for _ in range(_ROUNDS):
        children = [start(postgres_url, tmp_path, name) for name in "pq"]
        wait_for_more(tmp_path)
        for child in children:
            time.sleep(fate.uniform(0, 0.3))
            child.kill()
        for child in children:
            _, errors = child.communicate()
            assert child.returncode == -9, errors.decode()
    asyncio.run(check(postgres_url, tmp_path))


def start(url: str, folder: Path, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(_CHILD), url, str(folder / f"{name}.log"), name]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def wait_for_more(folder: Path, seconds: float = 30) -> None:
    """Until both have had answers since they were started."""
    before = {name: len(acknowledged(folder, name)) for name in "pq"}
    deadline = time.monotonic() + seconds
    while any(len(acknowledged(folder, name)) < before[name] + WRITERS for name in "pq"):
        assert time.monotonic() < deadline, "a child writes nothing"
        time.sleep(0.02)


def acknowledged(folder: Path, name: str) -> set[tuple[str, int]]:
    log = folder / f"{name}.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return {(writer, int(number)) for writer, number in (line.split() for line in lines)}


async def check(url: str, folder: Path) -> None:
    store = PostgresStore(url)
    await store.open()
    journal = await store.journal(NAMESPACE, limit=1_000_000)
    assert [one.seq for one in journal] == list(range(1, len(journal) + 1))
    assert await store.head(NAMESPACE) == Head(len(journal), 0)
    rows = (await store.scan(NAMESPACE)).rows
    assert [row.n for row in rows] == list(range(1, len(rows) + 1))
    live = {row.id for row in rows if row.live}
    for name in "pq":
        heard = acknowledged(folder, name)
        for writer in (f"{name}{number}" for number in range(WRITERS)):
            last = max(number for one, number in heard if one == writer)
            mine = [one for one in journal if one.actor == writer]
            kept = sum(one.event == "ADD" for one in mine) // 2
            assert last + 1 <= kept <= last + 2  # what was under way when it was killed may be there or not
            assert [told(one) for one in mine] == list(expected(writer, kept))
            assert {f"{writer}-{kept - 1}-1", f"{writer}-0-0"} <= live
            assert f"{writer}-0-1" not in live or kept == 1
    await store.close()


def told(entry: Change) -> tuple[str, str]:
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
        assert [one.memory.text for one in me.query("Whose is the green bicycle?", returns="full").items] == [said]
