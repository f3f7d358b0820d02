"""Count what becomes of corpora of attacks, harmless look-alikes and secrets.

    python tests/evaluation/measure_corpora.py FOLDER [--show]

Reads those of ``attacks*.jsonl``, ``harmless*.jsonl``, ``secrets.jsonl`` and ``secrets_harmless.jsonl`` or
``secret_lookalikes.jsonl`` that the folder has (fields: ``corpora/README.md``). ``--show`` prints what went wrong.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memwarden import redact
from memwarden.security.injection import find_suspicion, redact_for_prompt
from memwarden.security.injection.detector import LEFT_OUT

Row = dict[str, Any]
# A key, a list of codes or a phrase is gone when no three of its words in a row are left.
WORDS_LEFT = 3


class Count(NamedTuple):
    """How many rows there are, and those that went wrong."""

    name: str
    rows: int
    wrong: list[Row]

    def __str__(self) -> str:
        return f"{self.name}: {len(self.wrong)} of {self.rows} ({len(self.wrong) / max(self.rows, 1):.1%})"


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def count_attacks(rows: Sequence[Row]) -> Count:
    """Attacks in a text or value that are neither held back nor shortened: they stand in a prompt as a quotation."""
    said = [row for row in rows if row.get("place", "text") in ("text", "json_value")]
    whole = [row for row in said if state(row["text"]) == "whole"]
    return Count("attacks neither held nor shortened", len(said), whole)


def count_harmless(rows: Sequence[Row], bad: str = "held") -> Count:
    return Count(f"harmless texts {bad}", len(rows), [row for row in rows if state(row["text"]) == bad])


def count_secrets(rows: Sequence[Row]) -> Count:
    left = [row for row in rows if _stays(row["secret"], redact(row["text"]).text)]
    return Count("secrets that stay", len(rows), left)


def count_touched(rows: Sequence[Row]) -> Count:
    return Count("look-alikes of secrets touched", len(rows), [row for row in rows if redact(row["text"]).found])


def state(text: str) -> str:
    """held: in no prompt; shortened: without the sentences that read like orders; whole."""
    if find_suspicion(text):
        return "held"
    return "shortened" if LEFT_OUT in redact_for_prompt(text) else "whole"


def _stays(secret: str, left: str) -> bool:
    if secret in left:
        return True
    lines = [line.strip() for line in secret.splitlines() if len(line.strip()) >= 8]
    words = re.findall(r"\S+", secret)
    runs = [" ".join(words[at : at + WORDS_LEFT]) for at in range(len(words) - WORDS_LEFT + 1)]
    flat = " ".join(left.split())
    return (len(lines) > 1 and any(line in left for line in lines)) or any(run in flat for run in runs)


def counts(folder: Path) -> list[Count]:
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        rows = read(path)
        if path.name.startswith("attacks"):
            found += [count_attacks(rows)]
        elif path.name in ("secrets_harmless.jsonl", "secret_lookalikes.jsonl"):
            found += [count_touched(rows)]
        elif path.name.startswith("harmless"):
            found += [count_harmless(rows), count_harmless(rows, "shortened")]
        elif path.name.startswith("secrets"):
            found += [count_secrets(rows)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    chosen = parser.parse_args()
    for count in counts(chosen.folder):
        sys.stdout.write(f"{count}\n")
        for row in count.wrong if chosen.show else ():
            sys.stdout.write(f"  {json.dumps(row, ensure_ascii=False)}\n")


if __name__ == "__main__":
    main()
