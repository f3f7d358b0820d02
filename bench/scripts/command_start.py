"""Measure what commands that need no model cost, beside an interpreter that runs nothing, in turn.

Each is a process of its own on a store with a memory, and what counts is its CPU time. The table has medians, and the
ratio to the interpreter of the same round.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

SOURCES = Path(__file__).parents[2] / "src"
NOTHING = ("-c", "pass")
COMMANDS = (
    ("find",),
    ("history",),
    ("doctor",),
    ("users",),
    ("events",),
    ("state", "list"),
    ("sessions", "list"),
    ("thread", "list"),
    ("review", "list"),
    ("config", "show"),
    ("version",),
)
NEEDS_NO_STORE = (("version",),)


def cpu_seconds(arguments: Sequence[str], folder: str) -> float:
    """Return the CPU time of an interpreter with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
    subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=60
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_line(command: Sequence[str]) -> list[str]:
    """Return the arguments that run a command on the store of this measurement."""
    store = () if command in NEEDS_NO_STORE else ("--db", "sqlite:///store.db", "--user", "ana")
    return ["-m", "memwarden", *command, *store]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(command_line(("add", "Ana works at the museum.")), folder)
        for command in COMMANDS:  # warms the caches of byte code
            cpu_seconds(command_line(command), folder)
        costs: dict[Sequence[str], list[float]] = {NOTHING: []} | {command: [] for command in COMMANDS}
        for _ in range(options.rounds):
            costs[NOTHING].append(cpu_seconds(NOTHING, folder))
            for command in COMMANDS:
                costs[command].append(cpu_seconds(command_line(command), folder))
    for command, spent in costs.items():
        ratio = median(each / nothing for each, nothing in zip(spent, costs[NOTHING], strict=True))
        print(f"{' '.join(command):15} {median(spent):.3f} s  ratio {ratio:.1f}")


if __name__ == "__main__":
    main()
