"""The README's figures stand between their marks and come from the reports of the bench, by a script."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_figures", ROOT / "bench/scripts/write_figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def estimate(mean: float) -> dict[str, float]:
    return {"mean": mean, "low": mean - 0.02, "high": mean + 0.02, "questions": 7}


RELIABLE = {"confidence of context": {"cases": 14, "mean_gap": 0.031, "largest_gap": None}}
FOREIGN = "asked in another conversation, its partners named"


def everyday() -> dict[str, Any]:
    figures = {
        "questions": 9,
        "right": estimate(0.67),
        "stale": 0.06,
        "off_topic": 0.91,
        "unknown": None,
    }
    ways = ("memwarden, context", "memwarden, query", "BM25, plain", "last turns")
    rows = [{"way": way, "by": "all", "group": "all", "figures": figures} for way in ways]
    rows += [{"way": ways[0], "by": by, "group": "a", "figures": figures} for by in ("history", "language")]
    told = {"date": "2026-11-28 05:53 UTC", "command": "memwarden bench everyday a.json --json --markdown out.md"}
    return {"circumstances": told, "budget": 500, "rows": rows, "reliability": RELIABLE}


def quality(label: str) -> dict[str, Any]:
    metrics = {"R@10": estimate(0.8), "R@5": estimate(0.65)}
    places = [f"{kind}s, {tokens} tokens" for kind in ("turn", "session") for tokens in ("500", "1,000")]
    row = {
        "label": label,
        "conversations": 3,
        "turn": metrics,
        "session": metrics,
        "blocks": {place: estimate(0.5) for place in places},
        "gate": {name: estimate(0.94) for name in ("of those with a date", "of those without")},
        "abstention": {
            FOREIGN: {"questions": 7, "recall": 0.75, "kept": 0.87, "precision": 0.85, "recall_at_90": 0.71}
        },
        "reliability": RELIABLE,
    }
    told = {"date": "2026-11-28 06:10 UTC", "command": f"memwarden bench quality {label}.json --json"}
    return {"circumstances": told, "runs": {"auto": [row]}, "peers": []}


def test_the_block_says_what_was_measured_when_and_by_which_command() -> None:
    block = script().figures_block("abc1234", everyday(), quality("locomo"), quality("all RealMem"))
    assert "1 everyday histories in 1 languages, 9 questions" in block
    assert "| **.67** (.65–.69) | .67 | .67 | .67 |" in block
    assert "2026-11-28 05:53 UTC, commit abc1234, `memwarden bench everyday a.json`." in block
    assert "| 7 | .75 | .87 | .85 | .71 |" in block
    assert "| confidence of context | .03 (–) | .03 (–) | .03 (–) |" in block
    assert "| refused: what was never said of a known person | – | – | – | – |" in block


def test_only_what_stands_between_the_marks_is_written() -> None:
    readme = "before\n<!-- figures: begin (by a script) -->\nold\n<!-- figures: end -->\nafter\n"
    written = script().write_block(readme, "new")
    assert written == "before\n<!-- figures: begin (by a script) -->\nnew\n<!-- figures: end -->\nafter\n"
    assert script().write_block(written, "new") == written
    with pytest.raises(ValueError, match="no marks"):
        script().write_block("nothing", "new")


def test_the_readme_has_the_tables_of_the_script() -> None:
    """With its date and commit; nobody edits them by hand."""
    (block,) = re.findall(r"<!-- figures: begin.*?<!-- figures: end -->", (ROOT / "README.md").read_text(), re.DOTALL)
    ours = script().figures_block("abc1234", everyday(), quality("locomo"), quality("all RealMem"))
    heads = [line.split(" | ")[1:] for line in ours.splitlines() if line.startswith("| what is found, default")]
    assert heads[0] in [line.split(" | ")[1:] for line in block.splitlines()]
    assert len(re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC, commit [0-9a-f]{7,}, `memwarden bench", block)) == 3
