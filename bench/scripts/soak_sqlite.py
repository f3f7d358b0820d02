"""Kills writers at random and examines the file, in a loop of any length.

    python bench/scripts/soak_sqlite.py --minutes 10

Two processes with four writers each work on one file; every round kills both, half of the time at a named point inside
a write and half of the time by the clock, and examines the file as ``tests/faults/test_sqlite_kill.py`` does. Ends
with a count of what happened, or with the first damage and the folder that shows it.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "faults"))

from kill_child import LABELS
from test_sqlite_kill import Site, damage


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--seed", type=int, default=int(time.time()))
    chosen = options.parse_args()
    print(f"seed {chosen.seed}, {chosen.minutes} minutes")
    folder = Path(tempfile.mkdtemp(prefix="memwarden-soak-"))
    site, chance = Site(folder), random.Random(chosen.seed)
    rounds, end = 0, time.monotonic() + chosen.minutes * 60
    while time.monotonic() < end:
        rounds += 1
        one_round(site, chance)
        wrong = damage(site)
        if wrong:
            sys.exit(f"round {rounds}: {'; '.join(wrong)}\nlook at {folder}")
    print(f"{rounds} rounds, {2 * rounds} kills, {len(site.acknowledged())} acknowledged batches, no damage")


def one_round(site: Site, chance: random.Random) -> None:
    """Start both writers and wait for their deaths."""
    labels = [chance.choice([None, chance.choice(LABELS)]) for _ in "pq"]
    children = [site.start(name, at=label, nth=chance.randint(1, 60)) for name, label in zip("pq", labels, strict=True)]
    time.sleep(0.3 + chance.random())
    for child in children:
        child.kill()
        child.communicate()


if __name__ == "__main__":
    main()
