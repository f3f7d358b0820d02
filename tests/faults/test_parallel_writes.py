"""Two processes that write the same at once: no call fails as stale, no text is stored twice, no write is lost."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from parallel_child import TWINS, text_of

from memwarden import AsyncWarden
from memwarden.surfaces.mcp.graph import KnowledgeGraph

_CHILD = Path(__file__).with_name("parallel_child.py")
PROCESSES = ("p", "q")
# How much a short run does, and a long run.
SIZES = [pytest.param(4, id="short"), pytest.param(50, id="long", marks=pytest.mark.soak)]
ROUNDS = [pytest.param(4, id="short"), pytest.param(20, id="long", marks=pytest.mark.soak)]


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store that several processes may open."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"sqlite:///{tmp_path / 'm.db'}"


def run_at_once(url: str, folder: Path, kind: str, count: int) -> list[dict[str, Any]]:
    """Let both processes write from one moment on; return what they say."""
    start = folder / "start"
    children = [
        subprocess.Popen(
            [sys.executable, str(_CHILD), url, name, kind, str(count), str(start)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in PROCESSES
    ]  # fmt: skip
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.communicate()[1]
    start.touch()
    told = []
    for child in children:
        said, errors = child.communicate(timeout=500)
        assert child.returncode == 0, errors
        told.append(json.loads(said))
    return told


@pytest.mark.parametrize("url", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)], indirect=True)
@pytest.mark.parametrize("texts", SIZES)
async def test_one_memory_a_text(url: str, tmp_path: Path, texts: int) -> None:
    async with AsyncWarden.open(url):
        pass  # makes the store
    told = await asyncio.to_thread(run_at_once, url, tmp_path, "texts", texts)
    assert [item["errors"] for item in told] == [[], []]
    async with AsyncWarden.open(url) as warden:
        found = await warden.scope(user="ana").find(limit=1000)
    assert sorted(item.text for item in found) == sorted(text_of(number) for number in range(texts))


@pytest.mark.parametrize("url", [pytest.param("sqlite", marks=pytest.mark.soak), "postgres"], indirect=True)
@pytest.mark.parametrize("rounds", ROUNDS)
async def test_graph_tools_lose_no_acknowledged_write(url: str, tmp_path: Path, rounds: int) -> None:
    async with AsyncWarden.open(url):
        pass  # makes the store
    told = await asyncio.to_thread(run_at_once, url, tmp_path, "graph", rounds)
    async with AsyncWarden.open(url) as warden:
        graph = await KnowledgeGraph(warden.scope(user="ana").state).read_graph()
    names = [node["name"] for node in graph["entities"]]
    assert sorted(name for item in told for name in item["created"]) == sorted(TWINS)  # each twin was made once
    kept = [f"{name} {number}" for name in PROCESSES for number in range(0, rounds, 2)]
    assert sorted(names) == sorted([*TWINS, *kept])
    assert sorted(edge["from"] for edge in graph["relations"]) == sorted(kept)
    (mill,) = (node for node in graph["entities"] if node["name"] == TWINS[0])
    assert sorted(mill["observations"]) == sorted(text for item in told for text in item["added"])
