"""Where and with what figures were made, so that they can be made again."""

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
    """Name machine, date, versions, command and files. Folders are left out: they say something about a person only."""
    system = f"{platform.system()} {platform.machine()}"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{processor()}, {cores()} cores, {memory_gigabytes():.0f} GB, {system}",
        "python": platform.python_version(),
        "packages": ", ".join(f"{name} {found}" for name in PACKAGES if (found := installed(name))),
        "threads": ", ".join(f"{name}={os.environ[name]}" for name in THREADS if name in os.environ) or "not limited",
        "load": load(),
        "command": command(),
        **{f"file {file.name}": f"sha256 {digest(file)}" for file in files},
    }


def command() -> str:
    """The command line, with the names of files in place of their paths."""
    words = [Path(word).name if os.sep in word and "://" not in word else word for word in sys.argv[1:]]
    return shlex.join(["memwarden", *words])


def installed(package: str) -> str:
    """Version of an installed package, or an empty text."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def processor() -> str:
    """What the processor calls itself."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def cores() -> int:
    """How many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def memory_gigabytes() -> float:
    """Size of the machine's memory."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return 0.0
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2**30


def load() -> str:
    """How many processes wanted a processor; when they are more than the cores, times are not to be trusted."""
    return f"{os.getloadavg()[0]:.1f} in the last minute" if hasattr(os, "getloadavg") else "not known"


def digest(file: Path) -> str:
    """The first 16 digits of a file's SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def memory_now() -> float:
    """The memory of this process, in MB; what it had at most where the system tells no more."""
    return _status("VmRSS") or memory_peak()


def memory_peak() -> float:
    """The most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Linux counts what the parent had when it started this process; its own account in /proc does not.
    return _status("VmHWM") or (peak / 2**20 if sys.platform == "darwin" else peak / 2**10)


def _status(name: str) -> float:
    file = Path("/proc/self/status")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return next((int(line.split()[1]) / 2**10 for line in lines if line.startswith(f"{name}:")), 0.0)
