"""What a measurement has to reach, what it reached, and how that is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memwarden_bench.marks import grid, number

Bound = Literal["at least", "at most", "below", "above"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A figure, and the bound that it has to keep."""

    what: str
    found: float
    bound: Bound
    wanted: float

    @property
    def met(self) -> bool:
        """Whether the figure keeps its bound."""
        if self.bound in ("at least", "above"):
            return self.found >= self.wanted and (self.bound == "at least" or self.found != self.wanted)
        return self.found <= self.wanted and (self.bound == "at most" or self.found != self.wanted)


def tell_gates(gates: Sequence[Gate]) -> str:
    """Return a table of the gates, and a line that says whether all are met."""
    head = ("gate", "found", "wanted", "")
    rows = [
        (gate.what, _figure(gate.found), f"{gate.bound} {_figure(gate.wanted)}", "met" if gate.met else "NOT MET")
        for gate in gates
    ]
    missed = [gate.what for gate in gates if not gate.met]
    said = f"NOT MET: {'; '.join(missed)}." if missed else "All gates are met."
    return f"{grid(head, rows)}\n\n{said}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) != 1 else number(value, 4).rstrip("0").rstrip(".")
