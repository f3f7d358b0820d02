"""Processes that are forked from one that has imported what they need, so that none starts an interpreter."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
# There is one such process for all of them. What it cannot import it leaves to the fork.
FORKS.set_forkserver_preload(["kill_child", "memwarden.surfaces.cli.main", "memwarden.surfaces.http.app"])


def run_command(words: Sequence[str], environment: Mapping[str, str], output: Path, log: Path) -> None:
    """Run a command of memwarden in a fork, with a pipe for its stdout and a file for its stderr."""
    os.environ.clear()
    os.environ.update(environment)
    with output.open("wb") as opened, log.open("ab") as errors:
        os.dup2(opened.fileno(), 1)
        os.dup2(errors.fileno(), 2)
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.argv = ["memwarden", *words]
    from memwarden.surfaces.cli.main import main  # an error of it is in the file

    main()
