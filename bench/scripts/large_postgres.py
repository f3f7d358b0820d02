"""Measures recall and speed of a large namespace in PostgreSQL, beside the exact ranking in memory.

python bench/scripts/large_postgres.py URL fill ROWS [conversation files]   fills the empty database and makes it ready
python bench/scripts/large_postgres.py URL ask [conversation files]         asks it, and a cold namespace of 20,000

python bench/scripts/large_postgres.py URL speed [conversation files]       times searches alone in a process

The conversations' sessions are spread among made-up ones. Each question is asked of both in turn.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from memwarden import AsyncWarden
from memwarden.models.wordllama import shared_embedder
from memwarden.recall.index.encode import make_signals
from memwarden.records import Batch, Memory, Namespace, Put
from memwarden.surfaces.conversation_files import Conversation, read_conversations
from memwarden_bench import sentences
from memwarden_bench.metrics import percentile

LARGE, COLD = "bench", "cold20"
COLD_ROWS = 20_000
START = datetime(2024, 1, 1, 9, tzinfo=UTC)
AT_ONCE = 2_000
SPEED = 360  # questions of the data sets
SETTINGS = {"index_bytes": 4 * 2**30, "embedder": "wordllama"}

Session = tuple[str, Sequence[Mapping[str, Any]]]


def sessions(rows: int, talks: Sequence[Conversation]) -> Iterator[Session]:
    """Yield generated sessions with those of the conversations in random places."""
    real: list[Session] = [
        (f"r{talk_number}-{number}", list(session.messages))
        for talk_number, talk in enumerate(talks)
        for number, session in enumerate(talk.sessions)
        if session.messages
    ]
    random.Random(3).shuffle(real)
    rest = max(rows - sum(len(messages) for _, messages in real), 0)
    made: list[Session] = list(sentences.threads(sentences.turns(rest)))
    every = max(1, len(made) // max(len(real), 1))
    for number, turn in enumerate(made):
        yield turn
        if number % every == 0 and real:
            yield real.pop(0)
    yield from real


async def fill(warden: AsyncWarden, user: str, rows: int, talks: Sequence[Conversation]) -> None:
    here = Namespace("default", f"user/{user}")
    said: list[Memory] = []
    for number, (thread, messages) in enumerate(sessions(rows, talks)):
        for minute, message in enumerate(messages):
            at = START + timedelta(hours=1.5 * number, minutes=minute)
            turn = Memory(f"{user}-{number}-{minute}", here, message["content"], at, at, channel="turn")
            said.append(replace(turn, thread_id=thread, **speaker(message)))
        if len(said) >= AT_ONCE:
            await write(warden, here, said)
            said = []
    await write(warden, here, said)


def speaker(message: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": message.get("role", "user"), "name": message.get("name")}


async def write(warden: AsyncWarden, here: Namespace, said: Sequence[Memory]) -> None:
    if said:
        texts = [(turn.text, turn.created_at) for turn in said]
        signals = await asyncio.to_thread(make_signals, texts, shared_embedder())
        await warden.store.apply(Batch(here, tuple(map(Put, said, signals)), START))


async def fill_large(url: str, rows: int, talks: Sequence[Conversation]) -> None:
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        start = time.perf_counter()
        await fill(warden, LARGE, rows, talks)
        await fill(warden, COLD, COLD_ROWS, ())
        print(f"filled in {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        await warden.scope(user=LARGE).query("Who has a canoe?")
        await warden._runtime.services.larges.wait_idle()
        print(f"read once into memory, then made ready to be searched in {time.perf_counter() - start:.0f} s")


async def measure_questions(url: str, talks: Sequence[Conversation]) -> None:
    real = [question.text for talk in talks for question in talk.questions]
    random.Random(1).shuffle(real)
    questions = {"of the conversations": real[:60], "made up": sentences.questions(40)}
    async with AsyncWarden.open(url, config=SETTINGS) as warden, AsyncWarden.open(url, config=SETTINGS) as exact:
        exact._runtime.services.larges.store = None  # reads the namespace into memory
        for name, reader in (("searched", warden), ("in memory", exact)):
            print(f"first query, {name}: {await time_query(reader, LARGE, 'Who has a canoe?'):,.0f} ms")
        for sort, texts in questions.items():
            shares, apart, times = [], [], []
            for text in texts:
                start = time.perf_counter()
                found = await warden.scope(user=LARGE).query(text, top_k=10, threshold=0)
                between = time.perf_counter()
                wanted = await exact.scope(user=LARGE).query(text, top_k=10, threshold=0)
                times.append((1e3 * (between - start), 1e3 * (time.perf_counter() - between)))
                best = {item.id for item in wanted.items}
                shares.append(len(best.intersection(item.id for item in found.items)) / max(len(best), 1))
                apart.append(abs(found.confidence - wanted.confidence))
            if texts:
                print(
                    f"{sort}: {sum(shares) / len(shares):.3f} of the exact ten; confidence differs by {max(apart):.2f}"
                )
                for name, ms in zip(("searched", "in memory"), zip(*times, strict=True), strict=True):
                    print(f"  {name}: {percentile(list(ms), 0.5):.0f} / {percentile(list(ms), 0.95):.0f} ms")
                print(
                    f"  searched / in memory, by question: {median(searched / exact for searched, exact in times):.2f}"
                )
    cold = []
    for _ in range(5):
        async with AsyncWarden.open(url, config=SETTINGS) as warden:
            await warden.scope(user="nobody").query("Who has a canoe?")  # loads the model
            cold.append(await time_query(warden, COLD, "Who has a canoe?"))
    print(f"first query of {COLD_ROWS:,} rows, in memory: {median(cold):,.0f} ms")


async def measure_speed(url: str, talks: Sequence[Conversation]) -> None:
    """Time searches without the exact ranking, which takes the processor's caches from them."""
    texts = [question.text for talk in talks for question in talk.questions]
    random.Random(1).shuffle(texts)
    async with AsyncWarden.open(url, config=SETTINGS) as warden:
        for text in texts[SPEED:][:16]:
            await time_query(warden, LARGE, text)
        before = time.process_time()
        times = [await time_query(warden, LARGE, text) for text in texts[:SPEED]]
        worked = 1e3 * (time.process_time() - before) / max(len(times), 1)
    if times:
        spread = f"{percentile(times, 0.5):.1f} / {percentile(times, 0.95):.1f} ms"
        print(f"{len(times)} searches: {spread}, {worked:.1f} ms of the processor in this process")


async def time_query(warden: AsyncWarden, user: str, question: str) -> float:
    start = time.perf_counter()
    await warden.scope(user=user).query(question)
    return 1e3 * (time.perf_counter() - start)


def main(url: str, what: str, *rest: str) -> None:
    files = rest[1:] if what == "fill" else rest
    talks = [talk for file in files for talk in read_conversations(Path(file))]
    measure = measure_speed if what == "speed" else measure_questions
    asyncio.run(fill_large(url, int(rest[0]), talks) if what == "fill" else measure(url, talks))


if __name__ == "__main__":
    main(*sys.argv[1:])
