"""Asks whether imported histories answer like observed ones: python bench/scripts/imported_histories.py FILE... ."""

from __future__ import annotations

import sys
from pathlib import Path

from memwarden_bench.everyday import read_files
from memwarden_bench.imported import FORMATS, measure_formats


def main() -> None:
    """Print the share of right answers by format and way."""
    histories, _ = read_files([Path(name) for name in sys.argv[1:]])
    for (form, way), right in measure_formats(histories, list(FORMATS)).items():
        print(f"{form:10} {way:22} {right:.3f}", flush=True)


if __name__ == "__main__":
    main()
