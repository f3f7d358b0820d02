"""Two processes write through every adapter, and cancel writes. One is killed: what was acknowledged stays."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from writers import ADAPTERS, CONFIG, is_installed

from memwarden import AsyncWarden

ROUNDS = 8
KILLED_AFTER = 5


# Adapters whose processes start quickly.
LIGHT = ("openai agents", "mem0", "anthropic")


def write_in_two_processes(url: str, names: Sequence[str]) -> dict[str, set[str]]:
    """Return the acknowledged texts of each adapter."""
    acknowledged: dict[str, set[str]] = defaultdict(set)

    def note(line: str) -> None:
        name, text = line.rstrip("\n").split("\t")
        acknowledged[name].add(text)

    def start(writer: str, rounds: int) -> subprocess.Popen[str]:
        program = Path(__file__).with_name("writers.py")
        command = [sys.executable, str(program), url, writer, str(rounds), *names]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start("lasting", ROUNDS) as lasting, start("killed", 10_000) as killed:
        assert killed.stdout is not None
        for line in killed.stdout:
            note(line)
            if line.endswith(f"killed-{KILLED_AFTER}\n"):
                killed.kill()
        said, _ = lasting.communicate(timeout=120)
    for line in said.splitlines():
        note(line)
    assert (killed.returncode, lasting.returncode) == (-9, 0)
    return acknowledged


@pytest.mark.parametrize(
    "names", [LIGHT, *(pytest.param((name,), marks=pytest.mark.soak) for name in ADAPTERS)], ids=", ".join
)
async def test_every_acknowledged_write_is_there_once(tmp_path: Path, names: Sequence[str]) -> None:
    if missing := [name for name in names if not is_installed(name)]:
        pytest.skip(f"{', '.join(missing)} is not installed")
    url = f"sqlite:///{tmp_path / 'm.db'}"
    acknowledged = await asyncio.to_thread(write_in_two_processes, url, names)
    async with AsyncWarden.open(url, config=CONFIG) as warden:
        for name in names:
            found = await ADAPTERS[name].read(warden)
            assert len(acknowledged[name]) >= ROUNDS - ROUNDS // 4 + KILLED_AFTER - 1
            assert acknowledged[name] <= set(found)
            assert len(found) == len(set(found))
