"""Ask and write at a steady rate while jobs run beside it, and without them, in turn; compare the times.

A SQLite store holds a person with many turns and others with facts, some of them twice. A process asks ten questions
and writes a turn each second. In every other span of time a child of low priority runs all jobs on all users, again
and again, each time as if another day had come, so that limits of a day do not end its work; after each it rests as
the worker does. Spans alternate, so that what else the machine does hits both alike.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final

from memwarden import AsyncWarden, clock
from memwarden.api.scope import AsyncScope
from memwarden.upkeep.jobs import JOBS
from memwarden.upkeep.worker import lower_priority, rest_after
from memwarden_bench.marks import grid, number
from memwarden_bench.metrics import percentile
from memwarden_bench.replay import Tick
from memwarden_bench.upkeep.gates import Gate, tell_gates
from memwarden_bench.upkeep.stories import DOINGS, THINGS, tell_stories

FACTS: Final = 150
USERS: Final = 20
# Seconds of questions before the first span.
WARM_UP: Final = 5.0
# The p95 of what is asked may rise by less than half.
MAX_RISE: Final = 1.5


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """How long and how fast is asked. seconds: of a span. rate: questions a second."""

    turns: int
    rounds: int
    seconds: float
    rate: float
    embedder: str

    @property
    def settings(self) -> dict[str, Any]:
        """Of the store that is asked."""
        return {"embedder": self.embedder, "merging": "off"}


@dataclass(frozen=True, slots=True)
class SpanTimes:
    """How long questions and writes took, in milliseconds."""

    questions: list[float]
    writes: list[float]

    def add(self, other: SpanTimes) -> None:
        """Take over the times of another span."""
        self.questions.extend(other.questions)
        self.writes.extend(other.writes)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Times without jobs and with them. by_round: the p95 of questions with jobs to that without."""

    circumstances: Mapping[str, str]
    plan: LoadPlan
    without: SpanTimes
    kept: SpanTimes
    by_round: Sequence[float]
    runs: int
    changes: int

    @property
    def gates(self) -> list[Gate]:
        """What has to be reached."""
        rise = percentile(self.kept.questions, 0.95) / percentile(self.without.questions, 0.95)
        return [
            Gate("p95 of questions with jobs to without", rise, "below", MAX_RISE),
            Gate("runs of jobs beside the questions", self.runs, "above", 0),
            Gate("changes by jobs", self.changes, "above", 0),
        ]


