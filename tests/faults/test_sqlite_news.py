"""Two processes with eight writers each: revisions rise strictly, and a reader is told everything exactly once (B1)."""

from __future__ import annotations

import asyncio
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from memwarden import AsyncWarden

CHILD = Path(__file__).with_name("news_child.py")
PROCESSES, WRITERS = 2, 8


async def write_and_look(file: Path, writes: int) -> None:
    async with AsyncWarden.open(f"sqlite:///{file}", config={"embedder": "none", "merging": "off"}) as warden:
        me = warden.scope(user="ana", thread="reader")
        await me.observe({"role": "user", "content": "What is new?"})
        began = await me.query("What is new?")
        children = [
            await asyncio.create_subprocess_exec(
                sys.executable, CHILD, file, f"p{number}", str(WRITERS), str(writes), stdout=asyncio.subprocess.PIPE
            )
            for number in range(PROCESSES)
        ]
        ends = [asyncio.ensure_future(child.communicate()) for child in children]
        deltas = []
        while not all(end.done() for end in ends):
            deltas.append(await me.journal.delta())
            await asyncio.sleep(0.01)
        deltas.append(await me.journal.delta())
        assert [child.returncode for child in children] == [0] * PROCESSES
        by_writer = [list(map(int, line.split())) for end in ends for line in end.result()[0].decode().splitlines()]
        head = await warden.store.head(me.who.namespace)
    assert len(by_writer) == PROCESSES * WRITERS
    assert all(item < other for revs in by_writer for item, other in pairwise(revs))
    total = PROCESSES * WRITERS * writes
    assert sorted(rev for revs in by_writer for rev in revs) == list(range(began.rev + 1, began.rev + 1 + total))
    assert head.rev == began.rev + total
    assert [delta.since for delta in deltas] == [began.rev, *(delta.rev for delta in deltas[:-1])]
    assert sum(len(delta.bullets) + delta.more for delta in deltas) == total
    assert all(len(delta.bullets) <= 3 for delta in deltas)


async def test_nothing_is_missed_and_nothing_told_twice(tmp_path: Path) -> None:
    await write_and_look(tmp_path / "s.db", writes=6)


@pytest.mark.soak
async def test_nothing_is_missed_and_nothing_told_twice_for_long(tmp_path: Path) -> None:
    await write_and_look(tmp_path / "s.db", writes=500)
