"""Measures the same-fact rules on a file of labelled pairs."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from memwarden.errors import InvalidInput
from memwarden.remember.resolve.same_fact import Judgement, judge
from memwarden_bench.marks import grid, number

LABELS: Final = ("same", "supersede", "link", "different")
OUTCOMES: Final = (*LABELS, "check")


class Pair(NamedTuple):
    """Two statements, and the relation of the newer to the older."""

    old: str
    new: str
    label: str
    category: str
    language: str


@dataclass(frozen=True, slots=True)
class Shares:
    """The outcomes of a group of pairs. A share of nothing is NaN."""

    pairs: int
    wrong_merges: int
    """Pairs that were judged "same" and are labelled otherwise."""
    paraphrases_merged: float
    updates_recognised: float
    supersede_precision: float
    outcomes: Mapping[str, Mapping[str, int]]
    """Label -> what they were judged to be -> how many."""


@dataclass(frozen=True, slots=True)
class Error:
    """A pair that was wrongly merged or superseded."""

    old: str
    new: str
    label: str
    judged: str
    rule: str
    guards: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SameFactReport:
    """The results of a run of ``bench same-fact``."""

    circumstances: Mapping[str, str]
    total: Shares
    by_language: Mapping[str, Shares]
    by_category: Mapping[str, Shares]
    milliseconds_a_pair: float
    """Processor time for two texts that were not seen before."""
    milliseconds_known: float
    """Processor time when both texts have been taken apart."""
    errors: Sequence[Error]


def read_pairs(file: Path) -> list[Pair]:
    """Read a JSON list of [old, new, label, category, language]. Raises InvalidInput for anything else."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file.name} cannot be read as JSON: {error}") from error
    if not isinstance(rows, list) or not rows:
        raise InvalidInput(f"{file.name} holds no list of pairs; a pair is [old, new, label, category, language]")
    return [_pair(row, place, file.name) for place, row in enumerate(rows)]


def _pair(row: object, place: int, name: str) -> Pair:
    if not isinstance(row, list) or len(row) != 5 or not all(isinstance(item, str) for item in row):
        raise InvalidInput(f"pair {place} of {name} is not [old, new, label, category, language], all texts: {row!r}")
    if row[2] not in LABELS:
        raise InvalidInput(f"pair {place} of {name} has the label {row[2]!r}; labels are {', '.join(LABELS)}")
    return Pair(*row)


def measure(pairs: Sequence[Pair], circumstances: Mapping[str, str]) -> SameFactReport:
    """Judge all pairs and count the outcomes."""
    judge(pairs[0].old, pairs[0].new)  # reads the lists
    cold, judged = _time_judgements(pairs)
    known, _ = _time_judgements(pairs)
    found = list(zip(pairs, judged, strict=True))
    return SameFactReport(
        circumstances=circumstances,
        total=_shares(found),
        by_language={name: _shares([item for item in found if item[0].language == name]) for name in _names(pairs, 4)},
        by_category={name: _shares([item for item in found if item[0].category == name]) for name in _names(pairs, 3)},
        milliseconds_a_pair=cold,
        milliseconds_known=known,
        errors=[
            Error(pair.old, pair.new, pair.label, item.label, item.rule, item.guards)
            for pair, item in found
            if item.label in ("same", "supersede") and item.label != pair.label
        ],
    )


def _time_judgements(pairs: Sequence[Pair]) -> tuple[float, list[Judgement]]:
    start = time.process_time()
    judged = [judge(pair.old, pair.new) for pair in pairs]
    return (time.process_time() - start) * 1000 / len(pairs), judged


def _names(pairs: Sequence[Pair], field: int) -> list[str]:
    return sorted({pair[field] for pair in pairs})


def _shares(found: Sequence[tuple[Pair, Judgement]]) -> Shares:
    counts = Counter((pair.label, item.label) for pair, item in found)
    labelled = Counter(pair.label for pair, _ in found)
    judged = Counter(item.label for _, item in found)
    return Shares(
        pairs=len(found),
        wrong_merges=judged["same"] - counts["same", "same"],
        paraphrases_merged=_share(counts["same", "same"], labelled["same"]),
        updates_recognised=_share(counts["supersede", "supersede"], labelled["supersede"]),
        supersede_precision=_share(counts["supersede", "supersede"], judged["supersede"]),
        outcomes={label: {item: counts[label, item] for item in OUTCOMES} for label in LABELS if labelled[label]},
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


# --- Markdown


def markdown(report: SameFactReport) -> str:
    """Return the whole report as Markdown."""
    total = report.total
    parts = [
        "# Same fact or not",
        grid(("what", "value"), list(report.circumstances.items())),
        grid(
            ("measure", "value"),
            [
                ("pairs", str(total.pairs)),
                ("wrong merges", str(total.wrong_merges)),
                ("paraphrases merged", number(total.paraphrases_merged, 2)),
                ("updates recognised", number(total.updates_recognised, 2)),
                ("precision of supersede", number(total.supersede_precision, 2)),
                ("ms a pair, both texts new", number(report.milliseconds_a_pair, 2)),
                ("ms a pair, both texts known", number(report.milliseconds_known)),
            ],
        ),
        "## Labels (rows) and judgements (columns)",
        grid(
            ("label", *OUTCOMES),
            [(label, *(str(row[item]) for item in OUTCOMES)) for label, row in total.outcomes.items()],
        ),
        "## By language",
        _groups("language", report.by_language),
        "## By category",
        _groups("category", report.by_category),
        "## Wrong merges and wrong supersedes",
        "\n".join(
            f"- {error.label}, judged {error.judged} ({error.rule}): {error.old!r} / {error.new!r}"
            for error in report.errors
        )
        or "None.",
    ]
    return "\n\n".join(parts) + "\n"


def _groups(title: str, groups: Mapping[str, Shares]) -> str:
    columns = (title, "pairs", "wrong merges", "paraphrases merged", "updates recognised", "precision of supersede")
    return grid(
        columns,
        [
            (
                name,
                str(item.pairs),
                str(item.wrong_merges),
                number(item.paraphrases_merged, 2),
                number(item.updates_recognised, 2),
                number(item.supersede_precision, 2),
            )
            for name, item in groups.items()
        ],
    )
