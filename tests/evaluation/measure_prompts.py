"""Put corpora of attacks and of harmless texts through every surface that makes a prompt, and count what stands there.

    python tests/evaluation/measure_prompts.py FILE.jsonl... [--every N] [--embedder NAME] [--show]

Files as in ``corpora/README.md``, at default settings otherwise. Each text comes from outside, to where its ``place``
says: as a text, a speaker's name, a source or a tag. Surfaces: a query in bullets and whole, ``context``,
``format_context``, changes, the overview, the overseer, the assembler, a chat, and turns in four forms and four modes.

- bare: some of it stands in a prompt outside of every frame, or in a frame that nothing announces.
- whole, in part: all or some of its sentences stand in a frame. none: nothing of it is in any prompt.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from measure_corpora import read

sys.path.insert(0, str(Path(__file__).parents[1]))

from memwarden import Warden
from memwarden.errors import MemwardenError
from memwarden.security.injection.detector import LEFT_OUT
from prompts import bare, is_announced, prompts, shown, store

Row = dict[str, Any]
ASKED = {"text": "What does the page say about it?", "else": "When does the bakery at the harbour open on Sundays?"}
SAID = "The bakery at the harbour opens at six on Sundays."


STATES = ("bare", "whole", "in part", "none")


def told(row: Row) -> str:
    """Return the words of a row that may be an order: its text, or the name or source that it stands in."""
    place = row.get("place", "text")
    return (
        str(row.get("name") or row["text"]) if place == "name" else str(row["source" if place == "source" else "text"])
    )


def is_text(row: Row) -> bool:
    """Whether a row is a text or a value, no name, source or tag."""
    return row.get("place", "text") not in ("name", "source", "tag")


def keep(warden: Warden, user: str, row: Row) -> None:
    """Put a row where its place says."""
    me, source = warden.scope(user=user), row.get("source") or "https://pages.example/a"
    with contextlib.suppress(MemwardenError):  # no name, source or tag has several lines
        match row.get("place", "text"):
            case "name":
                me.observe([{"role": "user", "content": SAID, "name": told(row)[:200]}])
            case "source":
                me.remember(SAID, source=source)
            case "tag":
                me.remember(SAID, source=source, tags=[told(row)[:100]])
            case _:
                store(warden, user, row["text"], source)


def state(warden: Warden, number: int, row: Row) -> tuple[str, str]:
    """Return what became of a row, and a surface where that is seen."""
    user, said = f"u{number}", told(row)
    keep(warden, user, row)
    found = ("none", "")
    for surface, text in prompts(warden, user, ASKED["text" if is_text(row) else "else"]).items():
        if bare(text, said) or not is_announced(text):
            return "bare", surface
        if shown(text, said):
            whole = LEFT_OUT not in text
            if whole or found[0] == "none":
                found = ("whole" if whole else "in part", surface)
    return found


def measure(path: Path, every: int, embedder: str, *, show: bool) -> str:
    """Return the line of a file."""
    counted: Counter[str] = Counter()
    rows = read(path)[::every]
    with Warden.open("memory://", {"embedder": embedder}) as warden:
        for number, row in enumerate(rows):
            became, surface = state(warden, number, row)
            counted[became] += 1
            if show and became in ("bare", "whole" if "attacks" in path.name else "none"):
                sys.stdout.write(f"  {became} {surface} {row['id']}: {told(row)!r:.200}\n")
    shares = ", ".join(f"{name} {counted[name]} ({counted[name] / len(rows):.1%})" for name in STATES)
    return f"{path.name}: {len(rows)} texts: {shares}"


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take each Nth text only")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--show", action="store_true", help="show what went wrong")
    given = parser.parse_args()
    for path in given.files:
        sys.stdout.write(measure(path, given.every, given.embedder, show=given.show) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
