"""By a setting jobs run beside a program: in a child process of low priority, one worker on a file at a time."""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from dataclasses import fields, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from memwarden import AsyncWarden, Warden, clock
from memwarden.errors import InvalidConfig
from memwarden.records import Namespace
from memwarden.settings import Settings, settings_from
from memwarden.surfaces.cli.admin import jobs as job_commands
from memwarden.surfaces.cli.main import run
from memwarden.surfaces.cli.options import Options
from memwarden.surfaces.http import server
from memwarden.surfaces.http.server import ServerPlan, make_worker, serve
from memwarden.upkeep import embedded, shared_worker, worker
from memwarden.upkeep.embedded import ProgramWorker, pack_settings, unpack_settings
from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.records import JobRun
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


def start(*words: str, stderr: int | None = None) -> subprocess.Popen[str]:
    """Begin a Python program that reads from us and writes to us."""
    command = [sys.executable, *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True)


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


async def wait_until_expired(warden: AsyncWarden) -> None:
    for _ in range(int(PATIENCE / 0.05)):
        if await expired(warden):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("waited too long")


async def test_jobs_run_beside_a_program_in_a_child_that_ends_with_it(
    tmp_path: Path, begun: list[ProgramWorker]
) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    fill(url)
    async with AsyncWarden.open(url, {"embedder": "none", "upkeep": "on"}) as warden:
        (worker,) = begun
        await wait_until_expired(warden)
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
async def test_a_store_of_a_single_process_is_kept_clean_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, looks = AsyncJobs.due, itertools.count()

    async def look(jobs: AsyncJobs) -> AsyncIterator[tuple[str, Namespace]]:
        if not next(looks):
            raise RuntimeError("a look that fails is no end")
        async for item in real(jobs):
            yield item

    monkeypatch.setattr(AsyncJobs, "due", look)
    async with AsyncWarden.open("memory://", {"embedder": "none", "upkeep": "on"}) as warden:
        me = warden.scope(user="ana")
        await me.remember("Ana keeps bees.")
        for _ in range(int(PATIENCE / 0.05)):
            if any(item.last for item in await warden.jobs.status(user="ana")):
                break
            await asyncio.sleep(0.05)
        assert any(item.last for item in await warden.jobs.status(user="ana"))


async def test_a_child_ends_when_its_program_is_killed_and_holds_nothing_of_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    fill(url)
    parent = start("-c", PROGRAM, url, stderr=subprocess.PIPE)
    child = 0
    try:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
            await wait_until_expired(warden)
        assert _lives(child)
        os.kill(child, signal.SIGSTOP)
        parent.kill()
        # Whoever reads what the program says comes to its end, though the child is still there.
        await asyncio.to_thread(parent.communicate, timeout=PATIENCE)
    finally:
        parent.kill()
        if child:
            os.kill(child, signal.SIGCONT)
    await wait_until(lambda: not _lives(child))


async def test_a_child_that_is_told_to_end_ends_in_order(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'notes.db'}"
    fill(url)
    child = start("-m", "memwarden", "worker", "--with-parent", "--every", "60")
    try:
        assert child.stdin is not None
        child.stdin.write(pack_settings(Settings(embedder="none"), url) + "\n")
        child.stdin.flush()
        async with AsyncWarden.open(url, {"embedder": "none"}) as warden:
            await wait_until_expired(warden)
        child.terminate()  # and its stdin stays open
        assert await asyncio.to_thread(child.wait, PATIENCE) == 0
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("told", [b"", b'{"db": "sqlite'])
def test_a_child_that_was_not_told_its_store_opens_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bytes
) -> None:
    place = tmp_path / "of_somebody.db"
    monkeypatch.setenv("MEMWARDEN_DB", f"sqlite:///{place}")
    monkeypatch.setattr(job_commands, "wait_for_end", lambda descriptor, stop: None)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(told), fileno=lambda: -1))
    assert run(["worker", "--with-parent"]) == 0
    assert not place.exists()


