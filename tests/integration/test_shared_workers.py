"""Workers of a PostgreSQL database share the work: each job runs, one on a namespace at a time, whoever dies."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from memwarden import AsyncWarden, Warden
from memwarden.errors import StoreUnavailable
from memwarden.records import Namespace
from memwarden.surfaces.cli.main import run
from memwarden.upkeep import jobs, shared_worker
from memwarden.upkeep.jobs import AsyncJobs
from memwarden.upkeep.records import JobContext, JobKind, JobReport
from memwarden.upkeep.shared_worker import SharedWorker

USERS = 12
# The tokens of a day are enough for so many jobs, of which each asks for 300.
GIVEN = 6
MOST = str(GIVEN * 300 + 200)
# A worker whose jobs take a while, ask for tokens, and note when they begin, are given tokens and end.
WORKER = """
import asyncio, os, sys, time
from datetime import UTC, datetime, timedelta
from memwarden import AsyncWarden
from memwarden.upkeep import jobs
from memwarden.upkeep.token_budget import reserve_tokens
from memwarden.upkeep.records import JobChange, JobKind, JobReport
from memwarden.upkeep.shared_worker import SharedWorker

url, notes, most = sys.argv[1:]

def note(word, context):
    with open(notes, "a") as file:
        file.write(f"{word} {context.namespace.path} {os.getpid()} {time.monotonic()}\\n")

async def take_long(context):
    note("begin", context)
    day = datetime(2030, 1, 1, tzinfo=UTC)
    if await reserve_tokens(context.runtime.store, context.namespace.tenant, 300, int(most), day):
        note("given", context)
    await asyncio.sleep(0.25)
    note("end", context)
    return JobReport((JobChange("rest", "x", "slow"),))

jobs.JOBS = {name: JobKind(name, "", timedelta(days=1), False, lambda: take_long) for name in ("one", "two")}

async def main():
    async with AsyncWarden.open(url) as warden:
        await SharedWorker(warden.jobs, url, 0.3, stalled=2.0).run(asyncio.Event())

