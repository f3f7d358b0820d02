"""Compare what `import memwarden` costs in this checkout and in another, in turn.

Each import is an interpreter of its own; an interpreter that imports nothing is taken off. The table has medians, and
the ratio of now to before in the same round.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[2]
NOTHING = "pass"
IMPORT = "import memwarden"
LOADED = "import sys; before = len(sys.modules); import memwarden; print(len(sys.modules) - before)"


def start_seconds(checkout: Path, code: str) -> float:
    """Return how long an interpreter takes that runs a line of code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(checkout / "src")}, check=True)
    return time.perf_counter() - began


def count_loaded(checkout: Path) -> int:
    """Return how many modules the import loads."""
    told = subprocess.run(
        [sys.executable, "-c", LOADED], env={"PYTHONPATH": str(checkout / "src")}, check=True, capture_output=True
    )
    return int(told.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="another clone or worktree of memwarden")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    checkouts = (options.checkout, HERE)
    loaded = [count_loaded(checkout) for checkout in checkouts]  # also warms both caches of byte code
    costs: list[tuple[float, float]] = []
    for _ in range(options.rounds):
        nothing = start_seconds(HERE, NOTHING)
        before, now = (1_000 * (start_seconds(checkout, IMPORT) - nothing) for checkout in checkouts)
        costs.append((before, now))
    before, now = (median(each) for each in zip(*costs, strict=True))
    ratio = median(now / before for before, now in costs if before > 0)
    print(f"import memwarden, ms: {before:.1f} before, {now:.1f} now, ratio {ratio:.2f}")
    print(f"modules loaded: {loaded[0]} before, {loaded[1]} now")


if __name__ == "__main__":
    main()
