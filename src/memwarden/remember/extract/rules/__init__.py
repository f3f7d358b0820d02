"""Quotes what is worth keeping of turns and lists what exchanges are about, by rules, without a model.

Everything here is pure: turns in, items out, no store, no clock, no model. ``docs/why/extraction.md`` has the figures.
The word lists of English stand here, read from ``english.toml``: parts of regular expressions ("a|b"), and sets.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

_LISTS: Final = tomllib.loads(Path(__file__).with_name("english.toml").read_text(encoding="utf-8"))


def _alternatives(name: str) -> str:
    return str(_LISTS["alternatives"][name]).replace("\n", "")


VAGUE_NOUNS: Final = _alternatives("vague_nouns")
# What somebody is "going to" do in the talk itself, with the assistant, is no plan.
SESSION_VERBS: Final = _alternatives("session_verbs")
PRONOUNS: Final = _alternatives("pronouns")
