"""Describes the circumstances of a measurement, so that it can be repeated."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("memwarden", "numpy", "tokenizers", "wordllama", "pystemmer", "bm25s"),
    *("mem0ai", "qdrant-client", "langgraph", "chromadb"),
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM")


def circumstances(files: Sequence[Path] = ()) -> Mapping[str, str]:
    """Describe machine, date, versions, command and files. Folders are left out as personal."""
    system = f"{platform.system()} {platform.machine()}"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{processor()}, {cores()} cores, {memory_gigabytes():.0f} GB, {system}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {found}" for name in PACKAGES if (found := installed_version(name))),
        "threads": ", ".join(f"{name}={os.environ[name]}" for name in THREADS if name in os.environ) or "not limited",
        "load": load(),
        "command": command(),
        **{f"file {file.name}": f"sha256 {digest(file)}" for file in files},
    }


def command() -> str:
    """Return the command line, with file names in place of paths."""
    words = [Path(word).name if os.sep in word and "://" not in word else word for word in sys.argv[1:]]
    return shlex.join(["memwarden", *words])


def installed_version(package: str) -> str:
    """Return the version of an installed package, or an empty text."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def cores() -> int:
    """Return the number of processors available to this process."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def memory_gigabytes() -> float:
    """Return the size of the machine's memory."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 0.0
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2**30


def load() -> str:
    """Return the load average; above the number of cores, times are unreliable."""
    return f"{os.getloadavg()[0]:.1f} in the last minute" if hasattr(os, "getloadavg") else "not known"


def digest(file: Path) -> str:
    """Return the first 16 digits of a file's SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def memory_now() -> float:
    """Return the memory of this process in MB, its peak where the system tells no more."""
    return _status("VmRSS") or memory_peak()


def memory_peak() -> float:
    """Return the peak memory of this process in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts what the parent had when it started this process; its own account in /proc does not.
    return _status("VmHWM") or (peak / 2**20 if sys.platform == "darwin" else peak / 2**10)


def _status(name: str) -> float:
    file = Path("/proc/self/status")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith(f"{name}:")), 0.0)
