"""Measure what commands that need no model cost, beside an interpreter that runs nothing, in turn.

Each is a process of its own on a store with a memory, and what counts is its CPU time, with byte code as an
installation has it. The table has medians, and the ratio to the interpreter of the same round. With
``--beside`` another checkout takes turns.
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


def cpu_seconds(arguments: Sequence[str], folder: str, sources: Path = SOURCES) -> float:
    """Return the CPU time of an interpreter with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONPYCACHEPREFIX": f"{folder}/byte code"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
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
    parser.add_argument("--beside", type=Path, action="append", default=[], help="a checkout of other code")
    options = parser.parse_args()
    places = [SOURCES, *(folder / "src" for folder in options.beside)]
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(command_line(("add", "Ana works at the museum.")), folder, places[-1])
        costs: dict[Sequence[str], list[list[float]]] = {NOTHING: []} | {command: [] for command in COMMANDS}
        for _ in range(options.rounds + 1):
            for words, spent in costs.items():
                line = words if words == NOTHING else command_line(words)
                spent.append([cpu_seconds(line, folder, place) for place in places])
    for words, spent in costs.items():
        print(f"{' '.join(words):15}", end="")
        for place in range(len(places)):
            # The first round compiles byte code.
            ratio = median(each[place] / base[place] for each, base in zip(spent[1:], costs[NOTHING][1:], strict=True))
            print(f"   {median(each[place] for each in spent[1:]):.3f} s  ratio {ratio:.1f}", end="")
        print()


if __name__ == "__main__":
    main()
