"""Writes the figures of the README between its marks, from reports of `memwarden bench`.

usage: write_figures.py COMMIT EVERYDAY.json LOCOMO.json REALMEM.json [--readme FILE]

EVERYDAY: of `memwarden bench everyday --json`. LOCOMO, REALMEM: of `memwarden bench quality --json`, the second over
all people. COMMIT: of the code that was measured. The same is written again from the same reports.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memwarden_bench.everyday import CONTEXT, LAST_TURNS, PLAIN_BM25, QUERY
from memwarden_bench.marks import grid
from memwarden_bench.measure import FOREIGN
from memwarden_bench.metrics import BINS, MIN_BIN_CASES
from memwarden_bench.peers import PEERS, Bm25s

ROOT = Path(__file__).resolve().parents[2]
MARKS = re.compile(r"(<!-- figures: begin[^\n]*-->\n).*?(<!-- figures: end -->)", re.DOTALL)
Report = Mapping[str, Any]


def share(value: float | None) -> str:
    """A share in two digits, as ``.67``; a dash where nothing was measured."""
    return "–" if value is None else f"{value:.2f}".removeprefix("0")


def estimate(found: Mapping[str, float]) -> str:
    """A mean with its interval."""
    return f"**{share(found['mean'])}** ({share(found['low'])}–{share(found['high'])})"


def source(report: Report, commit: str) -> str:
    """When, at which commit and by which command a report was made."""
    told = report["circumstances"]
    command = re.sub(r" --(?:json|markdown \S+|plot \S+)", "", told["command"])
    command = re.sub(r"(?: \S+\.json){3,}", " FILE...", command)
    return f"{told['date']}, commit {commit}, `{command}`."


def everyday_part(report: Report, commit: str) -> str:
    """What a person gets back."""
    rows = {row["way"]: row["figures"] for row in report["rows"] if row["by"] == "all"}
    ways = [rows[name] for name in (CONTEXT, QUERY, PLAIN_BM25, LAST_TURNS)]
    histories = sum(row["by"] == "history" and row["way"] == CONTEXT for row in report["rows"])
    languages = sum(row["by"] == "language" and row["way"] == CONTEXT for row in report["rows"])
    counted = f"{histories} everyday histories in {languages} languages, {ways[0]['questions']} questions"
    what = f"what a person gets back: {counted}"
    lines: list[tuple[str, ...]] = [
        (
            "the right answer, and nothing outdated above it",
            estimate(ways[0]["right"]),
            *(share(way["right"]["mean"]) for way in ways[1:]),
        ),
        ("something outdated above the current value, or without it", *(share(way["stale"]) for way in ways)),
        (
            "refused: a question about the world, or after a change of subject",
            *(share(way["off_topic"]) for way in ways),
        ),
        ("refused: what was never said of a known person", *(share(way["unknown"]) for way in ways)),
    ]
    head = (what, f"the block, {report['budget']} tokens", "`query`, three items", "plain BM25", "last turns")
    return f"{grid(head, lines)}\n\n{source(report, commit)}"


def whole(report: Report) -> Mapping[str, Any]:
    """The row of all files of a layout, or of the only file."""
    rows: list[Mapping[str, Any]] = next(iter(report["runs"].values()))
    return next((row for row in rows if row["label"].startswith("all ")), rows[0])


def chats_part(locomo: Report, realmem: Report, commit: str) -> str:
    """What is found in chats of two people, and in people's talks with an assistant."""
    names = [Bm25s.name, *(name for name in PEERS if name != Bm25s.name)]
    lines: list[tuple[str, ...]] = []
    for label, report, kind, metric in (
        ("LoCoMo", locomo, "turn", "R@10"),
        ("RealMem", realmem, "session", "R@5"),
    ):
        ours = whole(report)
        theirs = {peer["name"]: peer for peer in report["peers"] if peer["label"] == ours["label"]}
        counted = f"{label}, {ours['conversations']} conversations, {ours[kind][metric]['questions']} questions"
        others = (share(theirs[name][kind][metric]["mean"]) if name in theirs else "–" for name in names)
        lines.append((f"{counted}: {kind} {metric}", estimate(ours[kind][metric]), *others))
        for tokens in ("500", "1,000"):
            place = f"{kind}s, {tokens} tokens"
            others = (share(theirs[name]["blocks"][place]["mean"]) if name in theirs else "–" for name in names)
            found = estimate(ours["blocks"][place])
            lines.append((f"{label}: gold {kind}s in a block of {tokens} tokens", found, *others))
    head = ("what is found, default settings", "memwarden", *names)
    return f"{grid(head, lines)}\n\n{source(locomo, commit)} {source(realmem, commit)}"


def refusals_part(locomo: Report, realmem: Report) -> str:
    """What is refused, and what passes."""
    lines = []
    for label, report in (
        ("questions of other chats, with these partners' names (LoCoMo)", locomo),
        ("requests of another persona (RealMem)", realmem),
    ):
        found = whole(report)["abstention"][FOREIGN]
        kept, at_90 = share(found["kept"]), share(found["recall_at_90"])
        lines.append((label, str(found["questions"]), share(found["recall"]), kept, share(found["precision"]), at_90))
    gate = whole(locomo)["gate"]
    dated, others = (share(gate[name]["mean"]) for name in ("of those with a date", "of those without"))
    head = ("nothing is known", "questions", "refused", "of the others kept", "precision", "refused at .90 kept")
    return f"{grid(head, lines)}\n\nQuestions that name a date pass as often ({dated}) as others ({others}), on LoCoMo."


def reliability_part(everyday: Report, locomo: Report, realmem: Report) -> str:
    """How far both figures are chances."""
    sets = {
        "everyday": everyday["reliability"],
        "LoCoMo": whole(locomo)["reliability"],
        "RealMem": whole(realmem)["reliability"],
    }
    figures = list(sets["everyday"])
    lines = [
        (
            name,
            *(f"{share(told[name]['mean_gap'])} ({share(told[name]['largest_gap'])})" for told in sets.values()),
        )
        for name in sorted(figures)
    ]
    of = f"mean gap of {BINS} bins (largest of a bin of {MIN_BIN_CASES} cases or more)"
    return grid((of, *(f"{name}, {told[figures[0]]['cases']} questions" for name, told in sets.items())), lines)


def figures_block(commit: str, everyday: Report, locomo: Report, realmem: Report) -> str:
    """Return all tables."""
    return "\n\n".join(
        (
            everyday_part(everyday, commit),
            chats_part(locomo, realmem, commit),
            refusals_part(locomo, realmem),
            "`confidence` and `score` are chances: what they told and what came true. Of the chats half are foreign:",
            reliability_part(everyday, locomo, realmem),
        )
    )


def write_block(readme: str, block: str) -> str:
    """Return a README with the block between its marks. Raises ValueError where they are missing."""
    if not MARKS.search(readme):
        raise ValueError("the README has no marks <!-- figures: begin --> and <!-- figures: end -->")
    return MARKS.sub(lambda found: f"{found[1]}{block}\n{found[2]}", readme)


def main() -> None:
    """Write the README's figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("reports", nargs=3, type=Path)
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    given = parser.parse_args()
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in given.reports]
    written = write_block(given.readme.read_text(encoding="utf-8"), figures_block(given.commit, *reports))
    given.readme.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
