"""A server under load for ten minutes on the same memories: what it holds in memory does not grow."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from memwarden.surfaces.http import server
from memwarden.surfaces.http.server import return_freed_memory
from memwarden_bench.sentences import questions, turns
from server_process import ServerProcess

SECONDS = float(os.environ.get("MEMWARDEN_SOAK_SECONDS", "600"))
THREADS = 20
SAMPLES = 20


def resident_kb(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def call_round(client: httpx2.Client, number: int, asked: list[str]) -> None:
    """Ask, get a block, say again what was said before, and list: nothing new is kept."""
    question, thread = asked[number % len(asked)], f"t{number % THREADS}"
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/v1/memory/query", {"query": question}),
        ("/v1/memory/context", {"messages": question, "thread_id": thread}),
        ("/v1/memory/observe", {"messages": f"Number {number % THREADS} was said.", "thread_id": thread}),
    )
    for path, body in calls:
        client.post(path, json={"user_id": "ana", **body}).raise_for_status()
    client.get("/v1/memories", params={"user_id": "ana", "limit": 20}).raise_for_status()


@pytest.mark.soak
def test_the_memory_of_a_server_is_flat(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    held: list[int] = []
    number, asked = 0, list(questions(200))
    options = ("--embedder", "wordllama", "--rate", "off", "--log-level", "warning")
    with ServerProcess(f"sqlite:///{tmp_path / 'soak.db'}", tmp_path, *options) as process, process.client() as client:
        said = {"user_id": "ana", "thread_id": "first", "messages": list(turns(1_000))}
        client.post("/v1/memory/observe", json=said).raise_for_status()
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS:
            call_round(client, number, asked)
            number += 1
            if passed > (len(held) + 1) * SECONDS / SAMPLES:
                held.append(resident_kb(process.process.pid))
    record_property("rounds", number)  # --junitxml=FILE tells them
    record_property("kB", held)
    # Caches fill in the first quarter; single calls take more for a moment.
    second, last = held[SAMPLES // 4 : SAMPLES // 2], held[-SAMPLES // 4 :]
    assert median(last) < median(second) * 1.02, held


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallopt"), reason="of glibc")
def test_the_c_library_takes_what_a_server_tells_it() -> None:
    told = "from memwarden.surfaces.http.server import return_freed_memory; print(return_freed_memory())"
    given = {name: word for name, word in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    # In a process of its own: what is told cannot be taken back.
    done = subprocess.run([sys.executable, "-c", told], env=given, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize(("name", "word"), [("MALLOC_ARENA_MAX", "4"), ("GLIBC_TUNABLES", "glibc.malloc.arena_max=4")])
def test_whoever_runs_a_server_decides(monkeypatch: pytest.MonkeyPatch, name: str, word: str) -> None:
    for other in [other for other in os.environ if other.startswith("MALLOC_")]:
        monkeypatch.delenv(other)
    library = SimpleNamespace(mallopt=lambda option, value: True)
    monkeypatch.setattr(server, "ctypes", SimpleNamespace(CDLL=lambda name: library))
    monkeypatch.setenv(name, word)
    assert not return_freed_memory()
