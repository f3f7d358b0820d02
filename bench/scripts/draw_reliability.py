"""Draws how far confidence and scores can be relied on, over all sets, from reports of `memwarden bench`.

usage: draw_reliability.py PICTURE REPORT.json...

A report is what `memwarden bench everyday --json` or `memwarden bench quality --json` printed. Of a layout with several
files the row of all of them is drawn.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memwarden_bench.marks import number, pyplot
from memwarden_bench.metrics import MIN_BIN_CASES

FIGURES = ("confidence of context", "confidence of query", "scores of items, context", "scores of items, query")


def curves(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each set of a report by name, with its reliability."""
    if "reliability" in report:
        yield "everyday", report["reliability"]
    for rows in report.get("runs", {}).values():
        whole = [row for row in rows if row["label"].startswith("all ")] or rows
        yield from ((row["layout"], row["reliability"]) for row in whole)


def draw(found: Sequence[tuple[str, Mapping[str, Any]]], file: Path) -> None:
    """Draw a panel for each figure, with a curve for each set; bins of a hundred cases are filled."""
    plots = pyplot()
    figure, axes = plots.subplots(2, 2, figsize=(11, 10), sharex=True, sharey=True)
    for axis, name in zip(axes.flat, FIGURES, strict=True):
        axis.plot((0, 1), (0, 1), color="0.7", linewidth=1)
        for label, told in found:
            if name not in told:
                continue
            rows = [row for row in told[name]["bins"] if row["cases"]]
            gap = number(told[name]["mean_gap"])
            said, true = [row["said"] for row in rows], [row["true"] for row in rows]
            (line,) = axis.plot(said, true, label=f"{label}: mean gap {gap}")
            for row in rows:
                filled = row["cases"] >= MIN_BIN_CASES
                color = line.get_color()
                axis.plot(row["said"], row["true"], "o", color=color, fillstyle="full" if filled else "none")
        axis.set(xlim=(0, 1), ylim=(0, 1), title=name)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    for axis in axes[1]:
        axis.set_xlabel("what was told")
    for axis in axes[:, 0]:
        axis.set_ylabel("share that came true")
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    plots.close(figure)


def main() -> None:
    """Draw the reports."""
    picture, *reports = map(Path, sys.argv[1:])
    draw([pair for file in reports for pair in curves(json.loads(file.read_text(encoding="utf-8")))], picture)


if __name__ == "__main__":
    main()
