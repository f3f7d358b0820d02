"""Reports results as JSON, Markdown tables and pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

from memwarden_bench.beside_report import beside_markdown
from memwarden_bench.marks import grid, number, pyplot
from memwarden_bench.metrics import MIN_BIN_CASES, Estimate, Reliability, ReliabilityBin
from memwarden_bench.quality import Abstention, Figures, Table
from memwarden_bench.rounds import Spread
from memwarden_bench.speed import SizeFigures, SpeedReport
from memwarden_bench.tiers import markdown as tiers_markdown

COLUMNS = ("R@5", "R@10", "R@20", "hit@5", "hit@10", "hit@20", "all@5", "all@10", "all@20", "MRR", "nDCG@10")


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """A peer's figures for the conversations of a row, on the same questions."""

    label: str
    layout: str
    name: str
    turn: Table
    session: Table
    blocks: Table
    query_p50_ms: float
    query_p95_ms: float


@dataclass(frozen=True, slots=True)
class QualityReport:
    """The results of a run of ``bench quality``. ``runs``: figures by variant."""

    circumstances: Mapping[str, str]
    runs: Mapping[str, Sequence[Figures]]
    peers: Sequence[PeerFigures]
    notes: Sequence[str]


def to_json(report: Any) -> str:
    """Return any report as JSON; unmeasured values are null."""
    return json.dumps(_plain(report), indent=1, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate | Spread | ReliabilityBin):
        return _plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 5)
    return value


# --- Markdown


