"""Compares this code with another checkout: the same turns and questions, a process each, round by round."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from memwarden.errors import InvalidInput
from memwarden_bench import metrics, sentences
from memwarden_bench.marks import grid, number
from memwarden_bench.replay import Tick
from memwarden_bench.rounds import Seat, Sheet, Spread, rotate
from memwarden_bench.systems import AT_DEFAULTS

OBSERVING, HOT, LESS_MODEL = "turns observed a second", "hot query, ms", "hot query less the model's own time, ms"
OBSERVING_CPU, HOT_CPU = "turns observed a second of processor time", "hot query, ms of processor time"
LESS_MODEL_CPU = "hot query less the model's own, ms of processor time"
BUSY_P95, BUSY_CPU = (
    "hot query with one busy core, 95 % under, ms",
    "hot query with one busy core, ms of processor time",
)
COMMAND_CPU = "command `find`, ms of processor time"
MEMORY = "memory after the questions, MB"
CALLS = 10
"""Calls of twenty turns whose rate is taken a round, at most."""
SECONDS = 3.0
PATIENCE = 3_600.0
SOURCES = Path(__file__).parents[2] / "src"


@dataclass(frozen=True, slots=True)
class CheckoutFigure:
    """A figure of both checkouts, as medians over the rounds, and the ratio of now to before in each round."""

    rows: int
    name: str
    before: float
    now: float
    ratio: Spread


class OwnTime(NamedTuple):
    """The milliseconds that a model alone takes for a question, and those of processor time."""

    took: float
    cpu: float


@dataclass(frozen=True, slots=True)
class AgainstReport:
    """The results of a comparison with another checkout. embedders: of before and now.

    model_ms, model_cpu_ms: what the model of now alone takes for a question, and that of processor time, measured
    between the questions of the same rounds.
    """

    circumstances: Mapping[str, str]
    embedders: tuple[str, str]
    rounds: int
    model_ms: float
    model_cpu_ms: float
    figures: Sequence[CheckoutFigure]


def measure_against(
    checkout: Path, sizes: Sequence[int], embedders: tuple[str, str], rounds: int, questions: int, tick: Tick
) -> tuple[OwnTime, list[CheckoutFigure]]:
    """Measure both checkouts at every size. Returns the model's own time for a question, and the figures."""
    if not (checkout / "src/memwarden/__init__.py").is_file():
        raise InvalidInput(f"{str(checkout)!r} is no checkout of memwarden: it has no src/memwarden")
    found: list[CheckoutFigure] = []
    alone: list[OwnTime] = []
    for rows in sizes:
        found += _measure_size(checkout, rows, embedders, rounds, questions, alone, tick)
    return OwnTime(median(each.took for each in alone), median(each.cpu for each in alone)), found


def count_steps(sizes: Sequence[int], rounds: int) -> int:
    """Return how often progress is told."""
    return len(sizes) * (rounds + 2)


def _measure_size(
    checkout: Path, rows: int, embedders: tuple[str, str], rounds: int, questions: int, alone: list[OwnTime], tick: Tick
) -> Iterator[CheckoutFigure]:
    sheet = Sheet()
    with TemporaryDirectory(prefix="memwarden-bench-") as folder, ExitStack() as stack:
        seats: dict[str, Seat] = {}
        for name, embedder, code in (("before", embedders[0], checkout), ("now", embedders[1], None)):
            seats[name] = Seat(AT_DEFAULTS, Path(folder) / name, embedder, seconds=PATIENCE, checkout=code)
            stack.callback(seats[name].stop)
            seats[name].do("open")
        _fill(seats, rows, sheet)
        tick(f"{rows:,} turns observed")
        for seat in seats.values():
            seat.do("settle")
        tick(f"{rows:,} turns with their vectors")
        asked = list_questions(questions * 2 * (rounds + 1))
        for number_ in range(rounds + 1):
            some = asked[2 * number_ * questions :][: 2 * questions]
            # The first round loads the models and compiles byte code.
            kept = sheet if number_ else Sheet()
            own = _ask(seats, some[:questions], embedders[1], kept, number_)
            alone += [own] if number_ else []
            with _busy_core():
                _ask_with_busy_core(seats, some[questions:], kept, number_)
            for name, code in (("before", checkout / "src"), ("now", SOURCES)):
                kept.note("all", COMMAND_CPU, "ms", name, _command_ms(seats[name], code, Path(folder)))
                kept.note("all", MEMORY, "MB", name, seats[name].do("memory")["now_mb"])
            tick(f"{rows:,} turns asked")
    for (_, name), figure in sheet.figures.items():
        ratio = figure.ratio("now", "before")
        assert ratio is not None
        yield CheckoutFigure(rows, name, figure.middle("before"), figure.middle("now"), ratio)


