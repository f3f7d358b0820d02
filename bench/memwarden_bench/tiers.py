"""Measures three tiers: adding, searching, assembling a context, and memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from memwarden_bench import metrics
from memwarden_bench.marks import grid, number
from memwarden_bench.replay import Tick
from memwarden_bench.rounds import Figure, Remark, Seat, Sheet, Table
from memwarden_bench.tier_systems import BUDGET, TIER_SYSTEMS

SIZES: Final = (1_000, 10_000)
"""Items a tier."""
QUESTIONS: Final = 10
SECONDS: Final = 2.0
BASE: Final = list(TIER_SYSTEMS)[-1]
READS: Final = (
    ("search by meaning", "project", True),
    ("newest hundred", "decisions", False),
    ("context for a question", "context", True),
    ("context without question", "context", False),
)
"""What is asked: its name, where, and whether with a question."""


@dataclass(frozen=True, slots=True)
class TiersReport:
    """The results of ``bench speed --tiers``. scenarios: by number of items a tier."""

    systems: Sequence[str]
    scenarios: Sequence[str]
    figures: Sequence[Figure]
    remarks: Sequence[Remark]


def measure(
    sizes: Sequence[int],
    rounds: int,
    folder: Path | None,
    patience: float,
    texts: Callable[[int], Sequence[str]],
    asked: Callable[[int], Sequence[str]],
    tick: Tick,
) -> TiersReport:
    """Fill and query every installed system in turn, each in its own process."""
    sheet = Sheet()
    kinds = [kind for kind in TIER_SYSTEMS.values() if not kind.missing]
    for kind in TIER_SYSTEMS.values():
        if kind.missing:
            sheet.remark(kind.name, "everything", f"not installed: pip install {' '.join(kind.missing)}")
    names = [_scenario(size) for size in sizes]
    for size, name in zip(sizes, names, strict=True):
        with TemporaryDirectory(prefix="memwarden-bench-", dir=folder) as place:
            homes = [Path(place) / str(home) for home in range(len(kinds))]
            seats = [Seat(kind, home, "wordllama", seconds=patience) for kind, home in zip(kinds, homes, strict=True)]
            table = Table(name, seats, sheet)
            try:
                _measure(table, size, rounds, texts(3 * size + rounds), asked(QUESTIONS * (rounds + 1)), tick)
            finally:
                table.stop()
    for figure in sheet.figures.values():
        figure.ratios = {item: found for item in figure.rounds if (found := figure.ratio(item, BASE)) is not None}
    return TiersReport(list(TIER_SYSTEMS), names, list(sheet.figures.values()), sheet.remarks)


def steps(sizes: Sequence[int]) -> int:
    """Return the number of ticks of :func:`measure`."""
    return 3 * len(sizes)


def _scenario(size: int) -> str:
    return f"{size:,} items a tier"


def _measure(table: Table, size: int, rounds: int, texts: Sequence[str], asked: Sequence[str], tick: Tick) -> None:
    def open_seat(seat: Seat) -> None:
        seat.do("open")
        table.note("empty", "MB", seat, seat.do("memory")["now_mb"])

    table.round(0, open_seat)
    for number_, tier in enumerate(("task", "project", "global")):
        mine = texts[number_ * size : (number_ + 1) * size]

        def fill(seat: Seat, tier: str = tier, mine: Sequence[str] = mine) -> None:
            table.note("add, each of many", "ms", seat, seat.do("add", user=tier, texts=mine)["ms"] / len(mine))

        table.round(number_, fill)
    tick(f"{table.scenario}: filled")
    for turn in range(rounds + 1):
        questions = asked[turn * QUESTIONS : (turn + 1) * QUESTIONS]

        def ask(seat: Seat, questions: Sequence[str] = questions, warm: bool = turn == 0) -> None:
            for name, where, with_question in READS:
                put = questions if with_question else [""] * len(questions)
                times = seat.do("ask", user=where, questions=put, seconds=SECONDS)["times"]
                if not warm:
                    table.note(name, "ms", seat, metrics.percentile(times, 0.5))

        table.round(turn, ask)
    tick(f"{table.scenario}: asked")
    for turn in range(rounds):

        def add(seat: Seat, text: str = texts[3 * size + turn]) -> None:
            table.note("single add", "ms", seat, seat.do("add", user="project", texts=[text])["ms"])

        table.round(turn, add)
    table.round(0, lambda seat: table.note("memory", "MB", seat, seat.do("memory")["now_mb"]))
    tick(f"{table.scenario}: added to")


def markdown(report: TiersReport) -> list[str]:
    """Return the sections about tiers."""
    parts = [
        "## Three tiers",
        "A task, a project and global memory with as many items each. search by meaning: ten of the project; newest "
        f"hundred: decisions by filter; context: a text of all three within {BUDGET:,} tokens. Medians, and in "
        f"brackets how many times that of {BASE} it is, round by round. memory is the whole process, with the model "
        "that all share; empty, before the first item.",
    ]
    names = ("search by meaning", "newest hundred", "context for a question", "context without question", "single add",
             "add, each of many", "memory", "empty")  # fmt: skip
    for scenario in report.scenarios:
        figures = [
            figure for name in names for figure in report.figures if (figure.scenario, figure.name) == (scenario, name)
        ]
        head = ("system", *(f"{figure.name}, {figure.unit}" for figure in figures))
        systems = [system for system in report.systems if any(system in figure.rounds for figure in figures)]
        rows = [(system, *(_cell(figure, system) for figure in figures)) for system in systems]
        parts += [f"### {scenario}", grid(head, rows)]
    parts += [f"{remark.system}, {remark.scenario}: {remark.text}" for remark in report.remarks]
    return parts


def _cell(figure: Figure, system: str) -> str:
    if system not in figure.rounds:
        return "–"
    middle = number(figure.middle(system), 2 if figure.middle(system) < 100 else 0)
    ratio = figure.ratios.get(system)
    return middle if ratio is None or system == BASE else f"{middle} ({number(ratio.median, 2)}×)"