async def test_a_worker_that_is_told_to_stop_begins_no_other_run(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, real = asyncio.Event(), AsyncJobs.run_one

    async def run_one(jobs: AsyncJobs, name: str, namespace: Namespace) -> JobRun:
        stop.set()
        return await real(jobs, name, namespace)

    monkeypatch.setattr(AsyncJobs, "run_one", run_one)
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        for user in ("ana", "ben"):
            await warden.scope(user=user).remember("Bees need flowers.")
        assert [len(runs) async for runs in work(warden.jobs, stop, once=True)] == [1]


async def test_a_worker_rests_after_each_run_as_long_as_the_run_took(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []

    async def run_one(jobs: AsyncJobs, name: str, namespace: Namespace) -> JobRun:
        await asyncio.sleep(0.03)
        return JobRun(name, namespace, clock.now(), "skipped")

    async def rest(seconds: float, stop: asyncio.Event) -> None:
        rests.append(seconds)

    monkeypatch.setattr(AsyncJobs, "run_one", run_one)
    async with AsyncWarden.open("memory://", {"embedder": "none"}) as warden:
        await warden.scope(user="ana").remember("Bees need flowers.")
        with monkeypatch.context() as patch:
            patch.setattr(worker, "rest_after", rest)
            (runs,) = [runs async for runs in work(warden.jobs, asyncio.Event(), once=True)]
    assert len(rests) == len(runs) > 1
    assert min(rests) > 0.02
    begun = time.monotonic()
    await worker.rest_after(0.1, asyncio.Event())
    assert time.monotonic() - begun > 0.09
    stop = asyncio.Event()
    stop.set()
    pauses = [await rest_time(stop) for _ in range(5)]
    assert min(pauses) < 0.5  # a rest lasts a second at most, and ends at once when the worker stops


async def rest_time(stop: asyncio.Event) -> float:
    """Seconds of a rest after a minute of work."""
    begun = time.monotonic()
    await worker.rest_after(60.0, stop)
    return time.monotonic() - begun


async def test_a_program_writes_what_it_has_before_it_waits_for_its_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    async def hang_up(worker: ProgramWorker) -> None:
        order.append("told")

    async def close(worker: ProgramWorker) -> None:
        order.append("waited")

    monkeypatch.setattr(ProgramWorker, "start_process", lambda worker: None)
    monkeypatch.setattr(ProgramWorker, "hang_up", hang_up)
    monkeypatch.setattr(ProgramWorker, "close", close)
    warden = AsyncWarden.open(f"sqlite:///{tmp_path / 'notes.db'}", {"embedder": "none", "upkeep": "on"})
    await warden.start()
    closed = warden.store.close

    async def let_go() -> None:
        order.append("written")
        await closed()

    monkeypatch.setattr(warden.store, "close", let_go)
    await warden.close()
    assert order == ["told", "written", "waited"]


def test_a_server_is_done_before_its_container_is_killed() -> None:
    server_of = (Path(__file__).parents[2] / "compose.yaml").read_text().partition("\n  server:")[2]
    given = re.search(r"stop_grace_period: (\d+)s", server_of)
    assert given is not None
    assert int(given[1]) > server.GRACE_SECONDS + embedded.END_SECONDS


def test_a_child_with_a_queue_lets_go_of_its_job_before_it_is_killed() -> None:
    assert shared_worker.CLOSE_SECONDS < embedded.END_SECONDS


def test_a_child_that_cannot_be_started_is_tried_again_and_a_good_one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now, rests = 0.0, list[float]()
    runs: list[tuple[float, int | None]] = [(0, None), (1, 1), (1, 1), (1_000, 0)]

    def begin(*_: object, **__: object) -> object:
        nonlocal now
        lasted, code = runs.pop(0)
        now += lasted
        if code is None:
            raise OSError("no more processes")
        ended = SimpleNamespace(poll=lambda: code, wait=lambda *_: code)
        return nullcontext(SimpleNamespace(stdin=io.StringIO(), stderr=io.StringIO(), **vars(ended)))

    def rest(seconds: float) -> bool:
        rests.append(seconds)
        return not runs

    over = SimpleNamespace(wait=rest, is_set=lambda: False, set=lambda: None)
    monkeypatch.setattr(embedded, "threading", SimpleNamespace(Event=lambda: over, Thread=threading.Thread))
    monkeypatch.setattr(embedded, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(subprocess, "Popen", begin)
    worker = ProgramWorker(Settings(), "sqlite:////a/b.db", rest=5.0)
    worker.start_process()
    worker.end_process()
    assert rests == [5, 10, 20, 40, 10]


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
    holder = start("-c", HOLDER, str(place))
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


OTHERS = {
    "embedder": "openai", "embedding_model": "m", "embedding_url": "http://a/v1", "embedding_dimensions": 7,
    "max_text_bytes": 7, "index_bytes": 7, "search_above": 7, "session_gap_hours": 2.5, "preset": "chat",
    "relation_weight": 0.5, "leave_out": ("on_day",), "merging": "off", "extraction": "periodic",
    "extraction_turns": 7, "extraction_quiet_seconds": 7.5, "facts_a_day": 7, "link_min": 0.25, "chat_model": "m",
    "chat_url": "http://b/v1", "chat_model_size": "small", "chat_seconds": 7.5, "chat_sampling": "free",
    "chat_reasoning_tokens": 7, "upstream": "http://c/v1",
    "upstream_anthropic": "http://d/v1", "upstream_seconds": 7.5, "memory_seconds": 7.5, "external": "off",
    "vector_seconds": 7.5,
    "secrets": "strict", "events": "off", "events_days": 7, "turn_days": 7, "version_days": 7, "events_rows": 7,
    "upkeep": "on", "upkeep_tokens": 7, "traces": "on", "db": "sqlite:////c/d.db",
    "categories": {
        "categories": {"custom": [{"name": "weather", "expire_days": 7}]}, "allowlists": {"planner": ["weather"]},
    },
    "extraction_instructions": {
        "keep": ["pets"], "never": ["gossip"], "categories": {"weather": "what falls from the sky"},
        "examples": [{"said": "It pours.", "fact": "It rained."}],
    },
}  # fmt: skip


def test_settings_reach_the_child_whole() -> None:
    told, usual = settings_from(OTHERS), Settings()
    assert [one.name for one in fields(Settings) if getattr(told, one.name) == getattr(usual, one.name)] == []
    back = unpack_settings(pack_settings(told, "sqlite:////a/b.db"))
    assert back == replace(told, db="sqlite:////a/b.db", upkeep="off")


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
    worker = make_worker(plan)
    assert worker is not None
    worker.start_process()  # it rests before it starts a child
    worker.end_process()
    assert worker.process is None


def test_postgresql_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match="worker"):
        ProgramWorker(Settings(), "postgresql://db/memory", "postgresql://me@db/memory")


async def test_what_a_worker_lacks_is_said_before_anything_is_open_or_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, announced = "postgresql://me@127.0.0.1:1/memory", list[str]()
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    with pytest.raises(InvalidConfig, match="worker"):
        await AsyncWarden.open(url, {"embedder": "none", "upkeep": "on"}).start()
    monkeypatch.setenv("MEMWARDEN_UPKEEP", "on")
    monkeypatch.setattr(server, "return_freed_memory", lambda: True)
    monkeypatch.setattr(server, "configure_logs", lambda level: None)
    with pytest.raises(InvalidConfig, match="worker"):
        await serve(ServerPlan(port=0, workers=2, db=url), announced.append)
    assert announced == []
