"""Makes the table of letter groups that tells languages apart (src/memwarden/text/lexicon/letter_groups.txt).

Counts come from the language profiles of the package langdetect (Apache-2.0, Cybozu Labs; counted on Wikipedia):

    python bench/scripts/make_letter_groups.py FOLDER_OF_PROFILES > src/memwarden/text/lexicon/letter_groups.txt
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "pl", "tr")
GROUPS = 1_000
"""Groups of three letters that are kept of each language, the commonest."""
FLOOR = 2e-5
"""Share that a group has at the least, so that no single group decides."""
STEP = 0.35
MAX_STEPS = 20


def read_shares(path: Path) -> dict[str, float]:
    """Return the share of each group of three letters in a language, in lower case; a blank is an edge of a word."""
    counts: Counter[str] = Counter()
    for group, count in json.loads(path.read_text("utf-8"))["freq"].items():
        if len(group) == 3:
            counts[group.casefold().replace(" ", "_")] += count
    total = sum(counts.values())
    return {group: count / total for group, count in counts.items() if len(group) == 3}


def make_lines(folder: Path) -> list[str]:
    """Return a line for each group: the group, and for each language a letter, "a" for the likeliest language."""
    shares = [read_shares(folder / language) for language in LANGUAGES]
    kept = {group for share in shares for group in sorted(share, key=lambda item: (-share[item], item))[:GROUPS]}
    lines = []
    for group in sorted(kept):
        likely = [math.log(share.get(group, 0.0) + FLOOR) for share in shares]
        steps = [min(round((max(likely) - value) / STEP), MAX_STEPS) for value in likely]
        lines.append(group + "".join(chr(ord("a") + step) for step in steps))
    return lines


if __name__ == "__main__":
    print(" ".join(LANGUAGES))
    print("\n".join(make_lines(Path(sys.argv[1]))))
