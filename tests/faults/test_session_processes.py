"""Two processes serve the same sessions and are killed: no exchange is lost, none comes twice, the order stays (D7).

Each has eight writers, who take exchanges in with keys. The processes are killed at named points of the write path and
at random instants, and begin again: each writer says again what it said last.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import random
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sessions_child import LABELS, READ, SETTINGS, USER, WRITERS, acknowledged, name_of

from memwarden import AsyncWarden

CHILD = Path(__file__).with_name("sessions_child.py")
PROCESSES = ("p0", "p1")
SOME = (
    "read head", "update memory", "insert receipt", "commit",
    "inside keep version", READ, "committed, not answered", "answered, not logged",
)  # fmt: skip
"""The soak kills at every point."""
Nursery = subprocess.Popen[str]


@pytest.fixture(scope="module")
def nurseries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Nursery]]:
    """Two processes that have everything imported and do each job in a fork."""
    nothing = tmp_path_factory.mktemp("sessions") / "wanted"
    nothing.write_bytes(pickle.dumps({}))
    command = [sys.executable, str(CHILD), str(nothing)]
    with ExitStack() as stack:
        opened = [
            stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in PROCESSES
        ]
        yield opened
        for item in opened:
            assert item.stdin is not None
            item.stdin.close()


class Sessions:
    """Sessions that two processes serve. died: at which points how often a process was killed."""

    def __init__(self, url: str, folder: Path, nurseries: list[Nursery], sessions: int, exchanges: int) -> None:
        self.url = url
        self.died: Counter[str] = Counter()
        self._acks = {name: folder / f"{name}.acks" for name in PROCESSES}
        self._nurseries = nurseries
        self._many = {"sessions": sessions, "exchanges": exchanges}

    def run(self, *jobs: dict[str, Any]) -> list[int]:
        """Let the processes go on at once, each with what is told to it; how they ended."""
        file = self.url.removeprefix("sqlite:///")
        for name, nursery, job in zip(PROCESSES, self._nurseries, jobs, strict=False):
            whole = {"file": file, "acks": str(self._acks[name]), "process": name, **self._many, **job}
            assert nursery.stdin is not None
            nursery.stdin.write(json.dumps(whole) + "\n")
            nursery.stdin.flush()
        codes = []
        for nursery, job in zip(self._nurseries, jobs, strict=False):
            assert nursery.stdout is not None
            codes.append(int(nursery.stdout.readline()))
            if codes[-1] == -signal.SIGKILL:
                self.died[job.get("at") or "at some instant"] += 1
        return codes

    def told(self) -> set[str]:
        """What was acknowledged so far."""
        return {
            f"{writer}-{number}"
            for file in self._acks.values()
            for writer, count in acknowledged(file).items()
            for number in range(count)
        }

    def damage(self) -> str:
        """What is wrong: lost, there twice or in another order; or nothing."""
        told, names = self.told(), list(asyncio.run(self._kept()))
        if lost := told - set(names):
            return f"LOST: {sorted(lost)}"
        if twice := [item for item, count in Counter(names).items() if count > 1]:
            return f"TWICE: {twice}"
        by_writer = defaultdict(list)
        for name in names:
            writer, _, number = name.rpartition("-")
            by_writer[writer].append(int(number))
        wrong = {writer: numbers for writer, numbers in by_writer.items() if numbers != list(range(len(numbers)))}
        # a process dies with one exchange of each writer under way
        most = len(told) + len(PROCESSES) * WRITERS
        return f"ORDER: {wrong}" if wrong else f"MORE: {len(names)} > {most}" if len(names) > most else ""

    def is_whole(self) -> bool:
        """Whether every exchange was acknowledged and is there."""
        of_each = self._many["sessions"] * self._many["exchanges"]
        names = {name_of(name, writer, n) for name in PROCESSES for writer in range(WRITERS) for n in range(of_each)}
        return self.told() == names == set(asyncio.run(self._kept()))

    async def _kept(self) -> list[str]:
        """The questions of all sessions in order: those in the summary, too short to be compressed, and after."""
        found: list[str] = []
        async with AsyncWarden.open(self.url, SETTINGS) as warden:
            stored = warden.scope(user=USER).sessions
            for session in (f"s{number}" for number in range(self._many["sessions"])):
                memory = (await stored.load(session))["conversation_memory"]
                found += re.findall(r"^User: (.*)$", memory["summary"], re.MULTILINE)
                found += [item["user_question"] for item in memory["exchanges"]]
        return found


def kill_at(sessions: Sessions, points: list[str], chance: random.Random, most: int) -> None:
    """Kill both processes at once, each at another of the points; look at what is kept each time."""
    for pair in zip(points[::2], points[1::2], strict=True):
        codes = sessions.run(*({"at": point, "nth": chance.randint(1, most)} for point in pair))
        assert set(codes) <= {0, -signal.SIGKILL}, "a process failed by itself; its error stands above"
        assert sessions.damage() == "", f"killed at {pair}"


def kill_at_instants(sessions: Sessions, chance: random.Random, times: int) -> None:
    """Kill one process or the other while both are at work."""
    for _ in range(times):
        jobs: list[dict[str, Any]] = [{"after": 0.1 + chance.random() / 5}, {"after": 0.3}]
        chance.shuffle(jobs)
        assert set(sessions.run(*jobs)) <= {0, -signal.SIGKILL}
        assert sessions.damage() == ""


def test_kills_all_over_the_exchanges(tmp_path: Path, nurseries: list[Nursery]) -> None:
    sessions = Sessions(f"sqlite:///{tmp_path / 's.db'}", tmp_path, nurseries, 2, 4)
    chance, points = random.Random(9), list(SOME)
    chance.shuffle(points)
    assert sessions.run({"at": "insert memory"}) == [-signal.SIGKILL]
    kill_at(sessions, points, chance, most=4)
    kill_at_instants(sessions, chance, 1)
    assert set(SOME) <= set(sessions.died)
    assert sessions.run({}, {}) == [0, 0]
    assert sessions.damage() == ""
    assert sessions.is_whole()


def test_kills_on_postgresql(tmp_path: Path, nurseries: list[Nursery], postgres_url: str) -> None:
    sessions = Sessions(postgres_url, tmp_path, nurseries, 1, 4)
    for after in (0.15, 0.2):
        assert set(sessions.run({"after": after}, {})) <= {0, -signal.SIGKILL}
        assert sessions.damage() == ""
    assert sessions.run({}, {}) == [0, 0]
    assert sessions.is_whole()


@pytest.mark.soak
def test_a_thousand_exchanges_of_each_writer(tmp_path: Path, nurseries: list[Nursery]) -> None:
    sessions = Sessions(f"sqlite:///{tmp_path / 's.db'}", tmp_path, nurseries, 200, 5)
    chance = random.Random(10)
    while sessions.died.total() < 200:
        kill_at(sessions, chance.sample(LABELS, len(LABELS)), chance, most=60)
        kill_at_instants(sessions, chance, 4)
    assert set(LABELS) <= set(sessions.died)
    assert sessions.run({}, {}) == [0, 0]
    assert sessions.damage() == ""
    assert sessions.is_whole()


def test_the_harness_finds_half_a_change(tmp_path: Path, nurseries: list[Nursery]) -> None:
    sessions = Sessions(f"sqlite:///{tmp_path / 's.db'}", tmp_path, nurseries, 1, 5)
    assert sessions.run({"fault": "no transaction", "at": "insert journal", "nth": 9}) in ([-signal.SIGKILL], [1])
    assert sessions.damage() != "" or sessions.run({}) == [1] or sessions.damage() != ""


def test_the_harness_finds_what_was_acknowledged_too_early(tmp_path: Path, nurseries: list[Nursery]) -> None:
    """Eight writers share commits: which of them holds an exchange that is told before it differs."""
    dying = {"fault": "answers before commit", "at": "commit", "pause": 0.5}
    found = ""
    for nth in range(5, 15):
        folder = tmp_path / str(nth)
        folder.mkdir()
        sessions = Sessions(f"sqlite:///{folder / 's.db'}", folder, nurseries, 1, 5)
        assert sessions.run({**dying, "nth": nth}) in ([-signal.SIGKILL], [0])  # all is done after fewer commits
        if found := sessions.damage():
            break
    assert found.startswith("LOST")


def test_the_harness_finds_writers_without_keys(tmp_path: Path, nurseries: list[Nursery]) -> None:
    sessions = Sessions(f"sqlite:///{tmp_path / 's.db'}", tmp_path, nurseries, 1, 5)
    dying = {"keys": False, "at": "committed, not answered", "nth": 5}
    assert sessions.run(dying) == [-signal.SIGKILL]
    assert sessions.run({"keys": False}) == [0]
    assert sessions.damage().startswith("TWICE")
