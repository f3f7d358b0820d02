"""Word lists of the security package, by role and language."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path


@cache
def load_lines(file: Path, role: str) -> tuple[str, ...]:
    """Return the lines of a role in all languages: words or expressions.

    file: TOML with a table for each role, which has a text for each language.
    """
    table: dict[str, str] = tomllib.loads(file.read_text("utf-8"))[role]
    return tuple(line for text in table.values() for line in text.strip("\n").split("\n"))


def load_words(file: Path, role: str) -> frozenset[str]:
    """Return the words of a role in all languages, which are separated by blanks."""
    return frozenset(word for line in load_lines(file, role) for word in line.split())
