"""Fresh interpreters and fresh virtual environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from memwarden.errors import MemwardenError


class TrialFailed(MemwardenError, RuntimeError):
    """A process of the benchmark failed; the message holds its error output."""


@dataclass(frozen=True, slots=True)
class FreshInstall:
    """A fresh virtual environment with a single system in it, without pip itself."""

    packages: int
    size_mb: float
    seconds: float


def run_code(code: str) -> float:
    """Return the milliseconds of a new interpreter for this code, start to end."""
    start = time.perf_counter()
    run([sys.executable, "-c", code])
    return 1_000 * (time.perf_counter() - start)


def run(command: Sequence[str]) -> str:
    """Run a command and return what it printed. Raises TrialFailed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TrialFailed(f"{' '.join(command[:4])} ... failed:\n{done.stderr.strip()}")
    return done.stdout


def install(*requirements: str) -> FreshInstall:
    """Install something into a fresh virtual environment and weigh it."""
    with TemporaryDirectory(prefix="memwarden-bench-") as place:
        home = Path(place) / "venv"
        python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        start = time.perf_counter()
        run([sys.executable, "-m", "venv", str(home)])
        before = size_of(home)
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
        seconds = time.perf_counter() - start
        listed = json.loads(run([str(python), "-m", "pip", "list", "--format", "json", "--exclude", "pip"]))
        packages = [item for item in listed if item["name"] != "setuptools"]
        return FreshInstall(len(packages), (size_of(home) - before) / 2**20, seconds)


def size_of(folder: Path) -> int:
    """Return the bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
