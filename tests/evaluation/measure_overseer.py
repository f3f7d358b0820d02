"""Measure the overseer without a model: which saved state goals get, and which results of tools are kept (A1, A4).

``python tests/evaluation/measure_overseer.py --goals FILE --cases FILE [--part closed] [--embedder NAME] [--misses]``

FILE of goals: ``[{"store", "part", "keys": [{"key", "description", "value"}], "goals": [{"goal", "relevant"}]}]``, with
``"said"`` the texts that the person said before (``overseer_told.json``; ``--unsaid`` leaves them out).
FILE of cases: ``[{"part", "tool", "result", "goal", "save"}]``. Through the public API with default settings.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

from memwarden import Warden
from memwarden.agent.overseer import OverseerSettings


def tell(line: str) -> None:
    """Say a line at once."""
    print(line, flush=True)  # noqa: T201


class Counts(NamedTuple):
    """How many were rightly found, found in all, and to be found."""

    right: int = 0
    found: int = 0
    wanted: int = 0

    def plus(self, found: set[str], wanted: set[str]) -> Counts:
        return Counts(self.right + len(found & wanted), self.found + len(found), self.wanted + len(wanted))

    def __str__(self) -> str:
        precision = self.right / self.found if self.found else 0.0
        recall = self.right / self.wanted if self.wanted else 0.0
        told = f"{self.right} right of {self.found} found, {self.wanted} wanted"
        return f"precision {precision:.2f}, recall {recall:.2f} ({told})"


def measure_goals(stores: list[dict[str, Any]], embedder: str, misses: bool, said: bool = True) -> Counts:
    """Measure the goals of stores and return their counts."""
    counts, quiet, quiet_right, seconds = Counts(), 0, 0, list[float]()
    for store in stores:
        with Warden.open("memory://", {"embedder": embedder}) as warden:
            me = warden.scope()
            for text in store.get("said", ()) if said else ():
                me.observe(text)
            for item in store["keys"]:
                me.state.save(item["key"], item["value"], description=item["description"])
            overseer = me.overseer()
            overseer.relevant("warm up")
            for entry in store["goals"]:
                began = time.perf_counter()
                found, wanted = set(overseer.relevant(entry["goal"])), set(entry["relevant"])
                seconds.append(time.perf_counter() - began)
                counts = counts.plus(found, wanted)
                quiet, quiet_right = quiet + (not wanted), quiet_right + (not wanted and not found)
                if misses and found != wanted:
                    tell(f"  {store['store']}: {entry['goal']}")
                    tell(f"    missed {wanted - found or '-'} wrong {found - wanted or '-'}")
    tell(f"goals: {counts}; {quiet_right} of {quiet} goals that need nothing get nothing")
    tell(f"  {statistics.median(seconds) * 1000:.1f} ms a goal at the median, {max(seconds) * 1000:.0f} ms at most")
    return counts


def measure_cases(cases: list[dict[str, Any]], misses: bool) -> None:
    counts = Counts()
    with Warden.open("memory://", {"embedder": "none"}) as warden:
        for number, item in enumerate(cases):
            overseer = warden.scope(user=f"u{number}").overseer(OverseerSettings(auto_save=True))
            told = overseer.after(item["tool"], item["result"], item["goal"])
            counts = counts.plus({"it"} if told.save else set(), {"it"} if item["save"] else set())
            if misses and told.save != item["save"]:
                tell(
                    f"  {item['save']!s:5} {item['tool']} | {item['goal']} | {json.dumps(item['result'])[:80]} | {told}"
                )
    tell(f"saving: {counts}, of {len(cases)} cases")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goals", type=Path)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--part", help="only what is of this part")
    parser.add_argument("--embedder", default="wordllama")
    parser.add_argument("--unsaid", action="store_true", help="without what the person said before")
    parser.add_argument("--misses", action="store_true", help="show what was decided otherwise")
    given = parser.parse_args()

    def read(file: Path) -> list[dict[str, Any]]:
        return [load for load in json.loads(file.read_text()) if given.part in (None, load["part"])]

    if given.goals:
        measure_goals(read(given.goals), given.embedder, given.misses, not given.unsaid)
    if given.cases:
        measure_cases(read(given.cases), given.misses)


if __name__ == "__main__":
    main()
