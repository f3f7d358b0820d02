"""By a setting jobs run beside a program: in a child process of low priority, one worker on a file at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memwarden import AsyncWarden, Warden, clock
from memwarden.categories import read_categories
from memwarden.errors import InvalidConfig
from memwarden.settings import Settings, settings_from
from memwarden.surfaces.cli.options import Options
from memwarden.surfaces.http.server import ServerPlan, make_worker
from memwarden.upkeep import embedded
from memwarden.upkeep.embedded import ProgramWorker, pack_settings, unpack_settings
from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.worker import work

HOLDER = r"""
import sys
from pathlib import Path
from memwarden.upkeep.worker import only_worker

with only_worker(Path(sys.argv[1])) as alone:
    print(alone, flush=True)
    sys.stdin.read()
"""
PROGRAM = r"""
import sys, time
from memwarden.settings import Settings
from memwarden.upkeep.embedded import ProgramWorker

worker = ProgramWorker(Settings(embedder="none"), sys.argv[1], rest=0, every=0.2)
worker.start_process()
while worker.process is None:
    time.sleep(0.01)
print(worker.process.pid, flush=True)
sys.stdin.read()
"""
# Seconds; a test waits for what it tells of, and this only ends one that fails.
PATIENCE = 120.0


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[ProgramWorker]:
    """Workers that were begun; they look at once."""
    found: list[ProgramWorker] = []
    start = ProgramWorker.start

    def note(worker: ProgramWorker, jobs: AsyncJobs) -> None:
        found.append(worker)
        start(worker, jobs)

    monkeypatch.setattr(ProgramWorker, "start", note)
    monkeypatch.setattr(ProgramWorker.__init__, "__kwdefaults__", {"rest": 0.0, "every": 0.1})
    return found


def start(program: str, *words: str) -> subprocess.Popen[str]:
    """Begin a program that reads from us and writes to us."""
    command = [sys.executable, "-c", program, *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def fill(url: str) -> None:
    """Remember something that nobody needs any more."""
    with pytest.MonkeyPatch.context() as patch, Warden.open(url, {"embedder": "none"}) as warden:
        now = clock.now()
        patch.setattr(clock, "now", lambda: now - timedelta(days=61))
        warden.scope(user="ana").remember("Ana saw a heron at the lake.", importance=0.2)


async def wait_until(done: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE / 0.05)):
        if done():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("waited too long")


async def expired(warden: AsyncWarden) -> bool:
    return not await warden.scope(user="ana").find()


async def test_jobs_run_beside_a_program_in_a_child_that_ends_with_it(
    tmp_path: Path, begun: list[ProgramWorker]
) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    fill(url)
    async with AsyncWarden.open(url, {"embedder": "none", "upkeep": "on"}) as warden:
        (worker,) = begun
        for _ in range(int(PATIENCE / 0.1)):
            if await expired(warden):
                break
            await asyncio.sleep(0.1)
        assert await expired(warden)
        entry = (await warden.scope(user="ana").journal.history())[-1]
        assert (entry.event, entry.actor) == ("TTL", "upkeep")
        child = worker.process
        assert child is not None
        assert child.poll() is None
        if sys.platform == "linux":
            assert os.getpriority(os.PRIO_PROCESS, child.pid) == min(19, 15 + os.getpriority(os.PRIO_PROCESS, 0))
        os.kill(child.pid, signal.SIGKILL)
        await wait_until(lambda: worker.process is not child)  # another takes its place
        child = worker.process
        assert child is not None
    assert child.poll() is not None


@pytest.mark.usefixtures("begun")
async def test_a_store_of_a_single_process_is_kept_clean_within_it() -> None:
    async with AsyncWarden.open("memory://", {"embedder": "none", "upkeep": "on"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana keeps bees.")
        for _ in range(int(PATIENCE / 0.05)):
            if any(item.last for item in await warden.jobs.status(user="ana")):
                break
            await asyncio.sleep(0.05)
        assert any(item.last for item in await warden.jobs.status(user="ana"))


async def test_a_child_ends_when_its_program_is_killed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    fill(url)
    with start(PROGRAM, url) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    await wait_until(lambda: not _lives(child))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        if Path("/proc/self/stat").exists():  # a child that nobody waited for is still listed
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


async def test_two_workers_never_work_on_a_file_at_once_and_a_dead_one_is_taken_over(tmp_path: Path) -> None:
    place = tmp_path / "notes.db"
    fill(f"sqlite:///{place}")
    holder = start(HOLDER, str(place))
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        async with AsyncWarden.open(f"sqlite:///{place}", {"embedder": "none"}) as warden:
            looks = [runs async for runs in work(warden.jobs, asyncio.Event(), place=place, once=True)]
            assert looks == [[]]
            assert not await expired(warden)
            holder.kill()  # it says nothing to anybody, and the system ends its right
            holder.wait()
            looks = [runs async for runs in work(warden.jobs, asyncio.Event(), place=place, once=True)]
            assert any(run.changes for run in looks[0])
            assert await expired(warden)
    finally:
        holder.kill()
        holder.communicate()


def test_settings_reach_the_child_whole() -> None:
    rules = {"categories": {"custom": [{"name": "weather", "expire_days": 7}]}, "allowlists": {"planner": ["weather"]}}
    told = Settings(
        embedder="none", upkeep="on", leave_out=("on_date",), upkeep_tokens=7, categories=read_categories(rules),
    )  # fmt: skip
    back = unpack_settings(pack_settings(told, "sqlite:////a/b.db"))
    assert (back.embedder, back.upkeep, back.leave_out, back.upkeep_tokens) == ("none", "off", ("on_date",), 7)
    assert back.db == "sqlite:////a/b.db"
    assert back.categories.declared["weather"].expire_days == 7
    assert back.categories.allowlists["planner"] == told.categories.allowlists["planner"]


def test_a_command_that_is_soon_over_starts_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMWARDEN_UPKEEP", "on")
    options = Options(db="memory://")
    assert options.open().settings.upkeep == "off"
    assert options.open(lasting=True).settings.upkeep == "on"
    assert ServerPlan(db="memory://").make_warden().settings.upkeep == "on"
    assert ServerPlan(db="memory://").make_warden(upkeep=False).settings.upkeep == "off"
    with pytest.raises(InvalidConfig):
        settings_from({"upkeep": "always"})


def test_a_server_of_several_processes_has_one_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ServerPlan(workers=2, db=f"sqlite:///{tmp_path / 'notes.db'}")
    assert make_worker(plan) is None
    monkeypatch.setenv("MEMWARDEN_UPKEEP", "on")
    worker = make_worker(plan)  # it rests before it starts a child
    assert worker is not None
    worker.end_process()
    assert worker.process is None


def test_postgresql_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match="worker"):
        ProgramWorker(Settings(), "postgresql://db/memory", "postgresql://me@db/memory")
