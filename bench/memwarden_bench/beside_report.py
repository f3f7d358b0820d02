"""Reports the comparison with peers as Markdown and as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memwarden_bench.beside import SHARED, START, Beside
from memwarden_bench.marks import grid, number, pyplot
from memwarden_bench.rounds import Figure
from memwarden_bench.systems import ASPECTS, BASE

HOW = (
    "Every system runs in a process of its own, and all are measured in turn: a round of the first, a round of the "
    "next and so on, beginning with a different system each round. A cell holds the median over the rounds and, in "
    "brackets, how many times memwarden's that is: the median of the ratios of each round, and the least and the "
    "greatest of them. "
    "The absolute figures depend on the machine and on what else it does; the ratios much less.",
    "All embed with the same model inside their own calls, so they hold the same vectors; all are asked for ten items "
    "with their bar off. No system calls a language model or the network. Where a process is fresh, its time holds the "
    f"loading of that model, which comes with memwarden and is the same for all ({SHARED!r} below).",
)
ASKING = ("query p50", "query p95", "another user's first query", "items", "of the exact ten")
ADDING = ("batch add, 100 rows", "single add", "query after an add")
KEEPING = (
    "fresh process to an open store",
    "fresh process to its first answer",
    "peak memory of a fresh process",
    "memory",
    "on disk",
)
BARE = ("items", "of the exact ten")
"""Figures without a ratio."""


def beside_markdown(beside: Beside) -> list[str]:
    """Return the sections about the comparison."""
    parts = ["## Beside others", *HOW, _does(beside)]
    for layout in beside.layouts:
        parts.append(f"### {layout[0].upper()}{layout[1:]}")
        parts += [_table(beside, layout, names) for names in (ASKING, ADDING, KEEPING)]
    parts += ["### Imports and installs", _starts(beside), "### What is missing", _remarks(beside)]
    return parts


def cell(figure: Figure, system: str) -> str:
    """Format the median of a system, and its ratio to memwarden."""
    if system not in figure.rounds:
        return "–"
    middle = number(figure.middle(system), _digits(figure.middle(system)))
    ratio = figure.ratios.get(system)
    if system == BASE or ratio is None or figure.name in BARE:
        return middle
    if len(figure.rounds[system]) == 1:
        return f"{middle} ({times(ratio.median)})"
    return f"{middle} ({times(ratio.median)}; {times(ratio.low)}–{times(ratio.high)})"


def times(ratio: float) -> str:
    """Format a ratio in few digits."""
    return f"{number(ratio, 2 if ratio < 10 else 0)}×"


def _digits(value: float) -> int:
    return 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0


def _does(beside: Beside) -> str:
    return grid(
        ("system", "version", *ASPECTS), [(system.name, system.version, *system.does) for system in beside.systems]
    )


def _table(beside: Beside, layout: str, names: Sequence[str]) -> str:
    figures = [figure for name in names if (figure := beside.figure(layout, name))]
    if not figures:
        return ""
    head = ("system", *(f"{figure.name}, {figure.unit}" if figure.unit else figure.name for figure in figures))
    return grid(head, [(kind.name, *(cell(figure, kind.name) for figure in figures)) for kind in beside.systems])


def _starts(beside: Beside) -> str:
    figure = beside.figure(START, "import")
    names = [*(kind.name for kind in beside.systems), SHARED]
    lines = []
    for name in names:
        found = beside.installed.get(name)
        size = (str(found.packages), number(found.size_mb, 0), number(found.seconds, 0)) if found else ("–",) * 3
        lines.append((name, cell(figure, name) if figure else "–", *size))
    return grid(("system", "import, ms", "packages", "installed MB", "install s"), lines)


def _remarks(beside: Beside) -> str:
    lines = [(remark.system, remark.scenario, remark.text) for remark in beside.remarks]
    return grid(("system", "where", "what"), lines) or "Nothing: every system was measured everywhere."


def beside_plot(beside: Beside, file: Path) -> None:
    """Draw the median times of each layout with their ranges, on a logarithmic scale."""
    shown = ("query p50", "single add", "fresh process to its first answer")
    plots = pyplot()
    size = (4.6 * len(shown), 1 + len(beside.layouts) * (0.5 + 0.3 * len(beside.systems)))
    figure, axes = plots.subplots(len(beside.layouts), len(shown), figsize=size, squeeze=False)
    for row, layout in enumerate(beside.layouts):
        for axis, name in zip(axes[row], shown, strict=True):
            _bars(axis, beside, beside.figure(layout, name))
            axis.set_title(f"{layout}\n{name}, ms" if axis is axes[row][0] else f"{name}, ms", fontsize=9)
        for axis in axes[row][1:]:
            axis.set_yticklabels([])
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plots.close(figure)


def _bars(axis: Any, beside: Beside, figure: Figure | None) -> None:
    names = [kind.name for kind in beside.systems]
    rounds = [figure.rounds.get(name, []) if figure else [] for name in names]
    middle = [figure.middle(name) if figure and item else math.nan for name, item in zip(names, rounds, strict=True)]
    low = [m - min(item) if item else 0 for m, item in zip(middle, rounds, strict=True)]
    high = [max(item) - m if item else 0 for m, item in zip(middle, rounds, strict=True)]
    colors = ["tab:orange" if name == BASE else "tab:blue" for name in names]
    axis.barh(names, middle, xerr=[low, high], color=colors, ecolor="0.3", capsize=2)
    axis.invert_yaxis()
    axis.set_xscale("log")
    known = [min(item) for item in rounds if item]
    if known:
        axis.set_xlim(left=10 ** math.floor(math.log10(min(known))))
    axis.tick_params(labelsize=8)
    axis.tick_params(which="minor", labelbottom=False)
    axis.grid(axis="x", alpha=0.3)
