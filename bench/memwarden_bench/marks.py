"""Markdown tables, formatted figures, and the drawing package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from memwarden_bench.peers import optional


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, or nothing without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def number(value: float, digits: int = 3) -> str:
    """Format a figure; a dash for NaN."""
    return "–" if math.isnan(value) else f"{value:,.{digits}f}"


def pyplot() -> Any:
    """Import the drawing package, for files only. Raises InvalidConfig where it is missing."""
    optional("matplotlib").use("Agg")
    return optional("matplotlib.pyplot")
