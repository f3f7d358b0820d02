"""Two processes serve the same sessions: no exchange is lost, none comes twice, each writer's order stays (D7)."""

from __future__ import annotations

import asyncio
import random
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections import defaultdict
from pathlib import Path

import pytest

from memwarden import AsyncWarden

CHILD = Path(__file__).with_name("sessions_child.py")
PROCESSES, WRITERS = 2, 8


async def start(url: str, sessions: int, exchanges: int) -> list[Process]:
    given = (str(WRITERS), str(sessions), str(exchanges))
    children = [
        await asyncio.create_subprocess_exec(sys.executable, CHILD, url, f"p{number}", *given, stdin=PIPE, stdout=PIPE)
        for number in range(PROCESSES)
    ]
    for one in children:
        assert one.stdout is not None
        assert await one.stdout.readline() == b"ready\n"
    for one in children:
        assert one.stdin is not None
        one.stdin.write(b"\n")
    return children


async def kept(url: str, sessions: int) -> dict[str, list[str]]:
    """The questions of each session in order: those in the summary, which is too short to be compressed, and after."""
    found = {}
    async with AsyncWarden.open(url, config={"embedder": "none"}) as warden:
        stored = warden.scope(user="ana").sessions
        for session in (f"s{number}" for number in range(sessions)):
            memory = (await stored.load(session))["conversation_memory"]
            older = re.findall(r"^User: (.*)$", memory["summary"], re.MULTILINE)
            found[session] = older + [one["user_question"] for one in memory["exchanges"]]
    return found


def acknowledged(output: bytes) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for line in output.decode().splitlines():
        session, _, name = line.partition(" ")
        found[session].add(name)
    return found


def check_order(names: list[str]) -> None:
    by_writer = defaultdict(list)
    for name in names:
        writer, _, number = name.rpartition("-")
        by_writer[writer].append(int(number))
    for numbers in by_writer.values():
        assert numbers == list(range(len(numbers)))


async def all_exchanges_are_kept(url: str, sessions: int, exchanges: int) -> None:
    children = await start(url, sessions, exchanges)
    told = [acknowledged((await one.communicate())[0]) for one in children]
    assert [one.returncode for one in children] == [0] * PROCESSES
    for session, names in (await kept(url, sessions)).items():
        assert len(names) == PROCESSES * WRITERS * exchanges
        assert set(names) == set().union(*(one[session] for one in told))
        check_order(names)


async def test_no_exchange_is_lost_on_postgresql(postgres_url: str) -> None:
    await all_exchanges_are_kept(postgres_url, 1, 2)


@pytest.mark.soak
async def test_a_thousand_exchanges_of_each_writer(tmp_path: Path) -> None:
    await all_exchanges_are_kept(f"sqlite:///{tmp_path / 's.db'}", 200, 5)


async def test_a_killed_process_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    killed, other = await start(url, 1, 5)
    assert killed.stdout is not None
    lines = [await killed.stdout.readline() for _ in range(random.Random(9).randrange(1, 20))]
    killed.kill()
    told = acknowledged(b"".join(lines) + (await killed.communicate())[0])["s0"]
    rest = acknowledged((await other.communicate())[0])["s0"]
    assert len(rest) == WRITERS * 5
    names = (await kept(url, 1))["s0"]
    assert set(names) >= told | rest
    assert len(names) == len(set(names)) <= len(told | rest) + WRITERS  # at most one a writer was under way
    check_order(names)
