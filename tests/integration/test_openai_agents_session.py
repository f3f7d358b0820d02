"""The session of the OpenAI Agents SDK, by its protocol; tests/adapters compares with the SDK itself."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memwarden import AsyncWarden, InvalidInput, MemwardenSession, Warden

CONFIG = {"embedder": "none"}
HELLO = {"role": "user", "content": "I am allergic to peanuts."}
CALL = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"at": "\\u0000 \\ud800"}'}
REPLY = {
    "type": "message", "role": "assistant", "id": "m1", "status": "completed",
    "content": [{"type": "output_text", "text": "No peanuts, noted.", "annotations": []}],
}  # fmt: skip


class ListSession:
    """The protocol on a list."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        if limit is None or limit < 0:
            return list(self.items)
        return self.items[len(self.items) - min(limit, len(self.items)) :]

    async def add_items(self, items: list[Any]) -> None:
        self.items += items

    async def pop_item(self) -> Any | None:
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        self.items.clear()


async def play(chance: random.Random, steps: int, pairs: list[tuple[Any, Any]]) -> None:
    """Make the same random calls of both sessions of a pair, and compare each answer."""
    for step in range(steps):
        expected, session = chance.choice(pairs)
        call = chance.choices(("add", "get", "pop", "clear"), (6, 3, 3, 0.2))[0]
        if call == "add":
            entries = [
                chance.choice((HELLO, CALL, REPLY)) | {"step": f"{step}.{n}"} for n in range(chance.randrange(4))
            ]
            await expected.add_items(entries)
            await session.add_items(entries)
        elif call == "get":
            limit = chance.choice((None, 0, 1, 2, 5, 100, -1))
            assert await session.get_items(limit) == await expected.get_items(limit)
        elif call == "pop":
            assert await session.pop_item() == await expected.pop_item()
        else:
            await expected.clear_session()
            await session.clear_session()
    for expected, session in pairs:
        assert await session.get_items() == await expected.get_items()


@pytest.mark.parametrize("steps", [200, pytest.param(2_000, marks=pytest.mark.soak)])
async def test_random_calls_are_answered_as_by_a_list(items_url: str, steps: int) -> None:
    async with AsyncWarden.open(items_url, config=CONFIG) as warden:
        names = (("a", "ana"), ("a.b", "ana"), ("a", "bob"), ("a%2Eb", "ana"))
        sessions = [MemwardenSession(name, warden.scope(user=user), observe=False) for name, user in names]
        await play(random.Random(steps), steps, [(ListSession(), session) for session in sessions])


async def test_what_was_said_is_found_in_every_later_conversation() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        session = MemwardenSession("monday", ana)
        await session.add_items([HELLO, CALL])
        await session.add_items([REPLY])
        assert await session.get_items() == [HELLO, CALL, REPLY]
        turns = await ana.find({"channel": "turn"}, order_by="written", descending=False)
        assert [(turn.role, turn.text, turn.thread_id) for turn in turns] == [
            ("user", "I am allergic to peanuts.", "monday"),
            ("assistant", "No peanuts, noted.", "monday"),
        ]
        assert "peanuts" in (await ana.context("What am I allergic to?")).text
        assert (await warden.scope(user="bob").context("What am I allergic to?")).text == ""
        await session.clear_session()
        assert await session.get_items() == []
        assert len(await ana.find({"channel": "turn"})) == 2


async def test_the_settings_of_the_sdk_limit_a_session() -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        session = MemwardenSession("s", warden, observe=False, session_settings=SimpleNamespace(limit=2))
        await session.add_items([1, 2, 3])
        assert await session.get_items() == [2, 3]
        assert await session.get_items(1) == [3]
        assert await session.get_items(-1) == [1, 2, 3]


async def test_a_blocking_warden_serves_an_agents_loop(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    with Warden.open(url, config=CONFIG) as warden:
        await MemwardenSession("s", warden.scope(user="ana"), observe=False).add_items([HELLO])
    with Warden.open(url, config=CONFIG) as warden:
        assert await MemwardenSession("s", warden.scope(user="ana")).get_items() == [HELLO]


@pytest.mark.parametrize("wrong", [{1, 2}, float("nan"), object(), "x" * 15_000_000])
async def test_an_entry_that_cannot_be_kept_is_refused_with_its_call(wrong: Any) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        session = MemwardenSession("s", warden)
        with pytest.raises(InvalidInput, match="entry"):
            await session.add_items([HELLO, wrong])
        assert await session.get_items() == []
        assert await warden.scope().find({"channel": "turn"}) == []


@pytest.mark.parametrize("name", ["", 7, None, "x" * 300, "\ud800"])
async def test_a_name_that_cannot_be_kept_is_refused(name: Any) -> None:
    async with AsyncWarden.open("memory://", config=CONFIG) as warden:
        with pytest.raises(InvalidInput, match="session_id"):
            MemwardenSession(name, warden)


async def test_of_two_processes_each_takes_another_entry(items_url: str) -> None:
    if items_url.startswith("memory"):
        pytest.skip("a store in memory has a single process")
    opened = AsyncWarden.open(items_url, config=CONFIG)
    async with opened as warden, AsyncWarden.open(items_url, config=CONFIG) as other:
        sessions = [MemwardenSession("s", each, observe=False) for each in (warden, other)]
        await asyncio.gather(*(sessions[n % 2].add_items([f"{n}.{k}" for k in range(3)]) for n in range(16)))
        entries = await sessions[0].get_items()
        assert entries == await sessions[1].get_items()
        assert [entry[-1] for entry in entries] == ["0", "1", "2"] * 16  # the entries of a call follow each other
        popped = await asyncio.gather(*(session.pop_item() for _ in range(20) for session in sessions))
        assert len(set(popped)) == 40
        assert set(popped) | set(await sessions[0].get_items()) == set(entries)


async def test_a_cancelled_call_appends_all_of_its_entries_or_none(tmp_path: Path) -> None:
    async with AsyncWarden.open(f"sqlite:///{tmp_path / 's.db'}", config=CONFIG) as warden:
        session = MemwardenSession("s", warden, observe=False)
        for number in range(20):
            task = asyncio.create_task(session.add_items([number] * 3))
            for _ in range(number):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await session.add_items(["last"])
        entries = await session.get_items()
        assert entries[-1] == "last"
        assert all(entries.count(number) in (0, 3) for number in range(20))


PROGRAM = """
import asyncio, sys
from memwarden import AsyncWarden, MemwardenSession

async def main():
    async with AsyncWarden.open(sys.argv[1], config={"embedder": "none"}) as warden:
        session = MemwardenSession("s", warden, observe=False)
        number = 0
        while True:
            await session.add_items([number])
            print(number, flush=True)
            number += 1

asyncio.run(main())
"""


@pytest.mark.soak
def test_a_killed_process_loses_no_acknowledged_entry(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    with subprocess.Popen([sys.executable, "-c", PROGRAM, url], stdout=subprocess.PIPE, text=True) as writing:
        assert writing.stdout is not None
        for _ in range(20):
            writing.stdout.readline()
        writing.kill()
        rest = [line for line in writing.stdout if line.endswith("\n")]
    with Warden.open(url, config=CONFIG) as warden:
        entries = asyncio.run(MemwardenSession("s", warden).get_items())
    assert entries == list(range(len(entries)))
    assert len(entries) >= 20 + len(rest)