asyncio.run(main())
"""


def _fill(url: str) -> None:
    with Warden.open(url) as warden:
        for number in range(USERS):
            warden.scope(user=f"u{number}").remember(f"Person {number} keeps bees.")


def _read(notes: Path) -> list[tuple[str, str, int, float]]:
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [(word, path, int(pid), float(at)) for word, path, pid, at in (line.split() for line in lines)]


def test_four_workers_do_all_that_is_due_though_one_is_killed(postgres_url: str, tmp_path: Path) -> None:
    _fill(postgres_url)
    notes = tmp_path / "notes"
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, postgres_url, str(notes), MOST]) for _ in range(4)]
    try:
        killed, ended = 0, 0.0
        until = time.monotonic() + 900
        while time.monotonic() < until:
            said = _read(notes)
            begun = {(path, pid) for word, path, pid, _ in said if word == "begin"}
            done = {(path, pid) for word, path, pid, _ in said if word == "end"}
            if not killed and len(done) >= 3 and begun - done:
                killed = max(pid for _, pid in begun - done)
                os.kill(killed, signal.SIGKILL)
                ended = time.monotonic()
            if sum(word == "end" for word, *_ in said) >= 2 * USERS:
                break
            time.sleep(0.05)
        said = _read(notes)
        assert killed
        ends: dict[str, int] = defaultdict(int)
        for word, path, _, _ in said:
            ends[path] += word == "end"
        assert ends == {f"user/u{number}": 2 for number in range(USERS)}
        assert len({pid for word, _, pid, _ in said if word == "end"}) >= 3
        # Two that ask for the last tokens at once may both be refused; one may have died when it was given them.
        assert 3 <= sum(word == "given" for word, *_ in said) <= GIVEN
        for path in ends:
            spans = _spans([item for item in said if item[1] == path], killed, ended)
            assert all(before[1] <= after[0] for before, after in pairwise(spans)), spans
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


async def test_a_worker_survives_that_the_database_goes_away(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, looks = AsyncJobs.due, itertools.count()

    async def look(self: AsyncJobs, *, tenant: str | None = None) -> AsyncIterator[tuple[str, Namespace]]:
        if next(looks) == 1:
            raise StoreUnavailable("the database is being restarted")
        async for item in real(self, tenant=tenant):
            yield item

    monkeypatch.setattr(AsyncJobs, "due", look)
    stop = asyncio.Event()
    async with AsyncWarden.open(postgres_url) as warden:
        await warden.scope(user="ana").remember("Ana keeps bees.")
        worker = asyncio.create_task(SharedWorker(warden.jobs, postgres_url, 0.2).run(stop))
        await _wait_for_job(warden, "ana", worker)
        await warden.scope(user="ben").remember("Ben sails.")
        await _wait_for_job(warden, "ben", worker)
        stop.set()
        await asyncio.wait_for(worker, 600)
    assert next(looks) > 2


async def test_a_worker_that_is_told_to_end_breaks_a_long_job_off_and_the_next_does_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, stop, done = asyncio.Event(), asyncio.Event(), list[str]()

    async def take_for_ever(context: JobContext) -> JobReport:
        begun.set()
        await asyncio.sleep(60)
        return JobReport()

    async def take_no_time(context: JobContext) -> JobReport:
        done.append(context.namespace.path)
        return JobReport()

    monkeypatch.setattr(shared_worker, "CLOSE_SECONDS", 0.3)
    job = JobKind("one", "", timedelta(days=1), False, lambda: take_for_ever)
    monkeypatch.setattr(jobs, "JOBS", {"one": job})
    async with AsyncWarden.open(postgres_url) as warden:
        await warden.scope(user="ana").remember("Ana keeps bees.")
        worker = asyncio.create_task(SharedWorker(warden.jobs, postgres_url, 0.2).run(stop))
        await asyncio.wait_for(begun.wait(), 300)
        told = time.monotonic()
        stop.set()
        await asyncio.wait_for(worker, 300)
        assert time.monotonic() - told < 60  # the job takes for ever
        monkeypatch.setattr(jobs, "JOBS", {"one": replace(job, load=lambda: take_no_time)})
        await SharedWorker(warden.jobs, postgres_url, 0.2).run(asyncio.Event(), once=True)
        assert done == ["user/ana"]


async def test_a_worker_rests_after_each_run_as_long_as_the_run_took(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: dict[str, float] = {}
    begun: dict[str, float] = {}

    async def take_a_while(context: JobContext) -> JobReport:
        begun[context.namespace.path] = time.monotonic()
        worked = time.process_time()
        while time.process_time() - worked < 0.5:
            sum(range(1_000))
        ended[context.namespace.path] = time.monotonic()
        return JobReport()

    monkeypatch.setattr(jobs, "JOBS", {"one": JobKind("one", "", timedelta(days=1), False, lambda: take_a_while)})
    async with AsyncWarden.open(postgres_url) as warden:
        for user in ("ana", "ben"):
            await warden.scope(user=user).remember("Bees need flowers.")
        await SharedWorker(warden.jobs, postgres_url, 0.2).run(asyncio.Event(), once=True)
    first, second = sorted(begun, key=lambda path: begun[path])
    assert begun[second] - ended[first] >= 0.5


async def _wait_for_job(warden: AsyncWarden, user: str, worker: asyncio.Task[None]) -> None:
    for _ in range(600):
        assert not worker.done()
        if [item for item in await warden.jobs.status(user=user) if item.job == "expire" and item.last is not None]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"no job ran for {user}")


def _spans(said: list[tuple[str, str, int, float]], killed: int, ended: float) -> list[tuple[float, float]]:
    """When a job was under way; the killed worker's job until the kill."""
    spans, begun = [], dict[int, float]()
    for word, _, pid, at in sorted(said, key=lambda item: item[3]):
        if word == "begin":
            begun[pid] = at
        elif word == "end":
            spans.append((begun.pop(pid), at))
    spans += [(at, ended) for pid, at in begun.items() if pid == killed]
    return sorted(spans)


@pytest.mark.parametrize("times", [2])
def test_the_command_works_on_the_queue_until_it_is_empty(postgres_url: str, times: int) -> None:
    _fill(postgres_url)
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-m", "memwarden", "worker", "--once", "--db", postgres_url], timeout=900, check=False
        )
        assert done.returncode == 0
    with Warden.open(postgres_url) as warden:
        found = [item for item in warden.jobs.status() if item.job == "expire"]
        assert len(found) == USERS
        assert all(item.last is not None and item.status == "skipped" for item in found)
        events = warden.scope(user="u1").journal.events(node="worker", op="job")
        assert [event.reason for event in events].count("expire") == 1  # the second worker found nothing due
    assert run(["job", "status", "--db", postgres_url, "--json"]) == 0
