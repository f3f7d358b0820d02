"""Move a store to another embedding model while questions are asked at a steady rate, and kill the move once.

A store of so many memories is written with a model and asked 20 questions a second by a process that holds it open. The
command ``memwarden reembed`` moves it from a process of its own, is killed when a third is done, and is run again.
Printed are the times of answers before and during the move, and how many answers were neither the old model's nor the
new one's: there must be none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope

PEOPLE = ("Ana", "Tom", "Mia", "Ben", "Eva", "Jon", "Ida", "Max", "Lea", "Kai")
DOINGS = ("keeps", "paints", "repairs", "collects", "sells", "photographs", "borrows", "polishes", "draws", "counts")
THINGS = ("bees", "clocks", "kites", "maps", "boats", "stamps", "lamps", "violins", "tents", "coins", "shells", "bikes")
PLACES = ("behind the barn", "in Graz", "at the harbour", "by the lake", "in the attic", "on the balcony", "near Oslo")
QUESTIONS = tuple(
    f"{word} {place}?" for word in ("What does Ana do", "Who has a vessel", "Where are old timepieces")
    for place in PLACES
)  # fmt: skip


class Answer(NamedTuple):
    """An answer: what was asked, the ids and scores that came, and after how long."""

    question: str
    found: tuple[tuple[str, float], ...]
    seconds: float


def texts(number: int, seed: int) -> list[str]:
    """Return made-up statements."""
    chance = random.Random(seed)
    return [
        " ".join(map(chance.choice, (PEOPLE, DOINGS, THINGS, PLACES))) + f", number {each}." for each in range(number)
    ]


async def fill(url: str, embedder: str, said: Sequence[str]) -> None:
    """Write turns with a model."""
    async with AsyncWarden.open(url, {"embedder": embedder, "events": "off"}) as warden:
        me = warden.scope(user="ana", thread="t")
        for start in range(0, len(said), 2_000):
            await me.observe([{"role": "user", "content": text} for text in said[start : start + 2_000]])
        while True:
            if await is_whole(warden, me, embedder):
                return
            await asyncio.sleep(1)


async def is_whole(warden: AsyncWarden, me: AsyncScope, embedder: str) -> bool:
    """Whether every row has its vector, which slow models make afterwards."""
    rows = (await warden.store.scan(me.who.namespace)).rows
    return embedder == "none" or all(row.vector is not None for row in rows)


async def ask(me: AsyncScope, question: str) -> Answer:
    """Ask a question and take the time."""
    begun = time.perf_counter()
    found = await me.query(question, threshold=0.0, top_k=3)
    took = time.perf_counter() - begun
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


async def move(url: str, target: str, *, killed_at: int | None = None) -> int:
    """Run the command; kill it when so many rows have vectors of the new model. Returns its exit code."""
    words = (sys.executable, "-m", "memwarden", "reembed", target, "--db", url)
    child = await asyncio.create_subprocess_exec(*words, start_new_session=True)
    if killed_at is not None:
        while True:
            if child.returncode is not None or await ready_rows(url, target) >= killed_at:
                break
            await asyncio.sleep(0.5)
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
    return await child.wait()


async def ready_rows(url: str, target: str) -> int:
    """Return how many rows have vectors of the new model."""
    words = (sys.executable, "-m", "memwarden", "reembed", target, "--db", url, "--dry-run", "--json")
    child = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    planned = json.loads(out)
    return int(planned["rows"] if planned["moved"] else planned["rows"] - planned["lacking"])


def p95(answers: Sequence[Answer]) -> float:
    """Return the 95th percentile of the times of answers, in milliseconds."""
    return 1000 * sorted(item.seconds for item in answers)[int(0.95 * len(answers))]


async def measure(url: str, chosen: argparse.Namespace) -> None:
    """Move the store under load and print what came of it."""
    async with AsyncWarden.open(url, {"embedder": chosen.source, "events": "off"}) as warden:
        me = warden.scope(user="ana", thread="t")
        old = {question: (await ask(me, question)).found for question in QUESTIONS}
        calm = await Stream(me, chosen.rate).run(chosen.calm)
        stream, begun = Stream(me, chosen.rate), time.perf_counter()
        asking = asyncio.create_task(stream.run())
        killed = await move(url, chosen.target, killed_at=chosen.memories // 3)
        again = await move(url, chosen.target)
        moved = time.perf_counter() - begun
        last: dict[str, tuple[tuple[str, float], ...]] = {}
        while not last or last == old:
            await asyncio.sleep(1)
            last = {question: (await ask(me, question)).found for question in QUESTIONS}
        stream.stop()
        during = await asking
    mixed = [item for item in during if item.found not in (old[item.question], last[item.question])]
    print(f"{chosen.memories:,} memories, {chosen.source} to {chosen.target}, {chosen.rate:g} questions a second")
    print(f"killed with {killed}, then ended with {again}; {moved:.0f} s in all")
    print(f"answers: {len(calm):,} before, {len(during):,} during; of no single model: {len(mixed)}")
    print(f"p95 before {p95(calm):.1f} ms, during {p95(during):.1f} ms ({p95(during) / p95(calm):.2f} x)")


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--memories", type=int, default=5_000)
    options.add_argument("--source", default="wordllama")
    options.add_argument("--target", default="minilm")
    options.add_argument("--rate", type=float, default=20.0)
    options.add_argument("--calm", type=float, default=20.0, help="seconds of questions before the move")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'store.db'}"
        begun = time.perf_counter()
        asyncio.run(fill(url, chosen.source, texts(chosen.memories, 7)))
        print(f"written in {time.perf_counter() - begun:.0f} s", flush=True)
        asyncio.run(measure(url, chosen))


if __name__ == "__main__":
    main()