def quality_markdown(report: QualityReport) -> str:
    """Return the whole report as Markdown."""
    rows = [(name, figure) for name, figures in report.runs.items() for figure in figures]
    parts = [
        "# Recall",
        grid(("what", "value"), list(report.circumstances.items())),
        "## Turns found",
        "Mean over questions with its bootstrap 95 % interval. R@k: share of the gold turns in the first k. hit@k: any "
        "of them. all@k: all of them.",
        _metric_grid(rows, report.peers, "turn"),
        "## Sessions found",
        _metric_grid(rows, report.peers, "session"),
        "## In a block",
        "Share of the gold turns and sessions in the block of a context, beside a peer's best whole turns in as many "
        "tokens.",
        _block_grid(rows, report.peers),
        "## By category of question",
        _category_grid(rows),
        "## With the bar on",
        "What comes back when the calibrated bar decides whether there is an answer (ten items, no budget), and the "
        "answer with every argument left at its default.",
        _gate_grid(rows),
        "## Nothing relevant",
        "The same questions where something can be found and where nothing can. precision: share of the unanswerable "
        "among those that got nothing; recall: share of the unanswerable that got nothing; kept: share of the "
        "answerable that got something; AUC of the confidence; and what a bar that keeps 90 % would refuse.",
        _abstention_grid(rows),
        "## How far confidence and scores can be relied on",
        "Over these questions and those of other conversations: what a block of 500 tokens and an answer at defaults "
        "said of themselves, and how often all gold turns stood there; what an item's score said, and whether it held "
        "one.",
        _reliability_grid(rows),
        "## Cost",
        _cost_grid(rows, report.peers),
        "## Excluded",
        _excluded_grid(rows),
        *report.notes,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def between(found: Estimate | None, digits: int = 3) -> str:
    """Format a mean with its interval."""
    if found is None or math.isnan(found.mean):
        return "–"
    return f"{number(found.mean, digits)} ({number(found.low, digits)}–{number(found.high, digits)})"


Row = tuple[str, Figures]


def _metric_grid(rows: Sequence[Row], peers: Sequence[PeerFigures], sort: str) -> str:
    lines = []
    for system, label, table in [
        *((f"memwarden, {name}", item.label, getattr(item, sort)) for name, item in rows),
        *((peer.name, peer.label, getattr(peer, sort)) for peer in peers),
    ]:
        if table["R@10"].questions:
            cells = [between(table[key]) if key in ("R@5", "R@10") else number(table[key].mean) for key in COLUMNS]
            lines.append((label, system, str(table["R@10"].questions), *cells))
    lines.sort(key=lambda line: line[0])
    return grid(("conversations", "system", "questions", *COLUMNS), lines)


def _block_grid(rows: Sequence[Row], peers: Sequence[PeerFigures]) -> str:
    tables = [(item.label, f"memwarden, {name}", item.blocks) for name, item in rows]
    tables += [(peer.label, peer.name, peer.blocks) for peer in peers]
    lines = [(label, system, *map(between, table.values())) for label, system, table in tables]
    lines.sort(key=lambda line: line[0])
    return grid(("conversations", "system", *(tables[0][2] if tables else ())), lines)


def _category_grid(rows: Sequence[Row]) -> str:
    lines = [
        (item.label, name, category, str(table["session R@5"].questions), *map(between, table.values()))
        for name, item in rows
        for category, table in item.categories.items()
    ]
    return grid(("conversations", "variant", "category", "questions", "turn R@10", "session R@5"), lines)


def _gate_grid(rows: Sequence[Row]) -> str:
    lines = [(item.label, name, *map(between, item.gate.values())) for name, item in rows]
    return grid(("conversations", "variant", *(rows[0][1].gate if rows else ())), lines)


def _abstention_grid(rows: Sequence[Row]) -> str:
    lines = [
        (item.label, name, sort, str(found.questions), *_abstention_cells(found))
        for name, item in rows
        for sort, found in item.abstention.items()
    ]
    head = ("conversations", "variant", "unanswerable because", "questions", "precision", "recall", "kept", "AUC")
    return grid((*head, "recall at 90 % kept"), lines)


def _abstention_cells(found: Abstention) -> list[str]:
    return [number(item) for item in (found.precision, found.recall, found.kept, found.auc, found.recall_at_90)]


def _reliability_grid(rows: Sequence[Row]) -> str:
    lines = [
        (item.label, name, sort, str(found.cases), number(found.mean_gap), number(found.largest_gap), list_bins(found))
        for name, item in rows
        for sort, found in item.reliability.items()
    ]
    head = (
        "conversations",
        "variant",
        "figure",
        "cases",
        "mean gap",
        f"largest gap of a bin of {MIN_BIN_CASES} or more",
    )
    return grid((*head, "said → came true"), lines)


def list_bins(found: Reliability) -> str:
    """Return what was said and what came true, with the cases, by tenths, in a line."""
    return " · ".join(f"{number(row.said, 2)} → {number(row.true, 2)} ({row.cases})" for row in found.bins if row.cases)


def _cost_grid(rows: Sequence[Row], peers: Sequence[PeerFigures]) -> str:
    lines = [
        (
            item.label,
            f"memwarden, {name}",
            number(item.tokens["ten items"].mean, 0),
            number(item.tokens["default answer"].mean, 0),
            number(item.query_p50_ms, 2),
            number(item.query_p95_ms, 2),
            number(item.observe_per_second, 0),
        )
        for name, item in rows
    ]
    for peer in peers:
        lines.append((peer.label, peer.name, "", "", number(peer.query_p50_ms, 2), number(peer.query_p95_ms, 2), ""))
    head = ("conversations", "system", "tokens, ten items", "tokens, default", "query p50 ms", "query p95 ms")
    return grid((*head, "observe turns/s"), lines)


def _excluded_grid(rows: Sequence[Row]) -> str:
    found = {(item.label, what): times for _, item in rows for what, times in item.excluded.items()}
    return grid(("conversations", "what", "times"), [(*key, str(times)) for key, times in found.items()])


def speed_markdown(report: SpeedReport) -> str:
    """Return the report of ``bench speed`` as Markdown."""
    parts = [
        "# Speed",
        grid(("what", "value"), list(report.circumstances.items())),
        f"Embedder {report.embedder}; rows from {report.rows_from}. Starting Python takes "
        f"{number(report.python_ms, 0)} ms; `import memwarden` adds {number(report.import_ms, 0)} ms.",
        "## A query, in milliseconds (p50 / p95)",
        "hot: the namespace is in memory. cold: the model is loaded, the namespace is read from the file. fresh: a "
        "process from its start to its answer.",
        grid(
            ("rows", "hot", "cold", "fresh", "of that: open", "query", "memory MB"),
            [_query_line(siz) for siz in report.sizes],
        ),
        "## Writing",
        "A call observes a thread of 20 turns, durably. sync: what this disk takes to sync 4 KB, in the same run.",
        grid(
            ("rows", "turns/s", "call of 20, ms", "single turn, ms (p50 / p95)", "sync, ms", "memory MB", "file MB"),
            [_write_line(siz) for siz in report.sizes],
        ),
        "## A turn of a conversation, in milliseconds (p50 / p95)",
        "What memory adds to the call of a model: memories found and put in, question and answer stored, durably; and "
        "the same when the thread is looked through for facts after each turn, by rules.",
        grid(("rows", "a turn", "looked through, too"), [_turn_line(siz) for siz in report.sizes]),
    ]
    if report.installed:
        found = report.installed
        parts.append(
            f"Installed: {found.packages} packages, {number(found.size_mb, 0)} MB, in {number(found.seconds, 0)} s."
        )
    if report.beside is not None:
        parts += beside_markdown(report.beside)
    if report.tiers is not None:
        parts += tiers_markdown(report.tiers)
    return "\n\n".join(part for part in parts if part) + "\n"


def _query_line(figures: SizeFigures) -> tuple[str, ...]:
    return (
        f"{figures.rows:,}",
        f"{number(figures.hot_p50_ms, 1)} / {number(figures.hot_p95_ms, 1)}",
        f"{number(figures.cold_p50_ms, 0)} / {number(figures.cold_p95_ms, 0)}",
        f"{number(figures.fresh_p50_ms, 0)} / {number(figures.fresh_p95_ms, 0)}",
        number(figures.fresh_open_ms, 0),
        number(figures.fresh_query_ms, 0),
        number(figures.ask_rss_mb, 0),
    )


def _turn_line(figures: SizeFigures) -> tuple[str, ...]:
    return (
        f"{figures.rows:,}",
        f"{number(figures.turn_p50_ms, 1)} / {number(figures.turn_p95_ms, 1)}",
        f"{number(figures.looked_p50_ms, 1)} / {number(figures.looked_p95_ms, 1)}",
    )


def _write_line(figures: SizeFigures) -> tuple[str, ...]:
    return (
        f"{figures.rows:,}",
        number(figures.turns_per_second, 0),
        number(figures.call_p50_ms, 1),
        f"{number(figures.single_p50_ms, 1)} / {number(figures.single_p95_ms, 1)}",
        f"{number(figures.sync_p50_ms, 1)} / {number(figures.sync_p95_ms, 1)}",
        number(figures.fill_rss_mb, 0),
        number(figures.file_mb, 1),
    )


# --- picture


def speed_plot(report: SpeedReport, file: Path) -> None:
    """Draw query times over the number of rows: hot, cold and fresh."""
    plots = pyplot()
    figure, axis = plots.subplots(figsize=(7, 4.5))
    rows = [siz.rows for siz in report.sizes]
    for name in ("hot", "cold", "fresh"):
        middle = [getattr(siz, f"{name}_p50_ms") for siz in report.sizes]
        high = [getattr(siz, f"{name}_p95_ms") for siz in report.sizes]
        (line,) = axis.plot(rows, middle, marker="o", label=f"{name}, p50")
        axis.plot(rows, high, marker=".", linestyle=":", color=line.get_color(), label=f"{name}, p95")
    axis.set(xscale="log", yscale="log", xlabel="turns in the namespace", ylabel="ms", title="time of a query")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plots.close(figure)


def quality_plot(report: QualityReport, file: Path) -> None:
    """Draw turn R@10 and session R@5 of every system with their intervals."""
    plots = pyplot()
    labels = list(dict.fromkeys(figure.label for figures in report.runs.values() for figure in figures))
    systems: dict[str, dict[str, tuple[Table, Table]]] = {}
    for name, figures in report.runs.items():
        systems[f"memwarden, {name}"] = {figure.label: (figure.turn, figure.session) for figure in figures}
    for peer in report.peers:
        systems.setdefault(peer.name, {})[peer.label] = (peer.turn, peer.session)
    figure, axes = plots.subplots(1, 2, figsize=(13, 1.6 + 0.34 * len(labels) * (len(systems) + 1)), sharey=True)
    for axis, place, metric, title in ((axes[0], 0, "R@10", "turn R@10"), (axes[1], 1, "R@5", "session R@5")):
        for number_, (name, tables) in enumerate(systems.items()):
            found = [tables[label][place][metric] if label in tables else None for label in labels]
            at = [line * (len(systems) + 1) + number_ for line, item in enumerate(found) if item and item.questions]
            known = [item for item in found if item and item.questions]
            error = [[item.mean - item.low for item in known], [item.high - item.mean for item in known]]
            axis.barh(at, [item.mean for item in known], xerr=error, label=name, ecolor="0.3", capsize=2)
        axis.set_xlim(0, 1)
        axis.set_title(title)
        axis.grid(axis="x", alpha=0.3)
    axes[0].set_yticks([line * (len(systems) + 1) + (len(systems) - 1) / 2 for line in range(len(labels))], labels)
    axes[0].invert_yaxis()
    axes[0].legend(loc="best", fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    plots.close(figure)
