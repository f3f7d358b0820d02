"""Two processes with eight writers each on one user's memory: none skipped, doubled or lost (B1, B2).

They remember the same facts and facts that contradict each other, correct, forget, restore and undo. A change that was
decided on contents that another writer changed meanwhile is decided anew inside the call.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from crowd_child import SETTINGS, WRITERS

from memwarden import AsyncWarden
from memwarden.records import JournalEntry, Memory
from told import Told, check_steps, check_store, replay

_CHILD = Path(__file__).with_name("crowd_child.py")
CALLS = 25
PROCESSES = ("p", "q")


def write_at_once(url: str, folder: Path, calls: int) -> list[Any]:
    """Let both processes write and return what was acknowledged."""
    files = {name: folder / f"{name}.acks" for name in PROCESSES}
    commands = [[sys.executable, str(_CHILD), url, name, str(calls), str(file)] for name, file in files.items()]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for command in commands]
    for child in children:
        _, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors
    return [json.loads(line) for file in files.values() for line in file.read_text().splitlines()]


async def examine(url: str, acknowledged: list[Any]) -> list[JournalEntry]:
    """Hold the store against its journal, and the journal against what was acknowledged."""
    async with AsyncWarden.open(url, SETTINGS) as warden:
        me = warden.scope(user="ana")
        store, namespace = warden.store, me.who.namespace
        journal = await store.journal(namespace, limit=10**6)
        states = [Told()]
        replay(journal, states)  # one entry a revision, without gaps; no edge twice; old and new versions in a chain
        check_steps(journal)
        found = await check_store(store, namespace, states[-1])
        assert (await store.head(namespace)).rev == len(journal)
        everything = await store.get(namespace, sorted(states[-1].last), removed=True)
        wanted = [(item, number) for item, last in states[-1].last.items() for number in range(1, last + 1)]
        held = {(version.id, version.version): version for version in await store.versions(namespace, wanted)}
        check_corrections(journal, held)
    check_states(everything, journal, set(found))
    for writer, number, rev, told in acknowledged:
        if any(outcome not in ("restored", "deleted") for _, outcome in told):  # those may find nothing left to do
            assert journal[rev - 1].actor == writer, f"call {number} of {writer} is not in the journal"
        for item, outcome in told:
            assert any(entry.memory_id == item for entry in journal[:rev]), f"{outcome} {item} is not in the journal"
    return journal


def check_corrections(journal: list[JournalEntry], held: dict[tuple[str, int], Memory]) -> None:
    """No correction is lost: whoever merges into a memory or closes it keeps what others wrote in it just before."""
    for entry in journal:
        if entry.event in ("MERGE", "SUPERSEDE") and entry.old_version and entry.new_version:
            before, after = (held[entry.memory_id, version] for version in (entry.old_version, entry.new_version))
            assert (before.text, before.summary) == (after.text, after.summary), f"{entry} lost a correction"


def check_states(everything: list[Memory], journal: list[JournalEntry], active: set[str]) -> None:
    """No memory is both merged and active: whatever was merged last stays away until somebody undoes it."""
    last = {entry.memory_id: entry for entry in journal if "LINK" not in entry.event}
    for memory in everything:
        entry = last[memory.id]
        assert (memory.id in active) == (entry.new_version is not None)
        assert (memory.state == "merged") == (entry.event == "MERGE" and entry.new_version is None)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def test_many_writers_in_two_processes(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    acknowledged = write_at_once(url, tmp_path, CALLS)
    journal = asyncio.run(examine(url, acknowledged))
    writers = {f"{name}{item}" for name in PROCESSES for item in range(WRITERS)}
    assert {entry.actor for entry in journal} == writers
    counts = Counter(entry.event for entry in journal)
    assert all(counts[event] for event in ("ADD", "MERGE", "SUPERSEDE", "LINK", "UNLINK", "RESTORE", "DELETE")), counts
    remembered = [told for _, _, _, told in acknowledged if told[0][1] in ("created", "merged", "superseded")]
    assert counts["ADD"] == len(remembered), "a statement was written twice or not at all"
