"""Reports ``bench budgets`` as Markdown tables and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memwarden_bench.budgets import BLOCK, QUERIES, BudgetsReport, Curves, Point
from memwarden_bench.marks import grid, number, pyplot

MEASURES = ("turns", "sessions", "words")
TITLES = {
    "turns": "share of the gold turns in the text",
    "sessions": "share of the gold sessions in the text",
    "words": "share of the evidence's words in the text",
}


def budgets_markdown(report: BudgetsReport) -> str:
    """Return the whole report as Markdown."""
    parts = [
        "# Evidence per token",
        grid(("what", "value"), list(report.circumstances.items())),
        "Mean over questions, at the largest budget with its bootstrap 95 % interval. tokens: what the text took of "
        "the budget. filled: share of the questions that got any text.",
        *(part for curve in report.curves for part in _tables(curve)),
        "## Beaten",
        "Where another way holds more within the same budget than the best of memwarden's that asks the bar, and than "
        "the block. A text may be smaller than its budget.",
        grid(("conversations", "measure", "budget", "of memwarden", "holds", "beaten by", "holds"), _beaten(report)),
        "## Excluded",
        grid(
            ("conversations", "what", "times"),
            [(curve.label, what, str(times)) for curve in report.curves for what, times in curve.excluded.items()],
        ),
        *report.notes,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(curves: Curves) -> list[str]:
    """Return a table for each measure: a row for each method, a column for each budget."""
    budgets = list(dict.fromkeys(point.budget for point in curves.points))
    ways = list(dict.fromkeys(point.way for point in curves.points))
    at = {(point.way, point.budget): point for point in curves.points}
    parts = [f"## {curves.label}, {curves.questions} questions"]
    for measure in MEASURES:
        rows = [(way, *(_cell(at[way, budget], measure, budget == budgets[-1]) for budget in budgets)) for way in ways]
        parts += [f"{measure}: {TITLES[measure]}", grid(("way", *(f"{budget:,} tokens" for budget in budgets)), rows)]
    sizes = [
        (way, *(number(at[way, budget].tokens, 0) for budget in budgets), number(at[way, budgets[0]].filled))
        for way in ways
    ]
    return [*parts, "tokens", grid(("way", *(f"{budget:,} tokens" for budget in budgets), "filled"), sizes)]


def _cell(point: Point, measure: str, with_interval: bool) -> str:
    found = getattr(point, measure)
    return number(found.mean) + (f" ({number(found.low)}–{number(found.high)})" if with_interval else "")


def _beaten(report: BudgetsReport) -> list[tuple[str, ...]]:
    rows = []
    for curves in report.curves:
        for measure in MEASURES:
            for budget in dict.fromkeys(point.budget for point in curves.points):
                here = [point for point in curves.points if point.budget == budget]
                others = [item for item in here if not item.way.startswith("memwarden")]
                asking = [item for item in here if item.way in QUERIES[:2]]
                block = [item for item in here if item.way == BLOCK]
                for ours in (asking, block):
                    rows += _better(curves.label, measure, budget, ours, others)
    return rows


def _better(
    label: str, measure: str, budget: int, ours: Sequence[Point], others: Sequence[Point]
) -> list[tuple[str, ...]]:
    def share_held(point: Point) -> float:
        mean: float = getattr(point, measure).mean
        return mean

    if not ours or not others:
        return []
    mine, best = max(ours, key=share_held), max(others, key=share_held)
    if not share_held(best) > share_held(mine):
        return []
    return [
        (label, measure, f"{budget:,}", _name(mine), number(share_held(mine)), _name(best), number(share_held(best)))
    ]


def _name(point: Point) -> str:
    return f"{point.way} ({number(point.tokens, 0)} tokens)"


def budgets_plot(report: BudgetsReport, file: Path) -> None:
    """Draw the curves over tokens: a row for each conversation, a column for each measure."""
    plots = pyplot()
    shown = _curves_to_show(report.curves)
    figure, axes = plots.subplots(len(shown), len(MEASURES), figsize=(13, 3.6 * len(shown)), squeeze=False)
    for line, curves in zip(axes, shown, strict=True):
        for axis, measure in zip(line, MEASURES, strict=True):
            _draw(axis, curves, measure)
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, dpi=100)
    plots.close(figure)


def _draw(axis: Any, curves: Curves, measure: str) -> None:
    for way in dict.fromkeys(point.way for point in curves.points):
        points = [point for point in curves.points if point.way == way]
        held = [getattr(point, measure) for point in points]
        style = "-" if way.startswith("memwarden") else "--"
        (drawn,) = axis.plot(
            [point.tokens for point in points], [item.mean for item in held], style, marker="o", markersize=4, label=way
        )
        axis.fill_between(
            [point.tokens for point in points],
            [item.low for item in held],
            [item.high for item in held],
            color=drawn.get_color(),
            alpha=0.08,
        )
    axis.set(xlabel="tokens that the text takes", title=f"{curves.label}: {TITLES[measure]}", ylim=(0, 1))
    axis.title.set_fontsize(9)
    axis.grid(alpha=0.3)


def _curves_to_show(curves: Sequence[Curves]) -> list[Curves]:
    """Return each layout once: its files together where there are several."""
    last = {curve.layout: curve for curve in curves}  # what stands for several files comes after them
    return list(last.values())
