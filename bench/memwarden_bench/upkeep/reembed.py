"""Move a store to another embedding model while questions are asked at a steady rate, and kill the move once.

A store of so many memories is written with a model and asked 20 questions a second by a process that holds it open. The
command ``memwarden reembed`` moves it from a process of its own, is killed when a third is done, and is run again. An
answer has to be the old model's or the new one's; an answer with scores of both is mixed.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope
from memwarden_bench.marks import grid, number
from memwarden_bench.metrics import percentile
from memwarden_bench.replay import Tick
from memwarden_bench.upkeep.gates import Gate, tell_gates
from memwarden_bench.upkeep.stories import PLACES, tell_stories

QUESTIONS: Final = tuple(
    f"{word} {place}?" for word in ("What does Ana do", "Who has a vessel", "Where are old timepieces")
    for place in PLACES
)  # fmt: skip
# The p95 of a question during the move, to that before it.
MAX_RISE: Final = 2.0
# Looks at how far the move is begin with this.
NICE: Final = ("nice", "-n", "15") if shutil.which("nice") else ()
# After this share of the rows the move is killed.
KILLED_AT: Final = 1 / 3


class Answer(NamedTuple):
    """An answer: what was asked, the ids and scores that came, and after how many milliseconds."""

    question: str
    found: tuple[tuple[str, float], ...]
    took: float


@dataclass(frozen=True, slots=True)
class MovePlan:
    """What is moved, and how it is asked. calm: seconds of questions before the move. rate: questions a second."""

    memories: int
    source: str
    target: str
    rate: float
    calm: float


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What came of a move.

    Attributes:
        before, after: the times of answers while nothing is moved, by the old model and by the new, in milliseconds.
        by_old, by_new: the times during the move, by the model that answered. mixed: answers of no single model.
        before_kill: rows that had vectors of the new model when the move was killed. seconds: of the whole move.
        codes: how the command ended, first and second.
    """

    circumstances: Mapping[str, str]
    plan: MovePlan
    before: Sequence[float]
    by_old: Sequence[float]
    by_new: Sequence[float]
    after: Sequence[float]
    mixed: int
    before_kill: int
    seconds: float
    codes: tuple[int, int]

    @property
    def gates(self) -> list[Gate]:
        """What has to be reached."""
        old, new = _rise(self.by_old, self.before), _rise(self.by_new, self.after)
        return [
            Gate("answers with scores of two models", self.mixed, "at most", 0),
            Gate("p95 of the old model's answers during the move to before", old, "below", MAX_RISE),
            Gate("p95 of the new model's answers during the move to after", new, "below", MAX_RISE),
            Gate("moves ended by SIGKILL", self.codes[0] == -signal.SIGKILL, "at least", 1),
            Gate("vectors that the second run did not make again", self.before_kill, "above", 0),
            Gate("exit code of the second run", self.codes[1], "at most", 0),
        ]


def _rise(moving: Sequence[float], calm: Sequence[float]) -> float:
    """Return the p95 of times to that of others; 0 where the move was over before any question."""
    return percentile(moving, 0.95) / percentile(calm, 0.95) if moving else 0.0


async def fill(url: str, plan: MovePlan) -> None:
    """Write turns with the old model."""
    said = tell_stories(plan.memories, 7, ", number {}")
    async with AsyncWarden.open(url, {"embedder": plan.source, "events": "off"}) as warden:
        me = warden.scope(user="ana", thread="t")
        for start in range(0, len(said), 2_000):
            await me.observe([{"role": "user", "content": text} for text in said[start : start + 2_000]])
        while True:
            if await _is_whole(warden, me, plan.source):
                return
            await asyncio.sleep(1)


async def _is_whole(warden: AsyncWarden, me: AsyncScope, embedder: str) -> bool:
    """Whether every row has its vector, which slow models make afterwards."""
    rows = (await warden.store.scan(me.who.namespace)).rows
    return embedder == "none" or all(row.vector is not None for row in rows)


async def ask(me: AsyncScope, question: str) -> Answer:
    """Ask a question and take the time."""
    begun = time.perf_counter()
    found = await me.query(question, threshold=0.0, top_k=3)
    took = 1000 * (time.perf_counter() - begun)
    return Answer(question, tuple((item.id, round(item.score, 3)) for item in found.items), took)


