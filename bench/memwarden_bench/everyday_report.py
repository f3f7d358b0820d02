"""Reports ``bench everyday`` as Markdown tables and as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from memwarden_bench.everyday import (
    CONTEXT,
    FRAME_TOKENS,
    MANY,
    QUERY,
    UNANSWERABLE,
    EverydayFigures,
    EverydayRow,
    JudgedText,
)
from memwarden_bench.first_hour import FirstHourFigures
from memwarden_bench.marks import grid, number, pyplot
from memwarden_bench.metrics import MIN_BIN_CASES, Reliability

NOTES = (
    "right: the answer stands in the text, and nothing outdated above it or alone. answer: it stands there. stale: of "
    "the questions with outdated messages, those where such a message stands above the current one or without it. "
    "evidence: share of the needed messages in the text. off_topic, unknown: of the questions about the world or after "
    "a change of subject, and of those about known people that nobody answered, the share that got nothing. useful: "
    "of 100 items, those that hold a part of the answer. auc: how well confidence tells the answerable questions.",
    f"memwarden is asked through its public API with default settings. The others take whole messages, {FRAME_TOKENS} "
    "tokens and a quarter of the characters each, until the first that does not fit; they never refuse.",
)


@dataclass(frozen=True, slots=True)
class EverydayReport:
    """The results of a run of ``bench everyday``. shown: questions with what they got, where that was asked for."""

    circumstances: Mapping[str, str]
    budget: int
    rows: Sequence[EverydayRow]
    reliability: Mapping[str, Reliability]
    first_hour: Sequence[FirstHourFigures]
    excluded: Mapping[str, int]
    shown: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = NOTES


def list_shown(texts: Sequence[JudgedText], of_type: str | None) -> list[Mapping[str, Any]]:
    """Return the questions of a type, or of ``all``, with what the block showed for them."""
    wanted = [text for text in texts if text.way == CONTEXT and of_type in ("all", text.question.type)]
    return [msgspec.to_builtins(text) | {"right": text.verdict.right} for text in wanted]


def everyday_markdown(report: EverydayReport) -> str:
    """Return the whole report as Markdown."""
    parts = ["# Everyday memory", grid(("what", "value"), list(report.circumstances.items()))]
    if report.rows:
        parts += _history_parts(report)
    if report.first_hour:
        parts += ["## The first hour", _first_hour_grid(report.first_hour)]
    excluded = grid(("what", "times"), [(what, str(times)) for what, times in report.excluded.items()])
    parts += ["## Excluded", excluded or "Nothing."]
    if report.rows:
        parts += report.notes
    return "\n\n".join(part for part in [*parts, *_shown_parts(report.shown)] if part) + "\n"


def _history_parts(report: EverydayReport) -> list[str]:
    parts = [f"## In all, {report.budget:,} tokens", _wide_grid(report.rows, "all", "way")]
    for way in (CONTEXT, QUERY, MANY):
        rows = [row for row in report.rows if row.way == way]
        parts += [f"## {way}, by type", _wide_grid(rows, "type", "group")]
    for by in ("type", "history", "language"):
        parts += [f"## Right, by {by}", "Of the unanswerable: got nothing." if by == "type" else ""]
        parts.append(_side_by_side(report.rows, by))
    parts += ["## How far confidence and scores can be relied on", _reliability_grid(report.reliability)]
    return [*parts, _bins_grid(report.reliability)]


COLUMNS = ("questions", "right", "answer", "evidence", "stale", "off_topic", "unknown", "useful", "auc", "tokens")


def _wide_grid(rows: Sequence[EverydayRow], by: str, head: str) -> str:
    lines = [(getattr(row, head), *_cells(row.figures)) for row in rows if row.by == by]
    return grid((head if head == "way" else by, *COLUMNS), lines)


def _cells(found: EverydayFigures) -> list[str]:
    right = found.right
    shares = (found.answer, found.evidence, found.stale, found.off_topic, found.unknown)
    return [
        str(found.questions),
        number(right.mean) + ("" if math.isnan(right.mean) else f" ({number(right.low)}–{number(right.high)})"),
        *map(number, shares),
        number(found.useful_of_100, 0),
        number(found.auc),
        number(found.tokens, 0),
    ]


def _side_by_side(rows: Sequence[EverydayRow], by: str) -> str:
    """Return a table with a row for each group and a column for each way."""
    here = [row for row in rows if row.by == by]
    ways, groups = (list(dict.fromkeys(getattr(row, name) for row in here)) for name in ("way", "group"))
    found = {(row.way, row.group): row.figures for row in here}
    lines = [
        (
            group,
            str(found[ways[0], group].questions),
            *(number(_share(found[way, group], by == "type" and group in UNANSWERABLE)) for way in ways),
        )
        for group in groups
    ]
    return grid((by, "questions", *ways), lines)


def _share(found: EverydayFigures, unanswerable: bool) -> float:
    return found.refused if unanswerable else found.right.mean


def _reliability_grid(found: Mapping[str, Reliability]) -> str:
    lines = [(name, str(item.cases), number(item.mean_gap), number(item.largest_gap)) for name, item in found.items()]
    return grid(("figure", "cases", "mean gap", f"largest gap of a bin of {MIN_BIN_CASES} or more"), lines)


def _bins_grid(found: Mapping[str, Reliability]) -> str:
    lines = [
        (name, f"{row.low:.1f} to {row.high:.1f}", str(row.cases), number(row.said), number(row.true))
        for name, item in found.items()
        for row in item.bins
        if row.cases
    ]
    return grid(("figure", "bin", "cases", "mean figure", "share that came true"), lines)


def _first_hour_grid(found: Sequence[FirstHourFigures]) -> str:
    lines = [
        (item.part, item.write, item.read, f"{item.answered} of {item.asked}", f"{item.something} of {item.never}")
        for item in found
    ]
    return grid(("stores", "written by", "read by", "answered", "never said, yet something"), lines)


def _shown_parts(shown: Sequence[Mapping[str, Any]]) -> list[str]:
    parts = ["## What the block showed"] if shown else []
    for text in shown:
        question, verdict = text["question"], text["verdict"]
        said = ", ".join(f"{name} {verdict[name]}" for name in ("answer", "stale", "refused", "confidence"))
        parts.append(f"### {text['history']} {question['id']}, {question['type']}: {question['q']}")
        parts += [f"Expected: {question['answer']}. Right {text['right']}, {said}.", f"```text\n{text['block']}\n```"]
    return parts


def everyday_plot(report: EverydayReport, file: Path) -> None:
    """Draw the share that came true over what confidence and scores said."""
    plots = pyplot()
    figure, axes = plots.subplots(1, 2, figsize=(11, 5), sharey=True)
    for axis, sort in zip(axes, ("confidence", "scores"), strict=True):
        axis.plot((0, 1), (0, 1), color="0.7", linewidth=1)
        for name, item in report.reliability.items():
            if name.startswith(sort):
                _draw(axis, name, item)
        axis.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"{sort} said", ylabel="share that came true", title=sort)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plots.close(figure)


def _draw(axis: Any, name: str, found: Reliability) -> None:
    rows = [row for row in found.bins if row.cases]
    label = f"{name}: mean gap {number(found.mean_gap)}"
    (line,) = axis.plot([row.said for row in rows], [row.true for row in rows], marker="o", label=label)
    for row in rows:
        where = (row.said, row.true)
        axis.annotate(
            str(row.cases), where, textcoords="offset points", xytext=(4, 4), fontsize=7, color=line.get_color()
        )