async def fill(url: str, plan: LoadPlan) -> None:
    """Write turns of a person, and facts of many, a fifth of them said again in another order."""
    async with AsyncWarden.open(url, plan.settings) as warden:
        me = warden.scope(user="ana", thread="t")
        said = tell_stories(plan.turns, 7, ", since 19{:02}")
        for start in range(0, len(said), 2_000):
            await me.observe([{"role": "user", "content": text} for text in said[start : start + 2_000]])
        for place in range(USERS):
            facts = [(fact[:-1], 1900 + each % 120) for each, fact in enumerate(tell_stories(FACTS, 100 + place, ""))]
            plain = [f"{fact}, since {year}." for fact, year in facts]
            again = [f"Since {year} {fact}." for fact, year in facts[: FACTS // 5]]
            await warden.scope(user=_user(place)).remember(plain + again)


def _user(place: int) -> str:
    return "ana" if not place else f"u{place}"


async def keep_clean(url: str, embedder: str) -> None:
    """Run all jobs on all users until the end; print what was changed."""
    lower_priority()
    real, days = clock.now, 0
    clock.now = lambda: real() + timedelta(days=days)
    changed = runs = 0
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with AsyncWarden.open(url, {"embedder": embedder, "merging": "auto"}) as warden:
        while not stop.is_set():
            for name in JOBS:
                for place in range(USERS):
                    begun = time.perf_counter()
                    done = await warden.jobs.run(name, user=_user(place))
                    await rest_after(time.perf_counter() - begun, stop)
                    if not runs:
                        print("at work", flush=True)
                    runs += len(done)
                    changed += sum(len(run.changes) for run in done)
                    if stop.is_set():
                        break
            days += 1
    print(json.dumps({"runs": runs, "changed": changed}))


async def take_times(me: AsyncScope, seconds: float, rate: float) -> SpanTimes:
    """Ask and write for so long. A late answer holds up none of the others."""
    times = SpanTimes([], [])

    async def ask(each: int) -> None:
        begun = time.perf_counter()
        await me.query(f"Who {DOINGS[each % len(DOINGS)]} {THINGS[each % len(THINGS)]}?")
        times.questions.append(1000 * (time.perf_counter() - begun))

    async def write() -> None:
        begun = time.perf_counter()
        await me.observe([{"role": "user", "content": f"Now it is {time.time_ns()}."}])
        times.writes.append(1000 * (time.perf_counter() - begun))

    begun, each = time.perf_counter(), 0
    tasks = []
    while time.perf_counter() - begun < seconds:
        tasks.append(asyncio.create_task(ask(each)))
        if each % max(1, int(rate)) == 0:
            tasks.append(asyncio.create_task(write()))
        each += 1
        await asyncio.sleep(max(0.0, begun + each / rate - time.perf_counter()))
    await asyncio.gather(*tasks)
    return times


async def _take_all(url: str, plan: LoadPlan, circumstances: Mapping[str, str], tick: Tick) -> LoadReport:
    """Alternate spans with jobs and without."""
    calm, busy = SpanTimes([], []), SpanTimes([], [])
    by_round, done = [], []
    async with AsyncWarden.open(url, plan.settings) as warden:
        me = warden.scope(user="ana", thread="t")
        await take_times(me, min(WARM_UP, plan.seconds), plan.rate)
        for each in range(plan.rounds):
            spans = {}
            for with_jobs in (True, False) if each % 2 else (False, True):
                child = await _start_child(url, plan.embedder) if with_jobs else None
                spans[with_jobs] = await take_times(me, plan.seconds, plan.rate)
                if child is not None:
                    child.terminate()
                    out, _ = await child.communicate()
                    done.append(json.loads(out))
                tick("with jobs" if with_jobs else "without jobs")
            calm.add(spans[False])
            busy.add(spans[True])
            by_round.append(percentile(spans[True].questions, 0.95) / percentile(spans[False].questions, 0.95))
    runs, changes = (sum(item[name] for item in done) for name in ("runs", "changed"))
    return LoadReport(circumstances, plan, calm, busy, by_round, runs, changes)


async def _start_child(url: str, embedder: str) -> asyncio.subprocess.Process:
    """Begin a child that runs jobs, and wait until it does."""
    words = (sys.executable, "-m", __name__, url, embedder)
    child = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    await child.stdout.readline()
    return child


def measure_load(plan: LoadPlan, circumstances: Mapping[str, str], tick: Tick = lambda what: None) -> LoadReport:
    """Fill a store, and ask it with jobs beside it and without."""
    with tempfile.TemporaryDirectory(prefix="memwarden-bench-") as folder:
        url = f"sqlite:///{Path(folder) / 'store.db'}"
        asyncio.run(fill(url, plan))
        tick("written")
        return asyncio.run(_take_all(url, plan, circumstances, tick))


def load_markdown(report: LoadReport) -> str:
    """Return the report."""
    rows = []
    for name in ("questions", "writes"):
        calm, busy = (sorted(getattr(times, name)) for times in (report.without, report.kept))
        for share in (0.5, 0.95):
            one, other = percentile(calm, share), percentile(busy, share)
            count = f"{len(calm):,}, {len(busy):,}"
            rows.append(
                (f"{name}, p{100 * share:.0f}", count, number(one, 1), number(other, 1), number(other / one, 2))
            )
    by_round = ", ".join(number(ratio, 2) for ratio in report.by_round)
    parts = [
        "# Questions and writes beside the jobs",
        grid(("what", "value"), list(report.circumstances.items())),
        f"{report.plan.turns:,} turns of a person, {FACTS} facts of each of {USERS} users, {report.plan.embedder}; "
        f"{report.plan.rate:g} questions a second; {report.plan.rounds} spans of {report.plan.seconds:g} s of each.",
        grid(("ms", "times", "without jobs", "with jobs", "ratio"), rows),
        f"p95 of questions by round: {by_round}; median {number(median(report.by_round), 2)}. "
        f"{report.runs:,} runs of jobs made {report.changes:,} changes.",
        tell_gates(report.gates),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    asyncio.run(keep_clean(*sys.argv[1:3]))