class Stream:
    """Asks questions at a steady rate until it is told to stop; a late answer holds up none of the others."""

    def __init__(self, me: AsyncScope, rate: float) -> None:
        self._me = me
        self._rate = rate
        self._stop = asyncio.Event()
        self.answers: list[Answer] = []

    async def run(self, seconds: float = float("inf")) -> list[Answer]:
        """Ask for so long, or until :meth:`stop`; return the answers."""
        asked: list[asyncio.Task[None]] = []
        begun = time.perf_counter()
        while not self._stop.is_set() and time.perf_counter() - begun < seconds:
            question = QUESTIONS[len(asked) % len(QUESTIONS)]
            asked.append(asyncio.create_task(self._note(question)))
            await asyncio.sleep(max(0.0, begun + len(asked) / self._rate - time.perf_counter()))
        await asyncio.gather(*asked)
        return self.answers

    async def _note(self, question: str) -> None:
        self.answers.append(await ask(self._me, question))

    def stop(self) -> None:
        """Ask no more."""
        self._stop.set()


async def move(url: str, target: str, *, killed_at: float | None = None) -> tuple[int, int]:
    """Run the command; kill it when so many rows have vectors of the new model. Returns its code, and these rows."""
    words = (sys.executable, "-m", "memwarden", "reembed", target, "--db", url)
    silent = asyncio.subprocess.DEVNULL
    child = await asyncio.create_subprocess_exec(*words, start_new_session=True, stdout=silent, stderr=silent)
    ready = 0
    while killed_at is not None and child.returncode is None:
        ready = await count_ready(url, target)
        if ready >= killed_at:
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGKILL)
            break
        await asyncio.sleep(0.5)
    return await child.wait(), ready


async def count_ready(url: str, target: str) -> int:
    """Return how many rows have vectors of the new model."""
    words = (sys.executable, "-m", "memwarden", "reembed", target, "--db", url, "--dry-run", "--json")
    # Looking on is no part of the move: it takes what the others leave from its first moment.
    child = await asyncio.create_subprocess_exec(*NICE, *words, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    planned = json.loads(out)
    return int(planned["rows"] if planned["moved"] else planned["rows"] - planned["lacking"])


async def _move_under_load(url: str, plan: MovePlan, circumstances: Mapping[str, str], tick: Tick) -> MoveReport:
    async with AsyncWarden.open(url, {"embedder": plan.source, "events": "off"}) as warden:
        me = warden.scope(user="ana", thread="t")
        old = {question: (await ask(me, question)).found for question in QUESTIONS}
        calm = await Stream(me, plan.rate).run(plan.calm)
        tick("asked before the move")
        stream, begun = Stream(me, plan.rate), time.perf_counter()
        asking = asyncio.create_task(stream.run())
        killed, ready = await move(url, plan.target, killed_at=KILLED_AT * plan.memories)
        tick("killed")
        code, _ = await move(url, plan.target)
        seconds = time.perf_counter() - begun
        tick("moved")
        new: dict[str, tuple[tuple[str, float], ...]] = {}
        while not new or new == old:
            await asyncio.sleep(1)
            new = {question: (await ask(me, question)).found for question in QUESTIONS}
        stream.stop()
        during = await asking
        later = await Stream(me, plan.rate).run(plan.calm)
        tick("asked after the move")
    mixed = sum(item.found not in (old[item.question], new[item.question]) for item in during)
    by_old = [item.took for item in during if item.found == old[item.question]]
    by_new = [item.took for item in during if item.found != old[item.question]]
    before, after = ([item.took for item in calm_answers] for calm_answers in (calm, later))
    return MoveReport(circumstances, plan, before, by_old, by_new, after, mixed, ready, seconds, (killed, code))


def measure_move(plan: MovePlan, circumstances: Mapping[str, str], tick: Tick = lambda what: None) -> MoveReport:
    """Write a store and move it while it is asked."""
    with tempfile.TemporaryDirectory(prefix="memwarden-bench-") as folder:
        url = f"sqlite:///{Path(folder) / 'store.db'}"
        asyncio.run(fill(url, plan))
        tick("written")
        return asyncio.run(_move_under_load(url, plan, circumstances, tick))


def move_markdown(report: MoveReport) -> str:
    """Return the report."""
    plan = report.plan
    spans = (report.before, report.by_old, report.by_new, report.after)
    rows = [
        (f"p{100 * share:.0f}, ms", *(number(percentile(times, share), 1) if times else "" for times in spans))
        for share in (0.5, 0.95)
    ]
    parts = [
        f"# {plan.memories:,} memories from {plan.source} to {plan.target}, asked {plan.rate:g} times a second",
        grid(("what", "value"), list(report.circumstances.items())),
        grid(("questions", f"{plan.source}, before", f"{plan.source}, during", f"{plan.target}, during",
              f"{plan.target}, after"), [("answers", *(f"{len(times):,}" for times in spans)), *rows]),
        f"Killed after {report.before_kill:,} vectors, then run again; {report.seconds:.0f} s in all. "
        f"{report.mixed} answers were of no single model. The p95 of all answers during the move, of both models, is "
        f"{number(_rise([*report.by_old, *report.by_new], report.before), 2)} times that before.",
        tell_gates(report.gates),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"
