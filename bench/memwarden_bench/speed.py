"""Measures time, memory and disk of recall for several sizes, each trial in its own process."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memwarden_bench import metrics, sentences, trial
from memwarden_bench.beside import Beside
from memwarden_bench.fresh import FreshInstall, TrialFailed, run, run_code
from memwarden_bench.replay import Tick
from memwarden_bench.tiers import TiersReport

SIZES = (100, 10_000, 100_000)
STARTS = 7
SYNCS = 100


@dataclass(frozen=True, slots=True)
class SizeFigures:
    """Figures of a namespace of ``rows`` turns. Times are milliseconds of a ``query`` of ten items.

    Attributes:
        hot: the index is in memory. cold: the model is loaded, the namespace is not: a fresh warden on the file.
        fresh: a process that imports memwarden, opens the file and asks, from its start to its answer. Of that:
            ``fresh_open_ms`` (loads the model) and ``fresh_query_ms`` (reads the namespace).
        call_p50_ms: observing a thread of 20 turns. single: observing a single turn. sync: what the disk takes to sync
            4 KB, measured next to it.
        turn: what memory adds to a turn of a conversation: memories found and put in, question and answer stored.
        looked: the same when the thread is looked through for facts, too, by rules.
        fill_rss_mb, ask_rss_mb: the most memory of the process that wrote, and of the process that asked.
    """

    rows: int
    hot_p50_ms: float
    hot_p95_ms: float
    cold_p50_ms: float
    cold_p95_ms: float
    fresh_p50_ms: float
    fresh_p95_ms: float
    fresh_open_ms: float
    fresh_query_ms: float
    turns_per_second: float
    call_p50_ms: float
    single_p50_ms: float
    single_p95_ms: float
    sync_p50_ms: float
    sync_p95_ms: float
    turn_p50_ms: float
    turn_p95_ms: float
    looked_p50_ms: float
    looked_p95_ms: float
    fill_rss_mb: float
    ask_rss_mb: float
    file_mb: float


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """The results of a run of ``bench speed``.

    Attributes:
        python_ms: starting a bare interpreter. import_ms: what ``import memwarden`` adds to that.
        beside: the comparison with peers. tiers: what three tiers cost.
    """

    circumstances: Mapping[str, str]
    embedder: str
    rows_from: str
    python_ms: float
    import_ms: float
    sizes: Sequence[SizeFigures]
    installed: FreshInstall | None
    beside: Beside | None = None
    tiers: TiersReport | None = None


def measure_size(
    rows: int, embedder: str, *, data: Path | None, folder: Path | None, queries: int, tick: Tick
) -> SizeFigures:
    """Fill a store with this many turns and query it: hot, cold and from a fresh process."""
    with TemporaryDirectory(prefix="memwarden-bench-", dir=folder) as place:
        file = Path(place) / "bench.db"
        order = {"url": f"sqlite:///{file}", "embedder": embedder, "rows": rows}
        asked = questions_of(data, queries)
        sync = sync_times(Path(place))
        filled = _trial({**order, "trial": "fill", "data": str(data or ""), "singles": 100})
        tick(f"{rows:,} rows written")
        answered = _trial({**order, "trial": "ask", "questions": asked, "queries": queries, "colds": STARTS})
        tick(f"{rows:,} rows asked")
        fresh = [_fresh({**order, "trial": "ask_once", "question": asked[number]}) for number in range(STARTS)]
        tick(f"{rows:,} rows asked from fresh processes")
        turns = _trial({**order, "trial": "turns", "questions": asked, "queries": queries})
        tick(f"{rows:,} rows, turns taken")
        size = sum(item.stat().st_size for item in Path(place).iterdir()) / 2**20
    return SizeFigures(
        rows,
        **{name: answered[name] for name in ("hot_p50_ms", "hot_p95_ms", "cold_p50_ms", "cold_p95_ms")},
        fresh_p50_ms=metrics.percentile([item["whole_ms"] for item in fresh], 0.5),
        fresh_p95_ms=metrics.percentile([item["whole_ms"] for item in fresh], 0.95),
        fresh_open_ms=metrics.percentile([item["open_ms"] for item in fresh], 0.5),
        fresh_query_ms=metrics.percentile([item["query_ms"] for item in fresh], 0.5),
        **{name: filled[name] for name in ("turns_per_second", "call_p50_ms", "single_p50_ms", "single_p95_ms")},
        sync_p50_ms=metrics.percentile(sync, 0.5),
        sync_p95_ms=metrics.percentile(sync, 0.95),
        **{name: turns[name] for name in ("turn_p50_ms", "turn_p95_ms", "looked_p50_ms", "looked_p95_ms")},
        fill_rss_mb=filled["rss_mb"],
        ask_rss_mb=answered["rss_mb"],
        file_mb=size,
    )


def sync_times(folder: Path) -> list[float]:
    """Return milliseconds of syncing 4 KB to the disk, often enough for a p95."""
    times = []
    with (folder / "sync.bin").open("wb", buffering=0) as file:
        for _ in range(SYNCS):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            times.append(1_000 * (time.perf_counter() - start))
    (folder / "sync.bin").unlink()
    return times


def start_up() -> tuple[float, float]:
    """Return median milliseconds of a bare interpreter's start, and of ``import memwarden``."""
    bare = metrics.percentile([run_code("pass") for _ in range(STARTS)], 0.5)
    return bare, metrics.percentile([run_code("import memwarden") for _ in range(STARTS)], 0.5) - bare


def questions_of(data: Path | None, queries: int) -> list[str]:
    """Return questions for a namespace: those of the data if enough, else generated."""
    if data is not None:
        from memwarden.surfaces.conversation_files import read_conversations

        known = [question.text for talk in read_conversations(data) for question in talk.questions]
        if len(known) >= STARTS:
            return known[:queries]
    return sentences.questions(queries)


def asked_of(data: Path | None, amount: int) -> list[str]:
    """Return exactly this many questions, repeated when the data has fewer."""
    known = questions_of(data, amount)
    return [known[number % len(known)] for number in range(amount)]


def texts_of(data: Path | None, rows: int) -> list[str]:
    """Return the distinct texts of this many turns.

    LangGraph refuses a batch with two equal texts.
    """
    said = [message["content"] for message in trial.rows_of(data, rows)]
    seen: set[str] = set()
    for number, text in enumerate(said):
        if text in seen:
            said[number] = f"{text} ({number})"
        seen.add(said[number])
    return said


def _trial(order: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(_command(order)).splitlines()[-1])
    return found


def _fresh(order: Mapping[str, Any]) -> dict[str, Any]:
    """Start a process and stop the clock when its answer is readable."""
    start = time.perf_counter()
    with _start_process(_command(order)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        whole = 1_000 * (time.perf_counter() - start)
        rest = process.stdout.read()
    return {"whole_ms": whole, **json.loads(rest.splitlines()[-1])} if rest else {"whole_ms": math.nan}


@contextmanager
def _start_process(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process
        said = process.stderr.read() if process.stderr else ""
    if process.returncode:
        raise TrialFailed(f"a trial failed:\n{said.strip()}")


def _command(order: Mapping[str, Any]) -> list[str]:
    return [sys.executable, "-m", "memwarden_bench.trial", json.dumps(order)]