def list_questions(amount: int) -> list[str]:
    """Return so many questions, none of them twice: of one that was asked before the vectors are known.

    Raises InvalidInput when so many cannot be made.
    """
    for times in (1, 2, 4, 8, 16):
        found = list(dict.fromkeys(sentences.questions(amount * times)))
        if len(found) >= amount:
            return found[:amount]
    raise InvalidInput(f"{amount:,} different questions cannot be made; ask fewer a round, or in fewer rounds")


def _fill(seats: Mapping[str, Seat], rows: int, sheet: Sheet) -> None:
    """Observe the turns in threads; the checkouts take turns, a few calls each."""
    made = [[message["content"] for message in thread] for _, thread in sentences.threads(sentences.turns(rows))]
    for number_, start in enumerate(range(0, len(made), CALLS)):
        calls = made[start : start + CALLS]
        for name in rotate(list(seats), number_):
            done = [seats[name].do("add", user="somebody", texts=texts) for texts in calls]
            for figure, kind in ((OBSERVING, "ms"), (OBSERVING_CPU, "cpu")):
                sheet.note("all", figure, "", name, 1_000 * sum(map(len, calls)) / sum(each[kind] for each in done))


def _ask(seats: Mapping[str, Seat], questions: Sequence[str], model: str, sheet: Sheet, number_: int) -> OwnTime:
    """Ask both checkouts; return what the model of now alone took, in the same process, question by question."""
    own = OwnTime(0.0, 0.0)
    for name in rotate(list(seats), number_):
        order = {"own": model} if name == "now" else {}
        answer: dict[str, Any] = seats[name].do("ask", user="somebody", questions=questions, seconds=SECONDS, **order)
        took, cpu = metrics.percentile(answer["times"], 0.5), metrics.percentile(answer["cpu"], 0.5)
        less = OwnTime(0.0, 0.0)
        if answer["own"]:
            less = own = OwnTime(metrics.percentile(answer["own"], 0.5), metrics.percentile(answer["own_cpu"], 0.5))
        sheet.note("all", HOT, "ms", name, took)
        sheet.note("all", LESS_MODEL, "ms", name, max(0.0, took - less.took))
        sheet.note("all", HOT_CPU, "ms", name, cpu)
        sheet.note("all", LESS_MODEL_CPU, "ms", name, max(0.0, cpu - less.cpu))
    return own


@contextmanager
def _busy_core() -> Iterator[None]:
    """Keep a core busy in another process while this lasts."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            yield
        finally:
            other.kill()


def _ask_with_busy_core(seats: Mapping[str, Seat], questions: Sequence[str], sheet: Sheet, number_: int) -> None:
    for name in rotate(list(seats), number_):
        answer: dict[str, Any] = seats[name].do("ask", user="somebody", questions=questions, seconds=SECONDS)
        sheet.note("all", BUSY_P95, "ms", name, metrics.percentile(answer["times"], 0.95))
        sheet.note("all", BUSY_CPU, "ms", name, metrics.percentile(answer["cpu"], 0.5))


def _command_ms(seat: Seat, code: Path, folder: Path) -> float:
    """Return the processor time of the command ``find`` on a seat's store, of the interpreter too."""
    store = next(seat.store.glob("*.db"))
    line = [sys.executable, "-m", "memwarden", "find", "--db", f"sqlite:///{store}", "--user", "somebody"]
    environment = {**os.environ, "PYTHONPATH": str(code), "PYTHONPYCACHEPREFIX": str(folder / "byte code")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1_000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def against_markdown(report: AgainstReport) -> str:
    """Return the comparison as Markdown."""
    lines = [
        (
            f"{item.rows:,}",
            item.name,
            number(item.before, 2),
            number(item.now, 2),
            f"{number(item.ratio.median, 2)} ({number(item.ratio.low, 2)}–{number(item.ratio.high, 2)})",
        )
        for item in report.figures
    ]
    parts = [
        "# Speed, beside another checkout",
        grid(("what", "value"), list(report.circumstances.items())),
        f"Embedder before: {report.embedders[0]}, now: {report.embedders[1]}, whose own time for a question is "
        f"{number(report.model_ms, 2)} ms, {number(report.model_cpu_ms, 2)} of processor time. "
        f"{report.rounds} rounds; each is a process, and they take turns. Medians "
        "over the rounds, and the ratio of now to before in the same round, with the least and the greatest.",
        grid(("turns", "figure", "before", "now", "ratio"), lines),
    ]
    return "\n\n".join(parts) + "\n"
